"""Improve a target in cycles: analyze, implement, evaluate, promote, record."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.domain.counted import counted
from bot.domain.model import ModelCall, Role, total
from bot.domain.model_error import ModelError
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from bot.errors import MetaAgentError
from bot.improve.by_model import ModelWork, critique_by_model, propose_by_model
from bot.improve.critique import score_by_rules, with_critique
from bot.improve.evaluate import EvaluationPlan, evaluate
from bot.improve.history import COPY, History, pack, write_context
from bot.improve.own_plan import plan_for_self, with_fast_checks
from bot.improve.promotion import StoredFix, StoredVersion, hash_of, make_diff, promote, roll_back
from bot.improve.search import find_by_rules
from bot.improve.target import ImprovementTarget, open_target
from bot.improve.values import CycleRecord, CycleStatus, Evaluation, Improvement
from bot.pipeline import MissionServices
from bot.policy.policy_file import read_folder_policy
from bot.ports import Mind
from bot.settings import Settings
from bot.telemetry import set_up_logging
from bot.wiring.mission_services import (
    BuildMissionServices,
    build_mission_services,
    open_mission_services,
)
from sandbox.diffs import Original
from sandbox.errors import SandboxError, SetupFailed
from sandbox.gate import clean
from sandbox.planning import read_folder
from sandbox.types import ArchiveSource, Checkout, JobHints, TestReport, TrustTier

FOLDER = "improve"
"""The folder of all improvements, in the data directory."""
_DIFF = 20_000


@dataclass(frozen=True)
class ImproveOrder:
    """The options of one run."""

    target: str
    command: str | None = None
    cycles: int = 1
    self_test_timeout_s: float = 60.0
    critique_threshold: float = 0.7
    context: str = ""
    """The user's text, context file and logs."""
    notes: tuple[str, ...] = ()
    """Facts about the options, such as texts that were cut."""
    evaluate_only: bool = False


@dataclass
class _Cycles:
    """The state of one run over its cycles."""

    order: ImproveOrder
    target: ImprovementTarget
    plan: EvaluationPlan
    services: MissionServices
    history: History
    mind: Mind | None = None
    calls: list[ModelCall] = field(default_factory=list)
    records: list[CycleRecord] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    baselines: dict[str | None, TestReport] = field(default_factory=dict)
    """The tests of the files as they are, by their command."""
    rejected: set[tuple[str, str, str]] = field(default_factory=set)
    """Path, rule and content of improvements that failed in this run."""


@dataclass(frozen=True)
class ImproveResult:
    """The one object that the command prints."""

    ok: bool
    message: str
    data: dict[str, Any]


def run_improve(
    order: ImproveOrder,
    settings: Settings,
    *,
    build: BuildMissionServices = build_mission_services,
    running: Path | None = None,
) -> ImproveResult:
    """Improve a target.

    Args:
        order: The options.
        settings: All settings.
        build: Builds the external dependencies from settings.
        running: The folder of the running package; None for this one.

    Raises:
        UsageError: the target cannot be improved, or another run is active.
        SandboxError: there is no sandbox.
    """
    set_up_logging(level="warning", secrets=settings.secrets)
    has_tests = order.command is not None
    target = open_target(order.target, settings.sandbox, has_tests=has_tests, running=running)
    history = History(settings.data_dir / FOLDER)
    with history.locked():
        return asyncio.run(_improve(order, target, settings, history, build=build))


def run_rollback(file: str | None, settings: Settings) -> ImproveResult:
    """Restore the version before the newest promotion.

    Args:
        file: Only a version of this file; None takes any.
        settings: All settings.

    Raises:
        UsageError: there is none.
    """
    history = History(settings.data_dir / FOLDER)
    with history.locked():
        path = None if file is None else Path(file).resolve()
        version = roll_back(history.fallback_versions, path)
    if isinstance(version, StoredFix):
        files = [str(one) for one in version.files]
        message = f"{counted(len(files), 'file')} as before the fix again"
        return ImproveResult(ok=True, message=message, data={"file": files[0], "files": files})
    data = {
        "file": str(version.file),
        "sha256": version.old_sha256,
        "code_updated_requires_restart": version.is_self,
    }
    return ImproveResult(
        ok=True, message=f"{version.path} is the previous version again", data=data
    )


async def _improve(
    order: ImproveOrder,
    target: ImprovementTarget,
    settings: Settings,
    history: History,
    *,
    build: BuildMissionServices,
) -> ImproveResult:
    plan = await _make_plan(order, target, settings)
    async with open_mission_services(settings, build) as services:
        mind = _open_mind(services, target, plan)
        run = _Cycles(order, target, plan, services, history, mind)
        for number in range(1, order.cycles + 1):
            record = await _cycle(run, number)
            run.records.append(record)
            if record.improvement is None:
                break
    return _result(run)


def _open_mind(
    services: MissionServices, target: ImprovementTarget, plan: EvaluationPlan
) -> Mind | None:
    """Return the models of this run, whose money is counted as that of one mission."""
    if services.minds is None:
        return None
    request = MissionRequest(
        mission_id=f"improve:{services.clock.now().isoformat()}",
        trigger=Trigger.COMMAND_LINE,
        folder=str(target.root),
        tier=TrustTier.LOCAL,
    )
    mind = services.minds.of(request, plan.policy)
    return mind if mind is not None and mind.has(Role.JUDGE) and mind.has(Role.FIX) else None


async def _make_plan(
    order: ImproveOrder, target: ImprovementTarget, settings: Settings
) -> EvaluationPlan:
    if target.is_self:
        return plan_for_self(
            target.root, is_checkout=target.is_project, timeout_s=order.self_test_timeout_s
        )
    policy = read_folder_policy(target.root) if target.is_project else RepositoryPolicy()
    command = order.command or policy.test_command
    hints = JobHints(command=command, setup=policy.setup, python=policy.python)
    has_tests = command is not None
    if not has_tests and target.is_project:
        folder = await read_folder(str(target.root), settings.sandbox)
        with suppress(SetupFailed):  # no test command is known
            has_tests = bool(folder.recipe(hints).command)
    return EvaluationPlan(
        repository_id=f"improve:{target.root}",
        hints=hints if has_tests else hints.with_(command="true"),
        has_tests=has_tests,
        self_test_timeout_s=order.self_test_timeout_s,
        policy=policy,
    )


async def _cycle(run: _Cycles, number: int) -> CycleRecord:
    """Run one cycle, and write its one line whatever happens."""
    clock = run.services.clock
    started, began = clock.now(), clock.monotonic()
    iteration = run.history.begin(started, number)
    record = CycleRecord(
        id=iteration.name,
        at=started.isoformat(),
        target=run.target.name,
        cycle=number,
        status=CycleStatus.FAILURE,
        reason="interrupted",
        notes=(*run.target.notes, *run.order.notes),
    )
    run.history.note(iteration, record)
    write_context(iteration, tuple(run.records), clean(run.order.context))
    work = None if run.mind is None else ModelWork(run.mind)
    try:
        record = await _try_cycle(run, record, iteration, work)
    except (MetaAgentError, SandboxError) as error:
        record = record.with_(reason=clean(f"{error.message} {error.advice}".strip(), cap=1_000))
    except OSError as error:
        record = record.with_(reason=f"a file could not be written: {error.strerror}")
    if work is not None:
        run.calls += work.calls
        record = _with_costs(record, work)
    record = record.with_(seconds=round(clock.monotonic() - began, 3))
    run.history.end(iteration, record)
    return record


async def _try_cycle(
    run: _Cycles, record: CycleRecord, iteration: Path, work: ModelWork | None
) -> CycleRecord:
    """Find one improvement, evaluate it and promote it."""
    found = None if work is None else await _by_model(run, work, record)
    found = found or next(_by_rules(run), None)
    if found is None:
        return record.with_(reason="nothing to improve was found")
    improvement, content = found
    record = await _try_improvement(
        run, record, iteration, improvement=improvement, content=content, work=work
    )
    if record.status is CycleStatus.FAILURE:
        run.rejected.add((improvement.path, improvement.rule, hash_of(content)))
    return record


def _with_costs(record: CycleRecord, work: ModelWork) -> CycleRecord:
    spent = total(tuple(work.calls))
    cost = None if spent.unpriced_calls else spent.cost_usd
    notes = (*record.notes, *work.notes)
    return record.with_(model_calls=spent.calls, cost_usd=cost, notes=notes)


async def _by_model(
    run: _Cycles, work: ModelWork, record: CycleRecord
) -> tuple[Improvement, bytes] | None:
    """Return a model's improvement of the next file; None leaves the cycle to the rules."""
    paths = run.target.paths
    path = paths[(record.cycle - 1) % len(paths)]
    try:
        return await propose_by_model(
            work, path, run.target.tree, context=run.order.context, earlier=tuple(run.records)
        )
    except ModelError as error:
        work.notes.append(f"no improvement by a model: {clean(error.message, cap=300)}")
        return None


def _by_rules(run: _Cycles) -> Iterator[tuple[Improvement, bytes]]:
    for improvement, content in find_by_rules(run.target.paths, run.target.tree):
        if (improvement.path, improvement.rule, hash_of(content)) not in run.rejected:
            yield improvement, content


async def _try_improvement(
    run: _Cycles,
    record: CycleRecord,
    iteration: Path,
    *,
    improvement: Improvement,
    content: bytes,
    work: ModelWork | None,
) -> CycleRecord:
    target, path = run.target, improvement.path
    old = target.tree[path]
    record = record.with_(
        improvement=improvement,
        file=str(target.root / path),
        old_sha256=hash_of(old.content),
        new_sha256=hash_of(content),
    )
    plan = with_fast_checks(run.plan, path, target.tree) if target.is_self else run.plan
    archive = pack(target.tree)
    source = ArchiveSource(content=archive, repository_id=plan.repository_id)
    (iteration / COPY).write_bytes(archive)
    (iteration / "improved.py").write_bytes(content)
    diff = make_diff(path, old, content)
    tested = await evaluate(
        improvement,
        content,
        target.tree,
        checkout=Checkout(source=source, tier=TrustTier.LOCAL, hints=plan.hints),
        plan=plan,
        open_workspace=run.services.open_workspace,
        # The files are those that the cycle before left, so its runs count.
        baseline=run.baselines.get(plan.hints.command),
    )
    checks = tested.checks
    run.baselines = {plan.hints.command: tested.before} if tested.before is not None else {}
    evaluation = Evaluation(checks=checks)
    if evaluation.accepted:
        score, reasons = score_by_rules(improvement, old.content, content, checks)
        if work is not None and not improvement.rule:
            said = await critique_by_model(work, improvement, old.content, diff)
            # A model can lower a score, and never raise it.
            score, reasons = min((score, reasons), said) if said is not None else (score, reasons)
        evaluation = with_critique(checks, score, reasons, run.order.critique_threshold)
    record = record.with_(evaluation=evaluation)
    if not evaluation.accepted:
        return record.with_(reason=evaluation.reason)
    run.diffs.append(diff)
    run.baselines = {plan.hints.command: tested.after} if tested.after is not None else {}
    if run.order.evaluate_only:
        # Later cycles build on it, as they would after a promotion.
        _adopt(run, path, old, content)
        return record.with_(status=CycleStatus.SUCCESS_EVALUATED, reason="")
    return _promoted(run, record, iteration, old=old, content=content)


def _promoted(
    run: _Cycles, record: CycleRecord, iteration: Path, *, old: Original, content: bytes
) -> CycleRecord:
    path = record.improvement.path if record.improvement is not None else ""
    version = StoredVersion(
        id=record.id,
        root=str(run.target.root),
        path=path,
        mode=old.mode,
        old_sha256=record.old_sha256,
        new_sha256=record.new_sha256,
        is_self=run.target.is_self,
    )
    run.history.note(iteration, record)
    backup = promote(run.history.fallback_versions, version, old.content, content)
    _adopt(run, path, old, content)
    return record.with_(status=CycleStatus.SUCCESS_PROMOTED, reason="", backup=str(backup))


def _adopt(run: _Cycles, path: str, old: Original, content: bytes) -> None:
    tree = {**run.target.tree, path: old.with_(content=content)}
    run.target = replace(run.target, tree=tree)


def _result(run: _Cycles) -> ImproveResult:
    done = [one for one in run.records if one.status is not CycleStatus.FAILURE]
    promoted = [one for one in done if one.status is CycleStatus.SUCCESS_PROMOTED]
    last = run.records[-1]
    titles = [f"{one.improvement.path}: {one.improvement.title}" for one in done if one.improvement]
    word = "promoted" if promoted else "evaluated"
    message = f"{word}: {'; '.join(titles)}" if done else last.reason
    data = {
        "target": run.target.name,
        "cycles": [record.model_dump(mode="json") for record in run.records],
        "diffs": [clean(diff, cap=_DIFF) for diff in run.diffs],
        "code_updated_requires_restart": bool(promoted) and run.target.is_self,
        "history": str(run.history.file),
        "model_calls": total(tuple(run.calls)).calls,
    }
    return ImproveResult(ok=bool(done), message=clean(message, cap=1_000), data=data)
