"""Where the search looks before it traces anything: the diff first, then tracebacks, then the diagnosis."""

from bot.domain.diagnosis import Diagnosis, Suspect
from bot.fixers.rung1_search.locate import CHANGED_REASON, MAX_SUSPECTS, red_hunks, suspect_lines
from sandbox.guest.search.locate import located
from sandbox.types import RedHunk, SourceDiff, TestResult
from tests.builders import a_diagnosis, a_failure


def diagnosis(*suspects: Suspect) -> Diagnosis:
    return a_diagnosis(suspects=suspects)


def failure(*frames: tuple[str, int, str]) -> TestResult:
    return a_failure(name="test_shop.py::test_total", frames=frames)


def test_changed_lines_come_before_frames_and_frames_before_the_diagnosis() -> None:
    suspect = Suspect(
        file="shop/rates.py", line=3, score=0.4, reason="defines rate, which the failing test calls"
    )
    frames = failure(
        ("test_shop.py", 4, "test_total"),
        ("shop/cart.py", 9, "total"),
        ("shop/rates.py", 7, "rate"),
    )
    found = suspect_lines(diagnosis(suspect), [frames], SourceDiff(files={"shop/cart.py": (2,)}))
    assert [(s.file, s.line) for s in found] == [
        ("shop/cart.py", 2), ("shop/rates.py", 7), ("shop/cart.py", 9), ("shop/rates.py", 3),
    ]  # fmt: skip
    assert found[0].reason == CHANGED_REASON


def test_the_search_knows_changed_lines_by_their_reason() -> None:
    assert located.CHANGED_REASON == CHANGED_REASON


def test_tests_settings_and_other_files_are_not_suspected() -> None:
    diff = SourceDiff(
        files={
            "tests/test_a.py": (1,),
            "setup.py": (1,),
            "notes.md": (1,),
            "a.py": (1,),
            "../b.py": (1,),
        }
    )
    assert [s.file for s in suspect_lines(diagnosis(), [], diff)] == ["a.py"]


def test_a_huge_diff_leaves_room_for_the_traceback_and_for_every_file() -> None:
    diff = SourceDiff(files={"big.py": tuple(range(1, 5000)), "small.py": (3,)})
    found = suspect_lines(diagnosis(), [failure(("other.py", 5, "f"))], diff)
    assert len(found) <= MAX_SUSPECTS
    assert {s.file for s in found} == {"big.py", "small.py", "other.py"}


def test_a_line_that_has_several_reasons_is_more_suspect() -> None:
    frames = failure(("a.py", 5, "f"))
    both, one = suspect_lines(diagnosis(), [frames], SourceDiff(files={"a.py": (4, 5)}))
    assert (both.line, one.line) == (5, 4)
    assert both.score > one.score


def test_hunks_of_tests_come_without_their_text() -> None:
    hunks = (
        RedHunk(path="a.py", line=1, lines=1, before="x = 1\n"),
        RedHunk(path="tests/test_a.py", line=1, lines=2, before="secret\n"),
        RedHunk(path="../a.py", line=1, lines=2, before="x\n"),
        RedHunk(path="a.ts", line=1, lines=1, before="let x\n"),
    )
    assert red_hunks(SourceDiff(hunks=hunks)) == (hunks[0], hunks[1].with_(before=""))
