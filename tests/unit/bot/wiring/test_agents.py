"""An agent as worker: named by one setting, behind the models, and nothing of it where none is named."""

from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.errors import SettingsError
from bot.lessons.sqlite_store import SqliteLessons
from bot.settings import Settings
from bot.wiring.line import build_fixers
from bot.wiring.models import build_doors, build_minds


def test_an_agent_stands_behind_the_model_on_the_third_rung(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, model="mock", model_agent="codex-cli:m@http://127.0.0.1:9")
    clock = SystemClock()
    lessons = SqliteLessons(tmp_path / "lessons.sqlite")
    fixers = build_fixers(settings, lessons, build_minds(settings, clock), build_doors(settings, clock))
    assert [fixer.name for fixer in fixers][-2:] == ["model", "agent"]
    assert fixers[-2].rung == fixers[-1].rung


def test_an_agent_needs_no_other_model(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, model_agent="claude-cli:m@http://127.0.0.1:9")
    fixers = build_fixers(
        settings, SqliteLessons(tmp_path / "lessons.sqlite"), None, build_doors(settings, SystemClock())
    )
    assert "model" not in [fixer.name for fixer in fixers]
    assert fixers[-1].name == "agent"


def test_without_a_name_there_is_none(tmp_path: Path) -> None:
    assert build_doors(Settings(data_dir=tmp_path), SystemClock()) is None


def test_an_agent_whose_key_is_missing_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        build_doors(Settings(data_dir=tmp_path, model_agent="codex-cli:m"), SystemClock())
