"""Improvements by a scripted model: edit blocks beside a message, a critique that only lowers, rules after a failure."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.domain.model import ModelTrouble, Passage, Question
from bot.improve.by_model import MAX_SHOWN
from bot.improve.values import CycleRecord
from bot.settings import Settings
from sandbox.types import TestReport
from tests.fakes.fake_workspace import Files
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_workspace import a_run
from tests.unit.bot.improve.world import ImprovementWorld

Make = Callable[..., Settings]
SLOW = "def mean(values):\n    return sum(values) / len(values)\n"
SAFE = "def mean(values):\n    return sum(values) / len(values) if values else 0.0\n"
ANALYSIS = {
    "title": "return 0.0 for no values",
    "problem": "mean([]) raises",
    "change": "test for it",
}
MESSAGE = "```yaml\ntype: implement_improvement\nversion: 1\npayload:\n  title: t\n```\n"
EDIT = (
    "stats.py\n```python\n<<<<<<< SEARCH\n    return sum(values) / len(values)\n=======\n"
    "    return sum(values) / len(values) if values else 0.0\n>>>>>>> REPLACE\n```\n"
)
MISFIT = EDIT.replace("return sum(values) / len(values)\n=", "return total / count\n=")
GOOD = {"score": 0.9, "justification": "right"}


@pytest.fixture
def stats(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'stats'\n")
    (tmp_path / "test_stats.py").write_text("def test_mean():\n    pass\n")
    file = tmp_path / "stats.py"
    file.write_text(SLOW)
    return file


def passing(files: Files, command: str) -> TestReport:
    return a_run({"test_stats.py::test_mean": ""})


def scripted(**answers: Any) -> ScriptedMind:
    usual: dict[str, Any] = {
        "analyze_target": ANALYSIS,
        "implement_improvement": EDIT + MESSAGE,
        "critique_improvement": GOOD,
    }
    return ScriptedMind({**usual, **answers})


def only_record(world: ImprovementWorld) -> CycleRecord:
    (line,) = world.lines
    return CycleRecord.model_validate_json(line)


def test_a_models_improvement_is_promoted_in_one_cycle(settings: Make, stats: Path) -> None:
    world = ImprovementWorld(settings(), judge=passing, mind=scripted())
    result = world.improve(stats)
    assert result.ok
    assert stats.read_text() == SAFE
    record = only_record(world)
    assert (record.model_calls, record.cost_usd, record.evaluation.score) == (3, 0.003, 0.8)
    assert record.improvement is not None
    assert (record.improvement.by, record.improvement.title) == ("model", ANALYSIS["title"])


def test_without_a_test_a_models_change_is_not_accepted(settings: Make, stats: Path) -> None:
    (stats.parent / "pyproject.toml").unlink()
    world = ImprovementWorld(settings(), mind=scripted())
    assert world.improve(stats).message.startswith("critique: 0.5 is below 0.7")
    assert stats.read_text() == SLOW


def test_a_critique_lowers_a_score_and_never_raises_it(settings: Make, stats: Path) -> None:
    low = {"score": 0.2, "justification": "hides an error"}
    world = ImprovementWorld(settings(), judge=passing, mind=scripted(critique_improvement=low))
    assert world.improve(stats).message == "critique: 0.2 is below 0.7: hides an error"
    world = ImprovementWorld(
        settings(), judge=passing, mind=scripted(critique_improvement={**GOOD, "score": 1.0})
    )
    assert world.improve(stats).data["cycles"][0]["evaluation"]["score"] == 0.8


@pytest.mark.parametrize("critique", [ModelTrouble.UNREADABLE, {"justification": "unknown"}])
def test_without_a_score_the_rules_decide(settings: Make, stats: Path, critique: object) -> None:
    mind = scripted(critique_improvement=critique)
    assert ImprovementWorld(settings(), judge=passing, mind=mind).improve(stats).ok


def test_edits_that_do_not_fit_get_one_more_round(settings: Make, stats: Path) -> None:
    mind = scripted(implement_improvement=[MISFIT + MESSAGE, EDIT + MESSAGE])
    assert ImprovementWorld(settings(), judge=passing, mind=mind).improve(stats).ok
    feedback = mind.asked("implement_improvement")[1].gaps["feedback"]
    assert isinstance(feedback, Passage)
    assert "is not in the file" in feedback.text


@pytest.mark.parametrize(
    "answers",
    [
        {"analyze_target": ModelTrouble.UNREADABLE},
        {"implement_improvement": MISFIT},
        {"implement_improvement": ModelTrouble.BUDGET},
        {"implement_improvement": EDIT.replace("stats.py", "test_stats.py")},
        {"implement_improvement": "type: implement_improvement\npayload:\n  code: x = 1\n"},
    ],
)
def test_rules_follow_a_model_without_a_usable_answer(
    settings: Make, stats: Path, answers: dict[str, object]
) -> None:
    stats.write_text(f"import os\n{SLOW}")
    world = ImprovementWorld(settings(), judge=passing, mind=scripted(**answers))
    result = world.improve(stats)
    assert result.ok
    assert stats.read_text() == SLOW
    record = only_record(world)
    assert record.improvement is not None
    assert record.improvement.rule == "unused-import"
    assert any("model" in note for note in record.notes), "the record names the reason"


def test_a_change_that_breaks_a_test_is_rejected_and_handed_on(settings: Make, stats: Path) -> None:
    def judge(files: Files, command: str) -> TestReport:
        broken = "if values" in files["stats.py"]
        return a_run({"test_stats.py::test_mean": "AssertionError: no" if broken else ""})

    mind = scripted()
    world = ImprovementWorld(settings(), judge=judge, mind=mind)
    world.improve(stats, cycles=2, context="see the log")
    assert stats.read_text() == SLOW
    question = mind.asked("analyze_target")[1]
    earlier = question.gaps["earlier"]
    assert isinstance(earlier, tuple)
    assert "FAILURE tests: 1 test passed before" in earlier[0].text
    context = question.gaps["context"]
    assert isinstance(context, Passage)
    assert (context.text, context.trusted) == ("see the log", False)


def test_a_change_of_a_guarded_kind_never_runs(settings: Make, stats: Path) -> None:
    hidden = EDIT.replace("if values else 0.0", "# type: ignore")
    world = ImprovementWorld(
        settings(), judge=passing, mind=scripted(implement_improvement=hidden + MESSAGE)
    )
    result = world.improve(stats)
    assert not result.ok
    assert world.workspaces == []


def test_a_long_file_is_cut_for_the_model_and_the_record_says_so(
    settings: Make, stats: Path
) -> None:
    stats.write_text(SLOW + f"# {'x' * 97}\n" * (MAX_SHOWN // 100 + 1))
    shown: list[int] = []

    def answer(question: Question) -> str:
        source = question.gaps["source"]
        assert isinstance(source, Passage)
        shown.append(len(source.text))
        return EDIT + MESSAGE

    world = ImprovementWorld(settings(), judge=passing, mind=scripted(implement_improvement=answer))
    assert world.improve(stats).ok
    assert shown[0] <= MAX_SHOWN
    assert any("was cut from" in note for note in only_record(world).notes)


def test_a_folders_files_take_turns(settings: Make, stats: Path) -> None:
    (stats.parent / "other.py").write_text("y = 1\n")
    mind = scripted(analyze_target=ModelTrouble.UNREADABLE)
    (stats.parent / "other.py").write_text("import os\ny = 1\n")
    stats.write_text(f"import os\n{SLOW}")
    ImprovementWorld(settings(), judge=passing, mind=mind).improve(stats.parent, cycles=2)
    sources = [question.gaps["source"] for question in mind.asked("analyze_target")]
    assert [one.origin for one in sources if isinstance(one, Passage)] == ["other.py", "stats.py"]


def test_the_records_are_plain_json(settings: Make, stats: Path) -> None:
    world = ImprovementWorld(settings(), judge=passing, mind=scripted())
    assert json.loads(json.dumps(world.improve(stats).data))["model_calls"] == 3
