"""Start a mission: a pending context with its budget, and the tree of an earlier mission."""

from bot.domain.forecast import Forecast
from bot.domain.mission import Budget, MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from bot.mission.failures.reports import bounded
from bot.mission.mind import Billed
from bot.mission.run import MissionPorts, Run
from bot.mission.steps import Steps, end
from bot.mission.tree import Tree
from sandbox.types import Checkout, FileChange, Frozen, LogReading, TestReport


class _Started(Frozen):
    """The start time of a mission; stored, so that a resumed mission keeps it."""

    created_at: str
    forecast: Forecast | None = None


async def begin(
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    ci_log: LogReading | None = None,
) -> Run:
    """Return the mission's initial state.

    Args:
        request: The request.
        policy: The repository's policy.
        checkout: The failing commit.
        ports: External dependencies.
        ci_log: The red job's log as read.
    """
    pending = MissionContext(
        mission_id=request.mission_id,
        request=request,
        policy=policy,
        created_at="",
        target_path=request.place,
        test_command=request.command or policy.test_command or "",
        ci_log=ci_log,
        budget=Budget(
            iterations=ports.limits.iterations,
            seconds=min(
                ports.limits.mission_wall_s,
                policy.limits.seconds_per_mission or ports.limits.mission_wall_s,
            ),
            money_usd=policy.limits.usd_per_mission,
        ),
    )

    steps = Steps(
        request.mission_id, ports.checkpoint, ports.clock, Billed(ports.mind, pending.budget)
    )
    steps.at_terminal = request.trigger is Trigger.COMMAND_LINE

    async def started() -> _Started:
        await ports.progress.stage(pending, "triage")
        forecast = await ports.mind.forecast() if ports.mind is not None else None
        return _Started(created_at=ports.clock.now().isoformat(), forecast=forecast)

    start = await steps.run("start", _Started, started)
    steps.meter = ports.meter  # from here on the loop reports a reached limit as an outcome
    pending = pending.with_(created_at=start.created_at, forecast=start.forecast)
    return Run(pending, checkout, ports, steps)


async def run_on(run: Run, tree: Tree, changes: tuple[FileChange, ...]) -> TestReport:
    """Run the whole command on the tree of an earlier mission.

    Args:
        run: The mission.
        tree: Its workspace.
        changes: The earlier mission's changes.

    Raises:
        Ended: everything is green there; the earlier mission should have reported it.
    """

    async def again() -> TestReport:
        workspace = await tree.at(changes)
        return bounded(await workspace.run_tests())

    report = await run.steps.run("run-on", TestReport, again)
    if not report.failing:
        raise end(
            Outcome.NO_FIX, f"nothing fails by name on the tree to start from: {report.summary}"
        )
    return report
