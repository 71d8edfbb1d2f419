"""Try a change in a plain run: write files, start a fresh test process, restore the tree."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.ports import Workspace
from sandbox.changes import apply, paths_needed, validate_edits
from sandbox.errors import ChangeRejected
from sandbox.types import FileChange, FileEdit, RunVerdict, TestReport, stands_for

QUICK_S = 10.0
"""Commands up to this duration, in seconds, run whole. Slower ones first run only the failing
tests."""
MOST_TARGETS = 200
MOST_OUTPUT = 3000
REASONS = 3


@dataclass(frozen=True)
class ResolvedChanges:
    """File edits that changes amount to, or the reason for their rejection."""

    edits: tuple[FileEdit, ...] = ()
    originals: tuple[tuple[str, bytes | None], ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class RunComparison:
    """Results of runs with a change, compared with the red run."""

    report: TestReport
    mended: tuple[str, ...]
    still_failing: tuple[str, ...]
    broke: tuple[str, ...]
    whole: bool
    """True if the whole command was run, not only its failing tests."""
    output: str = ""

    @property
    def passes(self) -> bool:
        """Return True if every failing test passes and no passing test fails."""
        return self.report.verdict in _TOLD and not self.still_failing and not self.broke


_TOLD = (RunVerdict.PASS, RunVerdict.FAIL)


async def resolve_changes(workspace: Workspace, changes: Sequence[FileChange]) -> ResolvedChanges:
    """Convert changes to edits and validate them by the general rules; nothing is written.

    Args:
        workspace: On the failing tree.
        changes: Proposed changes of any origin.
    """
    try:
        texts = {path: await workspace.read_file(path) for path in paths_needed(changes)}
        originals = {path: None if text is None else text.encode() for path, text in texts.items()}
        edits = apply(changes, originals.get)
    except ChangeRejected as error:
        return ResolvedChanges(refused=error.message)
    verdict = validate_edits(edits, originals)
    # A file that is not UTF-8 was decoded with replacement characters, so its bytes are unknown.
    known = {
        p: None if texts[p] and "\ufffd" in (texts[p] or "") else content
        for p, content in originals.items()
    }
    refused = "" if verdict.accepted else "; ".join(verdict.reasons[:REASONS])
    return ResolvedChanges(edits=edits, originals=tuple(known.items()), refused=refused)


async def run_with_changes(
    workspace: Workspace,
    changes: Sequence[FileChange],
    before: TestReport,
    *,
    time_limit_s: float,
    put_back: bool = True,
) -> RunComparison | None:
    """Run the tests with these changes applied; return None if no run finished in time.

    Args:
        workspace: On the failing tree.
        changes: The changes to try.
        before: The red run.
        time_limit_s: Limit for all runs, in seconds.
        put_back: True to restore the tree after success. After a failure it is always restored.
    """
    found: RunComparison | None = None
    limit = asyncio.timeout(time_limit_s)
    done = False
    try:
        async with limit:
            await workspace.apply_changes(changes)
            # A change that fixes none of the failing tests needs no full run.
            targets = _targets(before)
            if targets:
                found = compare_runs(
                    before, await workspace.run_tests(targets=targets), whole=False
                )
            if found is None or found.mended:
                found = compare_runs(before, await workspace.run_tests(), whole=True)
            done = True
    except TimeoutError:
        if not limit.expired():
            raise
    finally:
        # After an interruption the state of the tree is unknown.
        if put_back or not done:
            await workspace.revert()
    return found


def _targets(before: TestReport) -> tuple[str, ...]:
    """Return the failing tests if running only them is possible and saves time."""
    slow = before.duration_s > QUICK_S and before.knows_tests
    return tuple(sorted(before.failing)) if slow and len(before.failing) <= MOST_TARGETS else ()


def compare_runs(before: TestReport, now: TestReport, *, whole: bool) -> RunComparison:
    """Compare a run with a change to the red run.

    Args:
        before: The red run.
        now: The run with the change.
        whole: True if the whole command was run.
    """
    if not before.failing:  # a command without test names either passes or fails
        still: tuple[str, ...] = () if now.success else (before.target,)
        return RunComparison(
            now,
            () if still else (before.target,),
            still,
            (),
            whole=whole,
            output=_first_output(now, still),
        )
    bad, good = now.failing, now.passing
    mended = tuple(
        sorted(
            name for name in before.failing if now.verdict in _TOLD and _is_fixed(name, bad, good)
        )
    )
    still = tuple(sorted(before.failing - set(mended)))
    # A file that cannot be imported fails all of its tests.
    files = [name for name in bad if "::" not in name]
    broke = {
        name
        for name in before.passing
        if name in bad or any(stands_for(file, name) for file in files)
    }
    if whole and now.success:  # only a green run proves that the command ran to its end
        broke |= {name for name in before.passing if name not in now.outcomes}
    return RunComparison(
        now,
        mended,
        still,
        tuple(sorted(broke)),
        whole=whole,
        output=_first_output(now, (*still, *broke)),
    )


def _is_fixed(name: str, bad: Collection[str], good: Collection[str]) -> bool:
    """Return True if a test passes now.

    A file that could not be collected passes if some of its tests pass and none fails.
    """
    if name in bad or any(stands_for(one, name) or stands_for(name, one) for one in bad):
        return False
    return name in good or ("::" not in name and any(stands_for(name, one) for one in good))


def _first_output(now: TestReport, lost: Collection[str]) -> str:
    """Return the output of the first required test that fails, or the end of the run's output."""
    if not lost:
        return ""
    for failure in now.failures:
        if any(stands_for(failure.name, name) or stands_for(name, failure.name) for name in lost):
            output = failure.traceback or failure.output or failure.error_message or ""
            return f"{failure.name}: {failure.error or 'failed'}\n{output}"[:MOST_OUTPUT]
    return f"{now.summary}\n{now.raw_output[-MOST_OUTPUT:]}".strip()
