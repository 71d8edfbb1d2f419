"""What every LessonStore keeps to, the fake and the real one."""

import asyncio
from pathlib import Path

import pytest

from bot.domain.lesson import Correction, RememberedFix
from bot.lessons.stored import StoredLessons
from bot.ports import LessonStore
from tests.builders import FINGERPRINT, TEST, a_feedback, a_lesson, a_repository
from tests.databases import BOTH, a_database_of
from tests.fakes.memory_lessons import MemoryLessons

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", *BOTH])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> LessonStore:
    if request.param == "memory":
        return MemoryLessons()
    return StoredLessons(a_database_of(request.param, request, tmp_path / "data"))


async def recalled(store: LessonStore, **changes: object) -> list[tuple[str, str]]:
    question = {"repository_id": "42", "fingerprint": "", "error": None, "words": ()} | changes
    return [(found.lesson.id, found.reason) for found in await store.recall(**question)]  # type: ignore[arg-type]


async def test_an_empty_store_recalls_nothing(store: LessonStore) -> None:
    assert (
        await recalled(store, fingerprint=FINGERPRINT, error="AssertionError", words=("add",)) == []
    )
    assert await store.template_record(repository_id="42", error=None) == {}
    assert await store.forecasts(repository_id="42") == ()


async def test_what_people_said_of_a_fix_reaches_its_lesson_and_stays(store: LessonStore) -> None:
    await store.remember(a_lesson(id="m-1", mission_id="m-1", pull_request=17))
    await store.remember(a_lesson(id="m-2", mission_id="m-2", pull_request=None))
    said = a_feedback(
        pull_request=17, merged=False, said="it hides\nthe \x1b[31merror", boxes=("wrong", "test")
    )
    assert await store.feed_back(said) == 1
    assert await store.feed_back(a_feedback(pull_request=17, merged=False)) == 1
    assert (
        await store.feed_back(a_feedback(pull_request=0, merged=False, mission_id="m-2", said="no"))
        == 1
    )
    kept = {lesson.id: lesson for lesson in await store.newest(repository_id="42")}
    assert (kept["m-1"].said, kept["m-1"].boxes, kept["m-1"].fate) == (
        "it hides the error",
        ("wrong", "test"),
        "closed",
    )
    assert (kept["m-2"].said, kept["m-2"].boxes, kept["m-2"].fate) == ("no", (), "closed")


async def test_a_lesson_comes_back_as_it_was_kept(store: LessonStore) -> None:
    lesson = a_lesson(sentence="quotes ' \" and \u2192 survive", confidence=0.5)
    await store.remember(lesson)
    (found,) = await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=())
    assert found.lesson == lesson
    assert found.score == 1.0


async def test_the_same_fingerprint_comes_before_the_same_error_before_like_words(
    store: LessonStore,
) -> None:
    await store.remember(
        a_lesson(id="words", fingerprint="x", error="KeyError", files=("z.py",), tests=())
    )
    await store.remember(
        a_lesson(id="error", fingerprint="y", files=("calculator.py",), keywords=())
    )
    await store.remember(a_lesson(id="same", files=(), tests=(), keywords=(), sentence=""))
    question = {
        "fingerprint": FINGERPRINT,
        "error": "AssertionError",
        "words": ("calculator.py", "sum", "add"),
    }
    assert await recalled(store, **question) == [
        ("same", "same fingerprint"),
        ("error", "same error in the same file"),
        ("words", "similar words"),
    ]


async def test_a_node_id_among_the_words_stands_for_its_file(store: LessonStore) -> None:
    await store.remember(a_lesson(fingerprint="x", keywords=()))
    found = await recalled(store, error="AssertionError", words=(TEST,))
    assert found == [("m-0001", "same error in the same file")]


async def test_an_empty_fingerprint_matches_nothing(store: LessonStore) -> None:
    await store.remember(a_lesson(fingerprint="", keywords=(), sentence="", files=(), tests=()))
    assert await recalled(store, fingerprint="") == []


async def test_unlike_words_are_not_recalled(store: LessonStore) -> None:
    await store.remember(a_lesson(fingerprint="x"))
    assert (
        await recalled(store, words=("database", "timeout", "sockets", "certificate", "handshake"))
        == []
    )


async def test_a_repository_never_sees_anothers_lessons(store: LessonStore) -> None:
    await store.remember(a_lesson(fate="merged", confidence=0.9))
    question = {
        "fingerprint": FINGERPRINT,
        "error": "AssertionError",
        "words": ("calculator.py", "sum"),
    }
    assert await recalled(store, repository_id="43", **question) == []
    assert await store.template_record(repository_id="43", error=None) == {}
    assert await store.forecasts(repository_id="43") == ()


async def test_at_most_the_limit_is_recalled_newest_first(store: LessonStore) -> None:
    for number in range(1, 9):
        await store.remember(
            a_lesson(id=f"m-{number}", created_at=f"2026-01-0{number}T00:00:00+00:00")
        )
    found = await store.recall(
        repository_id="42", fingerprint=FINGERPRINT, error=None, words=(), limit=3
    )
    assert [one.lesson.id for one in found] == ["m-8", "m-7", "m-6"]


async def test_the_newest_lessons_of_a_repository_can_be_looked_at(store: LessonStore) -> None:
    for number in (2, 3, 1):
        await store.remember(
            a_lesson(id=f"m-{number}", created_at=f"2026-01-0{number}T00:00:00+00:00")
        )
    await store.remember(
        a_lesson(id="elsewhere", repository_id="43", created_at="2026-01-09T00:00:00+00:00")
    )
    assert [one.id for one in await store.newest(repository_id="42", limit=2)] == ["m-3", "m-2"]
    assert await store.newest(repository_id="44") == ()


async def test_what_people_accepted_comes_first_among_equals(store: LessonStore) -> None:
    await store.remember(
        a_lesson(id="closed", fate="closed", created_at="2026-02-01T00:00:00+00:00")
    )
    await store.remember(a_lesson(id="merged", fate="merged"))
    assert [name for name, _ in await recalled(store, fingerprint=FINGERPRINT)] == [
        "merged",
        "closed",
    ]


async def test_the_same_id_again_replaces_a_lesson(store: LessonStore) -> None:
    await store.remember(a_lesson(sentence="old", keywords=("outdated",)))
    await store.remember(a_lesson(sentence="new", keywords=("fresh",), fingerprint="x"))
    assert await recalled(store, fingerprint=FINGERPRINT) == []
    assert await recalled(store, words=("outdated",)) == []
    assert await recalled(store, words=("fresh",)) == [("m-0001", "similar words")]


async def test_a_merge_and_a_rejection_reach_their_lesson_only(store: LessonStore) -> None:
    await store.remember(a_lesson(id="ours", pull_request=17, fate="open", confidence=0.8))
    await store.remember(a_lesson(id="other", pull_request=18, fate="open", confidence=0.7))
    await store.remember(
        a_lesson(id="elsewhere", repository_id="43", pull_request=17, fate="open", confidence=0.6)
    )
    assert await store.feed_back(a_feedback(pull_request=17, merged=False)) == 1
    assert await store.template_record(repository_id="42", error=None) == {"swap_operator": (2, 1)}
    assert [(f.confidence, f.merged) for f in await store.forecasts(repository_id="42")] == [
        (0.8, False)
    ]
    assert await store.feed_back(a_feedback(pull_request=18, merged=True)) == 1
    assert await store.forecasts(repository_id="43") == ()


async def test_outcomes_of_all_repositories_correct_ranks_but_not_of_forks(
    store: LessonStore,
) -> None:
    assert await store.correction() == Correction()
    for repository in ("42", "43", "44:fork", "45"):
        for number in range(4):
            lesson = a_lesson(id=f"{repository}-{number}", repository_id=repository, rank=0.9)
            await store.remember(lesson.with_(fate="closed"))
    correction = await store.correction()
    assert correction.outcomes == 8, "one repository is left out"
    assert correction.apply(0.9) < 0.9


async def test_outcomes_of_fixes_without_a_rank_correct_nothing(store: LessonStore) -> None:
    for repository in ("42", "43", "44"):
        for number in range(9):
            lesson = a_lesson(id=f"{repository}-{number}", repository_id=repository)
            await store.remember(lesson.with_(fate="closed", confidence=0.96))
    assert await store.correction() == Correction()


async def test_one_repository_counts_to_a_limit(store: LessonStore) -> None:
    for repository in ("42", "43", "44"):
        for number in range(30):
            lesson = a_lesson(id=f"{repository}-{number}", repository_id=repository, rank=0.9)
            await store.remember(lesson.with_(fate="closed"))
    assert (await store.correction()).outcomes == 50, "25 of each, and one is left out"


async def test_feedback_on_an_unknown_pull_request_touches_nothing(store: LessonStore) -> None:
    await store.remember(a_lesson())
    assert await store.feed_back(a_feedback(repository=a_repository(), pull_request=99)) == 0


async def test_reflecting_twice_does_not_forget_what_people_decided(store: LessonStore) -> None:
    await store.remember(a_lesson(pull_request=17, fate="open"))
    await store.feed_back(a_feedback(pull_request=17, merged=True))
    await store.remember(a_lesson(pull_request=17, fate="open"))
    (found,) = await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=())
    assert found.lesson.fate == "merged"


async def test_a_template_is_remembered_per_error(store: LessonStore) -> None:
    await store.remember(a_lesson(id="1", error="KeyError", template="guard_none"))
    await store.remember(a_lesson(id="2"))
    await store.remember(a_lesson(id="3", outcome="NO_FIX", template=None))
    assert await store.template_record(repository_id="42", error="KeyError") == {
        "guard_none": (1, 0)
    }
    assert await store.template_record(repository_id="42", error=None) == {
        "guard_none": (1, 0),
        "swap_operator": (1, 0),
    }


@pytest.mark.parametrize(
    "words", [('"', "or", "*"), ("a AND b NOT c",), ("near/2", "^x", "()"), ("\x00", "\ud800")]
)
async def test_any_words_are_words_and_no_query(store: LessonStore, words: tuple[str, ...]) -> None:
    await store.remember(a_lesson(keywords=("and", "not", "near")))
    await recalled(store, words=words)


async def test_many_at_once_lose_nothing(store: LessonStore) -> None:
    await asyncio.gather(*(store.remember(a_lesson(id=f"m-{n}")) for n in range(40)))
    found = await store.recall(
        repository_id="42", fingerprint=FINGERPRINT, error=None, words=(), limit=100
    )
    assert len(found) == 40


async def test_a_forgotten_repository_has_no_lessons_and_others_keep_theirs(
    store: LessonStore,
) -> None:
    for number, key in enumerate(("42", "42", "42:fork", "420")):
        await store.remember(a_lesson(id=f"m-{number}", repository_id=key))
    assert await store.forget(repository_id="42") == 3
    assert await recalled(store, fingerprint=FINGERPRINT, words=("calculator",)) == []
    assert await store.newest(repository_id="42:fork") == ()
    assert [one.id for one in await store.newest(repository_id="420")] == ["m-3"]
    assert await store.forget(repository_id="42") == 0


async def test_refused_fixes_are_found_by_what_people_decided(store: LessonStore) -> None:
    fix = RememberedFix(diff="+x", title='"fate":"closed"', score=0.5)
    for number, fate in enumerate(("open", "merged", "closed", "reverted", "unknown")):
        await store.remember(a_lesson(id=fate, pull_request=number, fate=fate, fix=fix))
    await store.remember(a_lesson(id="no fix", fate="closed"))
    await store.remember(a_lesson(id="elsewhere", fate="closed", fix=fix, repository_id="43"))
    found = await store.refused(repository_id="42")
    assert {lesson.id for lesson in found} == {"closed", "reverted"}
    await store.feed_back(a_feedback(pull_request=0, merged=False))
    await store.feed_back(a_feedback(pull_request=2, merged=False, fate="reopened"))
    found = await store.refused(repository_id="42")
    assert {lesson.id for lesson in found} == {"open", "reverted"}


async def test_old_fixes_that_people_never_answered_are_marked(store: LessonStore) -> None:
    fix = RememberedFix(diff="+x", title="x", score=0.5)
    new = "2026-03-01T00:00:00+00:00"
    await store.remember(a_lesson(id="old", fix=fix))
    await store.remember(a_lesson(id="fork", fix=fix, repository_id="42:fork"))
    await store.remember(a_lesson(id="new", fix=fix, created_at=new))
    await store.remember(a_lesson(id="merged", fix=fix, fate="merged"))
    await store.remember(a_lesson(id="no fix"))
    await store.remember(a_lesson(id="elsewhere", fix=fix, repository_id="43"))
    assert await store.expire(repository_id="42", before="2026-02-01T00:00:00+00:00") == 2
    assert await store.expire(repository_id="42", before="2026-02-01T00:00:00+00:00") == 0
    fates = {one.id: one.fate for one in await store.newest(repository_id="42", limit=9)}
    assert fates == {"old": "ignored", "new": "unknown", "merged": "merged", "no fix": "unknown"}
    (elsewhere,) = await store.newest(repository_id="43")
    assert elsewhere.fate == "unknown"


async def test_accepted_fixes_are_those_of_the_error_that_people_took(store: LessonStore) -> None:
    fix = RememberedFix(diff="+x", title="x", score=0.5)
    for number, fate in enumerate(("open", "merged", "closed", "answered", "ignored")):
        await store.remember(a_lesson(id=fate, pull_request=number, fate=fate, fix=fix))
    await store.remember(a_lesson(id="edited", fate="merged", fix=fix, difference="+y"))
    await store.remember(a_lesson(id="no fix", fate="merged"))
    await store.remember(a_lesson(id="another", fate="merged", fix=fix, error="KeyError"))
    await store.remember(a_lesson(id="elsewhere", fate="merged", fix=fix, repository_id="43"))
    found = await store.accepted(repository_id="42", error="AssertionError")
    assert {lesson.id for lesson in found} == {"merged", "answered"}
    assert len(await store.accepted(repository_id="42", error="AssertionError", limit=1)) == 1
    assert await store.accepted(repository_id="42", error=None) == ()


async def test_every_change_of_a_lesson_is_a_new_version(store: LessonStore) -> None:
    async def version() -> int:
        (found,) = await store.newest(repository_id="42")
        return found.version

    lesson = a_lesson(pull_request=17, fate="open")
    await store.remember(lesson)
    assert await version() == 1
    await store.remember(lesson)
    assert await version() == 1
    for _ in range(2):
        await store.feed_back(a_feedback(pull_request=17))
        assert await version() == 2
    await store.remember(lesson.with_(sentence="reflected again"))
    assert await version() == 3
