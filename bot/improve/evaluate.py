"""Evaluate an improvement in sandboxes: it compiles, its self-test and the project's tests pass."""

import posixpath
import shlex
from collections.abc import Mapping

from bot.domain.counted import counted
from bot.domain.policy import RepositoryPolicy
from bot.improve.promotion import make_edit
from bot.improve.values import Check, Improvement
from bot.mission.verifying.compare import find_renamed
from bot.policy.rules import path_refusals
from bot.ports import OpenWorkspace, Workspace
from sandbox.changes import validate_edits
from sandbox.diffs import Original
from sandbox.errors import ChangeRejected
from sandbox.gate import clean
from sandbox.types import (
    ChangeAction,
    Checkout,
    CommandResult,
    FileChange,
    Frozen,
    JobHints,
    RunVerdict,
    TestReport,
    TestStatus,
)

SELF_TEST_OPTION = "--self-test-mode"
_SHOWN = 5
_OUTPUT = 300


class EvaluationPlan(Frozen):
    """The runs of an evaluation."""

    repository_id: str
    hints: JobHints
    has_tests: bool
    """False if only the self-test is to run."""
    self_test_timeout_s: float
    self_test: str = ""
    """The command of the self-test; empty if the file has one of its own, or is only imported."""
    policy: RepositoryPolicy = RepositoryPolicy()


class Measured(Frozen):
    """The results of the new version."""

    compiles: CommandResult
    self_test: CommandResult | None = None
    """None if there is nothing to run."""
    tests: TestReport | None = None


class Evaluated(Frozen):
    """The checks of an improvement, and the tests before and after it."""

    checks: tuple[Check, ...]
    before: TestReport | None = None
    after: TestReport | None = None


async def evaluate(  # noqa: PLR0913 -- what is changed, where, and how it is run
    improvement: Improvement,
    content: bytes,
    tree: Mapping[str, Original],
    *,
    checkout: Checkout,
    plan: EvaluationPlan,
    open_workspace: OpenWorkspace,
    baseline: TestReport | None = None,
) -> Evaluated:
    """Evaluate an improvement; later checks are left out once one failed.

    Args:
        improvement: The improvement.
        content: The new content of its file.
        tree: All files of the project.
        checkout: The same files.
        plan: The runs.
        open_workspace: Opens a sandbox.
        baseline: The tests of exactly these files; None runs them.

    Raises:
        SandboxError: there is no sandbox, or the environment cannot be built.
    """
    path = improvement.path
    guard = _guard(improvement, content, tree, plan.policy)
    if not guard.passed:
        return Evaluated(checks=(guard,), before=baseline)
    # Fresh sandboxes: one version leaves nothing for the other one to find.
    if plan.has_tests and baseline is None:
        async with open_workspace(checkout) as workspace:
            baseline = await workspace.run_tests()
    async with open_workspace(checkout) as workspace:
        change = FileChange(action=ChangeAction.REPLACE, path=path, content=content.decode())
        try:
            await workspace.apply_changes((change,))
        except ChangeRejected as error:
            refused = guard.with_(passed=False, detail=error.message)
            return Evaluated(checks=(refused,), before=baseline)
        after = await _measure(path, tree, workspace, plan)
    compiles = Check(
        name="compiles", passed=after.compiles.ok, detail=_failure(after.compiles), proves=False
    )
    checks = [guard, compiles]
    if after.self_test is not None:
        before = None
        if not after.self_test.ok and not _has_self_test(path, tree, plan):
            async with open_workspace(checkout) as workspace:
                before = await _self_tested(path, tree, workspace, plan)
        checks.append(_check_self_test(path, tree, plan, before=before, after=after.self_test))
    if baseline is not None and after.tests is not None and checks[-1].passed:
        checks.append(await _check_tests(baseline, after.tests, checkout, open_workspace))
    return Evaluated(checks=tuple(checks), before=baseline, after=after.tests)


def _guard(
    improvement: Improvement,
    content: bytes,
    tree: Mapping[str, Original],
    policy: RepositoryPolicy,
) -> Check:
    """Check that the change is one that a fix may make, before anything of it runs."""
    old = tree[improvement.path]
    edit = make_edit(improvement.path, old, content)
    verdict = validate_edits((edit,), {improvement.path: old.content})
    refused = (*verdict.reasons, *path_refusals(policy, (improvement.path,)))
    return Check(name="guard", passed=not refused, detail="; ".join(refused[:_SHOWN]), proves=False)


async def _measure(
    path: str, tree: Mapping[str, Original], workspace: Workspace, plan: EvaluationPlan
) -> Measured:
    here = await _path_in(workspace, path)
    script = f"compile(open({here!r}, 'rb').read(), {here!r}, 'exec', dont_inherit=True)"
    command = f"python -B -c {shlex.quote(script)}"
    compiles = await workspace.run(command, timeout_s=plan.self_test_timeout_s)
    if not compiles.ok:
        return Measured(compiles=compiles)
    self_test = await _self_tested(path, tree, workspace, plan)
    tests = await workspace.run_tests() if plan.has_tests else None
    return Measured(compiles=compiles, self_test=self_test, tests=tests)


async def _self_tested(
    path: str, tree: Mapping[str, Original], workspace: Workspace, plan: EvaluationPlan
) -> CommandResult | None:
    command = _self_test_command(path, await _path_in(workspace, path), tree, plan)
    return await workspace.run(command, timeout_s=plan.self_test_timeout_s) if command else None


async def _path_in(workspace: Workspace, path: str) -> str:
    """Return a file's path from the folder in which commands run."""
    facts = await workspace.facts()
    return posixpath.relpath(path, facts.recipe.working_directory)


def _has_self_test(path: str, tree: Mapping[str, Original], plan: EvaluationPlan) -> bool:
    return bool(plan.self_test) or SELF_TEST_OPTION.encode() in tree[path].content


def _self_test_command(
    path: str, here: str, tree: Mapping[str, Original], plan: EvaluationPlan
) -> str:
    """Return the command of the self-test: the plan's, the file's own, or an import of it."""
    if plan.self_test:
        return plan.self_test
    if _has_self_test(path, tree, plan):
        return f"python -B {shlex.quote(here)} {SELF_TEST_OPTION}"
    folder, name = posixpath.split(path)
    parts = [] if name == "__init__.py" else [name.removesuffix(".py")]
    while folder and f"{folder}/__init__.py" in tree:
        folder, last = posixpath.split(folder)
        parts.insert(0, last)
    # Importing `__main__` would run the program.
    if not parts or not all(part.isidentifier() for part in parts) or parts[-1] == "__main__":
        return ""
    depth = path.count("/") - folder.count("/") - bool(folder)
    base = posixpath.normpath(posixpath.join(posixpath.dirname(here), *[".."] * depth))
    script = (
        f"import sys, importlib; sys.path.insert(0, {base!r}); "
        f"importlib.import_module({'.'.join(parts)!r})"
    )
    return f"python -B -c {shlex.quote(script)}"


def _check_self_test(
    path: str,
    tree: Mapping[str, Original],
    plan: EvaluationPlan,
    *,
    before: CommandResult | None,
    after: CommandResult,
) -> Check:
    if _has_self_test(path, tree, plan):
        return Check(name="self-test", passed=after.ok, detail=_failure(after))
    if before is not None and not before.ok and not after.ok:
        detail = f"it could not be imported before either: {_failure(after)}"
        return Check(name="import", passed=True, detail=detail, proves=False)
    return Check(name="import", passed=after.ok, detail=_failure(after), proves=False)


async def _check_tests(
    before: TestReport, after: TestReport, checkout: Checkout, open_workspace: OpenWorkspace
) -> Check:
    """Compare the tests; if some are missing, learn first which of their names are steady."""
    check = _compare_tests(before, after)
    if check.passed or not before.passing - after.outcomes.keys():
        return check
    # A name with the time in it, for example, is another one in every run.
    async with open_workspace(checkout) as workspace:
        again = await workspace.run_tests()
    renamed = find_renamed(before, again)
    is_whole = len(after.passing) >= len(before.passing)
    return _compare_tests(before, after, renamed) if is_whole else check


def _compare_tests(
    before: TestReport, after: TestReport, renamed: frozenset[str] = frozenset()
) -> Check:
    """Check that every test that passed before passes now, also none is missing or skipped.

    Args:
        before: The tests of the old version.
        after: The tests of the new version.
        renamed: Tests of the old version with another name in each of its runs.
    """
    if RunVerdict.TIMEOUT in {before.verdict, after.verdict}:
        # A part of the tests proves nothing about the others.
        when = "before" if before.verdict is RunVerdict.TIMEOUT else "after"
        detail = f"they did not end in time {when} the change; raise sandbox.test_wall_s"
        return Check(name="tests", passed=False, detail=detail)
    if before.knows_tests:
        steady = before.passing - renamed
        lost = sorted(name for name in steady if after.outcomes.get(name) is not TestStatus.PASS)
        names = ", ".join(clean(name, cap=200) for name in lost[:_SHOWN])
        detail = f"{counted(len(steady), 'test')} passed before"
        detail += f"; not passing now: {names}" if lost else " and pass now"
        if renamed:
            detail += f"; {len(renamed)} with another name in each run"
        return Check(name="tests", passed=not lost, detail=detail, proves=bool(before.passing))
    if before.success:
        detail = clean(after.summary, cap=_OUTPUT)
        return Check(name="tests", passed=after.success, detail=detail)
    detail = f"they did not pass before either: {clean(before.summary, cap=_OUTPUT)}"
    return Check(name="tests", passed=True, detail=detail, proves=False)


def _failure(result: CommandResult) -> str:
    """Describe a command that did not succeed; empty if it did."""
    if result.ok:
        return ""
    if result.timed_out:
        return f"it did not end within {result.duration_s:.0f} s"
    output = clean(result.stderr or result.stdout, cap=2_000).strip().splitlines()
    return f"exit status {result.exit_code}: {output[-1][:_OUTPUT] if output else 'no output'}"
