"""Makes the worlds as git repositories, serves them, and plays missions on them through the real line."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bot.clock import SystemClock
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import Limits, RepositoryPolicy
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.mission.loop import MissionPorts, run_mission
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, GitSource, JobHints
from sandbox.workspace import Sandboxes
from tests.builders import a_request
from tests.fakes.scripted_fixer import KnownLessons
from tests.integration.git_http import GitServer, commit, git
from tests.triage_worlds import bugs, flakes, surroundings
from tests.triage_worlds.world import BUG, World

TEST_WALL_S = 12.0
"""After so long a test counts as hanging in these worlds."""
_TOLD = 8_000


def all_worlds() -> list[World]:
    """Every world, by name."""
    found = [*bugs.worlds(), *flakes.worlds(), *surroundings.worlds()]
    doubled = [name for name, count in Counter(world.name for world in found).items() if count > 1]
    if doubled:
        raise ValueError(f"two worlds have one name: {doubled}")
    return found


def a_spec(**changes: object) -> SandboxSpec:
    """Limits for these worlds."""
    return SandboxSpec.model_validate({"test_wall_s": TEST_WALL_S, **changes})


@dataclass(frozen=True)
class Played:
    """What became of a world."""

    world: World
    context: MissionContext
    seconds: float

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return self.context.outcome or Outcome.ERROR

    @property
    def called(self) -> str:
        """The outcome, as a column of the confusion matrix."""
        return "BUG" if self.outcome in BUG else self.outcome.value

    @property
    def right(self) -> bool:
        """Whether it ended as it must."""
        return self.outcome in self.world.expected

    @property
    def red(self) -> str:
        """The red run that was looked at, for whoever has to find out why a world ended otherwise."""
        report = self.context.triage.report if self.context.triage else None
        return report.model_dump_json(indent=1)[:_TOLD] if report else ""

    @property
    def got_a_fix(self) -> bool:
        """Whether anything was proposed."""
        return self.outcome is Outcome.FIXED or self.context.fix is not None

    @property
    def told(self) -> str:
        """Everything a person is told about the reason."""
        notes = self.context.triage.notes if self.context.triage else ()
        return "\n".join((self.context.reason, self.context.advice, *notes))


class Playground:
    """Where worlds are played.

    Args:
        server: Serves the repositories.
        sandboxes: Where repository code runs.
    """

    def __init__(self, server: GitServer, sandboxes: Sandboxes) -> None:
        self._server = server
        self._sandboxes = sandboxes

    async def play(self, world: World) -> Played:
        """One mission on a world, every value through JSON as a durable engine would."""
        checkout = self._made(world)
        lessons = KnownLessons()
        ports = MissionPorts(
            open_workspace=self._sandboxes.open_workspace,
            fixers=(*tool_fixers(), SearchFixer(lessons)),
            recall=lessons,
            checkpoint=MemoryCheckpoint(through_json=True),
            progress=SilentProgress(),
            clock=SystemClock(),
            limits=Limits.model_validate({"time_limit": 20.0, **world.limits}),
        )
        started = time.perf_counter()
        request = a_request(mission_id=f"m-{world.name}", head_sha=_sha(checkout))
        context = await run_mission(
            request, RepositoryPolicy(), checkout, ports, ci_log=world.ci_log
        )
        return Played(world=world, context=context, seconds=time.perf_counter() - started)

    def _made(self, world: World) -> Checkout:
        """The world as a repository, and what to open of it."""
        folder = self._server.root / world.name
        base = commit(folder, dict(world.base), "before") if world.base is not None else None
        head = commit(folder, dict(world.head), "the failing commit")
        merge = None
        if world.merge is not None:
            git(folder, "checkout", "-q", "-b", "merged")
            merge = commit(folder, dict(world.merge), "merged")
        source = GitSource(
            url=f"{self._server.url}/{world.name}/.git",
            sha=head,
            base_sha=base,
            merge_sha=merge,
            repository_id="worlds",
        )
        hints = JobHints(command=world.command, python=world.python)
        if world.workflow is not None:
            hints = hints.with_(workflow_path=world.workflow, job_name="test", step_name="Test")
        return Checkout(source=source, hints=hints)


def _sha(checkout: Checkout) -> str:
    return checkout.source.sha if isinstance(checkout.source, GitSource) else ""


def served(root: Path) -> Path:
    """A folder to serve."""
    root.mkdir(parents=True, exist_ok=True)
    return root


def confusion(played: Iterable[Played]) -> dict[str, dict[str, int]]:
    """Rows are what is right, columns what a mission said."""
    rows: dict[str, Counter[str]] = {}
    for one in played:
        rows.setdefault(one.world.called, Counter())[one.called] += 1
    return {row: dict(sorted(columns.items())) for row, columns in sorted(rows.items())}
