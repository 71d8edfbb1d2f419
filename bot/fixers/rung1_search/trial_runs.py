"""A change tried as anybody would run it: files written, a test process of its own, everything put back."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.ports import Workspace
from sandbox.changes import apply, paths_needed, validate_edits
from sandbox.errors import ChangeRejected
from sandbox.types import FileChange, FileEdit, RunVerdict, TestReport, stands_for

QUICK_S = 10.0
"""A command that takes no longer is run as a whole at once; else the failing tests first show whether that pays."""
MOST_TARGETS = 200
MOST_OUTPUT = 3000
REASONS = 3


@dataclass(frozen=True)
class Made:
    """What changes make of the files, or why they may not be made."""

    edits: tuple[FileEdit, ...] = ()
    originals: tuple[tuple[str, bytes | None], ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class Seen:
    """What runs with a change in the tree showed, compared with the red run."""

    report: TestReport
    mended: tuple[str, ...]
    still_failing: tuple[str, ...]
    broke: tuple[str, ...]
    whole: bool
    """The whole command was run, and not its failing tests only."""
    output: str = ""

    @property
    def passes(self) -> bool:
        """Every failing test passes, and none that passed was seen to fail."""
        return self.report.verdict in _TOLD and not self.still_failing and not self.broke


_TOLD = (RunVerdict.PASS, RunVerdict.FAIL)


async def made_of(workspace: Workspace, changes: Sequence[FileChange]) -> Made:
    """What changes come to, by the rules for every fix; nothing is written.

    Args:
        workspace: On the failing tree.
        changes: Somebody's.
    """
    try:
        texts = {path: await workspace.read_file(path) for path in paths_needed(changes)}
        originals = {path: None if text is None else text.encode() for path, text in texts.items()}
        edits = apply(changes, originals.get)
    except ChangeRejected as error:
        return Made(refused=error.message)
    verdict = validate_edits(edits, originals)
    # A file that is no UTF-8 was read with stand-ins: its bytes are not known here.
    known = {p: None if texts[p] and "\ufffd" in (texts[p] or "") else content for p, content in originals.items()}
    refused = "" if verdict.accepted else "; ".join(verdict.reasons[:REASONS])
    return Made(edits=edits, originals=tuple(known.items()), refused=refused)


async def seen_with(
    workspace: Workspace,
    changes: Sequence[FileChange],
    before: TestReport,
    *,
    time_limit_s: float,
    put_back: bool = True,
) -> Seen | None:
    """Run with these changes in the tree; None when there was no time for any answer.

    Args:
        workspace: On the failing tree.
        changes: What is tried.
        before: The red run.
        time_limit_s: For everything.
        put_back: Whether the tree is put back when all went well; it is in any case when something did not.
    """
    found: Seen | None = None
    limit = asyncio.timeout(time_limit_s)
    done = False
    try:
        async with limit:
            await workspace.apply_changes(changes)
            targets = _targets(before)
            if targets:
                found = compared(before, await workspace.run_tests(targets=targets), whole=False)
            if found is None or found.mended:
                found = compared(before, await workspace.run_tests(), whole=True)
            done = True
    except TimeoutError:
        if not limit.expired():
            raise
    finally:
        if put_back or not done:
            await workspace.revert()
    return found


def _targets(before: TestReport) -> tuple[str, ...]:
    """The failing tests, where running them alone is possible and saves time."""
    slow = before.duration_s > QUICK_S and before.knows_tests
    return tuple(sorted(before.failing)) if slow and len(before.failing) <= MOST_TARGETS else ()


def compared(before: TestReport, now: TestReport, *, whole: bool) -> Seen:
    """What a run with a change shows.

    Args:
        before: The red run.
        now: The run with the change.
        whole: Whether it was the whole command.
    """
    if not before.failing:  # a command that names no tests is green or it is not
        still: tuple[str, ...] = () if now.success else (before.target,)
        return Seen(now, () if still else (before.target,), still, (), whole=whole, output=_first_words(now, still))
    bad, good = now.failing, now.passing
    mended = tuple(sorted(name for name in before.failing if now.verdict in _TOLD and _is_mended(name, bad, good)))
    still = tuple(sorted(before.failing - set(mended)))
    files = [name for name in bad if "::" not in name]
    broke = {name for name in before.passing if name in bad or any(stands_for(file, name) for file in files)}
    if whole and now.success:  # only a green run proves that it came to its end
        broke |= {name for name in before.passing if name not in now.outcomes}
    return Seen(now, mended, still, tuple(sorted(broke)), whole=whole, output=_first_words(now, (*still, *broke)))


def _is_mended(name: str, bad: Collection[str], good: Collection[str]) -> bool:
    """A test that passes; of what could not be collected, that some tests of it pass now and none fails."""
    if name in bad or any(stands_for(one, name) or stands_for(name, one) for one in bad):
        return False
    return name in good or ("::" not in name and any(stands_for(name, one) for one in good))


def _first_words(now: TestReport, lost: Collection[str]) -> str:
    """What the first test says that has to pass and does not; where none says anything, how the run ended."""
    if not lost:
        return ""
    for failure in now.failures:
        if any(stands_for(failure.name, name) or stands_for(name, failure.name) for name in lost):
            said = failure.traceback or failure.output or failure.error_message or ""
            return f"{failure.name}: {failure.error or 'failed'}\n{said}"[:MOST_OUTPUT]
    return f"{now.summary}\n{now.raw_output[-MOST_OUTPUT:]}".strip()
