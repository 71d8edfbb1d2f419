def half(x: int) -> int:
    return x / 2
