"""Amounts are whole cents."""


def percent_of(cents, percent):
    """A percentage of an amount, rounded half up to a whole cent."""
    return (cents * percent + 50) // 100


def format_cents(cents):
    """`1234` becomes `12.34`."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d}"
