"""Undoing the red diff in a real sandbox: the smallest part that helps, ranked below a repair, never what tests ask for."""

from pathlib import Path

import pytest

from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import RedHunk, Survivor, TrialStarted, apply_spans
from tests.searching import searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

SHOP = (
    "RATES = {'book': 7, 'food': 5}\n\n\n"
    "def net(price, off):\n    shown = price\n    return shown + off\n\n\n"
    "def gross(price, kind, off):\n    return net(price, off) * (100 + RATES[kind]) / 100\n"
)
TESTS = (
    "from shop import gross, net\n\n\n"
    "def test_net():\n    assert net(10, 2) == 8\n    assert net(5, 0) == 5\n\n\n"
    "def test_gross():\n    assert gross(100, 'book', 0) == 107\n"
)
HUNKS = (
    RedHunk(path="shop.py", line=1, lines=1, before="RATES = {'book': 7, 'food': 9}\n"),
    RedHunk(path="shop.py", line=5, lines=2, before="    return price - off\n"),
)


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


async def undoings(
    backend: Backend, folder: Path, *hunks: RedHunk
) -> tuple[TrialStarted, list[Survivor]]:
    files = {"shop.py": SHOP, "test_shop.py": TESTS}
    changes = {"failing": ("test_shop.py::test_net",), "passing": ("test_shop.py::test_gross",)}
    events = await searched(backend, folder, files, red_hunks=hunks, time_limit_s=40.0, **changes)
    started = next(event for event in events if isinstance(event, TrialStarted))
    return started, survivors(events)


async def test_the_smallest_part_that_helps_is_undone(backend: Backend, tmp_path: Path) -> None:
    started, found = await undoings(backend, tmp_path, *HUNKS)
    assert started.suspect_lines[0].line in {5, 6}
    assert started.suspect_lines[0].reason == "changed since the check was green"
    undone = next(s for s in found if s.template.startswith("undo_"))
    assert apply_spans(SHOP, undone.edits) == SHOP.replace("+ off", "- off")
    assert undone.template == "undo_part"
    assert undone.description == "undoes a part of the change of line 6"


async def test_what_the_failing_test_came_with_is_not_undone_first(
    backend: Backend, tmp_path: Path
) -> None:
    test = RedHunk(path="test_shop.py", line=4, lines=3, before="")
    _, found = await undoings(backend, tmp_path, *HUNKS, test)
    assert not found[0].template.startswith("undo_")
    assert all(s.cost > 3.0 for s in found if s.template.startswith("undo_"))
