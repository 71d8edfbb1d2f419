"""What every Registry keeps to, the fake and the real one."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.registry import (
    FixState,
    InstallationState,
    LiveMission,
    OfferedFix,
    Proposal,
    Switch,
)
from bot.ports import Registry
from bot.registry.stored import StoredRegistry
from bot.store.opening import open_database
from tests.builders import FINGERPRINT, HEAD, a_repository
from tests.databases import BOTH, a_database_of, url_of
from tests.fakes.memory_registry import MemoryRegistry

pytestmark = pytest.mark.anyio

HERE = a_repository().id
ELSEWHERE = a_repository(id=HERE + 1)


@pytest.fixture(params=["memory", *BOTH])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Registry:
    if request.param == "memory":
        return MemoryRegistry()
    return StoredRegistry(a_database_of(request.param, request, tmp_path / "data"))


@pytest.fixture(params=["memory", *BOTH])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Registry, Registry]]:
    """The same registry as two processes have it."""
    if request.param == "memory":
        yield (MemoryRegistry(),) * 2
        return
    url = url_of(request.param, request, tmp_path / "data")
    first, second = open_database(url), open_database(url)
    yield StoredRegistry(first), StoredRegistry(second)
    first.close()
    second.close()


def a_live_mission(name: str = "m-1", **changes: object) -> LiveMission:
    values = {"mission_id": name, "repository": a_repository(), "head_sha": HEAD, "branch": "main"}
    return LiveMission.model_validate(
        values | {"since": f"2026-01-02T03:04:05+00:00 {name}"} | changes
    )


def a_fix(number: int = 1, **changes: object) -> OfferedFix:
    values = {
        "repository": a_repository(),
        "fingerprint": FINGERPRINT,
        "base_branch": "main",
        "head_sha": HEAD,
        "branch": f"metaagent/main/{number}",
        "commit": f"{number:040x}",
        "patch_id": "p" * 16,
        "pull_request": number,
        "mission_id": f"m-{number}",
        "at": f"2026-01-02T03:04:{number:02}+00:00",
    }
    return OfferedFix.model_validate(values | changes)


def a_proposal(name: str = "m-1", **changes: object) -> Proposal:
    values = {
        "proposal_id": name,
        "repository": a_repository(),
        "head_sha": HEAD,
        "pull_request": 7,
    }
    return Proposal.model_validate(values | {"at": f"2026-01-02 {name}"} | changes)


async def test_an_empty_registry_knows_nothing(registry: Registry) -> None:
    assert await registry.live(HERE) == ()
    assert await registry.attempts(HERE, branch="main") == 0
    assert await registry.offered(HERE) == ()
    assert await registry.is_blocked(HERE, "p" * 16) is None
    assert await registry.proposal(HERE, pull_request=7) is None
    assert await registry.off(HERE) is None
    assert await registry.installation(5) is None
    await registry.end("m-1")
    await registry.forgive(HERE, branch="main")


async def test_live_missions_are_found_by_branch_and_pull_request_until_they_end(
    registry: Registry,
) -> None:
    first, second = a_live_mission(), a_live_mission("m-2", branch="other", pull_request=7)
    await registry.begin(second)
    await registry.begin(first)
    await registry.begin(a_live_mission("m-3", repository=ELSEWHERE))
    assert await registry.live(HERE) == (first, second)
    assert await registry.live(HERE, branch="main") == (first,)
    assert await registry.live(HERE, pull_request=7) == (second,)
    assert await registry.live(HERE, branch="main", pull_request=7) == ()
    await registry.end("m-1")
    assert await registry.live(HERE) == (second,)


async def test_the_newest_mission_of_a_branch_is_known_also_when_it_ended(
    registry: Registry,
) -> None:
    assert await registry.last(HERE, branch="main") is None
    for name in ("m-1", "m-2"):
        await registry.begin(a_live_mission(name))
        await registry.end(name)
    await registry.begin(a_live_mission("m-3", branch="other"))
    assert await registry.last(HERE, branch="main") == a_live_mission("m-2")
    assert await registry.last(HERE, branch="other") == a_live_mission("m-3", branch="other")
    assert await registry.last(ELSEWHERE.id, branch="main") is None
    await registry.begin(a_live_mission("m-2"))
    assert await registry.live(HERE, branch="main") == (a_live_mission("m-2"),)


async def test_the_same_mission_begun_again_is_one_mission_and_one_attempt(
    registry: Registry,
) -> None:
    await registry.begin(a_live_mission())
    again = a_live_mission(pull_request=9)
    await registry.begin(again)
    assert await registry.live(HERE) == (again,)
    assert await registry.attempts(HERE, branch="main") == 1


async def test_attempts_count_automatic_missions_of_a_branch_until_forgiven(
    registry: Registry,
) -> None:
    for name in ("m-1", "m-2"):
        await registry.begin(a_live_mission(name))
        await registry.end(name)
    await registry.begin(a_live_mission("asked", requested_by="ada"))
    await registry.begin(a_live_mission("other", branch="other"))
    await registry.begin(a_live_mission("nowhere", branch=None))
    assert await registry.attempts(HERE, branch="main") == 2
    await registry.forgive(HERE, branch="main")
    assert await registry.attempts(HERE, branch="main") == 0
    assert await registry.attempts(HERE, branch="other") == 1
    assert await registry.attempts(ELSEWHERE.id, branch="main") == 0


async def test_offered_fixes_come_newest_first_and_narrowed(registry: Registry) -> None:
    old, new, other = a_fix(1), a_fix(2), a_fix(3, fingerprint="other", state=FixState.MERGED)
    for fix in (new, old, other, a_fix(4, repository=ELSEWHERE)):
        await registry.offer(fix)
    assert await registry.offered(HERE) == (other, new, old)
    assert await registry.offered(HERE, fingerprint=FINGERPRINT) == (new, old)
    assert await registry.offered(HERE, state=FixState.MERGED) == (other,)
    assert await registry.offered(HERE, pull_request=2, state=FixState.OPEN) == (new,)


async def test_the_same_fix_again_replaces_it(registry: Registry) -> None:
    await registry.offer(a_fix(1))
    await registry.offer(a_fix(1, state=FixState.MERGED, note="by ada"))
    assert await registry.offered(HERE) == (a_fix(1, state=FixState.MERGED, note="by ada"),)


async def test_a_fix_is_revised_as_it_stands(registry: Registry) -> None:
    await registry.offer(a_fix(1))
    await registry.offer(a_fix(2, state=FixState.MERGED))
    merged = await registry.revise(
        a_fix(1).key, lambda fix: fix.with_(state=FixState.MERGED, note="by ada")
    )
    assert merged == a_fix(1, state=FixState.MERGED, note="by ada")
    assert await registry.offered(HERE, state=FixState.MERGED) == (
        a_fix(2, state=FixState.MERGED),
        merged,
    )
    assert await registry.offered(HERE, state=FixState.OPEN) == ()


async def test_a_fix_that_stays_as_it_is_or_is_not_known_is_not_revised(registry: Registry) -> None:
    await registry.offer(a_fix(1))
    assert await registry.revise(a_fix(1).key, lambda fix: fix) is None
    assert await registry.revise(a_fix(2).key, lambda fix: fix.with_(note="never seen")) is None
    assert await registry.offered(HERE) == (a_fix(1),)


async def test_a_revision_that_fails_changes_nothing(registry: Registry) -> None:
    await registry.offer(a_fix(1))

    def fail(_: OfferedFix) -> OfferedFix:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await registry.revise(a_fix(1).key, fail)
    assert await registry.revise(a_fix(1).key, lambda fix: fix.with_(note="later")) == a_fix(
        1, note="later"
    )


async def test_of_two_who_revise_a_fix_at_once_none_loses_the_word_of_the_other(
    two: tuple[Registry, Registry],
) -> None:
    await two[0].offer(a_fix(1))

    def add(fix: OfferedFix) -> OfferedFix:
        time.sleep(0.01)  # so long the other has every chance to write
        return fix.with_(note=f"{fix.note}x")

    await asyncio.gather(*(registry.revise(a_fix(1).key, add) for registry in two * 5))
    assert await two[1].offered(HERE) == (a_fix(1, note="x" * 10),)


@pytest.mark.parametrize("state", FixState)
async def test_a_change_that_a_person_closed_or_undid_is_blocked(
    registry: Registry, state: FixState
) -> None:
    decided = a_fix(1, state=state)
    await registry.offer(decided)
    await registry.offer(a_fix(2))
    blocked = await registry.is_blocked(HERE, "p" * 16)
    assert blocked == (decided if state in {FixState.CLOSED, FixState.REVERTED} else None)
    assert await registry.is_blocked(HERE, "q" * 16) is None
    assert await registry.is_blocked(ELSEWHERE.id, "p" * 16) is None


async def test_the_newest_open_proposal_of_a_pull_request_is_found(registry: Registry) -> None:
    old, new = a_proposal("m-1"), a_proposal("m-2")
    for proposal in (
        new,
        old,
        a_proposal("m-3", pull_request=8),
        a_proposal("m-4", decided="rejected"),
    ):
        await registry.propose(proposal)
    assert await registry.proposal(HERE, pull_request=7) == new
    await registry.propose(new.with_(decided="applied"))
    assert await registry.proposal(HERE, pull_request=7) == old
    assert await registry.proposal(ELSEWHERE.id, pull_request=7) is None


async def test_open_proposals_of_all_places_are_found_newest_first(registry: Registry) -> None:
    old = a_proposal("m-1", at="2026-01-01")
    new = a_proposal("m-2", pull_request=None, at="2026-01-02")
    for proposal in (new, old, a_proposal("m-3", repository=ELSEWHERE, at="2026-01-03")):
        await registry.propose(proposal)
    await registry.propose(a_proposal("m-4", decided="rejected", at="2026-01-04"))
    assert await registry.undecided(HERE) == (new, old)
    for number in range(60):
        await registry.propose(a_proposal(f"n-{number}", at="2026-01-05"))
    assert len(await registry.undecided(HERE)) == 50


async def test_a_proposal_is_found_by_its_id_also_when_it_is_decided(registry: Registry) -> None:
    decided = a_proposal("m-1", decided="rejected", pull_request=None)
    await registry.propose(decided)
    assert await registry.proposal(HERE, proposal_id="m-1") == decided
    assert await registry.proposal(HERE, proposal_id="m-1", pull_request=7) is None
    assert await registry.proposal(HERE, proposal_id="m-2") is None
    assert await registry.proposal(ELSEWHERE.id, proposal_id="m-1") is None
    assert await registry.proposal(HERE) is None


async def test_a_pull_requests_own_switch_wins_over_the_repositorys(registry: Registry) -> None:
    whole = Switch(repository_id=HERE, off=True, by="ada")
    await registry.switch(whole)
    assert await registry.off(HERE) == whole
    assert await registry.off(HERE, 7) == whole
    await registry.switch(Switch(repository_id=HERE, pull_request=7, off=False, by="bob"))
    assert await registry.off(HERE, 7) is None
    assert await registry.off(HERE, 8) == whole
    await registry.switch(whole.with_(off=False))
    assert await registry.off(HERE) is None
    assert await registry.off(ELSEWHERE.id) is None


async def test_a_pull_request_alone_can_be_turned_off(registry: Registry) -> None:
    mine = Switch(repository_id=HERE, pull_request=7, off=True, by="ada")
    await registry.switch(mine)
    assert await registry.off(HERE, 7) == mine
    assert await registry.off(HERE, 8) is None
    assert await registry.off(HERE) is None


async def test_an_installation_is_as_last_noted(registry: Registry) -> None:
    await registry.note_installation(InstallationState(installation_id=5, account="ada"))
    suspended = InstallationState(
        installation_id=5, account="ada", suspended=True, permissions={"checks": "write"}
    )
    await registry.note_installation(suspended)
    assert await registry.installation(5) == suspended


async def test_many_at_once_lose_no_row(registry: Registry) -> None:
    await asyncio.gather(*(registry.begin(a_live_mission(f"m-{n:02}")) for n in range(30)))
    assert len(await registry.live(HERE)) == 30
    assert await registry.attempts(HERE, branch="main") == 30


async def test_repositories_that_are_off_are_listed_and_pull_requests_are_not(
    registry: Registry,
) -> None:
    assert await registry.switched_off() == {}
    here = Switch(repository_id=HERE, off=True, by="ada", at="2026-01-02")
    await registry.switch(here)
    await registry.switch(Switch(repository_id=ELSEWHERE.id, pull_request=7, off=True, by="ada"))
    assert await registry.switched_off() == {HERE: here}
    await registry.switch(here.with_(off=False))
    assert await registry.switched_off() == {}


async def test_what_is_off_in_a_repository_is_listed_with_its_pull_requests(
    registry: Registry,
) -> None:
    for number, off in ((7, True), (None, True), (8, False)):
        switch = Switch(repository_id=HERE, pull_request=number, off=off, by="ada")
        await registry.switch(switch)
    await registry.switch(Switch(repository_id=ELSEWHERE.id, off=True, by="ada"))
    assert [one.pull_request for one in await registry.turned_off(HERE)] == [None, 7]
