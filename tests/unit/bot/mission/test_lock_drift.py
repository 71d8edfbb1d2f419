"""A refused lock file is replaced by its manager's own, verified, and a person's choice unless the policy says otherwise."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from typing_extensions import override

from bot.domain.account import ModelLimits
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Rung
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import ProposedChange
from bot.domain.request import Answer
from bot.fixers.chosen import ChosenFixer
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung0_tools.locks import WHICH_LOCK
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.mission.loop import MissionPorts
from bot.ports import Fixer
from bot.publish.report import mission_report
from bot.publish.story import build_story
from bot.publish.terminal import report_text
from sandbox.drifted_lock import report_refusal
from sandbox.types import LOCK_RUNNER, FileEdit, LockRepair, TestReport
from tests.builders import HEAD, a_candidate, a_change, a_report, facts
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_backend import ScriptedGuest
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_workspace import Asked, World, a_run
from tests.unit.bot.mission.world import Stage

pytestmark = pytest.mark.anyio
LOCK = "package-lock.json"
OLD, NEW, GREEN = '{"packages": {}}\n', '{"packages": {"node_modules/ms": {}}}\n', "the base's\n"
REPAIR = LockRepair(
    path=LOCK,
    content=NEW,
    program="npm 10.9.2",
    command="npm install --package-lock-only",
    refused="npm ci",
    refusal="npm error code EUSAGE\nnpm error Missing: ms@2.1.3 from lock file",
    packages=("`ms` 2.1.3 is added",),
    more=2,
)
TEST = "web.test.js::counts"
CHOSEN = ProposedChange(
    title="the lock file",
    diff="",
    edits=(FileEdit(path=LOCK, mode="100644", content=NEW.encode()),),
    patch_id="1",
    rung=0,
)


@dataclass
class Drifted(Stage):
    """A mission with any fixers."""

    chosen: tuple[Fixer, ...] = ()

    @property
    @override
    def ports(self) -> MissionPorts:
        return replace(super().ports, fixers=self.chosen)


async def a_stage(*fixers: Fixer, test: str = "", base: str = GREEN, **policy: Any) -> Drifted:
    """A commit that declares a package and forgets the lock file.

    Args:
        fixers: Fixers beside those of rung 0.
        test: How the test fails once the packages can be installed; empty if it passes.
        base: The base commit's lock file.
        policy: Keys of the policy.
    """
    refusal = await report_refusal(REPAIR, ScriptedGuest(lambda _: None), "node --test")
    assert refusal is not None

    def run(asked: Asked) -> TestReport:
        if asked.files[LOCK] == OLD:
            return refusal
        return a_run({TEST: test}, targets=asked.targets, runner="node:test")

    files = {LOCK: OLD, "package.json": "{}", "web.js": "1\n"}
    world = World(files=files, run=run, base={**files, LOCK: base}, facts=facts(lock_repair=REPAIR))
    chosen = (*tool_fixers(), *fixers)
    return Drifted(world=world, chosen=chosen, policy=RepositoryPolicy(**policy))


def edited(context: MissionContext) -> dict[str, str]:
    assert context.fix is not None
    return {edit.path: edit.content.decode() for edit in context.fix[1].edits}


async def test_a_person_is_asked_with_the_verified_lock_file() -> None:
    context = await (await a_stage()).play()
    assert context.outcome is Outcome.NEEDS_HUMAN, context.reason
    assert "dependencies: fix" in context.reason
    (choice,) = context.choices
    assert choice.verified
    assert [(edit.path, edit.content.decode()) for edit in choice.edits] == [(LOCK, NEW)]
    assert context.question is not None
    assert "`ms` 2.1.3 is added and 2 more" in context.question
    shown = report_text(context)
    assert "Packages\n  npm 10.9.2 wrote" in shown
    assert shown.endswith("Reproduce\n  npm ci\n")


async def test_the_policy_has_it_offered_without_a_question() -> None:
    context = await (await a_stage(dependencies="fix")).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert edited(context) == {LOCK: NEW}
    assert context.fix is not None
    runs = context.fix[1].runs
    assert {run.sandbox for run in runs} == {1, 2}
    assert all(run.report.runner == "node:test" for run in runs), "the command itself ran"
    shown = "- `ms` 2.1.3 is added\n- and 2 more packages"
    assert shown in mission_report(build_story(context))
    assert shown.replace("- ", "  ") in report_text(context)


async def test_the_policy_leaves_lock_files_to_people() -> None:
    context = await (await a_stage(dependencies="never")).play()
    assert (context.outcome, context.question) == (Outcome.NEEDS_HUMAN, WHICH_LOCK)
    assert context.fix is None


async def test_the_lock_file_that_a_person_chose_is_offered() -> None:
    stage = await a_stage()
    stage.chosen = (ChosenFixer(CHOSEN, HEAD),)
    answer = Answer(proposal_id="p-1", choice=1)
    context = await stage.play(head_sha=HEAD, answer=answer)
    assert context.outcome is Outcome.FIXED, context.reason
    assert edited(context) == {LOCK: NEW}


@pytest.mark.parametrize(
    ("path", "content"),
    [(LOCK, NEW.replace("ms", "evil")), ("package.json", '{"name": "x"}')],
    ids=["another lock file", "the declarations"],
)
async def test_no_fixer_changes_anything_else(path: str, content: str) -> None:
    forged = ScriptedFixer(
        lambda _files, _context: (
            a_candidate(changes=(a_change(LOCK, NEW), a_change(path, content))),
        ),
        rung=Rung.TOOLS,
    )
    stage = await a_stage(dependencies="fix")
    stage.chosen = (forged,)
    context = await stage.play()
    assert context.outcome is Outcome.NO_FIX, context.reason
    assert "protected" in context.reason
    assert path != LOCK or "npm 10.9.2 writes another one now" in context.reason


async def test_it_is_no_fix_while_the_command_fails() -> None:
    stage = await a_stage(test="AssertionError: 1 is not 2", dependencies="fix")
    context = await stage.play()
    assert context.outcome is Outcome.PARTIAL, context.reason
    assert edited(context) == {LOCK: NEW}


def test_no_model_is_asked_about_a_lock_file() -> None:
    red = a_report(runner=LOCK_RUNNER)
    fixer = ModelFixer(ScriptedMind({}), SearchTrials(MemoryLessons()), ModelLimits())
    assert not fixer.applies(red)
    assert fixer.applies(red.with_(runner="node:test"))


async def test_a_lock_file_that_the_base_commit_has_too_is_no_fault_of_this_commit() -> None:
    context = await (await a_stage(base=OLD)).play()
    assert context.outcome is Outcome.BASE_RED, context.reason


async def test_a_fix_of_the_code_behind_it_still_asks_about_the_lock_file() -> None:
    stage = await a_stage(
        ScriptedFixer(
            lambda _files, _context: (a_candidate(changes=(a_change("web.js", "2\n"),)),),
            rung=Rung.SEARCH,
        )
    )
    run = stage.world.run

    def fails_first(asked: Asked) -> TestReport:
        report = run(asked)
        is_red = report.runner == "node:test" and asked.files["web.js"] == "1\n"
        return a_run({TEST: "AssertionError: no"}, runner="node:test") if is_red else report

    stage.world.run = fails_first
    context = await stage.play()
    assert context.outcome is Outcome.NEEDS_HUMAN, context.reason
    assert edited(context) == {LOCK: NEW, "web.js": "2\n"}
