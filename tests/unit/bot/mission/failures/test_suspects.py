"""Definitions that a failing test calls: a method counts if its class may be meant."""

import pytest

from bot.domain.lesson import RecalledLesson, RememberedFix
from bot.mission.failures.suspects import from_calls, from_lessons
from tests.builders import a_failure, a_lesson
from tests.fakes.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.anyio
FILES = {
    "shop/store.py": "class Store:\n    def get(self, key):\n        return 1\n\n\ndef find(key):\n    return 2\n"
}


async def lines(source: str) -> list[int]:
    failure = a_failure(error_message="assert 404 == 200", traceback=source, frames=())
    found = await from_calls((failure,), FakeWorkspace(FILES), wide=True)
    return [suspect.line for suspect in found]


async def test_a_method_of_another_class_is_not_pointed_at() -> None:
    assert await lines("    answer = client.get('/')\n    assert answer.status_code == 200\n") == []


@pytest.mark.parametrize(
    "source",
    [
        "    assert Store().get('a') == Store.get(1)\n",
        "    store.get('a')\n",
        "    my_store.get('a')\n",
    ],
)
async def test_a_method_of_a_class_that_the_test_names_is(source: str) -> None:
    assert await lines(source) == [2] or await lines(source) == [1, 2]


async def test_a_function_is_wherever_it_is_called_on_a_module() -> None:
    assert await lines("    shop.find('a')\n") == [6]


DIFF = (
    "--- a/shop/store.py\n+++ b/shop/store.py\n@@ -1,2 +1,2 @@\n def find(key):\n"
    "-    return 3\n+    return 2\n"
)


async def places(**changes: object) -> list[tuple[str, int, float]]:
    fix = RememberedFix(diff=DIFF, title="x", score=0.9)
    lesson = a_lesson(fix=fix).with_(**changes)
    recalled = RecalledLesson(lesson=lesson, score=0.8, reason="similar words")
    found = await from_lessons((recalled,), FakeWorkspace(FILES))
    return [(one.file, one.line, one.score) for one in found]


async def test_the_place_of_an_earlier_fix_is_found_where_its_line_is_now() -> None:
    assert await places() == [("shop/store.py", 7, 0.4)]
    undone = RememberedFix(diff=DIFF.replace("return 2", "return 9"), title="x", score=0.9)
    assert await places(fix=undone.with_(diff=undone.diff.replace("return 3", "return 1"))) == [
        ("shop/store.py", 3, 0.4)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"fate": "reverted"},
        {"fix": None},
        {"fix": RememberedFix(diff="no diff", title="x", score=0.9)},
        {"fix": RememberedFix(diff=DIFF.replace("store.py", "gone.py"), title="x", score=0.9)},
        {"fix": RememberedFix(diff=DIFF.replace("return", "raise"), title="x", score=0.9)},
    ],
    ids=["refused", "no fix", "unreadable", "no file", "lines are gone"],
)
async def test_a_lesson_without_such_a_place_names_none(changes: dict[str, object]) -> None:
    assert await places(**changes) == []
