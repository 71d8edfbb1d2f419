"""Patterns for paths and branches; matching untrusted patterns takes linear time per item."""

from collections.abc import Callable, Sequence


def covers(pattern: str, path: str) -> bool:
    """Return True if a pattern matches a file or one of its folders, by the rules of `.gitignore`.

    `*` and `?` match within a name, `**` matches any folders, and a pattern without a slash before
    its end matches at any depth.

    Args:
        pattern: `src/**/*.py`, `migrations`, `/setup.sh`.
        path: A path relative to the checkout.
    """
    parts = [part for part in pattern.split("/") if part]
    if not parts:
        return False
    anywhere = [] if "/" in pattern.rstrip("/") else ["**"]
    return _fits([*anywhere, *parts, "**"], path.split("/"), "**", _name_fits)


def names_branch(pattern: str, branch: str) -> bool:
    """Return True if a pattern matches a whole branch name.

    `*` matches between slashes, `**` across them.

    Args:
        pattern: `main`, `release/*`.
        branch: The name of the branch.
    """
    return _fits(pattern.split("/"), branch.split("/"), "**", _name_fits)


def _name_fits(pattern: str, name: str) -> bool:
    return _fits(pattern, name, "*", lambda wanted, character: wanted in ("?", character))


def _fits(
    pattern: Sequence[str], items: Sequence[str], many: str, fits: Callable[[str, str], bool]
) -> bool:
    """Return True if the whole pattern matches all items; `many` matches any number of them."""
    # All reachable positions are tracked at once, as in Thompson's automaton simulation: a hostile
    # pattern cannot cause exponential backtracking.
    at = _onward({0}, pattern, many)
    for item in items:
        stay = {i for i in at if i < len(pattern) and pattern[i] == many}
        step = {
            i + 1 for i in at if i < len(pattern) and pattern[i] != many and fits(pattern[i], item)
        }
        at = _onward(stay | step, pattern, many)
    return len(pattern) in at


def _onward(at: set[int], pattern: Sequence[str], many: str) -> set[int]:
    """Return the positions in the pattern that are reachable without an item."""
    reached = set(at)
    for i in sorted(at):
        while i < len(pattern) and pattern[i] == many:
            i += 1  # noqa: PLW2901 -- continues from there
            reached.add(i)
    return reached
