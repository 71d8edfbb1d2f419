"""What a customer saves by buying many."""

from invoices.money import percent_of

# From how many pieces on, which percentage is taken off; best first.
STEPS = ((100, 15), (50, 10), (10, 5))


def discount_percent(quantity):
    """The percentage taken off a line of so many pieces."""
    for pieces, percent in STEPS:
        if quantity >= pieces:
            return percent
    return 0


def discount(cents, quantity):
    """The amount taken off a line."""
    return percent_of(cents, discount_percent(quantity))
