"""climb: in turn, within the budget, and it says why a rung proposed nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from bot.domain.diagnosis import Diagnosis, Suspect
from bot.domain.mission import MissionContext
from bot.domain.model import ModelCall, Role
from bot.domain.patch import Candidate, FixAttempt, FixBudget, NearMiss, Rung, RungNote
from bot.domain.policy import RepositoryPolicy
from bot.fixers.ladder import climb, find_first_rung
from bot.ports import Fixer, Workspace
from sandbox.errors import ChangeRejected, SandboxDied
from sandbox.types import TestReport
from tests.builders import (
    a_candidate,
    a_change,
    a_diagnosis,
    a_lesson,
    a_request,
    a_running_mission,
)
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.fixed_clock import FixedClock

Says = Candidate | RungNote | BaseException | float
"""Proposed, noted, raised, or slept that many seconds."""


class TalkingFixer:
    """Says one thing after the other."""

    def __init__(self, rung: Rung, *says: Says, name: str = "talker") -> None:
        self._rung = rung
        self._name = name
        self._says = says
        self.budgets: list[FixBudget] = []
        self.closed = 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def rung(self) -> Rung:
        return self._rung

    def applies(self, report: TestReport) -> bool:
        return not report.success

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        self.budgets.append(budget)
        try:
            for one in self._says:
                if isinstance(one, float):
                    await workspace.apply_changes((a_change("calculator.py", "half done"),))
                    await asyncio.sleep(one)
                elif isinstance(one, BaseException):
                    raise one
                else:
                    yield one
        finally:
            self.closed += 1


async def climbed(
    *fixers: Fixer,
    budget: FixBudget | None = None,
    workspace: FakeWorkspace | None = None,
    context: MissionContext | None = None,
    clock: FixedClock | None = None,
) -> FixAttempt:
    return await climb(
        context or a_running_mission(),
        a_diagnosis(),
        workspace or FakeWorkspace({"calculator.py": "x\n"}),
        fixers,
        budget or FixBudget(),
        clock or FixedClock(),
    )


@pytest.mark.anyio
async def test_the_cheapest_rung_that_proposes_something_ends_the_climb() -> None:
    tools = TalkingFixer(
        Rung.TOOLS, RungNote(reason="nothing to lint", candidates_tried=1), name="ruff"
    )
    search = TalkingFixer(
        Rung.SEARCH, a_candidate(candidates_tried=7), a_candidate(id="c-2", candidates_tried=9)
    )
    model = TalkingFixer(Rung.MODEL, a_candidate())
    attempt = await climbed(model, search, tools)
    assert [candidate.id for candidate in attempt.candidates] == ["c-1", "c-2"]
    assert attempt.candidates_tried == 1 + 9
    assert attempt.notes == ("rung 0 (ruff): nothing to lint",)
    assert model.budgets == []


@pytest.mark.anyio
async def test_every_rung_that_proposed_nothing_says_why() -> None:
    context = a_running_mission(
        request=a_request(rungs=(0, 1)), policy=RepositoryPolicy(rungs=(0, 1, 2))
    )
    attempt = await climbed(
        TalkingFixer(Rung.TOOLS),
        TalkingFixer(Rung.SEARCH, ChangeRejected("the edit breaks a rule"), name="search"),
        TalkingFixer(Rung.MODEL, a_candidate(), name="model"),
        context=context,
    )
    assert attempt.candidates == ()
    assert attempt.notes == (
        "rung 0 (talker): proposed nothing",
        "rung 1 (search): the edit breaks a rule",
        "rung 2 (model): this rung is not allowed here",
    )


@pytest.mark.anyio
@pytest.mark.parametrize(("policy", "request_rungs"), [((0,), (0, 1)), ((0, 1), (0,))])
async def test_a_rung_must_be_allowed_by_policy_and_request(
    policy: tuple[int, ...], request_rungs: tuple[int, ...]
) -> None:
    context = a_running_mission(
        request=a_request(rungs=request_rungs), policy=RepositoryPolicy(rungs=policy)
    )
    search = TalkingFixer(Rung.SEARCH, a_candidate())
    assert (await climbed(search, context=context)).candidates == ()
    assert search.budgets == []


@pytest.mark.anyio
async def test_a_rung_that_takes_too_long_is_stopped_and_cleaned_up_after() -> None:
    slow = TalkingFixer(Rung.SEARCH, 60.0, name="search")
    workspace = FakeWorkspace({"calculator.py": "x\n"})
    attempt = await climbed(slow, budget=FixBudget(time_limit_s=0.6), workspace=workspace)
    assert attempt.candidates == ()
    assert attempt.notes == ("rung 1 (search): stopped after 1 s, the remaining time",)
    assert slow.closed == 1
    assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_what_was_proposed_before_the_time_was_up_is_kept() -> None:
    attempt = await climbed(
        TalkingFixer(Rung.SEARCH, a_candidate(), 60.0), budget=FixBudget(time_limit_s=0.6)
    )
    assert len(attempt.candidates) == 1


@pytest.mark.anyio
async def test_a_spent_budget_asks_nobody() -> None:
    clock = FixedClock(step=100.0)
    search = TalkingFixer(Rung.SEARCH, a_candidate(), name="search")
    attempt = await climbed(search, budget=FixBudget(time_limit_s=90.0), clock=clock)
    assert search.budgets == []
    assert attempt.notes == ("rung 1 (search): no time left for this rung",)


@pytest.mark.anyio
async def test_the_next_rung_gets_what_is_left() -> None:
    context = a_running_mission(
        request=a_request(rungs=(0, 1, 2)), policy=RepositoryPolicy(rungs=(0, 1, 2))
    )
    tools = TalkingFixer(Rung.TOOLS, RungNote(reason="none", candidates_tried=60, cost_usd=0.25))
    search = TalkingFixer(Rung.SEARCH)
    budget = FixBudget(time_limit_s=90.0, max_candidates=100, money_usd=1.0)
    attempt = await climbed(
        search, tools, budget=budget, context=context, clock=FixedClock(step=10.0)
    )
    assert search.budgets[0].max_candidates == 40
    assert search.budgets[0].money_usd == 0.75
    assert search.budgets[0].time_limit_s < tools.budgets[0].time_limit_s < 90.0
    assert attempt.cost_usd == 0.25


@pytest.mark.anyio
async def test_a_long_search_leaves_the_model_time_and_trials_of_its_own_but_no_more_money() -> (
    None
):
    context = a_running_mission(
        request=a_request(rungs=(0, 1, 2)), policy=RepositoryPolicy(rungs=(0, 1, 2))
    )
    search = TalkingFixer(Rung.SEARCH, RungNote(reason="none", candidates_tried=100, cost_usd=0.25))
    model = TalkingFixer(Rung.MODEL, a_candidate())
    budget = FixBudget(
        time_limit_s=90.0, model_time_limit_s=50.0, max_candidates=100, money_usd=1.0
    )
    attempt = await climbed(
        search, model, budget=budget, context=context, clock=FixedClock(step=60.0)
    )
    assert [(b.time_limit_s, b.max_candidates, b.money_usd) for b in model.budgets] == [
        (50.0, 100, 0.75)
    ]
    assert attempt.candidates == (a_candidate(),)


@pytest.mark.anyio
async def test_two_who_ask_models_share_their_time() -> None:
    first, second = TalkingFixer(Rung.MODEL), TalkingFixer(Rung.MODEL)
    budget = FixBudget(time_limit_s=90.0, model_time_limit_s=50.0)
    await climbed(
        first,
        second,
        TalkingFixer(Rung.MODEL),
        budget=budget,
        context=ALL_RUNGS,
        clock=FixedClock(step=20.0),
    )
    assert [b.time_limit_s for b in (*first.budgets, *second.budgets)] == [50.0, 30.0]


PART = a_candidate(id="part", partial=True)
ALL_RUNGS = a_running_mission(
    request=a_request(rungs=(0, 1, 2)), policy=RepositoryPolicy(rungs=(0, 1, 2))
)


@pytest.mark.anyio
async def test_parts_of_a_fix_do_not_end_the_climb_while_a_higher_rung_may_be_asked() -> None:
    search = TalkingFixer(Rung.SEARCH, PART, name="search")
    attempt = await climbed(search, TalkingFixer(Rung.MODEL, a_candidate()), context=ALL_RUNGS)
    assert attempt.candidates == (a_candidate(),)
    assert attempt.rungs == (1, 2)
    assert attempt.notes == ("rung 1 (search): its candidates fix only some of the failing tests",)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("higher", "rungs"),
    [((TalkingFixer(Rung.MODEL, RungNote(reason="no idea"), name="model"),), (1, 2)), ((), (1,))],
    ids=["a higher rung finds nothing", "there is none"],
)
async def test_parts_of_a_fix_are_what_is_left_when_nothing_better_is_found(
    higher: tuple[Fixer, ...], rungs: tuple[int, ...]
) -> None:
    attempt = await climbed(TalkingFixer(Rung.SEARCH, PART), *higher, context=ALL_RUNGS)
    assert attempt.candidates == (PART,)
    assert attempt.rungs == rungs


@pytest.mark.anyio
async def test_a_whole_fix_among_parts_ends_the_climb() -> None:
    model = TalkingFixer(Rung.MODEL, a_candidate(id="dear"))
    attempt = await climbed(
        TalkingFixer(Rung.SEARCH, PART, a_candidate()), model, context=ALL_RUNGS
    )
    assert attempt.candidates == (PART, a_candidate())
    assert model.budgets == []


DOUBTED = a_candidate(id="doubted", confident=False, score=0.4)
UNSURE = "its candidates pass, but are not certain"


class SeeingFixer(TalkingFixer):
    """Remembers the doubted candidates that it is shown."""

    @override
    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        self.shown = context.doubted
        async for said in super().propose(context, diagnosis, workspace, budget):
            yield said


@pytest.mark.anyio
async def test_a_doubted_candidate_is_shown_to_the_next_rung_and_kept_behind_a_confident_one() -> (
    None
):
    search = TalkingFixer(Rung.SEARCH, DOUBTED, name="search")
    model = SeeingFixer(Rung.MODEL, a_candidate(rung=Rung.MODEL))
    attempt = await climbed(search, model, context=ALL_RUNGS)
    assert model.shown == (DOUBTED,)
    assert attempt.candidates == (a_candidate(rung=Rung.MODEL), DOUBTED)
    assert attempt.rungs == (1, 2)
    assert attempt.notes == (f"rung 1 (search): {UNSURE}",)


@pytest.mark.anyio
async def test_when_no_rung_is_confident_all_are_asked_and_the_likeliest_comes_first() -> None:
    likelier = a_candidate(id="model", rung=Rung.MODEL, confident=False, score=0.5)
    last = SeeingFixer(Rung.MODEL, RungNote(reason="no idea"), name="agent")
    attempt = await climbed(
        TalkingFixer(Rung.SEARCH, DOUBTED, name="search"),
        TalkingFixer(Rung.MODEL, likelier, PART, name="model"),
        last,
        context=ALL_RUNGS,
    )
    assert last.shown == (DOUBTED, likelier)
    assert attempt.candidates == (likelier, DOUBTED)
    assert attempt.notes == (
        f"rung 1 (search): {UNSURE}",
        f"rung 2 (model): {UNSURE}",
        "rung 2 (agent): no idea",
    )


@pytest.mark.anyio
async def test_a_doubted_candidate_that_a_higher_rung_agrees_with_ends_the_climb() -> None:
    agreed = DOUBTED.with_(score=0.8, confident=True)
    last = TalkingFixer(Rung.MODEL, a_candidate(id="dear"))
    attempt = await climbed(
        TalkingFixer(Rung.SEARCH, DOUBTED),
        TalkingFixer(
            Rung.MODEL,
            RungNote(reason="asked", compared=(agreed, a_candidate(id="unknown"))),
            a_candidate(id="model", confident=False),
        ),
        last,
        context=ALL_RUNGS,
    )
    assert [one.id for one in attempt.candidates] == ["doubted", "model"]
    assert attempt.candidates[0] == agreed
    assert last.budgets == []


@pytest.mark.anyio
async def test_doubted_candidates_of_an_earlier_climb_are_evidence_too() -> None:
    model = SeeingFixer(Rung.MODEL, RungNote(reason="no idea"))
    attempt = await climbed(model, context=ALL_RUNGS.with_(doubted=(DOUBTED,)))
    assert model.shown == (DOUBTED,)
    assert attempt.candidates == (DOUBTED,)


@pytest.mark.anyio
async def test_what_a_rung_came_close_to_and_where_it_looked_is_known_above() -> None:
    def near(line: int) -> NearMiss:
        return NearMiss(
            path="calculator.py", line=line, description="close", diff="", mended=("test_a",)
        )

    place = Suspect(file="calculator.py", line=2, score=0.9, reason="run by failing tests")
    elsewhere = Suspect(file="other.py", line=7, score=0.4, reason="in the traceback")
    call = ModelCall(role=Role.FIX, stage="fix", prompt="fix@1", model="scripted")
    seen: list[tuple[MissionContext, Diagnosis]] = []

    class Model(TalkingFixer):
        @override
        async def propose(
            self,
            context: MissionContext,
            diagnosis: Diagnosis,
            workspace: Workspace,
            budget: FixBudget,
        ) -> AsyncIterator[Candidate | RungNote]:
            seen.append((context, diagnosis))
            yield RungNote(reason="asked", calls=(call,), cost_usd=0.2)
            yield a_candidate()
            yield a_candidate(id="second")

    search = TalkingFixer(Rung.SEARCH, RungNote(reason="none", near=(near(2),), suspects=(place,)))
    attempt = await climb(
        ALL_RUNGS.with_(near_misses=(near(1),)),
        a_diagnosis(suspects=(elsewhere, place.with_(score=0.1))),
        FakeWorkspace({}),
        (search, Model(Rung.MODEL)),
        FixBudget(money_usd=0.1),
        FixedClock(),
    )
    ((context, diagnosis),) = seen
    assert context.near_misses == (near(1), near(2))
    assert diagnosis.suspects == (place, elsewhere)
    assert (attempt.near, attempt.suspects, attempt.calls) == ((near(2),), (place,), (call,))
    assert [candidate.id for candidate in attempt.candidates] == ["c-1", "second"]


@pytest.mark.anyio
async def test_a_generous_fixer_is_cut_off() -> None:
    many = TalkingFixer(
        Rung.SEARCH, *(a_candidate(id=f"c-{n}", candidates_tried=n) for n in range(1, 100))
    )
    attempt = await climbed(many, budget=FixBudget(max_survivors=3))
    assert len(attempt.candidates) == 3
    assert many.closed == 1
    tried = TalkingFixer(
        Rung.SEARCH, *(a_candidate(id=f"c-{n}", candidates_tried=n) for n in range(1, 100))
    )
    assert (
        await climbed(tried, budget=FixBudget(max_candidates=5, max_survivors=50))
    ).candidates_tried == 5


@pytest.mark.anyio
async def test_a_dead_sandbox_is_not_hidden() -> None:
    with pytest.raises(SandboxDied):
        await climbed(TalkingFixer(Rung.SEARCH, SandboxDied("gone")))


@pytest.mark.anyio
async def test_a_fixers_own_timeout_is_not_taken_for_ours() -> None:
    with pytest.raises(TimeoutError):
        await climbed(TalkingFixer(Rung.SEARCH, TimeoutError("of its own")))


SAID = st.one_of(
    st.builds(
        lambda n, cost, sure: a_candidate(
            id=f"c-{n}", candidates_tried=n, cost_usd=cost, confident=sure
        ),
        st.integers(0, 50),
        st.sampled_from([0.0, 0.1, 0.5]),
        st.booleans(),
    ),
    st.builds(
        lambda n, cost: RungNote(reason="none", candidates_tried=n, cost_usd=cost),
        st.integers(0, 50),
        st.sampled_from([0.0, 0.1, 0.5]),
    ),
)


class ThriftyFixer(TalkingFixer):
    """Keeps to its budget, as every fixer must."""

    @override
    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        spent = 0.0
        async for said in super().propose(context, diagnosis, workspace, budget):
            if (
                said.candidates_tried > budget.max_candidates
                or spent + said.cost_usd > budget.money_usd
            ):
                return
            spent += said.cost_usd
            yield said


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(list(Rung)), st.lists(SAID, max_size=5)), max_size=5),
    st.integers(0, 60),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(1, 4),
    st.floats(0.0, 40.0),
)
def test_a_climb_never_spends_more_than_its_budget(
    rungs: list[tuple[Rung, list[Candidate | RungNote]]],
    candidates: int,
    money: float,
    survivors: int,
    step: float,
) -> None:
    context = a_running_mission(
        request=a_request(rungs=(0, 1, 2)), policy=RepositoryPolicy(rungs=(0, 1, 2))
    )
    fixers = [ThriftyFixer(rung, *says) for rung, says in rungs]
    budget = FixBudget(
        time_limit_s=90.0, max_candidates=candidates, money_usd=money, max_survivors=survivors
    )
    attempt = asyncio.run(
        climbed(*fixers, budget=budget, context=context, clock=FixedClock(step=step))
    )
    models = sum(rung is Rung.MODEL for rung, _ in rungs)
    assert attempt.candidates_tried <= candidates * (1 + models)
    assert attempt.cost_usd <= money + 1e-9
    assert len(attempt.candidates) <= survivors
    assert all(b.money_usd <= money for f in fixers for b in f.budgets)
    assert all(
        b.time_limit_s <= 90.0 for f in fixers if f.rung is not Rung.MODEL for b in f.budgets
    )
    sure = [candidate.confident for candidate in attempt.candidates]
    assert sure == sorted(sure, reverse=True)
    assert any(sure) or len(attempt.notes) == len(fixers)


@pytest.mark.parametrize(
    ("rungs", "first"),
    [((2, 2, 2), Rung.MODEL), ((2, 2), None), ((2, 2, 2, 1), None), ((1, 1, 1), None), ((), None)],
)
def test_a_model_goes_first_where_only_its_fixes_were_accepted(
    rungs: tuple[int, ...], first: Rung | None
) -> None:
    assert find_first_rung([a_lesson(rung=rung) for rung in rungs]) is first


@pytest.mark.anyio
async def test_a_rung_that_goes_first_leaves_the_others_their_time() -> None:
    search = TalkingFixer(Rung.SEARCH)
    model = TalkingFixer(Rung.MODEL, RungNote(reason="none"))
    budget = FixBudget(time_limit_s=90.0, model_time_limit_s=50.0, first=Rung.MODEL)
    clock = FixedClock(step=20.0)
    attempt = await climbed(search, model, budget=budget, context=ALL_RUNGS, clock=clock)
    assert attempt.rungs == (2, 1)
    assert (model.budgets[0].time_limit_s, search.budgets[0].time_limit_s) == (50.0, 50.0)


@pytest.mark.anyio
async def test_a_confident_rung_that_goes_first_ends_the_climb() -> None:
    search, model = TalkingFixer(Rung.SEARCH), TalkingFixer(Rung.MODEL, a_candidate())
    budget = FixBudget(first=Rung.MODEL)
    attempt = await climbed(search, model, budget=budget, context=ALL_RUNGS)
    assert (attempt.rungs, search.budgets) == ((2,), [])
