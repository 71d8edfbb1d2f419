"""Lessons as JSON lines: what leaves and what comes in passed the gate."""

import json

import pytest

from bot.domain.lesson import AlikeEdit, Insight, Reflection, RememberedFix
from bot.errors import UsageError
from bot.lessons.exchange import MAX_LINE_CHARS, from_lines, keys_of, to_lines
from sandbox.gate import MASK, prepare_needles
from tests.builders import a_lesson

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NOTHING = prepare_needles(())


def test_what_is_exported_is_imported_as_it_was() -> None:
    insight = Insight(category="success", description="swap", evidence="two runs")
    reflection = Reflection(insights=(insight,), lessons_learned=("x",), confidence=0.8)
    lessons = (a_lesson(reflection=reflection, pull_request=17), a_lesson(id="m-2", fate="merged"))
    assert from_lines(to_lines(lessons, NOTHING)) == lessons


def test_secrets_leave_in_no_field() -> None:
    lesson = a_lesson(sentence=f"used {TOKEN}", tests=("hunter2-test",), said="hunter2")
    (line,) = to_lines([lesson], prepare_needles(("hunter2",)))
    assert TOKEN not in line
    assert "hunter2" not in line
    assert MASK in json.loads(line)["said"]


@pytest.mark.parametrize(("line", "kept"), [("x = 2", True), (f"x = '{TOKEN}'", False)])
def test_a_fix_moves_as_it_is_or_not_at_all(line: str, *, kept: bool) -> None:
    diff = f"--- a/c.py\n+++ b/c.py\n@@ -1 +1 @@\n-x = 1\n+{line}\n"
    alike = (AlikeEdit(template="t", diff=diff), AlikeEdit(template="t", diff=TOKEN))
    fix = RememberedFix(diff=diff, title=f"use {TOKEN}", score=0.9, candidates=208, alike=alike)
    (found,) = from_lines(to_lines([a_lesson(fix=fix)], NOTHING))
    assert TOKEN not in found.model_dump_json()
    assert (found.fix is not None) is kept
    assert found.fix is None or (found.fix.diff, found.fix.candidates) == (diff, 208)
    assert found.fix is None or found.fix.alike == alike[:1]


def test_imported_texts_pass_the_gate() -> None:
    line = a_lesson(sentence=f"\x1b[31m{TOKEN}\nred", keywords=(TOKEN,)).model_dump_json()
    (lesson,) = from_lines([line])
    assert TOKEN not in lesson.model_dump_json()
    assert lesson.sentence.isprintable()


def test_lessons_for_another_repository_get_their_own_id_and_no_pull_request() -> None:
    lines = [a_lesson(pull_request=17).model_dump_json()]
    (first,), (other,) = (from_lines(lines, repository_id=key) for key in ("7", "8"))
    assert (first.repository_id, first.pull_request) == ("7", None)
    assert len({first.id, other.id, a_lesson().id}) == 3
    assert from_lines(lines, repository_id="7") == (first,)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no json", "line 2 is not a lesson: the line: Invalid JSON"),
        ("[]", "line 2 is not a lesson"),
        ('{"id": "x"}', "line 2 is not a lesson: mission_id: Field required"),
        (a_lesson(created_at="soon").model_dump_json(), "line 2 has no valid time"),
        (a_lesson(repository_id="../42").model_dump_json(), "line 2 names no repository"),
        (a_lesson(repository_id="local:relative").model_dump_json(), "line 2 names no repository"),
        (a_lesson(id="a b").model_dump_json(), "line 2 has an invalid id"),
        (a_lesson(id="").model_dump_json(), "line 2 has an invalid id"),
        ("{" * (MAX_LINE_CHARS + 1), "line 2 is longer than"),
        ("[" * 100_000, "line 2 is not a lesson"),
    ],
)
def test_a_bad_line_is_named_by_its_number(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        from_lines(["\n", line])
    assert len(raised.value.message) < 300


def test_a_repository_and_its_forks_belong_together() -> None:
    assert keys_of("42") == keys_of("42:fork") == ("42", "42:fork")
