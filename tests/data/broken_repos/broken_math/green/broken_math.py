"""Arithmetic for people who count on their fingers."""


def add(a, b):
    """The sum of two numbers."""
    return a + b


def subtract(a, b):
    """The difference of two numbers."""
    return a - b


def multiply(a, b):
    """The product of two numbers."""
    return a * b


def is_even(n):
    """Whether a whole number is even."""
    return n % 2 == 0
