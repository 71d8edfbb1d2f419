"""Which connection is closed for a new one, and when a wait is over."""

import resource
import subprocess
import sys

import pytest

from bot.front.connections import DRAIN_BYTES, FILES_FOR_OTHERS, Connections


class Clock:
    """The loop's time, as the test says."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Wire:
    """A connection that notes what is done to it."""

    def __init__(self) -> None:
        self.is_open = True
        self.resumed = 0

    def abort(self) -> None:
        self.is_open = False

    def resume(self) -> None:
        self.resumed += 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


def admitted(connections: Connections, count: int) -> list[Wire]:
    wires = [Wire() for _ in range(count)]
    assert all([connections.admit(wire, 5.0) for wire in wires])  # noqa: C419 -- each of them, also after a refusal
    return wires


def test_one_more_closes_the_one_that_waited_longest(clock: Clock) -> None:
    connections = Connections(3, clock)
    first, second, third = admitted(connections, 3)
    connections.wait(first, 5.0)  # it acted, and waits again
    admitted(connections, 1)
    assert [wire.is_open for wire in (first, second, third)] == [True, False, True]
    assert len(connections) == 3


def test_one_that_is_served_is_not_closed_for_another(clock: Clock) -> None:
    connections = Connections(2, clock)
    first, second = admitted(connections, 2)
    connections.serve(first)
    admitted(connections, 5)
    assert (first.is_open, second.is_open) == (True, False)


def test_while_all_are_served_a_new_one_is_refused(clock: Clock) -> None:
    connections = Connections(2, clock)
    for wire in admitted(connections, 2):
        connections.serve(wire)
    assert not connections.admit(Wire(), 5.0)
    assert len(connections) == 2


def test_a_wait_ends_after_its_own_limit(clock: Clock) -> None:
    connections = Connections(10, clock)
    short, served, long = admitted(connections, 3)
    connections.serve(served)
    connections.wait(long, 60.0)
    clock.now += 4.9
    connections.tick()
    assert short.is_open
    clock.now += 0.2
    connections.tick()
    assert [wire.is_open for wire in (short, served, long)] == [False, True, True]
    clock.now += 60
    connections.tick()
    assert [wire.is_open for wire in (served, long)] == [True, False]


def test_one_that_was_removed_does_not_wait_again(clock: Clock) -> None:
    connections = Connections(10, clock)
    (wire,) = admitted(connections, 1)
    connections.remove(wire)
    connections.wait(wire, 1.0)
    clock.now += 2
    connections.tick()
    assert wire.is_open
    assert len(connections) == 0


def test_refused_bodies_share_a_rate(clock: Clock) -> None:
    connections = Connections(10, clock)
    one, other = admitted(connections, 2)
    assert connections.may_drain(one, DRAIN_BYTES - 1)
    assert not connections.may_drain(other, 1)
    assert not connections.may_drain(one, 1)
    connections.remove(one)
    connections.tick()
    assert (one.resumed, other.resumed) == (0, 1)
    assert connections.may_drain(other, 1)


LIMIT = """
import resource, sys
from bot.front.connections import fit_open_files
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(fit_open_files(wanted), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "connections", "raised"),
    [
        (1024, 1024, 768, 768, 1024),
        (1024, 1024, 5000, 768, 1024),
        (1024, 4096, 3000, 3000, 3000 + FILES_FOR_OTHERS),
        (256, 4096, 768, 768, 1024),
        (256, 256, 768, 128, 256),
        (4096, 4096, 16, 16, 4096),
    ],
)
def test_connections_leave_files_for_others(
    soft: int, hard: int, wanted: int, connections: int, raised: int
) -> None:
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:  # infinity is -1
        pytest.skip("this machine allows fewer open files")
    words = [sys.executable, "-c", LIMIT, str(soft), str(hard), str(wanted)]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert [int(number) for number in found] == [connections, raised]


def test_malformed_requests_share_one_log_line(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    connections = Connections(4, clock)
    for _ in range(3):
        connections.count_malformed()
    connections.tick()
    connections.tick()
    assert [one.getMessage() for one in caplog.records] == ["3 malformed requests refused"]
