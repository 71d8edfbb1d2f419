"""Substitute `${{ ... }}` expressions in text. Unknown values are reported by name."""

from sandbox.recipe.actions.expressions import evaluate
from sandbox.recipe.actions.values import Context, Unknown, Value, as_text, combine_unknown

_OPENING = "${{"
_MOST_CHARACTERS = 20_000
_LONGEST_TEXT = 300_000


def resolve(text: str, context: Context) -> tuple[str, Unknown | None]:
    """Replace the expressions in a text.

    Args:
        text: A text with or without `${{ ... }}`.
        context: The known values by name.

    Returns:
        The text (unknown values are empty), and what was unknown.
    """
    pieces: list[str] = []
    unknown: list[Unknown] = []
    left = _LONGEST_TEXT
    for plain, expression in _split(text):
        pieces.append(plain)
        if expression is not None:
            value = evaluate(expression, context)
            unknown += [value] if isinstance(value, Unknown) else []
            pieces.append(as_text(value))
            left -= len(pieces[-1])
            if left < 0:  # nested inputs could double without end
                return "", Unknown(("a text that is too long",))
    return "".join(pieces), combine_unknown(*unknown) if unknown else None


def resolve_value(value: object, context: Context) -> Value:
    """Resolve a value from YAML. A text that is a single expression keeps the expression's type."""
    if isinstance(value, str):
        parts = list(_split(value.strip()))
        if (
            len(parts) == 2  # noqa: PLR2004
            and parts[0][0] == ""
            and parts[1] == ("", None)
            and parts[0][1] is not None
        ):
            return evaluate(parts[0][1], context)
        found, unknown = resolve(value, context)
        return unknown or found
    if isinstance(value, bool | int | float | list | dict):
        return value
    return None


def evaluate_condition(text: str, context: Context) -> Value:
    """Evaluate an `if`. The implicit `success()` holds, because all earlier steps succeeded."""
    stripped = text.strip()
    if not stripped:
        return True
    if _OPENING not in stripped:
        return evaluate(stripped, context)
    parts = list(_split(stripped))
    if len(parts) == 2 and parts[0][0] == "" and parts[1][0].strip() == "":  # noqa: PLR2004
        return evaluate(parts[0][1] or "", context)
    joined = "".join(plain + (expression or "") for plain, expression in parts)
    return evaluate(joined, context)


def _split(text: str) -> list[tuple[str, str | None]]:
    """Split into pairs of plain text and the following expression; the last one has none."""
    found: list[tuple[str, str | None]] = []
    at = 0
    while (begin := text.find(_OPENING, at)) >= 0:
        end = _end(text, begin + len(_OPENING))
        if end is None:
            break
        found.append((text[at:begin], text[begin + len(_OPENING) : end]))
        at = end + 2
    found.append((text[at:], None))
    return found


def _end(text: str, at: int) -> int | None:
    """Return the position of the closing braces outside of quotes."""
    quoted = False
    for index in range(at, min(len(text) - 1, at + _MOST_CHARACTERS)):
        if text[index] == "'":
            quoted = not quoted
        elif not quoted and text.startswith("}}", index):
            return index
    return None
