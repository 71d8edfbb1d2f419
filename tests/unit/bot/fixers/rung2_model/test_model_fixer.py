"""ModelFixer: what it asks, tries, tells and gives up."""

import asyncio

import pytest

from bot.domain.account import ModelLimits
from bot.domain.model import ModelTrouble, Passage, Question, Role
from bot.domain.model_error import ModelError
from bot.domain.patch import FixBudget, Rung
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.fixers.trials import Proposed, Tried
from bot.llm.prompts.render import render_question
from tests.builders import a_request, a_running_mission
from tests.fakes.scripted_mind import Cut, ScriptedMind
from tests.fakes.scripted_trials import Says, ScriptedTrials, failed, passed
from tests.unit.bot.fixers.rung2_model.climbs import (
    ADD,
    EVEN,
    FILES,
    FIX_ADD,
    FIX_EVEN,
    SOURCE,
    Climb,
    a_doubted,
    a_red_run,
    adds,
    block,
    doubtful,
    mends,
    said,
    untold,
    wants,
)

pytestmark = pytest.mark.anyio


def always_passes(proposed: Proposed) -> Tried:
    return passed(proposed)


def passages_of(question: Question, gap: str) -> tuple[Passage, ...]:
    found = question.gaps[gap]
    assert isinstance(found, tuple)
    return found


def feedback_of(question: Question) -> str:
    return "\n".join(one.text for one in passages_of(question, "feedback"))


async def test_the_first_answer_that_passes_ends_the_climb() -> None:
    mind = ScriptedMind({"fix": FIX_ADD + said("add what is to be added")})

    climb = await Climb(mind, ScriptedTrials(always_passes)).run()

    (candidate,) = climb.candidates
    assert (candidate.rung, candidate.fixer, candidate.title) == (
        Rung.MODEL,
        "model",
        "add what is to be added",
    )
    assert candidate.changes[0].content == SOURCE.replace("a - b", "a + b")
    assert candidate.explanation.startswith("it was wrong")
    assert len(mind.questions) == 1
    assert mind.questions[0].temperature == 0.0
    assert mind.questions[0].role is Role.FIX


async def test_what_was_paid_is_told_ahead_of_the_candidates() -> None:
    climb = await Climb(ScriptedMind({"fix": FIX_ADD}), ScriptedTrials(always_passes)).run()

    (note,) = climb.notes
    assert len(note.calls) == 1
    assert note.cost_usd == pytest.approx(0.001)
    assert climb.candidates[0].cost_usd == 0.0


async def test_samples_vary_and_share_one_prompt() -> None:
    wrong = [block("    return a - b", f"    return a - b - {n}") for n in range(3)]
    mind = ScriptedMind({"fix": [*wrong, FIX_ADD]})
    climb = await Climb(mind, ScriptedTrials(adds)).run()

    _, *others = mind.questions
    assert [question.temperature for question in mind.questions] == [0.0, 0.8, 0.8, 0.8]
    assert [question.sample for question in mind.questions] == [0, 1, 2, 3]
    told = [question.gaps["feedback"] for question in mind.questions]
    stays = [{**question.gaps, "feedback": ()} for question in mind.questions]
    assert all(gaps == stays[0] for gaps in stays[1:])
    assert told[0] == ()
    assert [len(passages_of(question, "feedback")) for question in others] == [1, 2, 3]
    assert "+    return a - b - 0" in feedback_of(others[0])
    assert "still failing: test_calculator.py::test_add" in feedback_of(others[0])
    assert len(climb.trials.tried) == 4


async def test_a_second_round_is_told_what_still_fails_with_the_best_change() -> None:
    wrong = [block("    return a - b", f"    return a * {n}") for n in range(1, 4)]
    mind = ScriptedMind({"fix": [FIX_EVEN, *wrong, FIX_ADD]})

    climb = await Climb(mind, report=a_red_run(ADD, EVEN), limits=ModelLimits(rounds=2)).run()

    told = feedback_of(mind.questions[4])
    assert "+    return n % 2 == 0" in told
    assert f"still fails: {ADD}" in told
    assert f"still red: {ADD}" in told
    assert feedback_of(mind.questions[0]) == ""
    assert "test results with it" not in str(mind.questions[3].gaps)
    assert climb.candidates[0].partial


ABSURD = SOURCE.replace("a - b", "a - -2")


async def test_a_model_is_told_what_passes_below_and_why_it_is_doubted() -> None:
    known = a_running_mission(doubted=(a_doubted(ABSURD),))
    climb = await Climb(ScriptedMind({"fix": FIX_ADD}), known=known).run()
    (shown,) = passages_of(climb.mind.questions[0], "doubted")
    assert "+    return a - -2" in shown.text
    assert "`a - b` became `3`" in shown.text
    assert "they differ on add(5, 5), with the results 0 and 3" in shown.text
    assert shown.origin == "search"


async def test_a_models_change_is_compared_with_the_doubted_ones_below_and_with_its_own() -> None:
    doubted = a_doubted(ABSURD)
    agreed = passed(Proposed.from_candidate(doubted), score=0.8)
    trials = ScriptedTrials(
        lambda one: passed(one, confident="a + b" not in str(one.changes)),
        compares=lambda one: agreed if one.id == "searched" else passed(one, score=0.1),
    )
    risky = block("    return a - b", "    open('log', 'w').close()\n    return a + b")
    climb = await Climb(
        ScriptedMind({"fix": [risky, block("    return a - b", "    return b + a")]}),
        trials,
        known=a_running_mission(doubted=(doubted,)),
    ).run()
    first, second = (tuple(one.id for one in rivals) for rivals in climb.trials.rivals)
    assert first == ("searched",)
    assert second == (climb.trials.tried[0][0].id, "searched")
    (note,) = climb.notes
    assert [(one.id, one.score, one.confident) for one in note.compared] == [
        ("searched", 0.8, True)
    ]
    assert note.compared[0].template == "replace_name"
    assert [one.score for one in climb.candidates] == [0.7, 0.1]


async def test_a_passing_change_that_is_not_certain_is_worth_another_independent_answer() -> None:
    trials = ScriptedTrials(doubtful, compares=doubtful)
    climb = await Climb(ScriptedMind({"fix": FIX_ADD}), trials).run()
    assert len(climb.mind.questions) == 2
    assert [proposed.votes for proposed in trials.rivals[-1]] == [2]
    assert not feedback_of(climb.mind.questions[1])
    assert [one.confident for one in climb.candidates] == [True]


async def test_a_whole_function_that_is_not_certain_is_asked_for_again() -> None:
    answer = "```python\ndef add(a, b):\n    return a + b\n```"
    trials = ScriptedTrials(doubtful, compares=doubtful)
    limits = ModelLimits(edit_format="function", samples=1)
    climb = await Climb(ScriptedMind({"fix_function": answer}), trials, limits=limits).run()
    assert [one.sample for one in climb.mind.questions] == [0, 1]
    assert [one.confident for one in climb.candidates] == [True]


async def test_answers_that_never_agree_are_not_asked_for_without_end() -> None:
    others = [block("    return a - b", f"    return a + b + {n} - {n}") for n in range(9)]
    trials = ScriptedTrials(doubtful, compares=doubtful)
    limits = ModelLimits(samples=9, rounds=1)
    climb = await Climb(ScriptedMind({"fix": others}), trials, limits=limits).run()
    assert len(climb.mind.questions) == 3
    assert [one.order for one in climb.mind.questions] == [0, 1, 2]
    first, *later = (render_question(one).user for one in climb.mind.questions)
    for text in later:
        assert text != first
        assert sorted(text.splitlines()) == sorted(first.splitlines())


async def test_answers_of_whole_functions_that_may_agree_see_them_in_another_order() -> None:
    answer = "```python\ndef add(a, b):\n    return a + b + {}\n```\n"
    trials = ScriptedTrials(doubtful, compares=doubtful)
    limits = ModelLimits(edit_format="function", samples=1, rounds=1)
    mind = ScriptedMind({"fix_function": [answer.format(n) for n in range(9)]})
    await Climb(mind, trials, report=a_red_run(ADD, EVEN), limits=limits).run()
    codes = ["\n".join(p.text for p in passages_of(one, "code")) for one in mind.questions]
    assert [one.order for one in mind.questions[:3]] == [0, 1, 2]
    assert codes[0] != codes[1]
    assert sorted(codes[0].split()) == sorted(codes[1].split())


async def test_a_change_that_the_search_completed_is_compared_with_the_others_too() -> None:
    def completes(start: Proposed) -> list[Tried]:
        whole = start.changes[0].with_(content=SOURCE.replace("a - b", "a + b"))
        return [passed(start.with_(id="joined", changes=(whole,)), score=0.9)]

    trials = ScriptedTrials(mends, completes, compares=lambda one: passed(one, score=0.2))
    climb = await Climb(
        ScriptedMind({"fix": block("    return a - b", "    return b - a")}),
        trials,
        limits=ModelLimits(samples=1, rounds=1),
        known=a_running_mission(doubted=(a_doubted(ABSURD),)),
    ).run()
    assert trials.tried[-1] == ()
    assert [one.id for one in trials.rivals[-1]] == ["joined", "searched"]
    assert [one.score for one in climb.candidates] == [0.2]
    assert [one.score for one in climb.notes[0].compared] == [0.2]


async def test_a_lone_change_that_the_search_completed_is_compared_as_one_change() -> None:
    def completes(start: Proposed) -> list[Tried]:
        whole = start.changes[0].with_(content=SOURCE.replace("a - b", "a + b"))
        joined = start.with_(id="joined", changes=(whole,))
        return [passed(joined, score=0.4, confident=False)]

    async def completed(trials: ScriptedTrials) -> list[bool]:
        half = block("    return a - b", "    return b - a")
        limits = ModelLimits(samples=1, rounds=1)
        climb = await Climb(ScriptedMind({"fix": half}), trials, limits=limits).run()
        assert [one.id for one in trials.rivals[-1]] == ["joined"]
        return [one.confident for one in climb.candidates]

    likely = ScriptedTrials(mends, completes, compares=lambda one: passed(one, score=0.9))
    assert await completed(likely) == [True]
    no_result = ScriptedTrials(mends, completes, compares=untold)
    assert await completed(no_result) == [False]


async def test_the_search_goes_on_from_the_best_failing_change() -> None:
    def completes(start: Proposed) -> list[Tried]:
        whole = start.changes[0].with_(
            content=SOURCE.replace("a - b", "a + b").replace("== 1", "== 0")
        )
        return [passed(start.with_(changes=(whole,)))]

    mind = ScriptedMind({"fix": FIX_EVEN + said("even means no rest")})
    trials = ScriptedTrials(mends, completes)

    climb = await Climb(mind, trials, report=a_red_run(ADD, EVEN)).run()

    (candidate,) = climb.candidates
    assert candidate.fixer == "model+search"
    assert "a + b" in (candidate.changes[0].content or "")
    assert [start.title for start in trials.started] == ["even means no rest"]
    assert len(mind.questions) == 4, "no second round was needed"


async def test_a_completed_change_that_is_not_sure_does_not_keep_the_model_from_doing_better() -> (
    None
):
    def unsure(start: Proposed) -> list[Tried]:
        return [passed(start.with_(id="completed"), confident=False)]

    mind = ScriptedMind({"fix": [FIX_EVEN, FIX_ADD + FIX_EVEN]})
    limits = ModelLimits(samples=1, rounds=2)

    trials = ScriptedTrials(mends, unsure, compares=doubtful)
    climb = await Climb(mind, trials, report=a_red_run(ADD, EVEN), limits=limits).run()

    assert [candidate.fixer for candidate in climb.candidates] == ["model", "model+search"]


async def test_a_change_is_tried_once_and_counted() -> None:
    mind = ScriptedMind({"fix": block("    return a - b", "    return b - a")})
    trials = ScriptedTrials(failed)

    climb = await Climb(mind, trials, limits=ModelLimits(rounds=1)).run()

    assert len(trials.tried) == 1
    assert len(mind.questions) == 4
    assert climb.notes[0].candidates_tried == 1
    assert trials.started[0].votes == 4


async def test_an_answer_that_cannot_be_applied_is_told_so_once() -> None:
    mind = ScriptedMind({"fix": [block("    return a / b", "    return a + b"), FIX_ADD]})

    await Climb(mind, ScriptedTrials(always_passes)).run()

    assert len(mind.questions) == 2
    told = feedback_of(mind.questions[1])
    assert "return a - b" in told, "the nearest lines are shown"


async def test_a_model_that_cannot_write_blocks_is_asked_for_functions() -> None:
    answer = "```python\ndef add(a, b):\n    return a + b\n```"
    mind = ScriptedMind({"fix": "I would add.", "fix_function": answer})
    climb = Climb(mind, ScriptedTrials(adds))

    await climb.run()

    assert [question.prompt for question in mind.questions] == ["fix", "fix", "fix_function"]
    assert climb.candidates[0].changes[0].content == SOURCE.replace("a - b", "a + b")
    again = Climb(mind, climb.trials, fixer=climb.fixer)
    await again.run()
    assert mind.questions[-1].prompt == "fix_function", "it is remembered of the model"
    assert len(mind.questions) == 4
    other = a_running_mission(request=a_request(mission_id="another"))
    await Climb(mind, climb.trials, fixer=climb.fixer, known=other).run()
    assert mind.questions[4].prompt == "fix", "another mission tries edit blocks first"


async def test_an_answer_that_is_cut_off_is_no_failure_of_format() -> None:
    mind = ScriptedMind({"fix": [Cut("I think"), Cut(FIX_ADD[:60]), FIX_ADD]})

    climb = await Climb(mind, ScriptedTrials(adds)).run()

    assert [(one.prompt, one.max_tokens) for one in mind.questions] == [
        ("fix", 2_000),
        ("fix", 4_000),
        ("fix", 8_000),
    ]
    assert "cut off after 100 tokens" in feedback_of(mind.questions[1])
    assert len(climb.candidates) == 1


async def test_a_model_that_never_comes_to_an_end_is_asked_for_functions() -> None:
    answer = "```python\ndef add(a, b):\n    return a + b\n```"
    mind = ScriptedMind({"fix": Cut("and then " * 100), "fix_function": answer})

    climb = await Climb(mind, ScriptedTrials(adds), budget=FixBudget(max_candidates=50)).run()

    assert max(one.max_tokens for one in mind.asked("fix")) == 8_000
    assert [one.max_tokens for one in mind.asked("fix_function")] == [2_000]
    assert len(climb.candidates) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        ModelTrouble.BAD_REQUEST,
        ModelTrouble.TOO_LARGE,
        ModelTrouble.TIMEOUT,
        ModelTrouble.DEADLINE,
    ],
)
async def test_a_longer_answer_that_cannot_be_had_is_not_asked_for_again(
    trouble: ModelTrouble,
) -> None:
    def answer(question: Question) -> str | ModelTrouble:
        return trouble if question.max_tokens > 2_000 else Cut("I think")

    mind = ScriptedMind({"fix": answer, "fix_function": "no"})
    await Climb(mind).run()

    asked = [one.max_tokens for one in mind.asked("fix")]
    assert asked == [2_000, 4_000, 2_000, 2_000]
    assert mind.asked("fix_function"), "two that are cut off at the highest limit are enough"


async def test_functions_are_built_on_one_another() -> None:
    def answer(question: Question) -> str:
        code = str(question.gaps["code"])
        if "a - b" in code:
            return "```python\ndef add(a, b):\n    return a + b\n```"
        return "```python\ndef is_even(n):\n    return n % 2 == 0\n```"

    mind = ScriptedMind({"fix_function": answer})

    climb = await Climb(
        mind, report=a_red_run(ADD, EVEN), limits=ModelLimits(edit_format="function")
    ).run()

    (candidate,) = climb.candidates
    assert candidate.changes[0].content == SOURCE.replace("a - b", "a + b").replace("== 1", "== 0")
    assert len(mind.questions) == 2
    assert "test_add" not in str(mind.questions[1].gaps["failing"])
    assert candidate.title == "change add, is_even in calc.py"


async def test_a_weak_model_that_writes_on_is_cut_to_what_was_asked() -> None:
    rambling = (
        "```python\ndef add(a, b):\n    return a + b\ndef add(a, b):\n    return a + b + 1\n"
        "def more(\n    x): return\n```\nHope this helps.\n```python\ndef"
    )
    mind = ScriptedMind({"fix_function": rambling})

    climb = Climb(mind, ScriptedTrials(always_passes), limits=ModelLimits(edit_format="function"))
    await climb.run()

    assert climb.candidates[0].changes[0].content == SOURCE.replace("a - b", "a + b")


async def test_requests_are_answered_or_refused_and_are_no_attempts() -> None:
    files = {
        **FILES,
        "helpers.py": "def help_me():\n    return 'helped'\n",
        "deep/other.py": "OTHER = 1\n",
    }
    asked = [wants("helpers.py"), wants("nowhere.py"), wants('"grep is_ev"'), wants("calc.py:3-3")]
    refused = block("    return nothing_like_it", "    return a + b")
    mind = ScriptedMind({"fix": [*asked, refused, FIX_ADD]})

    climb = Climb(mind, ScriptedTrials(always_passes), files=files)
    climb.limits = ModelLimits(samples=1, rounds=2)
    await climb.run()

    shown = [str(question.gaps["asked"]) for question in mind.questions]
    assert "helped" in shown[1]
    assert (
        "nowhere.py: there is no such text in the source files, or it may not be shown" in shown[2]
    )
    assert "calc.py:10: def is_even(n):" in shown[3]
    assert "LIMIT = 100" in shown[4]
    assert "why your answer was not applied" in str(mind.questions[5].gaps["feedback"])
    assert len(climb.candidates) == 1


async def test_the_number_of_answered_requests_is_limited() -> None:
    files = {**FILES, **{f"m{n}.py": f"NAME_{n} = 1\n" for n in range(6)}}
    mind = ScriptedMind({"fix": [*(wants(f"m{n}.py") for n in range(6)), FIX_ADD]})
    climb = Climb(mind, ScriptedTrials(always_passes), files=files)
    await climb.run()
    text = str(mind.questions[-1].gaps["asked"])
    assert "NAME_3" in text
    assert "NAME_4" not in text


async def test_a_wish_says_nothing_of_how_well_a_model_writes_edits() -> None:
    files = {**FILES, "helpers.py": "def help_me():\n    return 'helped'\n"}
    nowhere = block("    return nothing_like_it", "    return a + b")
    mind = ScriptedMind(
        {"fix": [wants("helpers.py"), wants(symbols=["is_even"]), nowhere, FIX_ADD]}
    )

    climb = await Climb(mind, ScriptedTrials(always_passes), files=files).run()

    assert [question.prompt for question in mind.questions] == ["fix"] * 4
    assert len(climb.candidates) == 1


async def test_only_files_of_the_repository_are_shown_and_no_secrets() -> None:
    mind = ScriptedMind(
        {"fix": wants("/etc/passwd", "../secrets.txt", ".env", symbols=["os.environ"])}
    )

    climb = Climb(mind, limits=ModelLimits(samples=1, rounds=1))
    await climb.run()

    assert all(
        "canary" not in climb.text(number) and "root:" not in climb.text(number)
        for number in range(2)
    )


async def test_a_file_that_was_asked_for_may_be_edited() -> None:
    files = {**FILES, "helpers.py": "def help_me():\n    return 'no'\n"}
    mind = ScriptedMind(
        {"fix": [wants("helpers.py"), block("    return 'no'", "    return 'yes'", "helpers.py")]}
    )

    climb = await Climb(mind, ScriptedTrials(always_passes), files=files).run()

    assert [change.path for change in climb.candidates[0].changes] == ["helpers.py"]


async def test_a_file_that_was_not_shown_is_not_edited() -> None:
    files = {**FILES, "helpers.py": "def help_me():\n    return 'no'\n"}
    mind = ScriptedMind({"fix": block("    return 'no'", "    return 'yes'", "helpers.py")})

    climb = await Climb(mind, ScriptedTrials(always_passes), files=files).run()

    assert climb.candidates == []
    assert climb.trials.tried == []


async def test_a_file_the_policy_keeps_from_us_is_not_edited() -> None:
    mind = ScriptedMind({"fix": FIX_ADD})
    fixer = ModelFixer(
        mind,
        ScriptedTrials(always_passes),
        ModelLimits(),
        allows=lambda _, paths: "calc.py" not in paths,
    )

    climb = await Climb(mind, fixer=fixer).run()

    assert climb.candidates == []
    assert "calc.py" in feedback_of(mind.questions[1])


async def test_a_change_a_person_should_look_at_is_not_confident_and_the_others_are_asked_for() -> (
    None
):
    risky = block("    return a - b", "    open('log', 'w').close()\n    return a + b")
    mind = ScriptedMind({"fix": [risky, FIX_ADD]})

    climb = await Climb(mind, ScriptedTrials(always_passes)).run()

    assert [candidate.confident for candidate in climb.candidates] == [True, False]
    assert climb.candidates[1].warnings


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        (failed, "still failing: test_calculator.py::test_add; newly failing: none"),
        (untold, "could not be tried: there was no time to try it"),
        (always_passes, "passes\n"),
    ],
    ids=["failing", "untried", "passing"],
)
async def test_a_change_to_review_is_described_by_its_trial(says: Says, outcome: str) -> None:
    risky = block("    return a - b", "    open('log', 'w').close()\n    return a - b")
    mind = ScriptedMind({"fix": [risky, FIX_ADD]})

    await Climb(mind, ScriptedTrials(says), limits=ModelLimits(samples=2, rounds=1)).run()

    told = feedback_of(mind.questions[1])
    assert outcome in told
    assert "A person would have to review it: " in told


async def test_a_part_of_a_fix_is_proposed_when_nothing_mends_all() -> None:
    climb = await Climb(ScriptedMind({"fix": FIX_EVEN}), report=a_red_run(ADD, EVEN)).run()

    (candidate,) = climb.candidates
    assert candidate.partial
    assert candidate.score < 0.5
    assert "1 of 2 failing tests" in candidate.warnings[-1]


async def test_a_change_that_was_never_tried_is_left_to_a_person() -> None:
    other = block("    return a - b", "    return b + a")
    mind = ScriptedMind({"fix": [other, FIX_ADD, FIX_ADD, FIX_ADD]})

    climb = await Climb(mind, ScriptedTrials(untold)).run()

    assert ["a + b" in (candidate.changes[0].content or "") for candidate in climb.candidates] == [
        True,
        False,
    ]
    assert "3 of 4 answers" in climb.candidates[0].explanation
    assert not any(candidate.confident for candidate in climb.candidates)
    assert "no trial of this change came to an end" in climb.candidates[0].warnings
    assert len(mind.questions) == 4, "there is nothing to tell in a second round"


async def test_a_change_under_an_exit_status_alone_is_left_to_a_person() -> None:
    report = a_red_run().with_(runner="command", outcomes={}, failures=(), failure_count=0)
    plain = ScriptedTrials(lambda one: passed(one, confident=False))

    climb = await Climb(ScriptedMind({"fix": FIX_ADD}), plain, report=report).run()

    assert [candidate.confident for candidate in climb.candidates] == [False]


@pytest.mark.parametrize(
    "trouble", [ModelTrouble.BUDGET, ModelTrouble.AUTH, ModelTrouble.OVERLOADED]
)
async def test_trouble_ends_the_rung_and_says_why(trouble: ModelTrouble) -> None:
    mind = ScriptedMind(
        {"fix": [FIX_EVEN, ModelError("no more answers to be had", trouble=trouble)]}
    )

    climb = await Climb(mind, report=a_red_run(ADD, EVEN)).run()

    assert "no more answers to be had" in climb.notes[0].reason
    assert len(climb.candidates) == 1, "what was found is not lost"


async def test_a_refusal_is_one_answer_less() -> None:
    mind = ScriptedMind({"fix": [ModelTrouble.REFUSAL, FIX_ADD]})

    climb = await Climb(mind, ScriptedTrials(always_passes)).run()

    assert len(climb.candidates) == 1
    assert [call.trouble for call in climb.notes[0].calls] == [ModelTrouble.REFUSAL, None]


async def test_a_prompt_that_is_too_large_is_made_smaller() -> None:
    filler = "\n\n".join(f"def f{n}(x):\n    return x + {n}" for n in range(400))
    mind = ScriptedMind({"fix": [ModelTrouble.TOO_LARGE, ModelTrouble.TOO_LARGE, FIX_ADD]})
    climb = Climb(
        mind, ScriptedTrials(always_passes), files={**FILES, "tests/test_calc.py": filler}
    )

    await climb.run()

    assert len(climb.candidates) == 1
    assert len(mind.questions) == 3


async def test_a_model_that_takes_no_prompt_at_all_is_given_up() -> None:
    climb = await Climb(ScriptedMind({"fix": ModelTrouble.TOO_LARGE})).run()

    assert "too large" in climb.notes[0].reason
    assert len(climb.mind.questions) <= 6


async def test_time_ends_the_rung_before_the_ladder_has_to() -> None:
    async def slow(_: Question) -> None:
        await asyncio.sleep(30)

    mind = ScriptedMind({"fix": FIX_ADD}, before=slow)

    climb = await Climb(mind, budget=FixBudget(time_limit_s=2.3)).run()

    assert "time" in climb.notes[0].reason
    assert climb.candidates == []


async def test_an_answer_that_comes_late_is_proposed_untried() -> None:
    async def late(_: Question) -> None:
        await asyncio.sleep(0.4)

    mind = ScriptedMind({"fix": FIX_ADD}, before=late)

    climb = await Climb(
        mind, ScriptedTrials(always_passes), budget=FixBudget(time_limit_s=2.3)
    ).run()

    assert climb.trials.tried == []
    assert len(climb.candidates) == len(climb.notes[0].calls) == 1


async def test_money_ends_the_rung_before_the_next_call() -> None:
    mind = ScriptedMind({"fix": FIX_EVEN}, cost_usd=0.4)

    climb = await Climb(mind, report=a_red_run(ADD, EVEN), budget=FixBudget(money_usd=0.5)).run()

    assert len(mind.questions) == 2
    assert "money" in climb.notes[0].reason


async def test_cancelling_is_not_held_up() -> None:
    asked = asyncio.Event()

    async def slow(_: Question) -> None:
        asked.set()
        await asyncio.sleep(30)

    task = asyncio.create_task(Climb(ScriptedMind({"fix": FIX_ADD}, before=slow)).run())
    await asked.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_without_a_model_there_is_nothing_to_do() -> None:
    climb = await Climb(ScriptedMind({"fix": FIX_ADD}, roles=(Role.JUDGE,))).run()

    assert climb.candidates == []
    assert "no model" in climb.notes[0].reason
    assert climb.mind.questions == []


async def test_everything_foreign_in_a_question_is_a_passage() -> None:
    climb = await Climb(ScriptedMind({"fix": FIX_ADD}), ScriptedTrials(always_passes)).run()

    gaps = climb.mind.questions[0].gaps
    assert (
        gaps["task"]
        == "Change the program so that the failing test passes and no test that passes now fails."
    )
    foreign = [gap for name, gap in gaps.items() if name != "task"]
    assert all(isinstance(gap, tuple) and not any(one.trusted for one in gap) for gap in foreign)
