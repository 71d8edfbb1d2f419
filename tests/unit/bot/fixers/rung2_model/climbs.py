"""A small broken program, a scripted model and scripted trials: one climb of rung 2 as a test needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.account import ModelLimits
from bot.domain.diagnosis import Suspect
from bot.domain.mission import MissionContext
from bot.domain.model import Role
from bot.domain.patch import Candidate, FixBudget, Rival, RungNote
from bot.domain.request import Answer
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.fixers.trials import Failure, Proposed, Tried
from bot.ledger.calls import CallLedger
from bot.llm.mind import ModelMinds
from bot.llm.prices import Prices
from bot.llm.providers.fallback import FallbackChat
from bot.ports import Chat
from sandbox.types import TestReport, TestResult, TestStatus
from tests.builders import (
    a_candidate,
    a_change,
    a_commanded_request,
    a_diagnosis,
    a_failure,
    a_lesson,
    a_recalled_lesson,
    a_report,
    a_running_mission,
    a_verification,
    an_iteration,
)
from tests.fakes.fake_workspace import FakeWorkspace, Judge, green
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials, failed, passed

ADD = "tests/test_calc.py::test_add"
EVEN = "tests/test_calc.py::test_even"
SOURCE = '''"""Arithmetic."""

LIMIT = 100


def add(a, b):
    return a - b


def is_even(n):
    return n % 2 == 1
'''
TESTS = """from calc import add, is_even


def test_add():
    assert add(1, 2) == 3


def test_even():
    assert is_even(2)
"""
FILES = {
    "calc.py": SOURCE,
    "tests/test_calc.py": TESTS,
    ".env": "TOKEN=canary-in-env",
    "notes.txt": "nothing",
}


def block(old: str, new: str, path: str = "calc.py") -> str:
    """An answer with one search and replace block."""
    return f"{path}\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"


def said(title: str, explanation: str = "it was wrong") -> str:
    """The message about a change."""
    return f"```yaml\ntype: propose_fix\nversion: 1\npayload:\n  title: {title}\n  explanation: {explanation}\n```\n"


def wants(*files: str, symbols: Sequence[str] = ()) -> str:
    """An answer that asks to see more."""
    shown = f"    files: [{', '.join(files)}]\n    symbols: [{', '.join(symbols)}]\n"
    return f"```yaml\ntype: propose_fix\nversion: 1\npayload:\n  title: more context\n  context:\n{shown}```\n"


FIX_ADD = block("    return a - b", "    return a + b")
FIX_EVEN = block("    return n % 2 == 1", "    return n % 2 == 0")


def a_doubted(content: str, **changes: object) -> Candidate:
    """A searched change of calc.py that passes and is not confident."""
    rival = Rival(
        template="swap_constant",
        path="calc.py",
        line=7,
        description="`a - b` became `3`",
        distinguishing_input="add(5, 5)",
        results=("0", "3"),
    )
    found = a_candidate(
        id="searched",
        title="calc.py: `b` became `-2`",
        template="replace_name",
        changes=(a_change("calc.py", content),),
        rivals=(rival,),
        score=0.3,
        confident=False,
    )
    return found.with_(**changes)


def minds_with(chat: Chat, ledger: CallLedger, limits: ModelLimits) -> ModelMinds:
    """Minds of one chat in every role."""
    chats = dict.fromkeys(Role, FallbackChat([chat]))
    return ModelMinds(chats, ledger, Prices(limits.prices), limits, clock=FixedClock())


def adds(proposed: Proposed) -> Tried:
    """A trial that passes if the change repairs `add`."""
    return passed(proposed) if "a + b" in str(proposed.changes) else failed(proposed)


def doubtful(proposed: Proposed) -> Tried:
    """A trial that passes and is ranked, but is certain only with another equal answer."""
    tried = passed(proposed, confident=proposed.votes > 1)
    assert tried.candidate is not None
    return tried.with_(candidate=tried.candidate.with_(ranked=True))


def untold(proposed: Proposed) -> Tried:
    """A trial that ends for lack of time."""
    return Tried(proposed=proposed, passes=False, output="there was no time to try it")


def a_red_run(*names: str) -> TestReport:
    """Of these tests."""
    wanted = names or (ADD,)
    outcomes = {
        name: TestStatus.FAIL if name in wanted else TestStatus.PASS for name in (ADD, EVEN)
    }
    failures = tuple(a_calc_failure(name) for name in wanted)
    return a_report(failures=failures, failure_count=len(failures), outcomes=outcomes)


def a_known_mission() -> MissionContext:
    """A mission with a person's words, a lesson and an earlier attempt."""
    refused = an_iteration(
        candidate=a_candidate(title="first try"),
        verification=a_verification(green=False, reason="broke test_sub"),
    )
    return a_running_mission(
        request=a_commanded_request(
            hint="look at add", answer=Answer(proposal_id="p", text="adding is meant")
        ),
        iterations=(refused,),
        lessons=(a_recalled_lesson(),),
    )


KNOWN = ("look at add", "adding is meant", "broke test_sub", a_lesson().sentence)
"""What is known of that mission, and is in no output of a test."""


def a_calc_failure(name: str) -> TestResult:
    """One of the two tests failed in its own line."""
    test = name.rpartition("::")[2]
    return a_failure(
        name=name,
        file="tests/test_calc.py",
        test=test,
        frames=(("tests/test_calc.py", 5, test),),
        traceback="E assert",
    )


def mends(proposed: Proposed) -> Tried:
    """What the two tests say of a change: by the text of the file."""
    text = next(
        (change.content or "" for change in proposed.changes if change.path == "calc.py"), SOURCE
    )
    green = [name for name, fix in ((ADD, "a + b"), (EVEN, "== 0")) if fix in text]
    red = [name for name in (ADD, EVEN) if name not in green]
    if not red:
        return passed(proposed, mended=tuple(green))
    return failed(
        proposed, mended=tuple(green), still_failing=tuple(red), output=f"still red: {red[0]}"
    )


@dataclass
class Climb:
    """Everything one climb stands on, and what came of it."""

    mind: ScriptedMind
    trials: ScriptedTrials = field(default_factory=lambda: ScriptedTrials(mends))
    files: Mapping[str, str] = field(default_factory=lambda: FILES)
    report: TestReport = field(default_factory=a_red_run)
    limits: ModelLimits = field(default_factory=ModelLimits)
    budget: FixBudget = field(default_factory=FixBudget)
    suspects: tuple[Suspect, ...] = (
        Suspect(file="calc.py", line=7, score=0.9, reason="called"),
        Suspect(file="calc.py", line=11, score=0.8, reason="called"),
    )
    known: MissionContext | None = None
    notes: list[RungNote] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    fixer: ModelFixer | None = None
    judge: Judge = green
    """Makes the report of a test run in the workspace."""

    @property
    def failure(self) -> Failure:
        """What is to be mended."""
        context = (self.known or a_running_mission()).with_(test_results=self.report)
        diagnosis = a_diagnosis(suspects=self.suspects, failures=self.report.failures)
        workspace = FakeWorkspace(self.files, judge=self.judge)
        return Failure(context=context, diagnosis=diagnosis, workspace=workspace)

    async def run(self) -> "Climb":
        """Climb."""
        self.fixer = self.fixer or ModelFixer(self.mind, self.trials, self.limits)
        about = self.failure
        async for proposal in self.fixer.propose(
            about.context, about.diagnosis, about.workspace, self.budget
        ):
            if isinstance(proposal, RungNote):
                self.notes.append(proposal)
            else:
                self.candidates.append(proposal)
        return self

    def text(self, question: int = 0) -> str:
        """Everything that went into a question."""
        gaps = self.mind.questions[question].gaps
        return "\n".join(value if isinstance(value, str) else str(value) for value in gaps.values())
