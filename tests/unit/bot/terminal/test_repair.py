"""metaagent repair on a folder: what is refused, what is asked of the search, what a person and a program get."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.pipeline import MissionServices, OpenProgress
from bot.ports import Fixer
from bot.settings import Settings
from bot.terminal.repair import RepairOrder, RepairResult, run_repair
from sandbox.types import (
    Checkout,
    Difference,
    Profile,
    SpanEdit,
    Survivor,
    SurvivorComparison,
    TrialDone,
    TrialEvent,
    TrialStarted,
)
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_workspace import a_run
from tests.unit.bot.mission.world import (
    ADD,
    ADDS,
    EVEN,
    PATH,
    SUB,
    TESTS,
    one_step_at_a_time,
    outcomes,
)

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")
Make = Callable[..., Settings]
FIELDS = {
    *(
        "outcome",
        "reason",
        "confident",
        "failing",
        "candidates",
        "plausible",
        "behaviours",
        "tried",
        "held_out",
    ),
    *("plain_run", "refuted", "advice"),
    *("seconds", "ended", "detail", "lanes", "suspects"),
}
CANDIDATE_FIELDS = {
    *(
        "rank",
        "cluster",
        "score",
        "template",
        "path",
        "line",
        "change",
        "diff",
        "lane",
        "suspicion",
        "agreeing",
    ),
    *("tried", "seconds", "observed", "doubts", "differs"),
}
REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "repair.md"


def a_survivor(old: str, new: str, **changes: object) -> Survivor:
    start = ADDS.index(old)
    given: dict[str, object] = {
        "template": "swap_comparison",
        "path": PATH,
        "line": 6,
        "cost": 1.0,
        "suspicion": 0.9,
        "edits": (SpanEdit(path=PATH, start=start, end=start + len(old), text=new),),
        "description": f"`{old}` became `{new}`",
        "tried": 12,
        "seconds": 0.5,
    }
    return Survivor.model_validate({**given, **changes})


PARTED = (Difference(first=0, second=1, input="even(3)", results=("False", "9")),)
EVENTS: tuple[TrialEvent, ...] = (
    TrialStarted(candidates=40, baseline_failing=1, lane_notes=("swap: safe",)),
    a_survivor("== 1", "== 0", behaviour="aa"),
    a_survivor(
        "== 1",
        "!= 1",
        behaviour="bb",
        template="change_literal",
        warnings=("a literal of the test",),
    ),
    SurvivorComparison(clusters=(0, 1), differences=PARTED),
    TrialDone(reason="exhausted", tried=40, seconds=2.0),
)


class Bench:
    """Builds lines on one workspace in memory, and remembers it."""

    def __init__(
        self, events: Sequence[TrialEvent] = EVENTS, *, source: str = ADDS, runner: str = "pytest"
    ) -> None:
        self.workspace = FakeWorkspace(
            {PATH: source, "tests/test_math.py": TESTS},
            judge=lambda files, _: a_run(outcomes(files[PATH]), runner=runner),
            events=events,
        )
        self.checkouts: list[Checkout] = []
        self.fixers: tuple[Fixer, ...] = (ScriptedFixer(one_step_at_a_time),)
        self.built = 0

    def build(self, _: Settings, open_progress: OpenProgress) -> MissionServices:
        self.built += 1

        @asynccontextmanager
        async def open_workspace(checkout: Checkout) -> AsyncIterator[FakeWorkspace]:
            self.checkouts.append(checkout)
            yield self.workspace

        return MissionServices(
            open_workspace=open_workspace,
            fixers=self.fixers,
            lessons=MemoryLessons(),
            clock=FixedClock(),
            open_progress=open_progress,
        )

    def repair(self, settings: Settings, folder: Path, **changes: object) -> RepairResult:
        order = RepairOrder(**{"path": str(folder), **changes})  # type: ignore[arg-type]
        return run_repair(order, settings, build=self.build)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (RepairOrder(path="/no/such/folder"), "is not a folder"),
        (RepairOrder(path=".", command=" "), "--test is empty"),
        (RepairOrder(path=".", time_limit_s=0), "--time-limit"),
        (RepairOrder(path=".", time_limit_s=float("nan")), "--time-limit"),
        (RepairOrder(path=".", candidates=0), "--candidates"),
        (RepairOrder(path=".", show=0), "--show"),
        (RepairOrder(path=".", show=1000), "--show"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_built(
    settings: Make, order: RepairOrder, message: str
) -> None:
    bench = Bench()
    with pytest.raises(UsageError, match=message):
        run_repair(order, settings(), build=bench.build)
    assert bench.built == 0


def test_where_edited_programs_are_not_kept_from_the_host_nothing_is_searched(
    settings: Make, tmp_path: Path
) -> None:
    bench = Bench()
    bench.fixers = ()
    with pytest.raises(UsageError, match="keep them from the host"):
        bench.repair(settings(), tmp_path)
    assert bench.checkouts == []


def test_a_program_gets_every_field_and_nothing_else_is_printed(
    settings: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = Bench().repair(settings(), tmp_path, as_json=True)
    found = result.json_object
    assert found.keys() == FIELDS
    assert (found["outcome"], found["plausible"], found["behaviours"], found["tried"]) == (
        "FOUND",
        2,
        2,
        40,
    )
    assert (result.found, found["failing"], found["lanes"]) == (True, [EVEN], ["swap: safe"])
    first, second = found["candidates"]
    assert first.keys() == CANDIDATE_FIELDS
    assert (first["rank"], first["cluster"], second["rank"], second["cluster"]) == (1, "A", 2, "B")
    assert "+    return n % 2 == 0" in first["diff"]
    assert first["differs"] == [{"input": "even(3)", "gives": "False", "other": "9"}]
    assert second["doubts"] == ["a literal of the test"]
    assert capsys.readouterr() == ("", "")


def test_every_field_is_documented() -> None:
    page = REFERENCE.read_text()
    assert {field for field in FIELDS | CANDIDATE_FIELDS if f"`{field}`" not in page} == set()


def test_doubts_that_only_the_comparison_shows_change_no_survivors_identity(
    settings: Make, tmp_path: Path
) -> None:
    seen = Profile(inputs=9, warnings=("it returns a list where a number was returned",))
    compared = SurvivorComparison(clusters=(0, 1), profiles=(seen, seen), differences=PARTED)
    events = (*EVENTS[:3], compared, EVENTS[-1])
    found = Bench(events).repair(settings(), tmp_path).json_object
    assert sorted(one["cluster"] for one in found["candidates"]) == ["A", "B"]
    for one in found["candidates"]:
        assert one["doubts"][-1:] == list(seen.warnings)
        assert one["observed"]["inputs"] == seen.inputs
        assert [difference["input"] for difference in one["differs"]] == ["even(3)"]
    gives = {one["change"]: one["differs"][0]["gives"] for one in found["candidates"]}
    assert gives == {"`== 1` became `== 0`": "False", "`== 1` became `!= 1`": "9"}


def test_a_person_sees_a_table_every_diff_and_how_to_go_on(
    settings: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = Bench().repair(settings(), tmp_path, command="pytest -q")
    assert re.search(
        r"^ +1 +A +\d\.\d\d +calc.py:6 +`== 1` became `== 0` +swap_comparison$",
        result.text,
        re.MULTILINE,
    )
    assert result.text.count("diff --git") == 2
    assert "doubt: a literal of the test" in result.text
    assert "even(3) gives False, another candidate 9" in result.text
    assert f"metaagent fix {tmp_path} --test 'pytest -q' --apply" in result.text
    assert "found        calc.py:6" in capsys.readouterr().err, "progress goes to standard error"


def test_what_was_asked_for_goes_into_the_command_that_is_proposed(
    settings: Make, tmp_path: Path
) -> None:
    result = Bench().repair(settings(), tmp_path, seed=4, time_limit_s=30.0)
    assert f"metaagent fix {tmp_path} --seed 4 --time-limit 30 --apply" in result.text


def test_no_more_is_shown_than_was_asked_for(settings: Make, tmp_path: Path) -> None:
    found = Bench().repair(settings(), tmp_path, show=1).json_object
    assert len(found["candidates"]) == 1
    assert found["plausible"] == 2


def test_the_folder_stays_as_it_is(settings: Make, tmp_path: Path) -> None:
    (tmp_path / PATH).write_text(ADDS)
    Bench().repair(settings(), tmp_path)
    assert (tmp_path / PATH).read_text() == ADDS
    assert [path.name for path in tmp_path.iterdir()] == [PATH]


def test_the_order_reaches_the_search(settings: Make, tmp_path: Path) -> None:
    bench = Bench()
    bench.repair(
        settings(), tmp_path, command="make check", time_limit_s=7.0, candidates=99, seed=3, show=20
    )
    (request,) = bench.workspace.searches
    assert (request.time_limit_s, request.max_candidates, request.seed, request.max_survivors) == (
        7.0,
        99,
        3,
        20,
    )
    assert (request.failing, request.passing, request.held_out) == ((EVEN,), (ADD, SUB), ())
    assert bench.checkouts[0].hints.command == "make check"
    assert "tests/test_x.py" not in request.protected
    assert "tests/*" in request.protected


def test_half_of_the_passing_tests_can_be_kept_back_and_the_seed_chooses_them(
    settings: Make, tmp_path: Path
) -> None:
    kept = set()
    for seed in range(6):
        bench = Bench()
        bench.repair(settings(), tmp_path, half=True, seed=seed)
        (request,) = bench.workspace.searches
        assert sorted(request.passing + request.held_out) == [ADD, SUB]
        assert len(request.held_out) == 1
        kept.add(request.held_out)
    assert len(kept) == 2


def test_a_search_without_a_result_says_why_and_where_it_looked(
    settings: Make, tmp_path: Path
) -> None:
    suspects = [{"file": PATH, "line": 6, "score": 0.9, "reason": "in the traceback"}]
    started = TrialStarted.model_validate({"candidates": 40, "suspect_lines": suspects})
    result = Bench([started, TrialDone(reason="time", tried=40, seconds=2.0)]).repair(
        settings(), tmp_path
    )
    assert (result.found, result.json_object["outcome"]) == (False, "NONE")
    assert "no edit found within the time limit" in result.text
    assert "calc.py:6  in the traceback" in result.text
    assert "--apply" not in result.text


def test_a_search_without_a_result_says_why_the_tests_may_be_at_fault(
    settings: Make, tmp_path: Path
) -> None:
    bench = Bench([TrialDone(reason="exhausted", tried=2, seconds=2.0)])
    error = "ImportError: cannot import name 'refund' from 'shop.till' (shop/till.py)"
    bench.workspace = FakeWorkspace(
        {PATH: ADDS},
        judge=lambda _files, _targets: a_run({"tests/test_math.py": error}),
        events=[TrialDone(reason="exhausted", tried=2, seconds=2.0)],
    )
    result = bench.repair(settings(), tmp_path)
    advice = "`shop.till` has no `refund`, which the tests use: that is a feature to write"
    assert f"\n  next: {advice}" in result.text
    assert result.json_object["advice"].startswith(advice)


def test_one_of_a_kind_is_written_in_the_singular(settings: Make, tmp_path: Path) -> None:
    seen = Profile(
        inputs=1,
        passing_calls=1,
        neighbours=1,
        changed_neighbours=1,
        held_out_failed=1,
        new_errors=1,
    )
    only = a_survivor("== 1", "== 0", profile=seen, tried=1)
    events = (EVENTS[0], only, TrialDone(reason="exhausted", tried=1, seconds=0.5))
    text = Bench(events).repair(settings(), tmp_path).text
    assert text.startswith("FOUND: 1 of 1 candidate makes every known test pass")
    for line in (
        "0 of 1 call of passing tests changed",
        "1 of 1 input near them changed",
        "fails 1 held-out test",
        "newly raises an error for 1 input",
        "1 candidate in 0.5 s, 2 a second; ended: exhausted",
    ):
        assert f"{line}\n" in text


def test_what_is_not_red_is_not_searched(settings: Make, tmp_path: Path) -> None:
    bench = Bench(source=ADDS.replace("== 1", "== 0"))
    result = bench.repair(settings(), tmp_path)
    assert (result.found, result.json_object["outcome"]) == (False, "NOT SEARCHED")
    assert "nothing is red" in result.text
    assert bench.workspace.searches == []


def test_only_tests_of_known_runners_are_searched_for(settings: Make, tmp_path: Path) -> None:
    bench = Bench(runner="junit")
    assert "only tests that pytest or unittest runs" in bench.repair(settings(), tmp_path).text
    assert bench.workspace.searches == []


def test_findings_are_sent_to_the_command_that_mends_them(settings: Make, tmp_path: Path) -> None:
    assert "are for metaagent fix" in Bench(runner="diagnostics").repair(settings(), tmp_path).text


def test_what_the_sandbox_tells_is_shown_on_one_line_without_control_characters(
    settings: Make, tmp_path: Path
) -> None:
    hostile = a_survivor("== 1", "== 0", description="a\x1b[2Jb\nFOUND: all is well")
    result = Bench([hostile, TrialDone(reason="enough", tried=1)]).repair(settings(), tmp_path)
    assert "\x1b" not in result.text
    assert result.text.count("\nFOUND") == 0
