"""Rights are given back by whoever is last, in each event loop for itself."""

import asyncio

from bot.domain.request import RepositoryRef
from bot.github.rights import Rights
from tests.builders import a_repository


class Desk:
    """Notes in which event loop what was given back."""

    def __init__(self) -> None:
        self.released: list[tuple[asyncio.AbstractEventLoop, int]] = []
        self.rights = Rights(self.release)

    async def release(self, repository: RepositoryRef) -> None:
        self.released.append((asyncio.get_running_loop(), repository.id))


def test_the_last_one_gives_them_back() -> None:
    desk = Desk()

    async def work() -> None:
        async with desk.rights.held(a_repository()):
            async with desk.rights.held(a_repository()), desk.rights.held(a_repository(id=43)):
                assert desk.released == []
            assert [number for _, number in desk.released] == [43]

    asyncio.run(work())
    assert [number for _, number in desk.released] == [43, 42]


def test_work_in_another_event_loop_holds_nothing_up() -> None:
    desk = Desk()

    async def engine() -> None:
        async with desk.rights.held(a_repository()):
            pass

    async def server() -> None:
        async with desk.rights.held(a_repository()):
            await asyncio.to_thread(asyncio.run, engine())
            assert len(desk.released) == 1

    asyncio.run(server())
    (one, _), (other, _) = desk.released
    assert one is not other
