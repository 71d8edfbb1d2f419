"""The bag of services over fakes, for tests that need a few of them."""

from typing import Any

from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.ports import Services
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_queue import MemoryQueue
from tests.fakes.memory_registry import MemoryRegistry


def services(github: Any = None, *, policy: RepositoryPolicy | None = None, **own: Any) -> Services:
    """Empty fakes but for those given; nothing is waited for."""

    async def read_policy(_: RepositoryRef) -> RepositoryPolicy:
        return policy or RepositoryPolicy()

    fakes: dict[str, Any] = {
        "queue": MemoryQueue(),
        "registry": MemoryRegistry(),
        "lessons": MemoryLessons(),
        "clock": FixedClock(),
        "read_policy": read_policy,
        "wind_down_s": 0.0,
    }
    return Services(github=github or FakeGitHub(), **{**fakes, **own})
