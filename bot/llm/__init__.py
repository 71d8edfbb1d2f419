"""Clients and protocol for language models of any provider."""
