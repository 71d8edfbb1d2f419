"""The world most loop tests repair: a module with two bugs, its tests, and fixers that know the answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, RungNote
from bot.domain.policy import Limits, RepositoryPolicy
from bot.mission.loop import MissionPorts, run_mission
from bot.ports import Checkpoint, Mind, OpenWorkspace, Progress
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from sandbox.types import Checkout, GitSource, LogReading, TestReport
from tests.builders import BASE, HEAD, a_candidate, a_change, a_request
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_fixer import KnownLessons, ScriptedFixer
from tests.fakes.scripted_workspace import Asked, World, a_run

Value = TypeVar("Value", bound=BaseModel)
ADD = "tests/test_math.py::test_add"
EVEN = "tests/test_math.py::test_even"
SUB = "tests/test_math.py::test_sub"
PATH = "calc.py"
BROKEN = "def add(a, b):\n    return a - b\n\n\ndef even(n):\n    return n % 2 == 1\n\n\ndef sub(a, b):\n    return a - b\n"
ADDS = BROKEN.replace("a - b", "a + b", 1)
EVENS = BROKEN.replace("== 1", "== 0")
MENDED = ADDS.replace("== 1", "== 0")
TESTS = "from calc import add, even, sub\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def outcomes(source: str) -> dict[str, str]:
    """What pytest would say about a state of calc.py."""
    return {
        ADD: ""
        if "def add(a, b):\n    return a + b" in source
        else "AssertionError: assert -1 == 3\n + where -1 = add(1, 2)",
        EVEN: "" if "== 0" in source else "AssertionError: assert False\n + where False = even(2)",
        SUB: ""
        if "def sub(a, b):\n    return a - b" in source
        else "AssertionError: assert 3 == -1",
    }


def honest(asked: Asked) -> TestReport:
    """Runs that depend on nothing but the files."""
    return a_run(outcomes(asked.files[PATH]), targets=asked.targets)


def a_world(source: str = BROKEN, base: str | None = MENDED, **changes: Any) -> World:
    """A red head and a green base."""
    files = {PATH: source, "tests/test_math.py": TESTS}
    on_base = None if base is None else {**files, PATH: base}
    return World(**{"files": files, "run": honest, "base": on_base, **changes})


def a_fix(content: str, **changes: Any) -> Candidate:
    """The whole new content of calc.py."""
    return a_candidate(
        **{"id": f"c-{hash(content) % 1000}", "changes": (a_change(PATH, content),), **changes}
    )


def one_step_at_a_time(
    files: dict[str, str], context: MissionContext
) -> list[Candidate | RungNote]:
    """Mends the first bug that is still there."""
    source = files[PATH]
    if "return a + b" not in source:
        return [a_fix(source.replace("a - b", "a + b", 1))]
    if "== 1" in source:
        return [a_fix(source.replace("== 1", "== 0"))]
    return [RungNote(reason="nothing left to mend")]


@dataclass
class Stage:
    """Everything around one mission."""

    world: World = field(default_factory=a_world)
    fixers: tuple[ScriptedFixer, ...] = field(
        default_factory=lambda: (ScriptedFixer(one_step_at_a_time),)
    )
    recall: KnownLessons = field(default_factory=KnownLessons)
    checkpoint: Checkpoint = field(default_factory=lambda: MemoryCheckpoint(through_json=True))
    clock: FixedClock = field(default_factory=FixedClock)
    progress: Progress = field(default_factory=SilentProgress)
    limits: Limits = field(default_factory=Limits)
    policy: RepositoryPolicy = field(default_factory=RepositoryPolicy)
    mind: Mind | None = None
    door: OpenWorkspace | None = None
    """Opens something else than the world's own workspaces."""

    @property
    def ports(self) -> MissionPorts:
        return MissionPorts(
            open_workspace=self.door or self.world.open_workspace,
            fixers=self.fixers,
            recall=self.recall,
            checkpoint=self.checkpoint,
            progress=self.progress,
            clock=self.clock,
            limits=self.limits,
            mind=self.mind,
        )

    async def play(
        self, *, ci_log: LogReading | None = None, checkout: Checkout | None = None, **request: Any
    ) -> MissionContext:
        """Run the mission."""
        where = checkout or CHECKOUT
        context = await run_mission(
            a_request(**request), self.policy, where, self.ports, ci_log=ci_log
        )
        assert self.world.open_now == 0, "every workspace is closed"
        assert context.outcome is not None
        return context


CHECKOUT = Checkout(
    source=GitSource(url="https://git.example/r", sha=HEAD, base_sha=BASE, repository_id="42")
)


class Killed(Exception):
    """The process died."""


class Recording:
    """A durable checkpoint in a dictionary that dies after a step."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.ran: list[str] = []
        self.dies_after: str | None = None

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        if name not in self.kept:
            self.ran.append(name)
            self.kept[name] = (await call()).model_dump_json()
            if name == self.dies_after:
                raise Killed
        return returns.model_validate_json(self.kept[name])
