"""Measure how fast candidates are tried, and print one line of JSON.

The screen is compared with a pytest process, mutmut and a fork for each candidate. `--packages`
measures the candidates of each lane in a processor second, on bugs of the packages in
`build/bench`. Everything runs in the sandbox, in processor time: a loaded machine gives the same
figures.
"""

import argparse
import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import lane_rates
from benchmarks.sets.built import ROOT
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints
from sandbox.workspace import Sandboxes

INSIDE = Path(__file__).with_name("search_rate_inside.py")
DEMANDED = {
    "times_plain_pytest": 300,
    "per_cpu_s_10_tests": 400,
    "per_cpu_s_300_tests": 150,
    "disagreements": 0,
}
CART = '''"""A cart whose total is wrong."""


class Cart:
    def __init__(self, rates):
        self.rates = rates
        self.lines = []

    def add(self, name, price, count=1):
        self.lines.append((name, price, count))
        return self


def total(cart, discount=0, threshold=100):
    result = 0
    for name, price, count in cart.lines:
        cost = price * count
        rate = cart.rates.get(name, 0)
        if rate > 0:
            cost = cost + cost * rate // 100
        result = result + cost
    if result > threshold:
        result = result - result * discount // 100
    return result
'''
CART_TESTS = """import pytest

from cart import Cart, total


@pytest.fixture(scope="module")
def rates():
    return {"book": 7, "pen": 19}


@pytest.fixture(autouse=True)
def no_surprise(monkeypatch):
    monkeypatch.setenv("CURRENCY", "EUR")


@pytest.fixture
def cart(rates):
    return Cart(rates)


@pytest.fixture
def full(cart):
    return cart.add("book", 10, 2).add("pen", 3)


@pytest.mark.parametrize("count", range(90))
def test_one_line(cart, count):
    assert total(cart.add("other", 1, count)) == count


@pytest.mark.parametrize("price", range(0, 90))
def test_with_rate(full, price):
    assert total(full.add("other", price), threshold=1000) == 24 + price


class TestDiscount:
    @pytest.mark.parametrize("price", range(101, 210))
    def test_above(self, cart, price):
        assert total(cart.add("other", price), discount=10) == price - price * 10 // 100

    @pytest.mark.parametrize("price", [100])
    def test_at_the_threshold(self, cart, price):
        assert total(cart.add("other", price), discount=10) == 90

    @pytest.mark.parametrize("price", range(1, 11))
    def test_below(self, cart, price, tmp_path):
        assert total(cart.add("other", price), discount=10) == price
        assert not list(tmp_path.iterdir())
"""
SUITE = {"cart.py": CART, "test_cart.py": CART_TESTS}


def suite_folder(folder: Path) -> Path:
    """300 tests with fixtures of several scopes, one of them red."""
    folder.mkdir(parents=True)
    for name, text in SUITE.items():
        (folder / name).write_text(text)
    red = "test_cart.py::TestDiscount::test_at_the_threshold[100]"
    (folder / "meta.json").write_text(json.dumps({"failing": [red], "passing": []}))
    return folder


def function_folder(folder: Path, program: Path) -> Path:
    """A program of a bug set with its tests, named as pytest names them."""
    shutil.copytree(program, folder)
    shutil.rmtree(folder / "correct", ignore_errors=True)
    test = next(folder.glob("test_*.py")).name
    meta = json.loads((folder / "meta.json").read_text())
    tests = re.findall(r"^def (test\w*)", (folder / test).read_text(), re.MULTILINE)
    meta["passing"] = [name for name in tests if name not in meta["failing"]]
    names = {kind: [f"{test}::{name}" for name in meta[kind]] for kind in ("failing", "passing")}
    (folder / "meta.json").write_text(json.dumps(names))
    return folder


def mutmut_folder(folder: Path, program: Path) -> Path:
    """The same for mutmut, which wants green tests: it gets the reference."""
    function_folder(folder, program)
    for path in (program / "correct").glob("*.py"):
        shutil.copy(path, folder)
    (folder / "requirements.txt").write_text("pytest\nmutmut\n")
    tests = [path.name for path in folder.glob("test_*.py")]
    sources = [path.name for path in folder.glob("*.py") if path.name not in tests]
    beside = [*tests, *(path.name for path in folder.glob("*.json"))]
    settings = ["[mutmut]", f"paths_to_mutate={','.join(sources)}", "tests_dir=.", "also_copy="]
    (folder / "setup.cfg").write_text(
        "\n".join([*settings, *(f"    {name}" for name in beside), ""])
    )
    return folder


async def measured(sandboxes: Sandboxes, folder: Path, arguments: str) -> dict[str, object]:
    """One run of the program inside."""
    shutil.copy(INSIDE, folder / "rate_inside.py")
    checkout = Checkout(
        source=FolderSource(path=str(folder)), hints=JobHints(command="python -m pytest -q")
    )
    try:
        async with sandboxes.open_workspace(checkout) as workspace:
            result = await workspace.run(f"python rate_inside.py {arguments}", timeout_s=900)
    except SandboxError as error:
        return {"because": error.message}
    lines = result.stdout.strip().splitlines()
    if result.exit_code != 0 or not lines:
        return {"because": f"{result.stdout[-300:]} {result.stderr[-1200:]}"}
    told: dict[str, object] = json.loads(lines[-1])
    return told


async def of_packages(folder: Path, only: Sequence[str], count: int) -> dict[str, object]:
    """Rates of each lane on the packages in a folder."""
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), Path(data))
        bugs = lane_rates.bugs_of(folder, only, count)
        rows = [await lane_rates.measure(sandboxes, bug) for bug in bugs]
        await sandboxes.close()
    return lane_rates.summary(rows)


async def main() -> None:
    """Measure both suites."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "program", type=Path, nargs="?", help="a program of a bug set with ten tests, unpacked"
    )
    parser.add_argument("--packages", action="store_true", help="measure the lanes on packages")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="packages")
    parser.add_argument("--bugs", type=int, default=1, help="of each package")
    parser.add_argument("--candidates", type=int, default=1500)
    parser.add_argument(
        "--plain", type=int, default=12, help="how many of them by one pytest process each"
    )
    parser.add_argument("--without-mutmut", action="store_true")
    arguments = parser.parse_args()
    if arguments.packages:
        print(json.dumps(await of_packages(arguments.folder, arguments.only, arguments.bugs)))
        return
    if arguments.program is None:
        parser.error("a program or --packages is needed")
    with tempfile.TemporaryDirectory() as data:
        base = Path(data)
        sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec()), base / "sandboxes")
        given = f"{GUEST_DIR} {arguments.candidates} {arguments.plain}"
        ten = await measured(sandboxes, function_folder(base / "ten", arguments.program), given)
        many = await measured(sandboxes, suite_folder(base / "many"), given)
        other: dict[str, object] = {"because": "not asked for"}
        if not arguments.without_mutmut:
            other = await measured(
                sandboxes, mutmut_folder(base / "mutmut", arguments.program), "mutmut"
            )
        await sandboxes.close()
    print(
        json.dumps(
            {"ten_tests": ten, "three_hundred_tests": many, "mutmut": other, "demanded": DEMANDED}
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
