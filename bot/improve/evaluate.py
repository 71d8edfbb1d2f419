"""Evaluate an improvement in sandboxes: it compiles, its self-test and the project's tests pass."""

import posixpath
import shlex
from collections.abc import Mapping

from bot.domain.policy import RepositoryPolicy
from bot.improve.promotion import make_edit
from bot.improve.values import Check, Improvement
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
    """The results of one version."""

    compiles: CommandResult
    self_test: CommandResult | None
    """None if there is nothing to run."""
    tests: TestReport | None


async def evaluate(
    improvement: Improvement,
    content: bytes,
    tree: Mapping[str, Original],
    *,
    checkout: Checkout,
    plan: EvaluationPlan,
    open_workspace: OpenWorkspace,
) -> tuple[Check, ...]:
    """Return the checks of an improvement; later ones are left out once one failed.

    Args:
        improvement: The improvement.
        content: The new content of its file.
        tree: All files of the project.
        checkout: The same files.
        plan: The runs.
        open_workspace: Opens a sandbox.

    Raises:
        SandboxError: there is no sandbox, or the environment cannot be built.
    """
    guard = _guard(improvement, content, tree, plan.policy)
    if not guard.passed:
        return (guard,)
    # Two fresh sandboxes: the first version leaves nothing for the second one to find.
    async with open_workspace(checkout) as workspace:
        before = await _measure(improvement.path, tree, workspace, plan)
    async with open_workspace(checkout) as workspace:
        change = FileChange(
            action=ChangeAction.REPLACE, path=improvement.path, content=content.decode()
        )
        try:
            await workspace.apply_changes((change,))
        except ChangeRejected as error:
            return (guard.with_(passed=False, detail=error.message),)
        after = await _measure(improvement.path, tree, workspace, plan)
    return (
        guard,
        *_compare(before, after, is_explicit=_has_self_test(improvement.path, tree, plan)),
    )


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
    facts = await workspace.facts()
    here = posixpath.relpath(path, facts.recipe.working_directory)
    limit = plan.self_test_timeout_s
    script = f"compile(open({here!r}, 'rb').read(), {here!r}, 'exec', dont_inherit=True)"
    compiles = await workspace.run(f"python -B -c {shlex.quote(script)}", timeout_s=limit)
    command = _self_test_command(path, here, tree, plan)
    result = await workspace.run(command, timeout_s=limit) if command and compiles.ok else None
    tests = await workspace.run_tests() if plan.has_tests and compiles.ok else None
    return Measured(compiles=compiles, self_test=result, tests=tests)


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


def _compare(before: Measured, after: Measured, *, is_explicit: bool) -> tuple[Check, ...]:
    compiles = Check(
        name="compiles", passed=after.compiles.ok, detail=_failure(after.compiles), proves=False
    )
    if not compiles.passed:
        return (compiles,)
    checks = [compiles]
    if after.self_test is not None:
        checks.append(
            _compare_self_tests(before.self_test, after.self_test, is_explicit=is_explicit)
        )
    if before.tests is not None and after.tests is not None and checks[-1].passed:
        checks.append(_compare_tests(before.tests, after.tests))
    return tuple(checks)


def _compare_self_tests(
    before: CommandResult | None, after: CommandResult, *, is_explicit: bool
) -> Check:
    if is_explicit:
        return Check(name="self-test", passed=after.ok, detail=_failure(after))
    was_ok = before is not None and before.ok
    if not was_ok and not after.ok:
        detail = f"it could not be imported before either: {_failure(after)}"
        return Check(name="import", passed=True, detail=detail, proves=False)
    return Check(name="import", passed=after.ok, detail=_failure(after), proves=False)


def _compare_tests(before: TestReport, after: TestReport) -> Check:
    """Check that every test that passed before passes now, also none is missing or skipped."""
    if before.knows_tests:
        lost = sorted(
            name for name in before.passing if after.outcomes.get(name) is not TestStatus.PASS
        )
        names = ", ".join(clean(name, cap=200) for name in lost[:_SHOWN])
        detail = f"{len(before.passing)} tests passed before"
        detail += f"; {len(lost)} do not pass now: {names}" if lost else " and pass now"
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
