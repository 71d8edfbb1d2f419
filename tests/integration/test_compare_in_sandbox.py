"""Survivors compared in a real sandbox: behaviours, the smallest input between two, and no harm done on the way."""

from pathlib import Path

import pytest

from bot.fixers.rung1_search.rank import Ranked, rank_survivors
from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import (
    Checkout,
    FolderSource,
    SearchRequest,
    Survivor,
    SurvivorComparison,
    TrialEvent,
)
from sandbox.workspace import Sandboxes
from tests.patience import stretched

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


async def searched(
    backend: Backend, folder: Path, files: dict[str, str], *failing: str, **changes: object
) -> tuple[tuple[Ranked, ...], SurvivorComparison]:
    """What survives in a repository of these files, ranked, and how it compares."""
    for name, text in files.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    given = {
        "command": "python -m pytest -q", "failing": failing, "protected": ("test_*.py",), "time_limit_s": stretched(40.0), **changes
    }  # fmt: skip
    sandboxes = Sandboxes(SandboxSpec(), backend, folder / "data")
    events: list[TrialEvent] = []
    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(folder / "repo")))
    ) as workspace:
        before = await workspace.changes()
        events += [event async for event in workspace.search(SearchRequest.model_validate(given))]
        assert await workspace.changes() == before
    found = [event for event in events if isinstance(event, Survivor)]
    (compared,) = [event for event in events if isinstance(event, SurvivorComparison)]
    return rank_survivors(found, files, compared), compared


async def test_rivals_are_told_apart_by_a_small_input_and_their_results(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "shop.py": (
            "class Basket:\n    def __init__(self, limit):\n        self.limit = limit\n        self.items = []\n\n"
            "    def fits(self, count):\n        return len(self.items) + count < self.limit\n"
        ),
        "test_shop.py": (
            "from shop import Basket\n\n\ndef test_exactly():\n    assert Basket(2).fits(2)\n\n\n"
            "def test_over():\n    assert not Basket(2).fits(9)\n\n\ndef test_under():\n    assert Basket(5).fits(1)\n"
        ),
    }
    ranked, compared = await searched(backend, tmp_path, files, "test_shop.py::test_exactly")
    assert compared.inputs > 50
    assert ranked[0].survivor.description == "`<` became `<=`"
    assert ranked[0].agreeing > 1, "one off elsewhere is the same"
    told = [d for r in ranked for d in r.differences if d.input]
    assert all("fits(" in d.input or "Basket(" in d.input for d in told)
    assert all(d.results[0] != d.results[1] for d in told)
    assert compared.profiles[0].neighbours > 5
    assert sum(profile.mutants for profile in compared.profiles) > 0
    best = ranked[0].profile
    assert (best.new_lines, best.unrun, best.run_once) == (1, 0, 0), "three tests run the line"


async def test_examples_in_docstrings_decide_where_the_tests_do_not(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "maths.py": (
            'def scale(value, by):\n    """Scale a value.\n\n    >>> scale(3, 4)\n    12\n    """\n    return value - by\n'
        ),
        "test_maths.py": (
            "from maths import scale\n\n\ndef test_scale():\n    assert scale(2, 2) == 4\n\n\n"
            "def test_kind():\n    assert isinstance(scale(1, 2), int)\n"
        ),
    }
    ranked, compared = await searched(backend, tmp_path, files, "test_maths.py::test_scale")
    assert "*" in ranked[0].survivor.edits[0].text
    assert ranked[0].profile.examples == 1
    assert any(profile.examples_failed for profile in compared.profiles)


async def test_calls_on_invented_inputs_reach_no_file_and_no_process(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "notes.py": (
            "import os\n\n\ndef keep(path, lines):\n    count = 1\n    with open(path, 'w') as file:\n"
            "        for line in lines:\n            file.write(line)\n            count += 1\n    return count\n"
        ),
        "test_notes.py": (
            "from notes import keep\n\n\ndef test_keep(tmp_path):\n    assert keep(str(tmp_path / 'a'), ['x', 'y']) == 2\n\n\n"
            "def test_kind(tmp_path):\n    assert isinstance(keep(str(tmp_path / 'a'), []), int)\n"
        ),
    }
    ranked, _ = await searched(backend, tmp_path, files, "test_notes.py::test_keep")
    assert ranked
    assert not ranked[0].profile.side_effects


@pytest.mark.parametrize(
    "shown",
    [("test_maths.py::test_zero", "test_maths.py::test_one"), ("test_maths.py::test_zero",)],
)
async def test_tests_that_are_held_out_are_run_on_survivors_alone(
    backend: Backend, tmp_path: Path, shown: tuple[str, ...]
) -> None:
    files = {
        "maths.py": "def scale(value, by):\n    return value - by\n",
        "test_maths.py": (
            "from maths import scale\n\n\ndef test_scale():\n    assert scale(2, 2) == 4\n\n\n"
            "def test_zero():\n    assert scale(0, 0) == 0\n\n\ndef test_one():\n    assert scale(2, 1) == 1 or scale(2, 3) == 6\n\n\n"
            "def test_only_alone():\n    import os\n    assert os.getpid() == os.getpgid(0)\n"
        ),
    }
    ranked, compared = await searched(
        backend, tmp_path, files, "test_maths.py::test_scale",
        passing=shown, held_out=("test_maths.py::test_one", "test_maths.py::test_only_alone"),
    )  # fmt: skip
    assert any(profile.held_out_failed for profile in compared.profiles)
    assert not ranked[0].profile.held_out_failed
