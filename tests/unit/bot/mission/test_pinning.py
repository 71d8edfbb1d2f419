"""A test that pins the repaired behaviour is kept only if both runs prove it."""

import contextlib
import io
import re
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import PinnedTest
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import Answer
from bot.mission.pin_text import add_test, write_call
from bot.mission.pinning import propose_test
from sandbox.types import Checkout, CommandResult, KnownCall, TestReport
from tests.builders import a_candidate, a_change, a_mission, a_request, a_verification
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.scripted_workspace import a_run
from tests.unit.bot.mission.world import CHECKOUT, Stage, a_world

pytestmark = pytest.mark.anyio
BROKEN = "def fits(count, limit):\n    return count < limit\n"
RIGHT = BROKEN.replace("<", "<=")
TESTS = "from shop import fits\n\n\ndef test_full():\n    assert fits(100, 100)\n"
NAME = "test_shop.py::test_full"


METHOD = (
    "\n\n  def test_fits_regression(self):\n    self.assertEqual(fits(7, 7), True)\n\n\nX = 1\n"
)


def a_call(arguments: str, **changes: Any) -> KnownCall:
    given = {"path": "shop.py", "function": "fits", "arguments": arguments, "result": "0" * 16}
    return KnownCall.model_validate(given | changes)


CALLS = (a_call("((12, 12), {})"), a_call("((1, 2), {})"), a_call("((7, 7), {})"))


def executed(files: Mapping[str, str], command: str) -> CommandResult:
    """Run the probe on the shop of these files, as Python in the sandbox would."""
    program = shlex.split(command)[2]
    module: dict[str, Any] = {}
    exec(files["shop.py"], module)  # noqa: S102 -- code of this test
    replaced = program.replace("exec(statement, names)", "names.update(module)")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(replaced, {"module": module})  # noqa: S102 -- the same
    return CommandResult(argv=("sh",), exit_code=0, stdout=said.getvalue())


def judged(files: Mapping[str, str], _: str) -> TestReport:
    """Run each test function of the file."""
    module: dict[str, Any] = {}
    exec(files["shop.py"], module)  # noqa: S102 -- code of this test
    outcomes = {}
    for name, check in re.findall(r"def (test_\w+)\(\):\n    assert (.*)", files["test_shop.py"]):
        is_true = bool(eval(check, dict(module)))  # noqa: S307 -- the same
        outcomes[f"test_shop.py::{name}"] = "" if is_true else "AssertionError: it is not"
    return a_run(outcomes)


async def proposed(
    calls: tuple[KnownCall, ...] = CALLS,
    fixed: str = RIGHT,
    tests: str = TESTS,
    policy: RepositoryPolicy | None = None,
    **request: Any,
) -> tuple[PinnedTest | None, FakeWorkspace]:
    files = {"shop.py": BROKEN, "test_shop.py": tests}
    workspace = FakeWorkspace(files, judge=judged, shell=executed)

    @asynccontextmanager
    async def open_workspace(checkout: Checkout) -> AsyncIterator[FakeWorkspace]:
        assert checkout == CHECKOUT
        yield workspace

    candidate = a_candidate(calls=calls, changes=(a_change("shop.py", fixed),))
    mission = a_mission(
        request=a_request(**request),
        policy=policy or RepositoryPolicy(),
        test_results=judged(files, ""),
    )
    (iteration,) = mission.iterations
    tried = iteration.with_(candidate=candidate, verification=a_verification())
    context: MissionContext = mission.with_(iterations=(tried,))
    return await propose_test(context, CHECKOUT, open_workspace), workspace


async def test_the_smallest_call_that_the_fix_changes_is_pinned() -> None:
    test, workspace = await proposed()
    assert test is not None
    assert (test.name, test.call, test.result) == (
        "test_shop.py::test_fits_regression",
        "fits(7, 7)",
        "True",
    )
    added = "\n\n\ndef test_fits_regression():\n    assert fits(7, 7) is True\n"
    assert test.content == TESTS.rstrip() + added
    assert (test.name,) in workspace.targets


async def test_the_answer_of_a_question_is_pinned_by_its_first_call() -> None:
    test, _ = await proposed(answer=Answer(proposal_id="p", choice=1))
    assert test is not None
    assert test.call == "fits(12, 12)"


@pytest.mark.parametrize(
    "case",
    [
        {"calls": ()},
        {"calls": (a_call("((1, 2), {})"),)},
        {"calls": (a_call("((100, 100), {})"),)},
        {"calls": (a_call("((7, 7), {})", function="Shop.fits"),)},
        {"calls": (a_call("((7, 7), {})", path="other.py"),)},
        {"fixed": BROKEN.replace("count < limit", "count == limit or object()")},
        {"tests": "def test_full():\n    assert fits(100, 100)\n"},
        {"policy": RepositoryPolicy(paths_protected=("test_*.py",))},
        {"policy": RepositoryPolicy(paths_allowed=("shop.py",))},
        {"tests": f"{TESTS}# caf\ufffd: a byte that is not UTF-8\n"},
    ],
    ids=[
        "no calls",
        "equal",
        "in the tests already",
        "a method",
        "elsewhere",
        "no value",
        "import",
        "protected",
        "not allowed",
        "another encoding",
    ],
)
async def test_what_cannot_be_pinned_is_not(case: dict[str, Any]) -> None:
    if "fixed" in case:
        case["calls"] = (a_call("((1, 2), {})"),)
    assert (await proposed(**case))[0] is None


async def test_a_mission_pins_nothing_unless_the_policy_says_so() -> None:
    for policy in (RepositoryPolicy(), RepositoryPolicy(regression_test=True)):
        mission = await Stage(world=a_world(), policy=policy).play()
        assert (mission.outcome, mission.regression_test) == (Outcome.FIXED, None)


@pytest.mark.parametrize(
    ("tests", "failing", "expected"),
    [
        (
            "import shop\n\n\ndef test_full():\n    assert shop.fits(3, 3)\n",
            "t.py::test_full[a-1]",
            "\n\n\ndef test_fits_regression():\n    assert shop.fits(7, 7) is True\n",
        ),
        (
            "from shop import price\n\n\ndef test_fits_regression():\n    assert price\n",
            "t.py::test_fits_regression",
            (
                "\n\n\ndef test_fits_regression_2():\n    from shop import fits\n\n"
                "    assert fits(7, 7) is True\n"
            ),
        ),
        (
            (
                "import unittest\nfrom shop import fits\n\n\nclass TestFits(unittest.TestCase):\n"
                "  def test_full(self):\n    self.assertTrue(fits(3, 3))\n\n\nX = 1\n"
            ),
            "t.py::TestFits::test_full",
            METHOD,
        ),
        (
            (
                "import unittest\nfrom shop import fits\n\f\n\nclass TestFits(unittest.TestCase):\n"
                "  def test_full(self):\n    self.assertTrue(fits(3, 3))\n\n\nX = 1\n"
            ),
            "t.py::TestFits::test_full",
            METHOD,
        ),
    ],
    ids=["module", "numbered", "unittest", "form feed"],
)
def test_the_test_has_the_style_of_its_file(tests: str, failing: str, expected: str) -> None:
    call = write_call(a_call("((7, 7), {})"), tests)
    assert call is not None
    added = add_test(tests, failing, call, "True")
    assert added is not None
    text, _ = added
    assert text.endswith(expected)
    assert [line for line in tests.splitlines() if line not in text.splitlines()] == []
