"""metaagent fix on a folder: what is refused, what a person gets, what a program gets, what is written."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Rival, RungNote
from bot.errors import UsageError
from bot.evidence.bundle import read_bundle
from bot.pipeline import MissionServices, OpenProgress
from bot.settings import Settings
from bot.terminal.fix import FixOrder, FixResult, run_fix
from sandbox.errors import SandboxUnavailable
from sandbox.types import TestReport
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_workspace import Asked, World
from tests.unit.bot.mission.world import (
    ADDS,
    MENDED,
    PATH,
    a_fix,
    a_world,
    honest,
    one_step_at_a_time,
)

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")
Make = Callable[..., Settings]
FIELDS = {
    *(
        "outcome",
        "mission_id",
        "reason",
        "advice",
        "diff",
        "rung",
        "template",
        "confidence",
        "candidates_tried",
    ),
    *(
        "plausible",
        "recalled_from",
        "seconds",
        "cost_usd",
        "applied",
        "choices",
        "report",
        "evidence",
        "evidence_sha256",
    ),
}


class Bench:
    """Builds lines on a world in memory, and remembers what it was given."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.settings: list[Settings] = []
        self.fixer = ScriptedFixer(one_step_at_a_time)
        self.lessons = MemoryLessons()

    def build(self, settings: Settings, open_progress: OpenProgress) -> MissionServices:
        self.settings.append(settings)
        return MissionServices(
            open_workspace=self.world.open_workspace,
            fixers=(self.fixer,),
            lessons=self.lessons,
            clock=FixedClock(),
            open_progress=open_progress,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The red tree on disk, as the world has it in memory."""
    project = tmp_path / "project"
    project.mkdir()
    (project / PATH).write_text(ADDS)
    return project


def a_bench(source: str = ADDS) -> Bench:
    return Bench(a_world(source, base=None))


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (FixOrder(path="/no/such/folder"), "is not a folder"),
        (FixOrder(path=".", time_limit_s=0), "--time-limit"),
        (FixOrder(path=".", time_limit_s=-1), "--time-limit"),
        (FixOrder(path=".", command="  "), "--test is empty"),
        (FixOrder(path=".", rungs=""), "--rungs"),
        (FixOrder(path=".", rungs="0,one"), "--rungs"),
        (FixOrder(path=".", rungs="0,3"), "--rungs"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_built(
    settings: Make, order: FixOrder, message: str
) -> None:
    bench = a_bench()
    with pytest.raises(UsageError, match=message):
        run_fix(order, settings(), build=bench.build)
    assert bench.settings == []


def test_a_file_is_no_folder(settings: Make, folder: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        run_fix(FixOrder(path=str(folder / PATH)), settings(), build=a_bench().build)


def test_a_program_gets_every_field(
    settings: Make, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_fix(FixOrder(path=str(folder), as_json=True), settings(), build=a_bench().build)
    found = result.json_object
    assert found.keys() == FIELDS
    assert (found["outcome"], found["rung"], found["template"], found["applied"]) == (
        "FIXED",
        1,
        "swap_operator",
        False,
    )
    assert found["mission_id"].startswith("local:")
    assert "+    return n % 2 == 0" in found["diff"]
    assert 0 <= found["confidence"] <= 1
    assert capsys.readouterr() == ("", ""), "nothing but the object is printed, by who asked for it"


def test_every_field_is_documented() -> None:
    page = Path(__file__).parents[4] / "docs" / "reference" / "fix-json.md"
    assert {field for field in FIELDS if f"`{field}`" not in page.read_text()} == set()


def test_a_person_is_told_how_far_it_is_and_how_to_write_the_fix(
    settings: Make, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_fix(FixOrder(path=str(folder)), settings(), build=a_bench().build)
    assert "FIXED" in result.text
    assert "Run again with --apply" in result.text
    assert (folder / PATH).read_text() == ADDS, "nothing is written without being asked"
    assert capsys.readouterr().err.count("\n") >= 3, "progress goes to standard error"


def test_apply_writes_the_verified_fix(settings: Make, folder: Path) -> None:
    result = run_fix(FixOrder(path=str(folder), apply=True), settings(), build=a_bench().build)
    assert (folder / PATH).read_text() == MENDED
    assert result.json_object["applied"] is True
    assert "The fix is applied" in result.text


def test_apply_never_overwrites_what_changed_meanwhile(settings: Make, folder: Path) -> None:
    mine = "# rewritten by hand while the mission ran\n"
    (folder / PATH).write_text(mine)
    result = run_fix(FixOrder(path=str(folder), apply=True), settings(), build=a_bench().build)
    assert (folder / PATH).read_text() == mine
    assert result.json_object["applied"] is False
    assert result.json_object["diff"], "what was found is not lost"
    assert "NOT applied" in result.text


def test_without_a_fix_there_is_no_diff_and_nothing_to_apply(settings: Make, folder: Path) -> None:
    result: FixResult = run_fix(
        FixOrder(path=str(folder), apply=True), settings(), build=a_bench(MENDED).build
    )
    found = result.json_object
    assert (found["outcome"], found["diff"], found["rung"], found["applied"]) == (
        "NOT_REPRODUCED",
        "",
        None,
        False,
    )
    assert "--apply" not in result.text


def test_the_order_reaches_the_mission(settings: Make, folder: Path) -> None:
    bench = a_bench()
    order = FixOrder(
        path=str(folder), command="make check", seed=7, time_limit_s=5.0, rungs="1,0,1"
    )
    run_fix(order, settings(), build=bench.build)
    request = bench.fixer.contexts[0].request
    assert (request.command, request.seed, request.time_limit_s, request.rungs) == (
        "make check",
        7,
        5.0,
        (0, 1),
    )
    assert request.folder == str(folder.resolve())
    assert bench.fixer.budgets[0].time_limit_s <= 5.0


@pytest.mark.parametrize(("level", "spoken"), [("info", "warning"), ("debug", "debug")])
def test_the_terminal_is_kept_quiet_unless_everything_was_asked_for(
    settings: Make, folder: Path, level: str, spoken: str
) -> None:
    bench = a_bench()
    run_fix(FixOrder(path=str(folder), as_json=True), settings(log_level=level), build=bench.build)
    assert bench.settings[0].log_level == spoken


def test_the_evidence_goes_into_the_file_that_was_named(
    settings: Make, folder: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "evidence.zip"
    result = run_fix(
        FixOrder(path=str(folder), evidence=str(bundle)), settings(), build=a_bench().build
    )
    claim = read_bundle(bundle.read_bytes()).claim
    assert (claim.outcome, claim.fix and claim.fix.green) == ("FIXED", True)
    assert result.json_object["evidence"] == str(bundle)
    assert result.json_object["evidence_sha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert f"metaagent replay {bundle}" in result.text
    assert bundle.stat().st_mode & 0o777 == 0o600, "it holds source"


def test_a_place_for_evidence_that_cannot_be_is_refused_before_anything_is_built(
    settings: Make, folder: Path, tmp_path: Path
) -> None:
    bench = a_bench()
    for place in (tmp_path, tmp_path / "missing" / "evidence.zip"):
        with pytest.raises(UsageError, match="--evidence"):
            run_fix(FixOrder(path=str(folder), evidence=str(place)), settings(), build=bench.build)
    assert bench.settings == []


def test_evidence_that_cannot_be_kept_costs_nothing_but_itself(
    settings: Make, folder: Path, tmp_path: Path
) -> None:
    order = FixOrder(path=str(folder), evidence=str(tmp_path / "e.zip"))
    result = run_fix(order, settings(evidence__bundle_bytes="10"), build=a_bench().build)
    assert (result.outcome, result.json_object["evidence"]) == ("FIXED", "")
    assert "evidence.bundle_bytes" in result.text


def test_a_host_without_a_sandbox_is_told(settings: Make, folder: Path) -> None:
    bench = Bench(
        a_world(
            ADDS,
            base=None,
            trouble=lambda _: SandboxUnavailable("Docker does not answer", "start it"),
        )
    )
    result = run_fix(FixOrder(path=str(folder)), settings(), build=bench.build)
    assert result.outcome == "ERROR"
    assert "Docker does not answer" in result.text
    assert result.json_object["advice"] == "start it"


OTHER = ADDS.replace("== 1", "in (0, 2)")
"""Mends the second bug of the world too, as far as its tests can tell."""


def asking(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
    """Two fixes that behave differently, and no belief in either."""
    rival = Rival(
        template="t",
        path=PATH,
        line=6,
        description="n % 2 in (0, 2)",
        distinguishing_input="even(1)",
        results=("False", "True"),
        candidate_id="c-2",
    )
    best = a_fix(
        MENDED, id="c-1", title="one", behaviours=2, rivals=(rival,), score=0.2, confident=False
    )
    return [best, a_fix(OTHER, id="c-2", title="two", behaviours=2, confident=False)]


def an_asking_bench() -> Bench:
    bench = Bench(a_world(ADDS, base=None, run=believing))
    bench.fixer = ScriptedFixer(asking)
    return bench


def believing(asked: Asked) -> TestReport:
    """Runs of tests that take either fix."""
    return (
        honest(replace(asked, files={**asked.files, PATH: MENDED}))
        if asked.files[PATH] == OTHER
        else honest(asked)
    )


def test_a_question_shows_numbered_choices_and_how_to_take_one(
    settings: Make, folder: Path
) -> None:
    result = run_fix(
        FixOrder(path=str(folder), command="make check"), settings(), build=an_asking_bench().build
    )
    assert result.outcome == "NEEDS_HUMAN"
    assert "  1. one\n" in result.text
    assert "  2. two\n     differs from 1 on even(1): 1 gives False, 2 gives True\n" in result.text
    assert "+    return n % 2 in (0, 2)" in result.text
    assert f"metaagent fix {folder} --test 'make check' --apply --choose 2\n" in result.text
    assert result.text.count("0.2") == 1, "one number for how sure"
    shown = [(c["number"], c["verified"], c["differs_on"]) for c in result.json_object["choices"]]
    assert shown == [(1, True, ""), (2, False, "even(1)")]


def test_a_question_is_not_applied_before_it_is_answered(settings: Make, folder: Path) -> None:
    result = run_fix(
        FixOrder(path=str(folder), apply=True), settings(), build=an_asking_bench().build
    )
    assert "the question has to be answered first" in result.text
    assert (folder / PATH).read_text() == ADDS


@pytest.mark.parametrize(("number", "source"), [(1, MENDED), (2, OTHER)])
def test_a_choice_is_verified_and_applied(
    settings: Make, folder: Path, number: int, source: str
) -> None:
    run_fix(FixOrder(path=str(folder)), settings(), build=an_asking_bench().build)
    result = run_fix(
        FixOrder(path=str(folder), apply=True, choose=number),
        settings(),
        build=an_asking_bench().build,
    )
    assert (result.outcome, result.json_object["applied"]) == ("FIXED", True)
    assert (folder / PATH).read_text() == source
    with pytest.raises(UsageError, match="no choices are kept"):
        run_fix(
            FixOrder(path=str(folder), choose=number), settings(), build=an_asking_bench().build
        )


def test_a_choice_that_fails_its_verification_is_not_applied(settings: Make, folder: Path) -> None:
    run_fix(FixOrder(path=str(folder)), settings(), build=an_asking_bench().build)
    order = FixOrder(path=str(folder), apply=True, choose=2)
    result = run_fix(order, settings(), build=a_bench().build)
    assert result.outcome == "NO_FIX"
    assert (folder / PATH).read_text() == ADDS


@pytest.mark.parametrize("number", [0, 3])
def test_a_number_that_is_no_choice_is_refused(settings: Make, folder: Path, number: int) -> None:
    run_fix(FixOrder(path=str(folder)), settings(), build=an_asking_bench().build)
    with pytest.raises(UsageError, match=f"--choose {number} is not one of the choices"):
        run_fix(
            FixOrder(path=str(folder), choose=number), settings(), build=an_asking_bench().build
        )


def test_a_choice_for_a_file_that_changed_since_is_refused(settings: Make, folder: Path) -> None:
    run_fix(FixOrder(path=str(folder)), settings(), build=an_asking_bench().build)
    mine = f"# mine\n{ADDS}"
    (folder / PATH).write_text(mine)
    with pytest.raises(UsageError, match="does not fit the folder any more"):
        run_fix(
            FixOrder(path=str(folder), apply=True, choose=1),
            settings(),
            build=an_asking_bench().build,
        )
    assert (folder / PATH).read_text() == mine


def test_a_green_folder_is_wrong_use(settings: Make, folder: Path) -> None:
    bench = a_bench(MENDED)
    result = run_fix(FixOrder(path=str(folder)), settings(), build=bench.build)
    assert result.misuse is not None
    assert result.misuse.message.startswith("nothing is red: `")
    assert "--test" in result.misuse.advice
    assert bench.lessons.lessons == {}, "nothing is learned from it"
