"""Search source files for an exact text, on behalf of a model."""

from collections.abc import Awaitable, Callable, Sequence

from bot.domain.counted import counted

_HITS = 30
"""Maximum number of lines shown."""
SAID = 160
"""Maximum length of a quoted name or line, in characters."""

Read = Callable[[str], Awaitable[Sequence[str]]]


def _always(_: int) -> bool:
    return True


async def search_text(
    text: str,
    sources: Sequence[str],
    read: Read,
    *,
    limit: int,
    take: Callable[[int], bool] = _always,
) -> str:
    """Return the lines that contain a text, and how many files were searched.

    Args:
        text: The exact text; untrusted.
        sources: Paths of the source files, the nearest to the failure first.
        read: Returns the lines of a file; empty if there is no such text file.
        limit: Number of files that are searched.
        take: Reserves space for a line; returns False if there is not enough.
    """
    if not text:
        return "name what to search for"
    hits, total = list[str](), 0
    for path in sources[:limit]:
        for number, line in enumerate(await read(path), start=1):
            if text in line:
                total += 1
                shown = f"{path}:{number}: {line.strip()[:SAID]}"
                if len(hits) < _HITS and take(len(shown)):
                    hits.append(shown)
    more = [f"and {counted(total - len(hits), 'more line')}"] if total > len(hits) else []
    head = f"{counted(total, 'line')} in {describe_searched(sources, limit)}"
    return "\n".join([head, *hits, *more])


def describe_searched(sources: Sequence[str], limit: int) -> str:
    """Return which of the source files are searched, in words."""
    if len(sources) <= limit:
        return "the source files"
    return f"the {limit:,} nearest of {len(sources):,} source files"
