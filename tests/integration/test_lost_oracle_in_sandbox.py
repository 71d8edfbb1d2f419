"""Fixes of functions that tests check with, of any name: those after which nothing is checked are found."""

from pathlib import Path

import pytest

from bot.fixers.rung1_search.rank_doubts import is_about_oracle
from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import GivenChange, SpanEdit
from tests.searching import searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


ROUNDTRIP = """
def dump(values):
    return ",".join(str(value) for value in values)


def load(text):
    return [int(piece) for piece in text.split(";")]


def roundtrip(values):
    if load(dump(values)) != values:
        raise AssertionError(values)
"""
ROUNDTRIP_TESTS = """
from acme import roundtrip


def test_one():
    roundtrip([1])


def test_two():
    roundtrip([1, 2])
"""
RUN_CASE = """
def evaluate(text):
    left, sign, right = text.split()
    return int(left) - int(right) if sign == "-" else int(left) + int(right)


def run_case(text, expected):
    result = evaluate(text)
    assert result == str(expected), text
"""
RUN_CASE_TESTS = """
from acme import run_case


def test_plus():
    run_case("2 + 3", 5)


def test_minus():
    run_case("2 - 3", -1)
"""
CONTEXT = """
import contextlib

SEEN = []


def handle(path):
    SEEN.append(500 if path == "/broken" else 200)


@contextlib.contextmanager
def server_errors():
    SEEN.clear()
    yield
    if 505 not in SEEN:
        raise AssertionError(SEEN)
"""
CONTEXT_TESTS = """
from acme import handle, server_errors


def test_broken():
    with server_errors():
        handle("/broken")
"""
SAME = """
def slug(title):
    return title.replace(" ", "-")


def same(one, two):
    return one == two
"""
SAME_TESTS = """
from acme import same, slug


def test_small():
    assert same(slug("a b"), "a-b")


def test_capital():
    assert same(slug("A b"), "a-b")
"""
CART = """
class Cart:
    def __init__(self):
        self.lines = []

    def add(self, price, count=1):
        self.lines.append(price - count)

    def total(self):
        return sum(self.lines)
"""
CART_TESTS = """
from acme import Cart


def test_total():
    cart = Cart()
    cart.add(10, 2)
    cart.add(3)
    assert cart.total() == 23
"""
STORE = """
class Store:
    def __init__(self, path):
        self.path = path
        self.rows = []

    def put(self, row):
        self.rows.append(row)

    def commit(self):
        self.path.write_text("".join(self.rows))
"""
STORE_TESTS = """
from acme import Store


def test_rows(tmp_path):
    store = Store(tmp_path / "rows")
    store.put("a")
    store.put("b")
    store.commit()
    assert store.path.read_text() == "a\\nb"
"""
EVEN = """
def is_even(number):
    return number % 2 == 1
"""
EVEN_TESTS = """
from acme import is_even


def test_four():
    assert is_even(4)


def test_five():
    assert not is_even(5)
"""
CASES = {
    "statement": (
        ROUNDTRIP,
        ROUNDTRIP_TESTS,
        {
            "lost": ("if load(dump(values)) != values:", "if not dump(values):"),
            "kept": ('";"', '","'),
        },
    ),
    "statement that is repaired": (
        RUN_CASE,
        RUN_CASE_TESTS,
        {
            "lost": ("result == str(expected)", "result is not None"),
            "kept": ("str(expected)", "expected"),
        },
    ),
    "context": (
        CONTEXT,
        CONTEXT_TESTS,
        {"lost": ("505 not in SEEN", "SEEN is None"), "kept": ("505", "500")},
    ),
    "asserted": (
        SAME,
        SAME_TESTS,
        {"lost": ("one == two", "bool(one)"), "kept": ('" ", "-")', '" ", "-").lower()')},
    ),
    "effect": (CART, CART_TESTS, {"kept": ("price - count", "price * count")}),
    "effect on a file": (STORE, STORE_TESTS, {"kept": ('"".join', '"\\n".join')}),
    "asserted product": (EVEN, EVEN_TESTS, {"kept": ("== 1", "== 0")}),
}


@pytest.mark.parametrize(
    ("case", "lane"),
    [*((case, "swap") for case in CASES), ("statement", "fresh"), ("effect", "fresh")],
)
async def test_only_edits_after_which_a_broken_product_stays_green_are_doubted(
    backend: Backend, tmp_path: Path, case: str, lane: str
) -> None:
    program, tests, changes = CASES[case]
    files = {"acme.py": program, "test_acme.py": tests}
    given = [
        GivenChange(edits=(_edit(program, old, new),), description=name, cost=0.5)
        for name, (old, new) in changes.items()
    ]
    events = await searched(
        backend,
        tmp_path,
        files,
        given=given,
        sources=("given",),
        lanes=(lane,),
        time_limit_s=40.0,
    )
    assert {survivor.lane for survivor in survivors(events)} == {lane}
    found = {s.description: any(map(is_about_oracle, s.warnings)) for s in survivors(events)}
    assert found == {name: name == "lost" for name in changes}


def _edit(text: str, old: str, new: str) -> SpanEdit:
    start = text.index(old)
    return SpanEdit(path="acme.py", start=start, end=start + len(old), text=new)
