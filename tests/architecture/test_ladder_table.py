"""The table of runners and rungs in the documents is what the fixers themselves say."""

import re
from pathlib import Path

import pytest

from bot.domain.account import ModelLimits
from bot.fixers.rung0_tools import TOOLS, tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ports import Fixer
from sandbox.runners import RUNNERS
from sandbox.types import TestReport
from tests.builders import a_report
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_mind import ScriptedMind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "ladder.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
TABLE = {name: tuple(cells) for name, *cells in ROW.findall(PAGE.read_text())}


def rungs() -> tuple[tuple[Fixer, ...], ...]:
    lessons = MemoryLessons()
    model = ModelFixer(ScriptedMind({}), SearchTrials(lessons), ModelLimits())
    return tool_fixers(), (SearchFixer(lessons),), (model,)


def told(fixers: tuple[Fixer, ...], runner: str) -> str:
    """Return what the table has to say of a rung: for every command, for a tool's own, or for none."""

    def red(command: str) -> TestReport:
        return a_report(runner=runner, target=command)

    if any(fixer.applies(red("some command")) for fixer in fixers):
        return "yes"
    tools = [
        tool.name
        for tool in TOOLS
        if any(fixer.applies(red(f"{tool.name} check .")) for fixer in fixers)
    ]
    return f"with {', '.join(f'`{name}`' for name in tools)}" if tools else "no"


def test_the_table_has_a_row_for_every_runner() -> None:
    assert sorted(TABLE) == sorted(runner.name for runner in RUNNERS)


@pytest.mark.parametrize("runner", sorted(runner.name for runner in RUNNERS))
def test_a_row_says_what_the_fixers_say(runner: str) -> None:
    assert TABLE[runner] == tuple(told(fixers, runner) for fixers in rungs())
