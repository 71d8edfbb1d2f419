"""AgentWorker: what an agent left behind is weighed, tried and told like any other change."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from typing_extensions import override

from bot.domain.mission import MissionContext
from bot.domain.model import ModelCall, Question, Role
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.fixers.rung2_model.agent_worker import AgentWorker
from bot.fixers.trials import Failure, Proposed, Tried
from bot.llm.prompts.render import render_question
from bot.ports import AgentDoor
from sandbox.errors import ChangeRejected, SandboxUnavailable
from sandbox.types import CommandResult, Door, Errand, FileEdit, Returned
from tests.builders import a_running_mission
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials, passed
from tests.unit.bot.fixers.rung2_model.climbs import (
    ADD,
    EVEN,
    FILES,
    KNOWN,
    SOURCE,
    Climb,
    a_doubted,
    a_known_mission,
    a_red_run,
    mends,
)

pytestmark = pytest.mark.anyio


def always(proposed: Proposed) -> Tried:
    return passed(proposed)


RIGHT = SOURCE.replace("a - b", "a + b")


@dataclass
class OneDoor:
    """A door that counts one request, and the doors of all missions."""

    questions: list[Question] = field(default_factory=list)
    closed: bool = False
    name: str = "codex-cli:m"
    calls: tuple[ModelCall, ...] = (
        ModelCall(stage="agent", role=Role.FIX, model="codex-cli:m", cost_usd=0.25),
    )

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> AgentDoor | None:
        return None if self.closed else self

    def errand(self, question: Question, *, wall_s: float) -> Errand:
        self.questions.append(question)
        return Errand(command="agent", task="mend it", wall_s=wall_s)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Nobody asks."""


@dataclass
class Sent:
    """One climb with an agent that leaves these files behind."""

    left: Mapping[str, str | bytes | None] = field(default_factory=dict)
    doors: OneDoor = field(default_factory=OneDoor)
    failing: tuple[str, ...] = (ADD,)
    trouble: Exception | None = None
    result: CommandResult = field(
        default_factory=lambda: CommandResult(argv=("agent",), exit_code=0)
    )
    trials: ScriptedTrials = field(default_factory=lambda: ScriptedTrials(mends))
    known: MissionContext | None = None
    notes: list[RungNote] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)

    async def _agent(self, errand: Errand, door: Door, files: Mapping[str, str]) -> Returned:
        if self.trouble is not None:
            raise self.trouble
        edits = [
            FileEdit(path=path, mode="deleted")
            if content is None
            else FileEdit(
                path=path,
                mode="100644",
                content=content.encode() if isinstance(content, str) else content,
            )
            for path, content in self.left.items()
        ]
        return Returned(result=self.result, edits=tuple(edits))

    @property
    def failure(self) -> Failure:
        about = Climb(
            ScriptedMind({}), files=FILES, report=a_red_run(*self.failing), known=self.known
        ).failure
        assert isinstance(about.workspace, FakeWorkspace)
        about.workspace.agent = self._agent
        return about

    async def run(self) -> "Sent":
        about, worker = self.failure, AgentWorker(self.doors, self.trials)
        async for found in worker.propose(
            about.context, about.diagnosis, about.workspace, FixBudget(time_limit_s=80)
        ):
            (self.notes if isinstance(found, RungNote) else self.candidates).append(found)  # type: ignore[arg-type]
        assert await about.workspace.changes() == ()
        return self


async def test_a_change_that_passes_is_a_candidate_of_rung_two() -> None:
    sent = await Sent({"calc.py": RIGHT}, trials=ScriptedTrials(always)).run()
    (candidate,) = sent.candidates
    assert (candidate.rung, candidate.fixer, candidate.template) == (
        Rung.MODEL,
        "agent",
        "codex-cli:m",
    )
    assert [change.content for change in candidate.changes] == [RIGHT]
    assert not candidate.partial
    (note,) = sent.notes
    assert (note.cost_usd, len(note.calls)) == (0.25, 1)
    assert "its change passes (1 request to codex-cli:m)" in note.reason
    assert sent.trials.limits == [10.0], "the trial ends before the ladder's time does"


async def test_the_agent_knows_what_is_doubted_below_and_is_compared_with_it() -> None:
    doubted = a_doubted(SOURCE.replace("a - b", "a - -2"))
    trials = ScriptedTrials(always, compares=lambda one: passed(one, score=0.1))
    sent = await Sent(
        {"calc.py": RIGHT}, trials=trials, known=a_running_mission(doubted=(doubted,))
    ).run()
    assert "+    return a - -2" in str(sent.doors.questions[0].gaps["doubted"])
    assert [one.id for one in trials.rivals[0]] == ["searched"]
    (note,) = sent.notes
    assert [(one.id, one.score) for one in note.compared] == [("searched", 0.1)]
    assert [one.fixer for one in sent.candidates] == ["agent"]


async def test_the_agent_is_told_what_fails_and_where() -> None:
    sent = await Sent({"calc.py": RIGHT}).run()
    (question,) = sent.doors.questions
    told = str(question.gaps)
    assert "test_add" in told
    assert "calc.py:7" in told
    assert all(
        not isinstance(gap, str) for gap in question.gaps.values()
    )  # everything in it is foreign


async def test_the_agent_gets_a_persons_words_lessons_and_earlier_attempts() -> None:
    sent = await Sent({"calc.py": RIGHT}, known=a_known_mission()).run()
    prompt = render_question(sent.doors.questions[0]).user
    assert [words for words in KNOWN if words not in prompt] == []


async def test_tests_new_files_and_deletions_are_left_out_and_said() -> None:
    left = {
        "calc.py": RIGHT,
        "tests/test_calc.py": "",
        "scratch.py": "print()",
        "notes.txt": None,
        ".env": "TOKEN=x",
    }
    (candidate,) = (await Sent(left).run()).candidates
    assert [change.path for change in candidate.changes] == ["calc.py"]
    assert any("4 other files" in warning for warning in candidate.warnings)
    assert not candidate.confident


@pytest.mark.parametrize(
    "left",
    [
        {},
        {"tests/test_calc.py": "def test_add(): pass\n"},
        {"calc.py": b"\xff\xfe"},
        {"calc.py": None},
    ],
    ids=["nothing", "tests only", "no text", "deleted"],
)
async def test_without_an_edit_of_the_source_there_is_no_candidate(
    left: Mapping[str, str | bytes | None],
) -> None:
    sent = await Sent(left).run()
    assert sent.candidates == []
    assert "left no edit of the source" in sent.notes[0].reason
    assert sent.trials.tried == []


@pytest.mark.parametrize(
    "text",
    ["def add(a, b)\n    return", SOURCE, SOURCE + "# a comment\n", ""],
    ids=["broken", "same", "layout", "empty"],
)
async def test_what_no_answer_may_do_no_agent_may(text: str) -> None:
    sent = await Sent({"calc.py": text}).run()
    assert (sent.candidates, sent.trials.tried) == ([], [])


async def test_a_change_that_starts_processes_is_shown_to_a_person_first() -> None:
    risky = RIGHT.replace(
        '"""Arithmetic."""\n',
        '"""Arithmetic."""\n\nimport subprocess\n\nsubprocess.run(["id"], check=True)\n',
    )
    for candidate in (await Sent({"calc.py": risky}).run()).candidates:
        assert candidate.warnings
        assert not candidate.confident


@dataclass
class NoSingleTests(Sent):
    """A red run of which only the exit status is known."""

    @property
    @override
    def failure(self) -> Failure:
        about = super().failure
        report = a_red_run().with_(runner="command", outcomes={}, failures=(), failure_count=0)
        return replace(about, context=about.context.with_(test_results=report))


async def test_a_change_under_an_exit_status_alone_is_shown_to_a_person_first() -> None:
    sent = await NoSingleTests({"calc.py": RIGHT}).run()
    (candidate,) = sent.candidates
    assert sent.trials.tried == []
    assert not candidate.confident
    assert "no trial of this change came to an end" in candidate.warnings


async def test_a_change_that_mends_a_part_is_a_part() -> None:
    (candidate,) = (await Sent({"calc.py": RIGHT}, failing=(ADD, EVEN)).run()).candidates
    assert candidate.partial


async def test_a_change_that_mends_nothing_is_none() -> None:
    sent = await Sent({"calc.py": SOURCE.replace("a - b", "a * b")}).run()
    assert sent.candidates == []
    assert "red with its change: 2 tests" in sent.notes[0].reason


async def test_an_agent_that_ran_out_of_time_leaves_what_it_has() -> None:
    late = CommandResult(argv=("agent",), exit_code=None, timed_out=True)
    assert len((await Sent({"calc.py": RIGHT}, result=late).run()).candidates) == 1
    assert "ran out of time" in (await Sent(result=late).run()).notes[0].reason


@pytest.mark.parametrize(
    "trouble",
    [SandboxUnavailable("An agent can only run in a container."), ChangeRejected("too many files")],
    ids=["no place", "too much"],
)
async def test_where_no_agent_can_work_the_note_says_why(trouble: Exception) -> None:
    sent = await Sent(trouble=trouble).run()
    assert sent.candidates == []
    assert str(trouble) in sent.notes[0].reason
    assert sent.notes[0].calls


async def test_without_money_nobody_is_sent() -> None:
    sent = await Sent({"calc.py": RIGHT}, doors=OneDoor(closed=True)).run()
    assert (sent.candidates, sent.doors.questions) == ([], [])
    assert "no spending" in sent.notes[0].reason


async def test_what_the_policy_closes_is_left_as_it_is() -> None:
    sent = Sent({"calc.py": RIGHT})
    about = sent.failure
    worker = AgentWorker(
        sent.doors, sent.trials, allows=lambda policy, paths: "calc.py" not in paths
    )
    found = [
        one
        async for one in worker.propose(
            about.context, about.diagnosis, about.workspace, FixBudget()
        )
    ]
    assert [type(one) for one in found] == [RungNote]
    assert "left no edit" in str(found)
