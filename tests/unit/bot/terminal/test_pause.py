"""`metaagent pause` and `resume`: what is said, what is stored, and what `--drain` waits for."""

import asyncio
import threading
from pathlib import Path

import pytest

from bot.domain.account import Grant, Quota
from bot.errors import StoreError, UsageError
from bot.ledger.pauses import Pauses
from bot.ledger.work import WorkMeter, WorkMeters
from bot.registry import under_way
from bot.registry.stored import StoredRegistry
from bot.settings import Settings
from bot.terminal.pause import PauseOrder, run_pause, run_resume
from tests.accounts import an_account
from tests.builders import a_request
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    database = a_database(tmp_path)
    database.open()
    database.close()
    return Settings(data_dir=tmp_path)


def silent(text: str) -> None:
    raise AssertionError(text)


def a_mission_runs(folder: Path) -> None:
    database = a_database(folder)
    request = a_request(mission_id="m-1")

    async def begin() -> None:
        await under_way.begin(request, StoredRegistry(database), FixedClock())
        await WorkMeter(database, an_account(mission="m-1")).before(
            0.0, Grant(seconds=9.0, limit="its own")
        )

    asyncio.run(begin())
    database.close()


def test_where_no_service_was_nothing_is_paused_and_nothing_made(tmp_path: Path) -> None:
    elsewhere = Settings(data_dir=tmp_path / "typo")
    with pytest.raises(StoreError, match="no service keeps its database in"):
        run_pause(PauseOrder(), elsewhere, silent)
    with pytest.raises(StoreError, match="no service keeps its database in"):
        run_resume("", elsewhere)
    assert not (tmp_path / "typo").exists()


def test_pausing_is_stored_with_its_reason_and_ended_by_resuming(
    settings: Settings, tmp_path: Path
) -> None:
    said = run_pause(PauseOrder(why=" an upgrade "), settings, silent)
    assert said.splitlines() == [
        "everything is paused by the operator (an upgrade); `metaagent resume` lets missions begin again",
        "no mission runs",
    ]
    run_pause(PauseOrder(place="Acme/Shop", now=True), settings, silent)
    database = a_database(tmp_path)
    everything, place = asyncio.run(Pauses(database).all())
    database.close()
    assert (everything.now, place.place, place.now) == (False, "acme/shop", True)
    assert run_resume("", settings) == (
        "missions begin again in every place\nstill: acme/shop is paused by the operator"
    )
    assert run_resume("acme/shop", settings) == "missions begin again in acme/shop"
    assert run_resume("acme", settings) == "acme was not paused"


def test_what_runs_is_named(settings: Settings, tmp_path: Path) -> None:
    a_mission_runs(tmp_path)
    assert run_pause(PauseOrder(), settings, silent).endswith("m-1 runs on")
    assert run_pause(PauseOrder(now=True), settings, silent).endswith("m-1 is being stopped")
    assert run_pause(PauseOrder(place="nobody"), settings, silent).endswith("no mission runs")


def test_draining_comes_back_when_nothing_runs_any_more(settings: Settings, tmp_path: Path) -> None:
    a_mission_runs(tmp_path)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)

        def end() -> None:
            database = a_database(tmp_path)
            asyncio.run(StoredRegistry(database).end("m-1"))
            database.close()

        threading.Thread(target=end).start()

    assert run_pause(PauseOrder(drain=True), settings, tell).endswith("no mission runs")
    assert told == ["waiting for m-1"]


def test_draining_waits_for_no_mission_that_failed_and_is_in_line_again(
    settings: Settings, tmp_path: Path
) -> None:
    a_mission_runs(tmp_path)
    database = a_database(tmp_path)

    async def fail_and_ask_again() -> None:
        registry = StoredRegistry(database)
        await registry.end("m-1")
        await WorkMeters(database, Quota(), FixedClock()).give_back("m-1")
        await under_way.begin(a_request(mission_id="m-1"), registry, FixedClock())

    asyncio.run(fail_and_ask_again())
    database.close()
    assert run_pause(PauseOrder(drain=True), settings, silent).endswith("no mission runs")


@pytest.mark.parametrize("place", ["acme/shop/x", "/acme", "acme shop"])
def test_what_is_no_place_is_told(place: str, settings: Settings) -> None:
    with pytest.raises(UsageError, match="no place"):
        run_resume(place, settings)
