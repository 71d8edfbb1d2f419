"""An agent as worker: named by one setting, behind the models, and nothing of it where none is named."""

from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.errors import SettingsError
from bot.lessons.stored import StoredLessons
from bot.settings import Settings
from bot.wiring.mission_services import build_fixers
from bot.wiring.models import build_doors, build_minds
from tests.databases import a_database


def test_an_agent_stands_behind_the_model_on_the_third_rung(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path, model="mock", model_agent="codex-cli:m@http://127.0.0.1:9"
    )
    clock = SystemClock()
    database = a_database(tmp_path)
    minds, doors = build_minds(settings, clock, database), build_doors(settings, clock, database)
    fixers = build_fixers(settings, StoredLessons(database), minds, doors)
    assert [fixer.name for fixer in fixers][-2:] == ["model", "agent"]
    assert fixers[-2].rung == fixers[-1].rung


def test_an_agent_needs_no_other_model(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, model_agent="claude-cli:m@http://127.0.0.1:9")
    database = a_database(tmp_path)
    fixers = build_fixers(
        settings, StoredLessons(database), None, build_doors(settings, SystemClock(), database)
    )
    assert "model" not in [fixer.name for fixer in fixers]
    assert fixers[-1].name == "agent"


def test_without_a_name_there_is_none(tmp_path: Path) -> None:
    assert build_doors(Settings(data_dir=tmp_path), SystemClock(), a_database(tmp_path)) is None


def test_an_agent_whose_key_is_missing_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        build_doors(
            Settings(data_dir=tmp_path, model_agent="codex-cli:m"),
            SystemClock(),
            a_database(tmp_path),
        )
