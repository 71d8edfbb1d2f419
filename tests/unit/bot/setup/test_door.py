"""One code lets one browser in, and only that browser comes back from GitHub."""

import pytest

from bot.setup.door import STATE_LIFE_S, Door
from tests.fakes.fixed_clock import FixedClock


@pytest.fixture
def door() -> Door:
    return Door(FixedClock())


def entered(door: Door) -> str:
    session = door.enter(door.code)
    assert session is not None
    return session


def test_a_wrong_code_lets_nobody_in(door: Door) -> None:
    for wrong in ("", "x", door.code[:-1], door.code + "x", "\udcff", "ü"):
        assert door.enter(wrong) is None
    assert not door.is_used
    assert not door.knows("")
    assert not door.knows(None)


def test_the_code_works_once(door: Door) -> None:
    session = entered(door)
    assert door.enter(door.code) is None
    assert door.knows(session)
    assert not door.knows(door.code)


def test_two_processes_have_two_codes_that_cannot_be_guessed() -> None:
    codes = {Door(FixedClock()).code for _ in range(50)}
    assert len(codes) == 50
    assert all(len(code) == 32 for code in codes)


def test_a_way_to_github_is_gone_once(door: Door) -> None:
    session = entered(door)
    state = door.leave()
    assert door.returns(session, state)
    assert not door.returns(session, state)


def test_a_wrong_state_ends_the_way(door: Door) -> None:
    session = entered(door)
    state = door.leave()
    assert not door.returns(session, "guess")
    assert not door.returns(session, state)


def test_a_stranger_neither_comes_back_nor_ends_the_way(door: Door) -> None:
    session = entered(door)
    state = door.leave()
    assert not door.returns(None, state)
    assert not door.returns("stranger", state)
    assert door.returns(session, state)


def test_an_earlier_way_is_void(door: Door) -> None:
    session = entered(door)
    first, second = door.leave(), door.leave()
    assert first != second
    assert not door.returns(session, first)


def test_a_way_that_takes_an_hour_is_too_long() -> None:
    door = Door(FixedClock(step=STATE_LIFE_S))
    session = entered(door)
    assert not door.returns(session, door.leave())


def test_a_closed_door_knows_nobody(door: Door) -> None:
    session = entered(door)
    state = door.leave()
    door.is_closed = True
    assert not door.knows(session)
    assert not door.returns(session, state)
    assert Door(FixedClock()).enter("") is None
