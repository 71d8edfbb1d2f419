"""An agent that is killed and runs again: each step is paid once, although its prompts differ."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.domain.account import ModelLimits
from bot.domain.model import Completion, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.domain.patch import FixBudget
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ledger.calls import CallLedger
from sandbox.types import TestReport
from tests.builders import a_running_mission, an_iteration
from tests.databases import a_database
from tests.fakes.fake_workspace import green
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials
from tests.unit.bot.fixers.rung2_model.climbs import FIX_ADD, Climb, adds, minds_with

pytestmark = pytest.mark.anyio

STEPS = (
    "```tool\nread calc.py\ntest\n```\n",
    "```tool\nsearch add\ntest\n```\n",
    "```tool\ntest\ndiff\n```\n",
    FIX_ADD,
)
SECONDS = itertools.count(1)


class Killed(BaseException):
    """The process ends."""


class Steps:
    """A model that gives one step after another, and ends the process before one of them."""

    name = "openai-chat:one"
    can_hold_to_schema = False

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.dies_before: int | None = None
        self.refuses_first = False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        if len(self.prompts) == self.dies_before:
            raise Killed
        if self.refuses_first:
            self.refuses_first = False
            raise ModelError("no answer", trouble=ModelTrouble.BAD_RESPONSE)
        self.prompts.append(prompt)
        return Completion(
            text=STEPS[len(self.prompts) - 1], usage=Usage(input_tokens=1_000, output_tokens=100)
        )

    async def close(self) -> None:
        """Nothing is open."""


def takes_a_while(files: Mapping[str, str], command: str) -> TestReport:
    """Another duration in each run."""
    return green(files, command).with_(summary=f"1 failed in {next(SECONDS)}.25s")


class Mission:
    """A mission that may run several times, with the ledger of the first run."""

    def __init__(self, folder: Path) -> None:
        self.chat = Steps()
        self.limits = ModelLimits(fix="agent", prices="one=1/10")
        self.ledger = CallLedger(a_database(folder))
        self.budget = FixBudget()
        self.iteration = 1

    async def run(self) -> Climb:
        minds = minds_with(self.chat, self.ledger, self.limits)
        trials = ScriptedTrials(adds)
        known = a_running_mission(iterations=(an_iteration(),) * self.iteration)
        climb = Climb(ScriptedMind(), trials, judge=takes_a_while, known=known, budget=self.budget)
        climb.fixer = ModelFixer(minds, trials, self.limits)
        return await climb.run()


@pytest.mark.parametrize("kept", range(len(STEPS)))
async def test_paid_steps_are_not_paid_again(tmp_path: Path, kept: int) -> None:
    mission = Mission(tmp_path)
    mission.chat.dies_before = kept
    with pytest.raises(Killed):
        await mission.run()
    mission.chat.dies_before = None
    climb = await mission.run()
    assert len(mission.chat.prompts) == len(STEPS), "each step is asked once"
    (candidate,) = climb.candidates
    assert "a + b" in str(candidate.changes)
    calls = climb.notes[0].calls
    assert [call.remembered for call in calls] == [True] * kept + [False] * (len(STEPS) - kept)
    assert climb.notes[0].cost_usd == pytest.approx(0.002 * (len(STEPS) - kept))


async def test_another_iteration_asks_new_questions(tmp_path: Path) -> None:
    mission = Mission(tmp_path)
    await mission.run()
    mission.iteration = 2
    mission.chat.prompts.clear()
    await mission.run()
    assert len(mission.chat.prompts) == len(STEPS)


async def test_a_step_without_an_answer_keeps_its_place(tmp_path: Path) -> None:
    mission = Mission(tmp_path)
    mission.chat.refuses_first = True
    mission.chat.dies_before = 2
    with pytest.raises(Killed):
        await mission.run()
    mission.chat.refuses_first = True
    mission.chat.dies_before = None
    await mission.run()
    assert len(mission.chat.prompts) == len(STEPS)


async def test_remembered_steps_count_towards_the_money_of_a_climb(tmp_path: Path) -> None:
    mission = Mission(tmp_path)
    mission.budget = FixBudget(money_usd=0.005)
    first = await mission.run()
    again = await mission.run()
    assert "money" in first.notes[0].reason
    assert "money" in again.notes[0].reason
    assert len(mission.chat.prompts) == 3
