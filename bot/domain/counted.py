"""A number with its noun, in the right form."""


def counted(number: int, noun: str, *, plural: str = "") -> str:
    """Return `1 doubt`, `2 doubts`.

    Args:
        number: How many.
        noun: For one.
        plural: For any other number; with an `s` when not given.
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
