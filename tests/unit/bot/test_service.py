"""What a service needs besides the services of missions."""

import asyncio
import signal
from collections.abc import Callable

import pytest

from bot.domain.registry import LiveMission
from bot.errors import QueueError, SettingsError
from bot.github.gateway import GitHubGateway
from bot.registry.stored import StoredRegistry
from bot.service import Role, Service, start_endless
from bot.settings import Settings
from bot.store.opening import open_database
from bot.wiring.github import build_github
from tests.builders import a_repository, a_request
from tests.github_server.server import new_private_key
from tests.postgres import Server

Make = Callable[..., Settings]


@pytest.fixture(scope="module")
def key() -> str:
    return new_private_key()


def test_github_needs_an_app(settings: Make, key: str) -> None:
    with pytest.raises(SettingsError, match="no App id"):
        build_github(settings(private_key=key))
    assert isinstance(build_github(settings(private_key=key, app_id="7")), GitHubGateway)


@pytest.mark.parametrize(("given", "numeric"), [("123", 123), ("Iv23liABC", None)])
def test_an_app_is_known_by_its_number_or_by_its_slug_alone(
    settings: Make, key: str, given: str, numeric: int | None
) -> None:
    service = Service(
        settings(app_id=given, private_key=key, webhook_secret="s", app_slug="mender")
    )
    assert (service.own.app_id, service.own.slug) == (numeric, "mender")


@pytest.mark.anyio
async def test_endless_work_that_a_fault_ends_is_in_the_log_and_stops_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)

    async def broken() -> None:
        raise RuntimeError("nobody foresaw this")

    await asyncio.wait(
        [start_endless(broken(), "sweep"), stopped := start_endless(asyncio.sleep(60), "other")],
        timeout=0.05,
    )
    async with asyncio.timeout(60):
        await stop.wait()
    stop.clear()
    stopped.cancel()
    await asyncio.wait([stopped], timeout=60)
    await asyncio.sleep(0.05)
    assert not stop.is_set(), "one that was cancelled does not"
    asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
    (record,) = caplog.records
    assert record.levelname == "CRITICAL"
    assert record.getMessage() == "background task sweep failed; stopping, to be restarted"
    assert "nobody foresaw" in str(record.exc_info)


def test_a_database_the_engine_cannot_use_is_named_at_the_start(settings: Make, key: str) -> None:
    given = settings(
        app_id="1", private_key=key, webhook_secret="s", database_url="mysql://db/metaagent"
    )
    with pytest.raises(QueueError, match="SQLite"):
        Service(given)


@pytest.mark.parametrize("role", [Role.WEB, Role.WORKER])
def test_one_process_of_several_needs_postgresql(settings: Make, key: str, role: Role) -> None:
    given = settings(app_id="1", private_key=key, webhook_secret="s")
    with pytest.raises(SettingsError, match=f"metaagent {role}"):
        Service(given, role)


def test_a_worker_needs_no_webhook_secret(settings: Make, key: str) -> None:
    Service(
        settings(app_id="1", private_key=key, database_url="postgresql://db/metaagent"), Role.WORKER
    )


@pytest.mark.anyio
async def test_an_end_that_was_not_written_down_is_when_it_is_tidied_up(
    settings: Make, key: str
) -> None:
    given = settings(app_id="1", private_key=key, webhook_secret="s", sweep_s="0")
    service = Service(given)
    await service.start()
    try:
        registry = StoredRegistry(open_database(given.engine_url, given.data_dir))
        repository, long_ago = a_repository(), "2020-01-02T03:04:05+00:00"
        await registry.begin(
            LiveMission(mission_id="m-1", repository=repository, branch="b", since=long_ago)
        )
        await service._tidy()
        assert await registry.live(repository.id) == ()
    finally:
        await service.stop()


class Stuck:
    """An engine that cannot be stopped."""

    async def close(self) -> None:
        raise QueueError("the database is away")


@pytest.mark.anyio
async def test_a_part_that_cannot_be_stopped_leaves_no_other_running(
    settings: Make, key: str
) -> None:
    service = Service(settings(app_id="1", private_key=key, webhook_secret="s"))
    await asyncio.to_thread(service.inbox.open)
    service.engine = Stuck()  # type: ignore[assignment]
    with pytest.raises(QueueError, match="away"):
        await service.stop()
    with pytest.raises(QueueError, match="closed"):
        await service.inbox.waiting()


@pytest.mark.slow
@pytest.mark.anyio
async def test_web_processes_may_be_the_first_on_a_new_database(
    settings: Make, key: str, postgres: Server
) -> None:
    given = settings(
        app_id="1",
        private_key=key,
        webhook_secret="s",
        database_url=postgres.new_database(),
        sweep_s="0",
    )
    webs = [Service(given, Role.WEB) for _ in range(2)]
    await asyncio.gather(*(web.start() for web in webs))
    try:
        for number, web in enumerate(webs):
            request = a_request(mission_id=f"m-{number}")
            assert (
                await web.inbox.accept(f"d-{number}", "check_run", "completed", request)
            ).result == "queued"
            async with asyncio.timeout(120):
                while await web.inbox.waiting():  # noqa: ASYNC110 -- the row is another thread's
                    await asyncio.sleep(0.02)
            again = await webs[1 - number].inbox.accept(
                f"e-{number}", "check_run", "completed", request
            )
            assert again.result == "duplicate"
        assert {one.mission_id for one in await webs[0].engine.under_way()} == {"m-0", "m-1"}
        assert all(web.is_working for web in webs)
    finally:
        await asyncio.gather(*(web.stop() for web in webs))
