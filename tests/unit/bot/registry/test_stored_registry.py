"""What only the registry in a database does: it survives, and it says what is wrong with its file."""

from pathlib import Path

import pytest

from bot.domain.registry import FixState, Switch
from bot.errors import StoreError
from bot.ledger.pauses import RUNNING
from bot.registry.stored import StoredRegistry
from bot.store.opening import FILE
from tests.contract.test_registry import HERE, a_fix, a_live_mission, a_proposal
from tests.databases import a_database

pytestmark = pytest.mark.anyio
MOMENT = "2025-01-02T03:04:05+00:00"


async def test_what_was_noted_is_there_after_a_restart(tmp_path: Path) -> None:
    switch = Switch(repository_id=1, off=True, by="ada")
    await StoredRegistry(a_database(tmp_path)).switch(switch)
    assert await StoredRegistry(a_database(tmp_path)).off(1) == switch


async def test_missions_that_ended_long_ago_are_forgotten_and_those_that_did_not_are_found_without_a_look_at_them(
    tmp_path: Path,
) -> None:
    database = a_database(tmp_path)
    registry = StoredRegistry(database)
    for name, year in (("old", 2024), ("new", 2026), ("waits", 2024)):
        await registry.begin(
            a_live_mission(name, branch=name, since=f"{year}-01-02T03:04:05+00:00")
        )
    await registry.end("old")
    await registry.end("new")
    assert await registry.forget(MOMENT, answers_before=MOMENT) == 2, (
        "the mission, and that it was an attempt"
    )
    assert [await registry.attempts(HERE, branch=name) for name in ("old", "new", "waits")] == [
        0,
        1,
        1,
    ]
    assert await registry.last(HERE, branch="old") is None
    assert await registry.last(HERE, branch="new") is not None
    assert [one.mission_id for one in await registry.live(HERE)] == ["waits"]
    plan = await database.do(lambda tx: tx.execute(f"EXPLAIN QUERY PLAN {RUNNING}"))
    assert "live_running" in str(plan)


async def test_a_fix_and_a_proposal_are_forgotten_long_after_somebody_answered(
    tmp_path: Path,
) -> None:
    registry = StoredRegistry(a_database(tmp_path))
    for number, state in enumerate(FixState, start=1):
        await registry.offer(a_fix(number, state=state, at="2024-01-02T03:04:05+00:00"))
    await registry.offer(a_fix(9, state=FixState.CLOSED))
    for name, decided in (("open", ""), ("answered", "apply")):
        await registry.propose(a_proposal(name, decided=decided, at="2024-01-02T03:04:05+00:00"))
    assert await registry.forget(MOMENT, answers_before=MOMENT) == len(FixState) - 1 + 1
    assert {fix.state for fix in await registry.offered(HERE)} == {FixState.OPEN, FixState.CLOSED}
    assert await registry.proposal(HERE, proposal_id="answered") is None
    assert await registry.proposal(HERE, proposal_id="open") is not None


async def test_a_row_of_another_version_is_as_good_as_forgotten(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    registry = StoredRegistry(database)
    await registry.switch(Switch(repository_id=1, off=True, by="ada"))
    assert (
        await database.do(lambda tx: tx.change("""UPDATE switch SET value = '{"turned": "off"}'"""))
        == 1
    )
    assert await registry.off(1) is None


async def test_a_file_that_is_no_database_is_the_operators_to_mend(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no database " * 100)
    with pytest.raises(StoreError, match="database cannot be used") as caught:
        await StoredRegistry(a_database(tmp_path)).end("m-1")
    assert str(tmp_path / FILE) in caught.value.advice
