"""A fix in one line, as it stands in a list of pull requests: what is mended, then how. Pure."""

import re

from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate
from bot.publish.markdown import Pen
from sandbox.types import TestStatus

TITLE_CHARS = 90
_RED = frozenset({TestStatus.FAIL, TestStatus.ERROR})
_PLACED = re.compile(r"(?P<path>[\w./-]+\.\w+): (?P<what>.+)", re.DOTALL)


def fix_title(context: MissionContext, *, pen: Pen | None = None, cap: int = TITLE_CHARS) -> str:
    """`Fix test_add and test_is_even: use + for - in math.py`, cut to `cap` characters at a word's end.

    Args:
        context: A mission with a fix.
        pen: Gates the foreign text.
        cap: Characters.
    """
    pen = pen or Pen()
    mended = _mended(context)
    how = "; ".join(dict.fromkeys(_placed_last(candidate.title) for candidate in steps_of_fix(context)))
    title = pen.title(f"Fix {mended}: {how}" if how else f"Fix {mended}", cap=1000)
    if len(title) <= cap:
        return title
    return title[: cap - 1].rpartition(" ")[0].rstrip(" ,;:") + "…"


def steps_of_fix(context: MissionContext) -> tuple[Candidate, ...]:
    """The candidates the fix is made of, in order: the partial ones it stands on, and the last."""
    kept = (i for i in context.iterations if i.verification and (i.verification.green or i.verification.partial))
    return tuple(i.candidate for i in kept if i.candidate)


def _mended(context: MissionContext) -> str:
    """What was red and is not any more, by its short names."""
    if context.fix is None:
        return "the failing check"
    red = [change.name for change in context.fix[1].table if change.before in _RED and change.after not in _RED]
    names = list(dict.fromkeys(_short(name) for name in red))
    if not names:
        return "the failing check"
    if len(names) <= 2:  # noqa: PLR2004 - a third one would leave no room
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} more"


def _short(name: str) -> str:
    """`test_add` of `tests/test_math.py::test_add[1]`, `F401` of `words.py:F401#1`."""
    if "::" in name:
        return name.partition("[")[0].rpartition("::")[2]
    return name.rpartition(":")[2].partition("#")[0]


def _placed_last(title: str) -> str:
    """`use + for - in math.py` of `math.py: use + for -`."""
    placed = _PLACED.fullmatch(title)
    return f"{placed['what']} in {placed['path']}" if placed else title
