"""PIN: a test for the repaired behaviour, proved to fail before the fix and to pass with it."""

import ast
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence

from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, PinnedTest, Rung
from bot.mission.pin_text import PinnedCall, add_test, write_call
from bot.mission.run import Run
from bot.mission.steps import Ended, Trouble
from bot.policy.rules import allows
from bot.ports import OpenWorkspace, Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, Checkout, FileChange, Frozen, KnownCall, TestReport

PROBE_S = 20.0
"""Time limit of a probe, in seconds."""
MOST_PROVED = 3
"""Maximum number of tests to prove; the first that holds is kept."""
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""Stands for bytes that are not UTF-8."""

_PROBE = """
import json
found = []
for statement, call in json.loads({calls!r}):
    names = {{}}
    try:
        exec(statement, names)
        found.append(repr(eval(call, names)))
    except Exception as error:
        found.append("raises " + type(error).__name__)
print("\\n" + json.dumps(found))
"""


class PinStage(Frozen):
    """The stage's value."""

    test: PinnedTest | None = None


async def pin_behaviour(run: Run, trouble: Trouble) -> None:
    """Add a test for a fix to the mission, if the policy asks for one; never change its outcome.

    Args:
        run: The mission.
        trouble: Its end.
    """
    context = run.context
    if not context.policy.regression_test or trouble.outcome is not Outcome.FIXED:
        return

    async def propose() -> PinStage:
        return PinStage(test=await propose_test(context, run.checkout, run.ports.open_workspace))

    try:
        stage = await run.steps.run("regression-test", PinStage, propose)
    except Ended:
        return
    run.know(regression_test=stage.test)


async def propose_test(
    context: MissionContext, checkout: Checkout, open_workspace: OpenWorkspace
) -> PinnedTest | None:
    """Return the smallest test that fails without the fix and passes with it, or None.

    Args:
        context: The mission with its verified fix.
        checkout: The failing commit.
        open_workspace: Opens a fresh workspace.
    """
    report, fix = context.test_results, context.fix
    if report is None or fix is None or report.runner not in {"pytest", "unittest"}:
        return None
    candidate = fix[0]
    if candidate.rung is Rung.TOOLS or not candidate.calls:
        return None
    if not report.failing:
        return None
    async with open_workspace(checkout) as workspace:
        return await _proved(context, candidate, workspace, min(report.failing))


async def _proved(
    context: MissionContext, candidate: Candidate, workspace: Workspace, failing: str
) -> PinnedTest | None:
    """Return the first test that both runs prove."""
    path = failing.partition("::")[0]
    if not path.endswith(".py") or not allows(context.policy, (path,)):
        return None
    try:
        tests = await workspace.read_file(path)
        # Bytes of another encoding are read as U+FFFD, and would be written back as such.
        if tests is None or UNREADABLE in tests:
            return None
        calls = list(_written(candidate.calls, tests))
        before = await _results(calls, workspace)
        await workspace.apply_changes(candidate.changes)
        after = await _results(calls, workspace)
        found = _distinguishing(calls, before, after)
        # The calls of an answered question begin with those that distinguish the answer.
        if context.request.answer is None:
            found.sort(key=lambda one: len(one[0].text) + len(one[1]))
        for call, result in found[:MOST_PROVED]:
            added = add_test(tests, failing, call, result)
            if added is None:
                continue
            content, name = added
            change = FileChange(action=ChangeAction.REPLACE, path=path, content=content)
            if await _holds(candidate, change, name, workspace):
                return PinnedTest(
                    name=name, path=path, content=content, call=call.text, result=result
                )
    except ChangeRejected:
        return None
    return None


async def _holds(candidate: Candidate, test: FileChange, name: str, workspace: Workspace) -> bool:
    """Return True if a test fails on the failing commit and passes with the fix."""
    await workspace.revert()
    await workspace.apply_changes((test,))
    red = await workspace.run_tests(targets=(name,))
    if name not in red.failing:
        return False
    await workspace.revert()
    await workspace.apply_changes((*candidate.changes, test))
    green = await workspace.run_tests(targets=(name,))
    return _passes(green, name) and _passes(await workspace.run_tests(), name)


def _passes(report: TestReport, name: str) -> bool:
    return report.success and name in report.passing


def _written(calls: Sequence[KnownCall], tests: str) -> Iterator[PinnedCall]:
    """Yield the calls that the test file can make and does not contain yet."""
    for call in calls:
        written = write_call(call, tests)
        if written is not None and written.text not in tests:
            yield written


async def _results(calls: Sequence[PinnedCall], workspace: Workspace) -> Mapping[str, str]:
    """Return the result of each call on the workspace's tree, by its text."""
    if not calls:
        return {}
    sent = json.dumps([(call.reference.statement, call.text) for call in calls])
    program = _PROBE.format(calls=sent)
    done = await workspace.run(f"python -c {shlex.quote(program)}", timeout_s=PROBE_S)
    try:
        found = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    except ValueError:
        return {}
    # The output is untrusted.
    if not isinstance(found, list) or len(found) != len(calls):
        return {}
    return {call.text: str(one) for call, one in zip(calls, found, strict=True)}


def _distinguishing(
    calls: Sequence[PinnedCall], before: Mapping[str, str], after: Mapping[str, str]
) -> list[tuple[PinnedCall, str]]:
    """Return the calls whose results differ, with the result of the fix."""
    return [
        (call, after[call.text])
        for call in calls
        if call.text in before
        and after.get(call.text, before[call.text]) != before[call.text]
        and _is_literal(after[call.text])
    ]


def _is_literal(text: str) -> bool:
    try:
        return repr(ast.literal_eval(text)) == text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
