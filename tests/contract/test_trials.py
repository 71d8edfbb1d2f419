"""What every Trials keeps to: one answer for each change, those that pass first, and a tree left as it was found."""

import asyncio
from collections.abc import Callable

import pytest
from typing_extensions import override

from bot.domain.patch import Rung
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung1_search.span_edits import COST
from bot.fixers.trials import Failure, Proposed, Trials, Tried
from sandbox.types import ChangeAction, FileChange, TestReport
from tests.builders import a_change, a_diagnosis, a_running_mission
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_trials import ScriptedTrials, failed, passed
from tests.fakes.searching_workspace import SearchingWorkspace

pytestmark = pytest.mark.anyio

SOURCE = "def add(a, b):\n    return a * b\n\n\ndef sub(a, b):\n    return a * b\n\n\ndef neg(a):\n    return -a\n"
WANTS = {
    "test_calculator.py::test_add": ("calculator.py", "def add(a, b):\n    return a + b"),
    "test_calculator.py::test_sub": ("calculator.py", "def sub(a, b):\n    return a - b"),
    "test_calculator.py::test_neg": ("calculator.py", "return -a\n"),
}
ADD, SUB, NEG = WANTS
HALF = SOURCE.replace("return a * b", "return a + b", 1)
WHOLE = HALF.replace("return a * b", "return a - b")
BREAKS = WHOLE.replace("return -a", "return a")


def a_proposal(name: str, content: str, **changes: object) -> Proposed:
    return Proposed(id=name, title=f"the {name} one", changes=(a_change(content=content),)).with_(
        **changes
    )


WHOLE_ONE, HALF_ONE, BREAKING = (
    a_proposal("whole", WHOLE),
    a_proposal("half", HALF),
    a_proposal("breaks", BREAKS),
)
NOTHING = a_proposal("nothing", SOURCE + "# a remark\n")


def script(proposed: Proposed) -> Tried:
    """The same answers, from a table."""
    return {
        "whole": passed(WHOLE_ONE, mended=(ADD, SUB)),
        "half": failed(HALF_ONE, mended=(ADD,), still_failing=(SUB,)),
        "breaks": failed(BREAKING, mended=(ADD, SUB), still_failing=(), broke=(NEG,)),
    }.get(proposed.id, failed(proposed, still_failing=(ADD, SUB)))


def found_from(start: Proposed) -> list[Tried]:
    if start.id != "half":
        return []
    whole = start.with_(id="half+1", changes=WHOLE_ONE.changes)
    return [passed(whole, mended=(ADD, SUB), confident=False)]


MAKES: dict[str, Callable[[], Trials]] = {
    "search": lambda: SearchTrials(MemoryLessons()),
    "scripted": lambda: ScriptedTrials(script, found_from),
}


@pytest.fixture(params=MAKES)
def trials(request: pytest.FixtureRequest) -> Trials:
    return MAKES[request.param]()


def a_failure(workspace: SearchingWorkspace | None = None) -> Failure:
    workspace = workspace or SearchingWorkspace(
        {"calculator.py": SOURCE}, WANTS, [("return a * b", "return a - b")]
    )
    context = a_running_mission(test_results=workspace.report(workspace.texts()))
    return Failure(context, a_diagnosis(), workspace)


async def test_every_change_gets_one_answer_and_those_that_pass_come_first(trials: Trials) -> None:
    failure = a_failure()
    proposed = (NOTHING, BREAKING, HALF_ONE, WHOLE_ONE)
    tried = await trials.try_changes(failure, proposed, time_limit_s=60)
    assert tried[0].proposed == WHOLE_ONE
    assert {one.proposed for one in tried} == set(proposed)
    assert tried[-1].proposed == NOTHING
    assert await failure.workspace.changes() == ()


async def test_what_passes_carries_a_candidate_with_its_score_and_what_fails_says_why(
    trials: Trials,
) -> None:
    first, *others = await trials.try_changes(
        a_failure(), (WHOLE_ONE, BREAKING, HALF_ONE, NOTHING), time_limit_s=60
    )
    assert first.passes
    assert first.mended == (ADD, SUB)
    assert (first.still_failing, first.broke) == ((), ())
    assert first.candidate is not None
    assert (first.candidate.id, first.candidate.title) == ("whole", "the whole one")
    assert (first.candidate.rung, first.candidate.fixer) == (Rung.MODEL, "model")
    assert first.candidate.changes == WHOLE_ONE.changes
    assert first.score == first.candidate.score
    for other in others:
        assert (other.passes, other.candidate, other.score) == (False, None, None)
        assert other.output
    known = {other.proposed.id: other for other in others}
    assert (known["half"].mended, known["half"].still_failing) == ((ADD,), (SUB,))
    assert known["breaks"].broke == (NEG,)
    assert known["nothing"].mended == ()


async def test_a_search_begun_from_a_half_gives_changes_of_the_failing_tree(trials: Trials) -> None:
    failure = a_failure()
    (found, *_) = await trials.search_from(failure, HALF_ONE, time_limit_s=60, max_candidates=100)
    assert found.passes
    assert found.proposed.changes == WHOLE_ONE.changes
    assert found.candidate is not None
    assert found.candidate.changes == WHOLE_ONE.changes
    assert found.candidate.id == found.proposed.id != HALF_ONE.id
    assert not found.candidate.confident, "the whole change was not compared yet"
    assert await failure.workspace.changes() == ()


async def test_where_nothing_is_found_nothing_is_said(trials: Trials) -> None:
    assert await trials.search_from(a_failure(), NOTHING, time_limit_s=60, max_candidates=100) == ()
    assert await trials.try_changes(a_failure(), (), time_limit_s=60) == ()


async def test_rivals_get_a_result_beside_what_passes_and_none_beside_what_fails(
    trials: Trials,
) -> None:
    rival = WHOLE_ONE.with_(id="rival", rung=Rung.SEARCH, fixer="search", template="swap_operator")
    failure = a_failure()
    for proposed in ((WHOLE_ONE,), ()):
        tried = await trials.try_changes(failure, proposed, time_limit_s=60, rivals=(rival,))
        assert {one.proposed for one in tried} == {*proposed, rival}
        known = {one.proposed.id: one.candidate for one in tried}
        compared = known["rival"]
        assert compared is not None
        assert (compared.rung, compared.fixer) == (Rung.SEARCH, "search")
        assert compared.template == "swap_operator"
    tried = await trials.try_changes(failure, (HALF_ONE,), time_limit_s=60, rivals=(rival,))
    assert [one.proposed for one in tried] == [HALF_ONE]


class TestOfTheSearch:
    """What only the real one does."""

    async def test_what_passes_goes_through_the_search_with_nothing_but_it(self) -> None:
        failure = a_failure()
        assert isinstance(failure.workspace, SearchingWorkspace)
        votes = WHOLE_ONE.with_(id="again", votes=4)
        first, *_ = await SearchTrials(MemoryLessons()).try_changes(
            failure, (WHOLE_ONE, HALF_ONE, votes), time_limit_s=60
        )
        (request,) = failure.workspace.searches
        assert request.sources == ("given",)
        # Equal changes are one, at the lower cost of the one with more votes.
        assert [change.description for change in request.given] == ["the whole one"]
        assert request.given[0].cost < COST
        assert first.candidate is not None
        assert first.candidate.inputs == 9
        assert "Compared on 9 inputs" in first.candidate.explanation

    async def test_rivals_are_named_by_the_ids_of_the_proposals(self) -> None:
        (change,) = WHOLE_ONE.changes
        content = f"{change.content}\n\nLIMIT = 7\n"
        other = WHOLE_ONE.with_(id="other", changes=(change.with_(content=content),))
        tried = await SearchTrials(MemoryLessons()).try_changes(
            a_failure(), (WHOLE_ONE, other), time_limit_s=60
        )
        candidates = [one.candidate for one in tried if one.candidate is not None]
        rivals = {one.id: [rival.candidate_id for rival in one.rivals] for one in candidates}
        assert rivals == {WHOLE_ONE.id: ["other"], "other": [WHOLE_ONE.id]}

    async def test_a_new_file_is_judged_by_a_plain_run_alone(self) -> None:
        wants = {"test_new.py::test_it": ("new.py", "X = 1"), NEG: WANTS[NEG]}
        workspace = SearchingWorkspace({"calculator.py": SOURCE}, wants)
        new = FileChange(action=ChangeAction.CREATE, path="new.py", content="X = 1\n")
        one = Proposed(
            id="new", title="a new module", changes=(new,), rung=Rung.TOOLS, fixer="somebody"
        )
        (tried,) = await SearchTrials(MemoryLessons()).try_changes(
            a_failure(workspace), (one,), time_limit_s=60
        )
        assert tried.passes
        assert tried.candidate is not None
        assert (tried.candidate.rung, tried.candidate.fixer) == (Rung.TOOLS, "somebody")
        assert (tried.candidate.confident, len(tried.candidate.warnings)) == (False, 1)
        assert workspace.searches == []

    @pytest.mark.parametrize("runner", ["vitest", "go test"])
    async def test_no_search_is_started_for_a_runner_that_it_does_not_know(
        self, runner: str
    ) -> None:
        workspace = SearchingWorkspace({"calculator.py": SOURCE}, WANTS, runner=runner)
        failure = a_failure(workspace)
        trials = SearchTrials(MemoryLessons())
        first, *_ = await trials.try_changes(failure, (WHOLE_ONE, HALF_ONE), time_limit_s=60)
        assert first.candidate is not None
        assert (first.candidate.confident, len(first.candidate.warnings)) == (False, 1)
        runs = len(workspace.commands)
        found = await trials.search_from(failure, HALF_ONE, time_limit_s=60, max_candidates=9)
        assert (found, workspace.searches) == ((), [])
        assert len(workspace.commands) == runs, "nothing can follow from a run of the start"

    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            (
                (a_change("tests/test_calculator.py", "def test_add():\n    pass\n"),),
                "tests/test_calculator.py",
            ),
            ((a_change("calculator.py", SOURCE),), "no edit"),
            ((a_change("../calculator.py", SOURCE),), "calculator.py"),
            ((a_change("missing.py", SOURCE),), "missing.py"),
            ((FileChange(action=ChangeAction.DELETE, path="calculator.py"),), "calculator.py"),
        ],
        ids=["a test", "nothing", "outside", "not there", "deleted"],
    )
    async def test_what_may_not_be_a_fix_is_not_run(
        self, changes: tuple[FileChange, ...], word: str
    ) -> None:
        workspace = SearchingWorkspace(
            {"calculator.py": SOURCE, "tests/test_calculator.py": "x\n"}, WANTS
        )
        failure = a_failure(workspace)
        one = WHOLE_ONE.with_(changes=changes)
        (tried,) = await SearchTrials(MemoryLessons()).try_changes(failure, (one,), time_limit_s=60)
        assert not tried.passes
        assert word in tried.output
        assert workspace.commands == []
        assert (
            await SearchTrials(MemoryLessons()).search_from(
                failure, one, time_limit_s=9, max_candidates=9
            )
            == ()
        )

    async def test_of_a_slow_suite_the_failing_tests_are_run_first_and_the_rest_for_what_mends_something(
        self,
    ) -> None:
        workspace = SearchingWorkspace({"calculator.py": SOURCE}, WANTS, seconds=90.0)
        await SearchTrials(MemoryLessons()).try_changes(
            a_failure(workspace), (NOTHING, WHOLE_ONE), time_limit_s=60
        )
        assert workspace.targets == [(ADD, SUB), (ADD, SUB), ()]

    async def test_what_there_is_no_time_for_says_so(self) -> None:
        failure = a_failure()
        tried = await SearchTrials(MemoryLessons()).try_changes(
            failure, (WHOLE_ONE, HALF_ONE), time_limit_s=0
        )
        assert [(one.passes, "no time" in one.output) for one in tried] == [(False, True)] * 2

    async def test_a_run_that_is_called_off_leaves_the_tree_as_it_was(self) -> None:
        class Hanging(SearchingWorkspace):
            @override
            async def run_tests(self, *_: object, **__: object) -> TestReport:
                await asyncio.sleep(60)
                raise AssertionError

        workspace = Hanging({"calculator.py": SOURCE}, WANTS)
        trials = SearchTrials(MemoryLessons())
        (tried,) = await trials.try_changes(a_failure(workspace), (WHOLE_ONE,), time_limit_s=0.05)
        assert not tried.passes
        assert await workspace.changes() == ()
        for call in (
            trials.try_changes(a_failure(workspace), (WHOLE_ONE,), time_limit_s=60),
            trials.search_from(a_failure(workspace), HALF_ONE, time_limit_s=60, max_candidates=9),
        ):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call, 0.05)
            assert await workspace.changes() == ()

    async def test_the_search_begins_from_what_the_start_leaves_red(self) -> None:
        failure = a_failure()
        assert isinstance(failure.workspace, SearchingWorkspace)
        start = HALF_ONE.with_(changes=(a_change(content=HALF.replace("return -a", "return a")),))
        await SearchTrials(MemoryLessons()).search_from(
            failure, start, time_limit_s=60, max_candidates=7
        )
        (request,) = failure.workspace.searches
        assert (set(request.failing), request.passing, request.max_candidates) == (
            {SUB, NEG},
            (ADD,),
            7,
        )
        assert {(one.file, one.line) for one in request.suspects} == {
            ("calculator.py", 2),
            ("calculator.py", 10),
        }

    async def test_what_completes_one_start_is_ranked_as_one_written_change(self) -> None:
        trials, failure = SearchTrials(MemoryLessons()), a_failure()
        found = await trials.search_from(failure, HALF_ONE, time_limit_s=60, max_candidates=9)
        whole = found[0].proposed
        twin = whole.with_(id="twin", changes=(a_change(content=f"{WHOLE}# a twin\n"),))
        for rivals in ((whole,), (whole, twin)):
            compared = await trials.try_changes(failure, (), time_limit_s=60, rivals=rivals)
            candidates = [one.candidate for one in compared if one.candidate is not None]
            assert len(candidates) == len(rivals)
            assert all(one.ranked for one in candidates)
            # 0.6 is the gate of the search, 0.85 the one of written changes.
            assert all(one.confident is (one.score >= 0.85) for one in candidates)
        assert whole.template == twin.template != "given", "one start is one answer"

    async def test_where_no_edit_on_top_mends_everything_those_that_mend_more_are_told(
        self,
    ) -> None:
        wants = {**WANTS, "test_calculator.py::test_mul": ("calculator.py", "def mul")}
        workspace = SearchingWorkspace(
            {"calculator.py": SOURCE}, wants, [("return a * b", "return a - b")]
        )
        trials = SearchTrials(MemoryLessons())
        (near,) = await trials.search_from(
            a_failure(workspace), HALF_ONE, time_limit_s=60, max_candidates=9
        )
        assert not near.passes
        assert (near.mended, near.still_failing) == ((ADD, SUB), ("test_calculator.py::test_mul",))
        assert near.proposed.changes == WHOLE_ONE.changes
        assert near.proposed.fixer == "model+search"

    async def test_a_start_that_makes_a_file_keeps_it_in_what_is_found(self) -> None:
        wants = {**WANTS, "test_new.py::test_it": ("new.py", "X = 1")}
        workspace = SearchingWorkspace(
            {"calculator.py": HALF}, wants, [("return a * b", "return a - b")]
        )
        new = FileChange(action=ChangeAction.CREATE, path="new.py", content="X = 1\n")
        start = Proposed(id="new", title="a new module", changes=(new,))
        (found,) = await SearchTrials(MemoryLessons()).search_from(
            a_failure(workspace), start, time_limit_s=60, max_candidates=9
        )
        assert found.passes
        assert found.proposed.changes == (new, a_change(content=WHOLE))
