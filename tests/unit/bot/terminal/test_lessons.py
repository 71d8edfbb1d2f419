"""`metaagent lessons`: every action on a real store, and what wrong use is answered."""

import asyncio
import json
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.cli import main
from bot.domain.lesson import Insight, Lesson, Reflection, SuggestedImprovement
from bot.errors import StoreError, UsageError
from bot.lessons.stored import StoredLessons
from bot.settings import Settings
from bot.terminal.lessons import LessonsOrder, LessonsResult, run_lessons
from tests.builders import a_lesson
from tests.databases import a_database

REFLECTION = Reflection(
    insights=(Insight(category="efficiency", description="208 candidates", evidence="m-1"),),
    lessons_learned=("x",),
    improvements=(
        SuggestedImprovement(
            area="planning", suggestion="narrow first", priority="high", expected_impact="half"
        ),
    ),
    confidence=0.8,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    store(
        tmp_path,
        a_lesson(id="m-1", sentence="guard_none fixed test_socket", keywords=("socket",)),
        a_lesson(id="m-2", created_at="2026-02-01T00:00:00+00:00", reflection=REFLECTION),
        a_lesson(id="m-3", repository_id="42:fork"),
        a_lesson(id="m-4", repository_id=f"local:{tmp_path}", sentence="hunter2\x1b[31m"),
    )
    return Settings(data_dir=tmp_path, model_key=SecretStr("hunter2"))


def store(folder: Path, *lessons: Lesson) -> None:
    async def remember() -> None:
        for lesson in lessons:
            await StoredLessons(database).remember(lesson)

    with closing(a_database(folder)) as database:
        asyncio.run(remember())


def ran(settings: Settings, action: str, *words: str, **more: object) -> LessonsResult:
    return run_lessons(LessonsOrder(action, words, **more), settings)  # type: ignore[arg-type]


def ids(result: LessonsResult) -> list[str]:
    return [lesson["id"] for lesson in result.json_object]


def test_lessons_are_listed_newest_first_for_all_or_one_repository(
    settings: Settings, tmp_path: Path
) -> None:
    assert ids(ran(settings, "list"))[0] == "m-2"
    assert len(ids(ran(settings, "list"))) == 4
    assert ids(ran(settings, "list", repository="42", limit=1)) == ["m-2"]
    here = ran(settings, "list", repository=str(tmp_path))
    assert ids(here) == ["m-4"]
    assert "hunter2" not in here.text
    assert "\x1b" not in here.text
    nothing = ran(settings, "list", repository="43")
    assert (nothing.text, nothing.found) == ("no lessons", False)


def test_words_find_lessons(settings: Settings) -> None:
    assert ids(ran(settings, "search", "socket", "timeout")) == ["m-1"]
    assert ids(ran(settings, "search", "socket", repository="43")) == []


def test_a_lesson_is_shown_with_its_reflection(settings: Settings) -> None:
    text = ran(settings, "show", "m-2").text
    assert text.startswith("2026-02-01  m-2  FIXED\n    swap_operator in calculator.py fixed")
    assert "    efficiency: 208 candidates" in text
    assert text.endswith("    improve planning, high: narrow first (half)")
    with pytest.raises(UsageError, match="no lesson has the id m-9"):
        ran(settings, "show", "m-9")


def test_an_export_is_private_and_an_import_restores_it(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    assert ran(settings, "export", str(file)).json_object == {"exported": 4}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "hunter2" not in file.read_text()
    other = Settings(data_dir=tmp_path / "other")
    assert ran(other, "import", str(file)).json_object == {"imported": 4, "known": 0}
    assert ran(other, "import", str(file)).json_object == {"imported": 0, "known": 4}
    assert ran(other, "import", str(file), repository="7").json_object["imported"] == 4
    assert len(ids(ran(other, "list", repository="7"))) == 4
    assert ran(other, "show", "m-2").json_object == ran(settings, "show", "m-2").json_object
    with pytest.raises(UsageError, match="cannot be written"):
        ran(settings, "export", str(file))


def test_a_bad_import_adds_nothing(settings: Settings, tmp_path: Path) -> None:
    good = a_lesson(id="m-9").model_dump_json()
    (tmp_path / "half").write_text(f"{good}\nbad\n")
    with pytest.raises(UsageError, match="line 2 is not a lesson"):
        ran(settings, "import", str(tmp_path / "half"))
    assert "m-9" not in ids(ran(settings, "list"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("binary", "missing"):
        with pytest.raises(UsageError, match=f"{name} (is not UTF-8|cannot be read)"):
            ran(settings, "import", str(tmp_path / name))


def test_an_import_never_replaces_a_lesson(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    file.write_text(a_lesson(id="m-1", repository_id="7", sentence="taken over").model_dump_json())
    assert ran(settings, "import", str(file)).json_object == {"imported": 0, "known": 1}
    assert ran(settings, "show", "m-1").json_object["repository_id"] == "42"


def test_forgetting_takes_a_repository_with_its_forks_and_nothing_else(settings: Settings) -> None:
    assert ran(settings, "forget", repository="42").json_object == {"forgotten": 3}
    assert ids(ran(settings, "list")) == ["m-4"]
    assert ids(ran(settings, "search", "socket")) == []


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (LessonsOrder("list", ("x",)), "list takes no words"),
        (LessonsOrder("search"), "search takes the words"),
        (LessonsOrder("search", ("a", "!")), "too common or too short"),
        (LessonsOrder("show"), "show takes the id"),
        (LessonsOrder("import"), "import takes the file"),
        (LessonsOrder("forget"), "forget needs --repository"),
        (LessonsOrder("list", limit=0), "--limit must be between 1 and"),
    ],
)
def test_wrong_use_is_named(settings: Settings, order: LessonsOrder, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run_lessons(order, settings)


def test_without_a_database_none_is_made(tmp_path: Path) -> None:
    elsewhere = Settings(data_dir=tmp_path / "typo")
    with pytest.raises(StoreError, match="no database in"):
        ran(elsewhere, "list")
    assert not (tmp_path / "typo").exists()


def test_the_command_line_runs_it(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--data-dir", str(tmp_path)]
    assert main(["lessons", "export", "--repository", "42", *where]) == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [
        "m-1",
        "m-2",
    ]
    assert main(["lessons", "search", "socket", "--json", *where]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == ["m-1"]
    assert main(["lessons", "list", "--repository", "43", *where]) == 1


def test_standard_input_is_read(tmp_path: Path) -> None:
    words = ["lessons", "import", "-", "--json", "--data-dir", str(tmp_path / "new")]
    command = [sys.executable, "-m", "bot", *words]
    lines = a_lesson().model_dump_json()
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"imported": 1, "known": 0}
