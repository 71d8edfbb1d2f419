"""The table of runners and rungs: which fixers apply to the red runs of each runner."""

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


def ladder_table() -> str:
    """A row for each runner, a column for each rung."""
    lines = [
        "| runner | rung 0, tools | rung 1, search | rung 2, model |",
        "| --- | --- | --- | --- |",
    ]
    for runner in RUNNERS:
        cells = (_answer(fixers, runner.name) for fixers in _rungs())
        lines.append(f"| `{runner.name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rungs() -> tuple[tuple[Fixer, ...], ...]:
    lessons = MemoryLessons()
    model = ModelFixer(ScriptedMind({}), SearchTrials(lessons), ModelLimits())
    return tool_fixers(), (SearchFixer(lessons),), (model,)


def _answer(fixers: tuple[Fixer, ...], runner: str) -> str:
    """Whether a rung applies to every command of the runner, to those of a tool, or to none."""

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
