"""Cut texts to what GitHub takes, without leaving a fence or a fold open."""

import re

BODY_LIMIT = 65_536
"""Characters in a comment or a pull request."""

CHECK_TEXT_LIMIT = 65_535
"""Characters in a check run's summary or text."""

NOTE = "\n\n*(cut: GitHub takes no more)*"
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)$")


def cut(text: str, limit: int = BODY_LIMIT) -> str:
    """The text, or as much of it as fits, everything that was opened closed again.

    Args:
        text: Markdown.
        limit: Characters allowed.
    """
    if len(text) <= limit:
        return text
    room = limit
    while room > 0:
        head = text[:room]
        # Whole lines only: half a table row or half a link would break what follows.
        head = head[: head.rfind("\n")] if "\n" in head else head
        closed = head + _closing(head) + NOTE
        if len(closed) <= limit:
            return closed
        room = min(room, len(head)) - (len(closed) - limit) - 1
    return text[:limit]


def _closing(head: str) -> str:
    """What closes an open code fence and every open `<details>`."""
    fence: str | None = None
    folds = 0
    for line in head.split("\n"):
        mark = _FENCE.match(line)
        if fence is not None:
            if mark is not None and mark["mark"].startswith(fence) and not mark["rest"].strip():
                fence = None
        elif mark is not None:
            fence = mark["mark"]
        else:
            folds += line.count("<details") - line.count("</details>")
    return (f"\n{fence}" if fence else "") + "\n\n</details>" * max(folds, 0)


def fenced(text: str, language: str) -> str:
    """Text in a code fence that nothing in it can close.

    Args:
        text: Whatever it is.
        language: The word after the fence, `suggestion`.
    """
    runs = (len(run) for run in re.findall(r"`+", text))
    fence = "`" * max(3, *(1 + run for run in runs), 3)
    body = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{fence}{language}\n{body}{fence}"


def with_marker(body: str, marker: str) -> str:
    """The body with its hidden marker in it, however long it is."""
    if marker in body[:BODY_LIMIT]:
        return cut(body) if marker in cut(body) else f"{cut(body, BODY_LIMIT - len(marker) - 2)}\n\n{marker}"
    return f"{cut(body, BODY_LIMIT - len(marker) - 2)}\n\n{marker}"
