"""The mission that improves a repository whose tests pass: one verified change of one file."""

import hashlib
import io
import logging
import tarfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

from bot.domain.diagnosis import By, Diagnosis, FailureKind
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Role
from bot.domain.model_error import ModelError
from bot.domain.patch import Candidate, FixAttempt, Rung, Verification
from bot.domain.plan import AcceptanceCriterion, CriterionType
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.domain.verdict import ChangeReview
from bot.errors import MetaAgentError
from bot.improve.by_model import ModelWork, critique_by_model, propose_by_model
from bot.improve.critique import score_by_rules, with_critique
from bot.improve.evaluate import EvaluationPlan, evaluate
from bot.improve.promotion import make_diff
from bot.improve.search import find_by_rules
from bot.improve.target import find_files, why_not
from bot.improve.values import Check, Evaluation, Improvement
from bot.mission.failures.reports import bounded
from bot.mission.judging.criteria import CHECK_COLLECTED, CHECK_PATHS, CHECK_SUITE
from bot.mission.run import MissionPorts, Run
from bot.mission.start import begin
from bot.mission.steps import Ended, Trouble, end
from bot.mission.tree import Tree
from bot.mission.verifying.verify import verify_fix
from bot.policy.rules import allows
from sandbox.diffs import Original
from sandbox.errors import SandboxError
from sandbox.types import ChangeAction, Checkout, FileChange, Frozen, TestReport, WorkspaceFacts

THRESHOLD = 0.7
"""Lowest score of an accepted improvement."""
_TRIED = 5
"""Maximum number of improvements to evaluate in one mission."""
_FOUND = 200
"""Maximum number of improvements to look at, in case people refused the first ones."""
_SELF_TEST_S = 60.0

IsKnown = Callable[[str], Awaitable[bool]]
"""Returns whether this diff is offered already, or was refused."""

log = logging.getLogger(__name__)


class Baseline(Frozen):
    """The environment, and the tests without any change."""

    facts: WorkspaceFacts
    report: TestReport


class FoundImprovement(Frozen):
    """An improvement that was found and not evaluated yet."""

    improvement: Improvement
    content: str
    """The new content of its file."""
    old: str


class FoundImprovements(Frozen):
    """The improvements to evaluate, in order."""

    found: tuple[FoundImprovement, ...] = ()
    why_none: str = "nothing to improve was found"
    notes: tuple[str, ...] = ()


class Judged(Frozen):
    """The evaluation of one improvement before its tests run."""

    checks: tuple[Check, ...]
    said: tuple[float, str] | None = None
    """A model's critique; None without one."""


async def improve_repository(
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    is_known: IsKnown,
) -> MissionContext:
    """Improve a commit that passes its tests, and return the mission with its outcome.

    Args:
        request: The request; `improve` names the file or folder.
        policy: The repository's policy.
        checkout: The commit.
        ports: External dependencies.
        is_known: Returns whether an improvement must not be offered again.
    """
    run = await begin(request, policy, checkout, ports)
    stack = AsyncExitStack()
    tree = Tree(lambda: stack.enter_async_context(ports.open_workspace(checkout)))

    async def lost() -> None:
        tree.lost()
        await _close(stack, request.mission_id)

    run.steps.lost = lost
    try:
        trouble = await _improved(run, tree, is_known)
    except Ended as ended:
        trouble = ended.trouble
    finally:
        await _close(stack, request.mission_id)
        await run.steps.close()
    return run.finish(trouble)


async def _close(stack: AsyncExitStack, mission_id: str) -> None:
    try:
        await stack.aclose()
    except (SandboxError, MetaAgentError) as error:
        log.warning("closing a workspace failed: %s", error.message, extra={"mission": mission_id})


async def _improved(run: Run, tree: Tree, is_known: IsKnown) -> Trouble:
    """Try improvements until one is verified; return the mission's end."""
    baseline = await run.stage("baseline", Baseline, lambda: _measure(tree))
    report = baseline.report
    run.know(
        facts=baseline.facts,
        test_results=report,
        test_command=baseline.facts.recipe.command,
        acceptance_criteria=_criteria(),
    )
    if not report.success or not (report.passing or not report.knows_tests):
        reason = f"the tests do not pass without any change: {report.summary}"
        raise end(Outcome.NO_FIX, reason, advice="repair them first: `/metaagent fix`")
    found = await run.stage("propose", FoundImprovements, lambda: _find(run, tree, is_known))
    if not found.found:
        raise end(Outcome.NO_FIX, "; ".join((found.why_none, *found.notes)))
    refused = []
    for number, one in enumerate(found.found, start=1):
        run.begin_iteration()
        run.note(**_described(one, number, found.notes))
        reason = await _try(run, tree, one)
        run.end_iteration()
        if not reason:
            return Trouble(outcome=Outcome.IMPROVED, reason=one.improvement.reason)
        refused.append(f"{one.improvement.title}: {reason}")
    return Trouble(outcome=Outcome.NO_FIX, reason=f"no improvement passed: {'; '.join(refused)}")


async def _measure(tree: Tree) -> Baseline:
    workspace = await tree.at()
    facts = await workspace.facts()
    return Baseline(facts=facts, report=bounded(await workspace.run_tests()))


def _criteria() -> tuple[AcceptanceCriterion, ...]:
    checks = {
        CHECK_SUITE: "the whole command passes in every run",
        CHECK_COLLECTED: "no test is missing or skipped",
        CHECK_PATHS: "only allowed files are edited",
    }
    return tuple(
        AcceptanceCriterion(
            id=f"AC-{number}", description=text, type=CriterionType.UNIT, check=check
        )
        for number, (check, text) in enumerate(checks.items(), start=1)
    )


async def _find(run: Run, tree: Tree, is_known: IsKnown) -> FoundImprovements:
    """Find improvements by a model, if there is one, and by rules."""
    files = await _read_tree(tree)
    paths, why_none = _wanted_paths(run, files)
    if not paths:
        return FoundImprovements(why_none=why_none)
    found: list[FoundImprovement] = []
    work = ModelWork(run.mind)
    allowed = frozenset(run.context.policy.rungs) & frozenset(run.context.request.rungs)
    if Rung.MODEL in allowed and run.mind.has(Role.JUDGE) and run.mind.has(Role.FIX):
        one = await _find_by_model(run, work, paths, files)
        if one is not None and not await is_known(_diff(one, files)):
            found.append(one)
    proposed = find_by_rules(paths, files) if Rung.TOOLS in allowed else iter(())
    for improvement, content in _bounded(proposed):
        old = files[improvement.path].content.decode()
        one = FoundImprovement(improvement=improvement, content=content.decode(), old=old)
        if len(found) < _TRIED and not await is_known(_diff(one, files)):
            found.append(one)
    return FoundImprovements(found=tuple(found[:_TRIED]), notes=tuple(work.notes))


def _diff(one: FoundImprovement, files: dict[str, Original]) -> str:
    path = one.improvement.path
    return make_diff(path, files[path], one.content.encode())


def _bounded(
    proposed: Iterator[tuple[Improvement, bytes]],
) -> Iterator[tuple[Improvement, bytes]]:
    for _, one in zip(range(_FOUND), proposed, strict=False):
        yield one


async def _read_tree(tree: Tree) -> dict[str, Original]:
    """Return the files of the commit; nothing of them runs here."""
    workspace = await tree.at()
    files = {}
    with tarfile.open(fileobj=io.BytesIO(await workspace.archive())) as archive:
        for entry in archive:
            file = archive.extractfile(entry) if entry.isfile() else None
            if file is not None:
                mode = "100755" if entry.mode & 0o100 else "100644"
                files[entry.name.removeprefix("./")] = Original(content=file.read(), mode=mode)
    return files


def _wanted_paths(run: Run, files: dict[str, Original]) -> tuple[tuple[str, ...], str]:
    """Return the files to improve, and the reason if there are none."""
    wanted = (run.context.request.improve or "").strip("/")
    if wanted in files:
        if reason := why_not(wanted, files):
            return (), f"{wanted} cannot be improved: {reason}"
        paths: tuple[str, ...] = (wanted,)
    else:
        inside, paths = find_files(wanted, files)
        if not inside:
            return (), f"the commit has no Python file{f' at {wanted}' if wanted else ''}"
    permitted = tuple(path for path in paths if allows(run.context.policy, (path,)))
    return permitted, "no Python file there can be improved and may be changed"


async def _find_by_model(
    run: Run, work: ModelWork, paths: tuple[str, ...], files: dict[str, Original]
) -> FoundImprovement | None:
    """Return a model's improvement of one file; each mission asks about another one."""
    digest = hashlib.sha256(run.context.mission_id.encode()).digest()
    path = paths[int.from_bytes(digest[:4], "big") % len(paths)]
    hint = run.context.request.hint
    try:
        found = await propose_by_model(work, path, files, context=hint, earlier=())
    except ModelError as error:
        work.notes.append(f"no improvement by a model: {error.message}")
        return None
    if found is None:
        return None
    improvement, content = found
    old = files[path].content.decode()
    return FoundImprovement(improvement=improvement, content=content.decode(), old=old)


def _described(
    one: FoundImprovement, number: int, notes: tuple[str, ...]
) -> dict[str, Diagnosis | Candidate | FixAttempt]:
    """Return the stages of an iteration that the improvement itself determines."""
    improvement = one.improvement
    name = f"improve {improvement.path} {improvement.rule or improvement.title}"
    candidate = Candidate(
        id=f"improvement-{number}",
        rung=Rung.TOOLS if improvement.rule else Rung.MODEL,
        fixer="rules" if improvement.rule else "model",
        template=improvement.rule.replace("-", "_"),
        title=improvement.title,
        explanation=improvement.reason,
        changes=(
            FileChange(action=ChangeAction.REPLACE, path=improvement.path, content=one.content),
        ),
        candidates_tried=1,
        # People ask for improvements, and nothing is pushed without their review.
        confident=True,
    )
    diagnosis = Diagnosis(
        by="rules" if improvement.rule else "model",
        kind=FailureKind.LINT,
        title=f"{improvement.path}: {improvement.title}",
        cause=improvement.reason,
        failures=(),
        confidence=1.0,
        # The same improvement of another commit gets the same branch.
        fingerprint=hashlib.sha256(name.encode()).hexdigest()[:16],
    )
    attempt = FixAttempt(
        candidates=(candidate,), candidates_tried=1, notes=notes, rungs=(int(candidate.rung),)
    )
    return {"diagnosis": diagnosis, "attempt": attempt, "candidate": candidate}


async def _try(run: Run, tree: Tree, one: FoundImprovement) -> str:
    """Evaluate and verify an improvement; return the reason against it, or an empty string."""
    improvement, candidate = one.improvement, run.context.iterations[-1].candidate
    if candidate is None:
        return "it has no change"

    async def evaluated() -> Judged:
        return await _evaluate(run, tree, one)

    found = await run.stage("evaluate", Judged, evaluated, detail=improvement.title)
    if reason := Evaluation(checks=found.checks).reason:
        return reason
    attempt = run.context.iterations[-1].attempt or FixAttempt()
    passed = ", ".join(check.name for check in found.checks)
    run.note(attempt=attempt.with_(notes=(*attempt.notes, f"passed before the tests: {passed}")))

    async def verified() -> Verification:
        return await verify_fix(
            candidate, run.context, run.checkout, run.ports.open_workspace, clock=run.ports.clock
        )

    proof = await run.stage("verify-1", Verification, verified, detail=improvement.title)
    tests = Check(name="tests", passed=proof.green, detail=proof.reason)
    old, new = one.old.encode(), one.content.encode()
    score, reasons = score_by_rules(improvement, old, new, (*found.checks, tests))
    # A model can lower a score, and never raise it.
    score, reasons = min((score, reasons), found.said) if found.said else (score, reasons)
    evaluation = with_critique((*found.checks, tests), score, reasons, THRESHOLD)
    if evaluation.reason:
        run.note(verification=proof.with_(green=False, reason=evaluation.reason))
        return evaluation.reason
    by: By = "model" if found.said and found.said[0] == score else "rules"
    review = ChangeReview(by=by, score=score, justification=reasons)
    run.note(verification=proof.with_(review=review))
    run.know(acceptance_criteria=proof.criteria)
    return ""


async def _evaluate(run: Run, tree: Tree, one: FoundImprovement) -> Judged:
    """Return the guard, the compilation, the self-test and a model's critique."""
    improvement, files = one.improvement, await _read_tree(tree)
    old, new = files[improvement.path], one.content.encode()
    plan = EvaluationPlan(
        repository_id=run.context.request.memory_key,
        hints=run.checkout.hints,
        has_tests=False,
        self_test_timeout_s=_SELF_TEST_S,
        policy=run.context.policy,
    )
    found = await evaluate(
        improvement,
        new,
        files,
        checkout=run.checkout,
        plan=plan,
        open_workspace=run.ports.open_workspace,
    )
    said = None
    if not improvement.rule and Evaluation(checks=found.checks).accepted:
        diff = make_diff(improvement.path, old, new)
        said = await critique_by_model(ModelWork(run.mind), improvement, old.content, diff)
    return Judged(checks=found.checks, said=said)
