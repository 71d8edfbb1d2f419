"""From failures to a diagnosis: sentences, suspects, fingerprints."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.mission.failures.sentences import one_line, sentence
from bot.mission.judging.analyze import analyze_failures, fingerprint, normalised
from sandbox.types import SourceDiff, TestReport
from tests.builders import a_failure, a_lint_failure, a_lint_report, a_recalled_lesson, a_report
from tests.fakes.scripted_workspace import ScriptedWorkspace, World
from tests.unit.bot.mission.world import honest

FILES = {
    "calculator.py": "def add(a, b):\n    return a - b\n\n\nclass Shop:\n    def total(self):\n        return 0\n",
    "other.py": "def unused():\n    pass\n",
    "tests/test_math.py": "from calculator import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
WHERE = "assert -1 == 3\n +  where -1 = add(1, 2)"


async def diagnosed(
    report: TestReport,
    *,
    kind: FailureKind = FailureKind.BUG,
    changed: dict[str, tuple[int, ...]] | None = None,
    passes: int = 1,
) -> Diagnosis:
    workspace = ScriptedWorkspace(World(files=FILES, run=honest), "head")
    return await analyze_failures(
        report,
        workspace,
        kind=kind,
        red_diff=SourceDiff(files=changed or {}),
        lessons=(a_recalled_lesson(),),
        passes=passes,
    )


@pytest.mark.parametrize(
    ("error", "message", "said"),
    [
        ("AssertionError", WHERE, "test_add expected 3, got -1 from add(1, 2) in calculator.add"),
        ("AssertionError", "assert [1] == [1, 2]", "test_add expected [1, 2], got [1]"),
        ("AssertionError", "assert 5 < 3", "test_add expected < 3, got 5"),
        ("AssertionError", "assert 'a' in 'b'", "test_add expected in 'b', got 'a'"),
        ("AssertionError", "-1 != 3", "test_add expected 3, got -1"),
        ("AssertionError", "AssertionError: -1 != 3 : sums", "test_add expected 3, got -1"),
        ("AssertionError", "", "test_add failed an assertion without a message"),
        (
            "NameError",
            "name 'x' is not defined",
            "test_add uses the name `x`, which is neither defined nor imported",
        ),
        (
            "AttributeError",
            "'Shop' object has no attribute 'totl'",
            "test_add asks Shop for the attribute `totl`, which it does not have",
        ),
        (
            "AttributeError",
            "module 'json' has no attribute 'dmps'",
            "test_add asks json for the attribute `dmps`, which it does not have",
        ),
        (
            "ImportError",
            "cannot import name 'sub' from 'calculator' (/w/calculator.py)",
            "test_add imports `sub`, which `calculator` does not have",
        ),
        (
            "ModuleNotFoundError",
            "No module named 'calc'",
            "test_add imports the module `calc`, which does not exist",
        ),
        (
            "TypeError",
            "add() missing 1 required positional argument: 'b'",
            "test_add calls add without 'b'",
        ),
        (
            "TypeError",
            "add() got an unexpected keyword argument 'c'",
            "test_add calls add with the unknown argument `c`",
        ),
        (
            "TypeError",
            "add() takes 2 positional arguments but 3 were given",
            "test_add calls add with 3 arguments, it takes 2 positional arguments",
        ),
        (
            "TypeError",
            "unsupported operand type(s) for +: 'int' and 'str'",
            "test_add applies `+` to a int and a str",
        ),
        (
            "TypeError",
            "'NoneType' object is not iterable",
            "test_add uses None where a value is needed (not iterable)",
        ),
        ("KeyError", "'name'", "test_add looks up the key 'name', which is absent"),
        ("IndexError", "list index out of range", "test_add reads past the end of a list"),
        ("ZeroDivisionError", "division by zero", "test_add divides by zero"),
        ("SyntaxError", "invalid syntax", "test_add cannot be compiled: invalid syntax"),
        ("RecursionError", "maximum recursion depth exceeded", "test_add recurses without end"),
        ("ShopError", "closed", "test_add raised ShopError: closed"),
        ("ShopError", "", "test_add raised ShopError"),
    ],
)
@pytest.mark.anyio
async def test_every_error_class_has_its_sentence(error: str, message: str, said: str) -> None:
    found = await diagnosed(a_report(failures=(a_failure(error=error, error_message=message),)))
    assert found.title == said
    assert said in found.cause


@pytest.mark.anyio
async def test_the_deepest_frame_outside_the_tests_comes_first() -> None:
    frames = (
        ("tests/test_math.py", 5, "test_add"),
        ("calculator.py", 7, "total"),
        ("calculator.py", 2, "add"),
    )
    found = await diagnosed(a_report(failures=(a_failure(error="ValueError", frames=frames),)))
    assert [(s.file, s.line) for s in found.suspects[:2]] == [
        ("calculator.py", 2),
        ("calculator.py", 7),
    ]
    assert found.title.endswith("in calculator.add")
    assert all(not s.file.startswith("tests/") for s in found.suspects)


@pytest.mark.anyio
async def test_changed_lines_count_in_the_languages_of_the_failing_tests() -> None:
    changed: dict[str, tuple[int, ...]] = {
        "src/cart.ts": (3,),
        "other.py": (2,),
        "notes.txt": (1,),
    }
    failure = a_failure(frames=(), file=None, line=None, error_message="no", traceback="")
    by_runner = {
        runner: [
            (one.file, one.line)
            for one in (
                await diagnosed(a_report(runner=runner, failures=(failure,)), changed=changed)
            ).suspects
            if "changed by the commit" in one.reason
        ]
        for runner in ("pytest", "vitest")
    }
    assert by_runner == {
        "pytest": [("other.py", 2)],
        "vitest": [("other.py", 2), ("src/cart.ts", 3)],
    }


@pytest.mark.anyio
async def test_a_changed_line_in_a_frame_is_the_best_suspect() -> None:
    frames = (
        ("tests/test_math.py", 5, "test_add"),
        ("calculator.py", 7, "total"),
        ("calculator.py", 2, "add"),
    )
    found = await diagnosed(
        a_report(failures=(a_failure(error="ValueError", frames=frames),)),
        changed={"calculator.py": (7,), "tests/test_math.py": (1,)},
    )
    assert [(s.file, s.line) for s in found.suspects][:2] == [
        ("calculator.py", 2),
        ("calculator.py", 7),
    ]
    assert found.suspects[0].score == found.suspects[1].score == 0.9
    assert "changed by the commit" in found.suspects[1].reason


@pytest.mark.anyio
async def test_what_the_assertion_called_is_suspected() -> None:
    found = await diagnosed(a_report(failures=(a_failure(error_message=WHERE),)))
    assert [(s.file, s.line) for s in found.suspects] == [("calculator.py", 1)]
    assert found.confidence > 0.7


@pytest.mark.anyio
async def test_without_a_sign_nothing_is_suspected_and_confidence_is_low() -> None:
    found = await diagnosed(
        a_report(failures=(a_failure(error=None, error_message="", traceback=None, frames=()),))
    )
    assert not found.suspects
    assert found.confidence < 0.5


@pytest.mark.anyio
async def test_context_stands_around_the_failing_lines() -> None:
    found = await diagnosed(a_report(failures=(a_failure(error_message=WHERE),)))
    assert {context.file for context in found.contexts} == {"tests/test_math.py", "calculator.py"}
    wide = await diagnosed(a_report(failures=(a_failure(error_message=WHERE),)), passes=3)
    assert len(wide.contexts[0].snippet) >= len(found.contexts[0].snippet)


@pytest.mark.anyio
async def test_a_linter_says_it_all() -> None:
    found = await diagnosed(
        a_lint_report(a_lint_failure(), a_lint_failure("other.py")), kind=FailureKind.LINT
    )
    assert found.title == "F401 at calculator.py:1: `os` imported but unused (and 1 more)"
    assert found.confidence == 0.9


@pytest.mark.anyio
async def test_hostile_paths_are_not_read() -> None:
    frames = (("../../etc/passwd", 1, "f"), ("a\nb.py", 1, "g"))
    found = await diagnosed(a_report(failures=(a_failure(file="../../etc/passwd", frames=frames),)))
    assert all(context.file in FILES for context in found.contexts)


@given(text=st.text(max_size=400))
def test_foreign_text_becomes_one_bounded_line(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 160
    assert not any(character in line for character in "\n\r\0\x1b\u202e\u2028")
    assert "\n" not in sentence(a_failure(error_message=text), "")


def test_a_fingerprint_is_sixteen_hexadecimal_characters() -> None:
    found = fingerprint(a_report())
    assert len(found) == 16
    assert set(found) <= set(string.hexdigits.lower())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("expected 3 at 0x7f001", "expected 14 at 0x9aa"),
        ("no file /home/a/b.txt", "no file /srv/c.txt"),
        ("took 1.5 s", "took 22.75 s"),
        ("a  b", "a b"),
    ],
)
def test_numbers_addresses_and_paths_do_not_change_a_fingerprint(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    reports = [a_report(failures=(a_failure(error_message=text),)) for text in (one, other)]
    assert fingerprint(reports[0]) == fingerprint(reports[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"error": "ValueError"},
        {"error_message": "assert 'a' == 'b'"},
        {"name": "tests/test_math.py::test_other"},
        {"frames": (("calculator.py", 2, "add"),)},
    ],
)
def test_another_failure_has_another_fingerprint(changes: dict[str, object]) -> None:
    assert fingerprint(a_report(failures=(a_failure(**changes),))) != fingerprint(a_report())


def test_the_order_of_failures_does_not_matter() -> None:
    one, other = a_failure(name="a::a"), a_failure(name="b::b")
    assert fingerprint(a_report(failures=(one, other))) == fingerprint(
        a_report(failures=(other, one))
    )


def test_a_finding_keeps_its_fingerprint_when_lines_move() -> None:
    here, there = a_lint_failure(), a_lint_failure(name="calculator.py:99:F401", line=99)
    assert fingerprint(a_lint_report(here)) == fingerprint(a_lint_report(there))
