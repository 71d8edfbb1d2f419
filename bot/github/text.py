"""Truncation of texts to GitHub's limits, without leaving a fence or a fold open."""

import re

BODY_LIMIT = 65_536
"""Longest comment or pull request body, in characters; GitHub refuses longer ones (422)."""

CHECK_TEXT_LIMIT = 65_535
"""Longest summary or text of a check run, in characters."""

NOTE = "\n\n*(cut: GitHub takes no more)*"
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)$")


def cut(text: str, limit: int = BODY_LIMIT) -> str:
    """Truncate a text to a limit, and close open fences and folds.

    Args:
        text: Markdown.
        limit: Most characters.
    """
    if len(text) <= limit:
        return text
    room = limit
    while room > 0:
        head = text[:room]
        # Cut at line ends: half a table row or half a link would break the following text.
        head = head[: head.rfind("\n")] if "\n" in head else head
        closed = head + _closing(head) + NOTE
        if len(closed) <= limit:
            return closed
        # The closing marks need room as well, so the head shrinks until both fit.
        room = min(room, len(head)) - (len(closed) - limit) - 1
    return text[:limit]


def _closing(head: str) -> str:
    """Return the text that closes an open code fence and every open `<details>`."""
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
    """Return a text in a code fence that its content cannot close.

    Args:
        text: Any text.
        language: The info string of the fence, `suggestion`.
    """
    # A fence is closed only by a run of backticks at least as long.
    runs = (len(run) for run in re.findall(r"`+", text))
    # The second 3 is for a text without backticks: `max` needs two arguments.
    fence = "`" * max(3, *(1 + run for run in runs), 3)
    body = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{fence}{language}\n{body}{fence}"


def with_marker(body: str, marker: str) -> str:
    """Return the truncated body with its hidden marker."""
    if marker in body[:BODY_LIMIT]:
        return (
            cut(body)
            if marker in cut(body)
            else f"{cut(body, BODY_LIMIT - len(marker) - 2)}\n\n{marker}"
        )
    return f"{cut(body, BODY_LIMIT - len(marker) - 2)}\n\n{marker}"
