"""A climb that is killed and runs again: each answer is paid once, although the prompts differ."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bot.domain.account import ModelLimits
from bot.domain.model import Completion, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.domain.patch import FixBudget
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.fixers.trials import Proposed, Tried
from bot.ledger.calls import CallLedger
from sandbox.types import TestReport
from tests.builders import a_lesson, a_recalled_lesson, a_running_mission, an_iteration
from tests.databases import a_database
from tests.fakes.fake_workspace import green
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials
from tests.unit.bot.fixers.rung2_model.climbs import (
    FIX_ADD,
    SOURCE,
    Climb,
    a_doubted,
    adds,
    block,
    minds_with,
)

pytestmark = pytest.mark.anyio

STEPS = (
    "```tool\nread calc.py\ntest\n```\n",
    "```tool\nsearch add\ntest\n```\n",
    "```tool\ntest\ndiff\n```\n",
    FIX_ADD,
)
BLOCKS = (
    block("    return a - b", "    return a * b"),
    block("    return a - b", "    return b - a"),
    FIX_ADD,
)
SECONDS = itertools.count(1)


class Killed(BaseException):
    """The process ends."""


class Model:
    """A model that gives one answer after another, and ends the process before one of them."""

    name = "openai-chat:one"
    can_hold_to_schema = False

    def __init__(self, answers: Sequence[str]) -> None:
        self.answers = answers
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
            text=self.answers[len(self.prompts) - 1],
            usage=Usage(input_tokens=1_000, output_tokens=100),
        )

    async def close(self) -> None:
        """Nothing is open."""


def takes_a_while(files: Mapping[str, str], command: str) -> TestReport:
    """Another duration in each run."""
    return green(files, command).with_(summary=f"1 failed in {next(SECONDS)}.25s")


class Mission:
    """A mission that may run several times, with the ledger of the first run."""

    def __init__(self, folder: Path, *, fix: str = "agent", answers: Sequence[str] = STEPS) -> None:
        self.chat = Model(answers)
        self.limits = ModelLimits.model_validate({"fix": fix, "prices": "one=1/10"})
        self.ledger = CallLedger(a_database(folder))
        self.budget = FixBudget()
        self.known = a_running_mission(iterations=(an_iteration(),))
        self.dies_in_trial: int | None = None

    async def run(self) -> Climb:
        minds = minds_with(self.chat, self.ledger, self.limits)
        numbers = itertools.count()

        def tries(proposed: Proposed) -> Tried:
            if next(numbers) == self.dies_in_trial:
                raise Killed
            return adds(proposed)

        trials = ScriptedTrials(tries)
        climb = Climb(
            ScriptedMind(), trials, judge=takes_a_while, known=self.known, budget=self.budget
        )
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


@pytest.mark.parametrize("trial", range(len(BLOCKS)))
async def test_answers_in_blocks_are_not_paid_again_if_more_is_known(
    tmp_path: Path, trial: int
) -> None:
    mission = Mission(tmp_path, fix="prompt", answers=BLOCKS)
    mission.dies_in_trial = trial
    with pytest.raises(Killed):
        await mission.run()
    assert len(mission.chat.prompts) == trial + 1, "it was killed between an answer and its use"

    mission.dies_in_trial = None
    rival = a_doubted(SOURCE.replace("a - b", "a + 2"))
    mission.known = mission.known.with_(lessons=(a_recalled_lesson(),), doubted=(rival,))
    climb = await mission.run()
    assert len(mission.chat.prompts) == len(BLOCKS), "each answer is asked for once"
    knows = [a_lesson().sentence in prompt.user for prompt in mission.chat.prompts]
    assert knows == [number > trial for number in range(len(BLOCKS))]
    calls = climb.notes[0].calls
    assert [call.remembered for call in calls] == [number <= trial for number in range(len(BLOCKS))]
    assert "a + b" in str(climb.candidates[0].changes)


async def test_another_iteration_asks_new_questions(tmp_path: Path) -> None:
    mission = Mission(tmp_path)
    await mission.run()
    mission.known = a_running_mission(iterations=(an_iteration(),) * 2)
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
