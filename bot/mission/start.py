"""How a mission begins: a pending context with its budget, and the tree an earlier mission left."""

from bot.domain.mission import Budget, MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from bot.mission.mind import Billed
from bot.mission.reports import bounded
from bot.mission.run import MissionPorts, Run
from bot.mission.steps import Steps, end
from bot.mission.tree import Tree
from sandbox.types import Checkout, FileChange, Frozen, LogReading, TestReport


class _Started(Frozen):
    """When a mission began; remembered, so that a resumed one began then too."""

    created_at: str


async def begin(
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    ci_log: LogReading | None = None,
) -> Run:
    """A mission that has not done anything yet.

    Args:
        request: What asked for it.
        policy: What the repository allows.
        checkout: The failing commit.
        ports: Everything from outside.
        ci_log: What the red job's log says.
    """
    pending = MissionContext(
        mission_id=request.mission_id,
        request=request,
        policy=policy,
        created_at="",
        target_path=request.repository.full_name if request.repository else request.folder or "",
        test_command=request.command or policy.test_command or "",
        ci_log=ci_log,
        budget=Budget(
            iterations=ports.limits.iterations,
            seconds=min(ports.limits.mission_wall_s, policy.limits.seconds_per_mission or ports.limits.mission_wall_s),
            money_usd=policy.limits.usd_per_mission,
        ),
    )

    steps = Steps(request.mission_id, ports.checkpoint, ports.clock, Billed(ports.mind, pending.budget))
    steps.at_terminal = request.trigger is Trigger.COMMAND_LINE

    async def started() -> _Started:
        await ports.progress.stage(pending, "triage")
        return _Started(created_at=ports.clock.now().isoformat())

    start = await steps.run("start", _Started, started)
    steps.meter = ports.meter  # from here on a limit is an outcome that the loop can tell
    return Run(pending.with_(created_at=start.created_at), checkout, ports, steps)


async def run_on(run: Run, tree: Tree, changes: tuple[FileChange, ...]) -> TestReport:
    """The whole command on the tree an earlier mission left.

    Args:
        run: The mission.
        tree: Its workspace.
        changes: What the earlier mission changed.

    Raises:
        Ended: nothing is red there any more; the earlier mission should have said so.
    """

    async def again() -> TestReport:
        workspace = await tree.at(changes)
        return bounded(await workspace.run_tests())

    report = await run.steps.run("run-on", TestReport, again)
    if not report.failing:
        raise end(Outcome.NO_FIX, f"nothing fails by name on the tree to start from: {report.summary}")
    return report
