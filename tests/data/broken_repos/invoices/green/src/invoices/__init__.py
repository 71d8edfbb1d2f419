"""Invoices with bulk discounts and tax."""

from invoices.invoice import Invoice, Line

__all__ = ["Invoice", "Line"]
