"""metaagent missions, show, cancel and report: what the table of missions tells at a terminal."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.cli import main
from bot.commands.missions import _OUTCOMES
from bot.domain.mission import Outcome
from bot.domain.mission_record import MissionQuery, StageMark
from bot.errors import StoreError, UsageError
from bot.registry.audit import StoredAudit
from bot.registry.missions import StoredMissions
from bot.settings import Settings
from bot.store.opening import open_database
from bot.terminal.missions import MissionsOrder, run_cancel, run_missions, run_show
from bot.terminal.report import run_report
from tests.contract.test_mission_records import a_record, an_end

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")
Make = Callable[..., Settings]
NOW = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
LONG_AGO, EVER = "2020-01-02", "2000-01-01"


def with_missions(settings: Settings) -> Settings:
    """A night: a fix that was merged, a flake, a question, and one that still runs."""

    async def fill() -> None:
        with closing(open_database(settings.engine_url)) as database:
            missions = StoredMissions(database)
            fixed = an_end("fixed", pull_request=17, fate="merged", ended_at=f"{LONG_AGO}T01:00")
            await missions.finish(fixed, {"cause": "a - b", "diff": "-    a - b\n+    a + b"})
            reason = "3 of 10 runs are red"
            await missions.finish(an_end("flaky", Outcome.FLAKY, reason=reason, place="octo/b"))
            await missions.finish(an_end("asks", Outcome.NEEDS_HUMAN, reason="which one?"))
            await missions.finish(an_end("off", Outcome.POLICY, reason="it is switched off"))
            await missions.enqueue(a_record("runs"))
            mark = StageMark(name="reproduce", at="2026-01-02T03:04:05", detail="run 1")
            await missions.stage("runs", mark)

    asyncio.run(fill())
    return settings


def test_missions_are_listed_newest_first_and_page_by_page(settings: Make) -> None:
    given = with_missions(settings())
    first = run_missions(MissionsOrder(limit=2), given)
    assert [one["mission_id"] for one in first.json_object["missions"]] == ["runs", "off"]
    assert f"--before {first.json_object['next']}" in first.text
    rest = run_missions(MissionsOrder(before=first.json_object["next"]), given)
    assert [one["mission_id"] for one in rest.json_object["missions"]] == ["asks", "flaky", "fixed"]
    assert "FIXED, merged  octo/calculator" in rest.text
    assert "Restore + in add" in rest.text


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ({"outcome": "FLAKY"}, ["flaky"]),
        ({"state": "running"}, ["runs"]),
        ({"repository": "octo/b"}, ["flaky"]),
        ({"since": "2021-01-01", "outcome": "FIXED"}, []),
    ],
)
def test_missions_are_chosen(settings: Make, order: dict[str, Any], expected: list[str]) -> None:
    result = run_missions(MissionsOrder(**order), with_missions(settings()))
    assert [one["mission_id"] for one in result.json_object["missions"]] == expected
    assert result.found == bool(expected)


def test_a_mission_is_shown_with_its_stages_cause_and_change(settings: Make) -> None:
    given = with_missions(settings())
    fixed, runs = run_show("fixed", given), run_show("runs", given)
    assert "+    a + b" in fixed.text
    assert fixed.json_object["detail"]["cause"] == "a - b"
    assert "03:04:05  reproduce    run 1" in runs.text
    with pytest.raises(UsageError, match="no mission has the id"):
        run_show("unknown", given)


def test_only_an_active_mission_is_cancelled_and_the_audit_log_says_by_whom(
    settings: Make,
) -> None:
    given = with_missions(settings())
    assert run_cancel("runs", given).json_object == {"mission_id": "runs", "was": "running"}
    with pytest.raises(UsageError, match="has ended: FIXED"):
        run_cancel("fixed", given)

    async def read() -> tuple[dict[str, str], Any]:
        with closing(open_database(given.engine_url)) as database:
            asked = await StoredMissions(database).asked_to_stop()
            return asked, await StoredAudit(database).entries()

    asked, (entry,) = asyncio.run(read())
    assert asked["runs"].startswith("the operator")
    assert (entry.action, entry.mission, entry.repository) == ("cancel", "runs", 42)
    assert entry.actor.startswith("operator")


def test_the_report_names_what_a_person_wants_to_know_in_the_morning(settings: Make) -> None:
    given = with_missions(settings())
    run_cancel("runs", given)
    text = run_report(EVER, given).text
    for part in (
        "4 missions ended",
        "1 FIXED",
        "now 1 running",
        "FIXED     octo/calculator #17 (merged): Restore + in add",
        "FLAKY     octo/b: 3 of 10 runs are red",
        "NEEDS_HUMAN octo/calculator: which one?",
        "cancel in octo/calculator: runs",
        "0 writes to GitHub",
    ):
        assert part in text, text
    assert "switched off" not in text, "what the policy forbids is only counted"
    assert run_report("2025-01-01", given).json_object["outcomes"] == {
        "FLAKY": 1,
        "NEEDS_HUMAN": 1,
        "POLICY": 1,
    }


def test_the_commands_print_json_for_programs(
    settings: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    given = with_missions(settings())
    place = ["--data-dir", str(given.data_dir)]
    assert main(["missions", "--json", *place]) == 0
    assert len(json.loads(capsys.readouterr().out)["missions"]) == 5
    assert main(["missions", "--outcome", "INFRA", *place]) == 1
    assert capsys.readouterr().out == "no missions\n"
    assert main(["show", "fixed", "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "FIXED"
    assert main(["cancel", "runs", "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["was"] == "running"
    assert main(["report", "--since", EVER, "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"]["FIXED"] == 1
    assert main(["show", "unknown", "--json", *place]) == 2
    assert json.loads(capsys.readouterr().out)["fault"] == "user"


def test_without_a_database_nothing_is_created(settings: Make) -> None:
    given = settings()
    with pytest.raises(StoreError, match="no database"):
        run_missions(MissionsOrder(), given)
    assert not given.data_dir.exists() or not list(given.data_dir.glob("*.sqlite"))


def test_the_command_knows_every_outcome() -> None:
    assert list(Outcome) == [Outcome(name) for name in _OUTCOMES]
    assert MissionQuery().outcome is None
