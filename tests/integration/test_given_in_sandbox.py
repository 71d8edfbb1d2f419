"""Changes that the host brings, tried in a real sandbox like the search's own."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import GivenChange, SearchNearMiss, SpanEdit, SurvivorComparison, TrialDone
from tests.searching import searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


FILES = {
    "shop/__init__.py": "",
    "shop/rates.py": "RATES = {'book': 25, 'other': 50}\n\n\ndef rate(kind):\n    return RATES[kind] * 10\n",
    "shop/invoice.py": (
        "from shop.rates import rate\n\n\ndef tax(price, kind):\n    return price * rate(kind)\n\n\n"
        "def total(price, kind):\n    return price - tax(price, kind)\n"
    ),
    "test_invoice.py": (
        "from shop.invoice import tax, total\n\n\ndef test_tax():\n    assert tax(100, 'book') == 25\n\n\n"
        "def test_total():\n    assert total(100, 'other') == 150\n\n\ndef test_nothing():\n    assert tax(0, 'book') == 0\n"
    ),
}


def edit(path: str, old: str, new: str) -> SpanEdit:
    start = FILES[path].index(old)
    return SpanEdit(path=path, start=start, end=start + len(old), text=new)


RATE = edit("shop/rates.py", "* 10", "/ 100")
TOTAL = edit("shop/invoice.py", "price - tax", "price + tax")
SPECIAL = edit(
    "shop/invoice.py",
    "    return price - tax(price, kind)",
    "    return 150 if price == 100 else 0",
)
GIVEN = {
    "wrong": (edit("shop/rates.py", "* 10", "/ 10"),),
    "half": (RATE,),
    "right": (RATE, TOTAL),
    "other half": (TOTAL,),
    "a test": (edit("test_invoice.py", "== 25", "== 7000"),),
    "off the file": (SpanEdit(path="shop/rates.py", start=10, end=5000, text=""), RATE),
    "special": (RATE, SPECIAL),
}


def given(names: Iterable[str]) -> tuple[GivenChange, ...]:
    return tuple(GivenChange(edits=GIVEN[name], description=name, cost=0.5) for name in names)


async def test_given_changes_over_several_files_are_confirmed_compared_and_told_by_their_edits(
    backend: Backend, tmp_path: Path
) -> None:
    events = await searched(
        backend, tmp_path, FILES, given=given(GIVEN), sources=("given",), time_limit_s=40.0
    )
    found = {survivor.description: survivor for survivor in survivors(events)}
    assert set(found) == {"right", "special"}
    assert all(found[name].edits == GIVEN[name] for name in found)
    assert all(survivor.template == "given" for survivor in found.values())
    assert any("literal of the failing test" in warning for warning in found["special"].warnings)
    (compared,) = [event for event in events if isinstance(event, SurvivorComparison)]
    assert len(set(compared.clusters)) == 2
    places = [survivor.description for survivor in survivors(events)]
    right = compared.profiles[places.index("right")]
    assert right.mutants >= right.mutants_killed > 0, "both files were edited, and then mutated"


async def test_what_happens_without_a_mutant_too_is_no_proof_that_tests_notice_mutants(
    backend: Backend, tmp_path: Path
) -> None:
    """A module that bears two executions in one process: at the third, every mutant looks noticed."""
    counts = "\nimport sys\n\nsys.loads = getattr(sys, 'loads', 0) + 1\nassert sys.loads < 3\n"
    files = {**FILES, "shop/rates.py": FILES["shop/rates.py"] + counts}
    events = await searched(
        backend, tmp_path, files, given=given(["right"]), sources=("given",), time_limit_s=40.0
    )
    assert len(survivors(events)) == 1
    (compared,) = [event for event in events if isinstance(event, SurvivorComparison)]
    assert compared.inputs > 0
    assert compared.profiles[0].mutants == 0


async def test_of_given_changes_that_mend_a_part_only_it_is_told_what_they_mend(
    backend: Backend, tmp_path: Path
) -> None:
    parts = given(name for name in GIVEN if name not in {"right", "special"})
    events = await searched(
        backend, tmp_path, FILES, given=parts, sources=("given",), time_limit_s=40.0
    )
    assert survivors(events) == []
    near = {event.description: event.fixed for event in events if isinstance(event, SearchNearMiss)}
    assert near["half"] == ("test_invoice.py::test_tax",)


async def test_a_given_change_inside_one_function_takes_the_quick_lane_and_is_ranked_with_what_the_search_finds(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "calculator.py": "def add(a, b):\n    return a - b\n",
        "test_calculator.py": "from calculator import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    }
    text = "    result = a\n    result += b\n    return result"
    old = "    return a - b"
    start = files["calculator.py"].index(old)
    change = GivenChange(
        edits=(SpanEdit(path="calculator.py", start=start, end=start + len(old), text=text),),
        description="in steps",
    )
    events = await searched(backend, tmp_path, files, given=(change,), time_limit_s=30.0)
    first, *others = survivors(events)
    assert (first.description, first.lane, first.tried) == ("in steps", "swap", 1)
    assert any(other.template == "swap_operator" for other in others)
    (compared,) = [event for event in events if isinstance(event, SurvivorComparison)]
    same = next(
        number for number, other in enumerate(others, start=1) if other.template == "swap_operator"
    )
    assert compared.clusters[same] == compared.clusters[0]


@pytest.mark.parametrize(
    ("text", "ends"), [("    return a + b", True), ("    return a * b", False)], ids=["right", "no"]
)
async def test_a_sound_given_change_may_end_the_search_and_another_leaves_it_as_it_is(
    backend: Backend, tmp_path: Path, text: str, *, ends: bool
) -> None:
    files = {
        "calculator.py": "def add(a, b):\n    return a - b\n",
        "test_calculator.py": "from calculator import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    }
    old = "    return a - b"
    start = files["calculator.py"].index(old)
    change = GivenChange(
        edits=(SpanEdit(path="calculator.py", start=start, end=start + len(old), text=text),)
    )
    events = await searched(backend, tmp_path, files, given=(change,), given_may_end=True)
    found = {survivor.origin for survivor in survivors(events)}
    done = events[-1]
    assert isinstance(done, TrialDone)
    assert (found == {"given"}, done.tried == 1) == (ends, ends)
