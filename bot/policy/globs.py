"""Patterns of paths and branches. They come from repositories, so matching one takes no more than its length allows."""

from collections.abc import Callable, Sequence


def covers(pattern: str, path: str) -> bool:
    """Whether a pattern matches a file, or a folder it lies in; the rules of `.gitignore`.

    `*` and `?` stay within a name, `**` stands for any folders, a pattern without a slash before its end matches at
    any depth.

    Args:
        pattern: `src/**/*.py`, `migrations`, `/setup.sh`.
        path: Relative to the checkout.
    """
    parts = [part for part in pattern.split("/") if part]
    if not parts:
        return False
    anywhere = [] if "/" in pattern.rstrip("/") else ["**"]
    return _fits([*anywhere, *parts, "**"], path.split("/"), "**", _name_fits)


def names_branch(pattern: str, branch: str) -> bool:
    """Whether a pattern matches a branch's whole name; `*` stays between slashes, `**` does not.

    Args:
        pattern: `main`, `release/*`.
        branch: Its name.
    """
    return _fits(pattern.split("/"), branch.split("/"), "**", _name_fits)


def _name_fits(pattern: str, name: str) -> bool:
    return _fits(pattern, name, "*", lambda wanted, character: wanted in ("?", character))


def _fits(pattern: Sequence[str], items: Sequence[str], many: str, fits: Callable[[str, str], bool]) -> bool:
    """Whether the whole pattern fits all items, where `many` stands for any number of them."""
    at = _onward({0}, pattern, many)
    for item in items:
        stay = {i for i in at if i < len(pattern) and pattern[i] == many}
        step = {i + 1 for i in at if i < len(pattern) and pattern[i] != many and fits(pattern[i], item)}
        at = _onward(stay | step, pattern, many)
    return len(pattern) in at


def _onward(at: set[int], pattern: Sequence[str], many: str) -> set[int]:
    """The places in the pattern that can be reached without an item."""
    reached = set(at)
    for i in sorted(at):
        while i < len(pattern) and pattern[i] == many:
            i += 1  # noqa: PLW2901 -- goes on from there
            reached.add(i)
    return reached
