"""A number with its noun, in the right form."""


def counted(number: int, noun: str, *, plural: str = "") -> str:
    """Return a number with its noun in the right form: `1 doubt`, `2 doubts`.

    Args:
        number: The number.
        noun: The singular.
        plural: The plural; the singular with an `s` by default.
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
