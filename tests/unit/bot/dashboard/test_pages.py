"""What the pages show: every outcome, hostile text as text, empty states, figures, durations."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.dashboard import charts
from bot.dashboard.missions import timeline
from bot.dashboard.render import diff_lines, seconds, ticks, tone, usd
from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import Outcome
from bot.domain.mission_record import RecordState, StageMark
from bot.domain.pause import Pause
from bot.domain.publication import Publication
from bot.domain.request import improvement_id
from bot.errors import StoreError
from bot.publish.story import build_story
from tests.builders import a_model_call, a_repository, a_request
from tests.contract.test_mission_records import an_end
from tests.reports import a_told_mission
from tests.unit.bot.dashboard.house import ACME, ENDED, RUNS, House

pytestmark = pytest.mark.anyio
ATTACKS = (
    "</pre></details><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% include 'x' %}",
    "javascript:alert(1)",
    "\u202egnp.exe \x1b[31mred\x07",
)


@pytest.fixture
async def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def text_of(house: House, path: str, person: str = "operator") -> str:
    reply = await (await house.browser_of(person)).get(f"/dashboard/{path}")
    assert reply.status_code == 200, path
    return reply.text


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_every_outcome_has_a_page(house: House, outcome: Outcome) -> None:
    repository = a_repository()
    request = a_request(mission_id="m-1", repository=repository)
    context = a_told_mission(outcome, mission_id="m-1", request=request)
    context = context.with_(calls=(a_model_call(),))
    await house.recorder.enqueue(request)
    await house.recorder.stage(context, "reproduce")
    await house.recorder.report(build_story(context), Publication(mission_id="m-1"))
    shown = await text_of(house, "missions/m-1")
    assert outcome.value.replace("_", " ") in shown
    assert "Policy in effect" in shown
    assert "Model calls" in shown
    assert shown.count("<h1>") == 1


async def test_a_fix_is_shown_from_its_cause_to_its_proof(house: House) -> None:
    await house.furnish()
    shown = await text_of(house, f"missions/{quote(ENDED, safe='')}", "reader")
    for part in ("Cause", "Change", "Red to green", "Confidence", "Iterations", "Timeline"):
        assert f">{part}</h2>" in shown, part
    assert re.search(r'<span class="added">\+', shown)
    assert re.search(r'<span class="removed">-', shown)
    assert '<td class="fail">fail</td><td class="pass">pass</td>' in shown
    assert "pull request #17" in shown
    tools, search = re.findall(r"<tr><td>(?:Tools|Search)</td>.*?</tr>", shown)
    assert re.findall(r">([^<]*)</td>", tools) == ["Tools", "", "0", "0", ""]
    assert re.findall(r">([^<]*)</td>", search) == ["Search", "12", "1", "1", "1.2 s"]
    assert f"metaagent replay {ENDED}" in shown


@pytest.mark.parametrize("attack", ATTACKS)
async def test_hostile_text_is_shown_as_text_on_every_page(house: House, attack: str) -> None:
    repository = a_repository(name="shop")
    request = a_request(
        mission_id="m-1", repository=repository, head_branch=attack, requested_by=attack
    )
    context = a_told_mission(
        Outcome.FIXED, mission_id="m-1", request=request, reason=attack, advice=attack
    )
    await house.recorder.enqueue(request)
    await house.recorder.stage(context, attack, attack)
    await house.recorder.report(build_story(context), Publication(mission_id="m-1"))
    await house.parts.pauses.set(Pause(why=attack, at=attack))
    for page in ("missions", "missions/m-1", "repositories", "repositories/42", "queue"):
        shown = await text_of(house, page)
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
        assert not re.search(r'href="javascript:', shown)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert ">49" not in shown


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("missions", "no mission yet"),
        ("missions?outcome=FIXED", "No mission matches"),
        ("repositories", "No repository has had"),
        ("lessons", "No lesson is stored"),
        ("scoreboard", "No mission has ended"),
        ("queue", "Nothing waits and nothing runs"),
    ],
)
async def test_an_empty_page_says_what_would_fill_it(house: House, page: str, words: str) -> None:
    assert words in await text_of(house, page)
    assert words in await text_of(house, page, "nobody's")


async def test_pages_lead_through_all_missions(house: House) -> None:
    for number in range(120):
        await house.missions.finish(an_end(f"m-{number:03}"))
    seen: list[str] = []
    page = "missions?outcome=FIXED"
    while page:
        shown = await text_of(house, page)
        seen += re.findall(r'missions/(m-\d+)"', shown)
        found = re.search(r'rel="next" href="/dashboard/([^"]+)"', shown)
        page = found[1].replace("&amp;", "&") if found else ""
    assert seen == [f"m-{number:03}" for number in reversed(range(120))]


async def test_flaky_tests_are_counted_over_missions(house: House) -> None:
    for number, (name, reds) in enumerate((("t.py::a", 2), ("t.py::b", 1), ("t.py::b", 3))):
        triage = Triage(
            kind=FailureKind.FLAKE,
            reason="",
            runs=5,
            red_runs=reds,
            per_test_reds={name: reds, "t.py::always": 5, "t.py::never": 0},
        )
        record = an_end(f"m-{number}", Outcome.FLAKY, repository=ACME, place="acme/shop")
        await house.missions.finish(record, {"triage": triage.model_dump(mode="json")})
    await house.missions.finish(an_end("m-old", Outcome.FLAKY, repository=ACME), {"triage": 1})
    shown = await text_of(house, f"repositories/{ACME}")
    rows = re.findall(r"<td><code>(t[^<]*)</code></td>.*?>(\d+)</td>.*?>([^<]*)</td>", shown)
    assert rows == [("t.py::b", "2", "4 of 10"), ("t.py::a", "1", "2 of 5")]


async def test_improvements_are_a_list_of_their_own(house: House) -> None:
    await house.missions.finish(an_end(improvement_id(ACME, "x"), Outcome.IMPROVED))
    await house.missions.finish(an_end("mission:42:red:auto"))
    for about, other in (("improvements", "red:auto"), ("repairs", "improve:x")):
        shown = await text_of(house, f"missions?about={about}")
        assert shown.count('<td><a href="/dashboard/missions/') == 1
        assert other not in shown
    assert "No mission matches" in await text_of(house, "missions?about=repairs&outcome=FLAKY")


async def test_a_mission_says_in_words_what_found_its_fix(house: House) -> None:
    await house.missions.finish(an_end("m-two", rung=1, template="undo_part+undo_part"))
    shown = await text_of(house, "missions/m-two")
    assert "<dt>Found by</dt><dd>the search: undo part</dd>" in shown


async def test_the_scoreboard_tells_the_figures_and_draws_them(house: House) -> None:
    today = house.clock.now().isoformat()
    for number in range(4):
        await house.missions.finish(an_end(f"f-{number}", ended_at=today, fate="merged"))
    await house.missions.finish(an_end("r", ended_at=today, fate="reverted", kind="<Error>"))
    await house.missions.finish(an_end("n", Outcome.NO_FIX, ended_at=today, cost_usd=1.25))
    shown = await text_of(house, "scoreboard")
    assert "<dt>Fixed</dt><dd>83%</dd>" in shown
    assert "<dt>Reverted of merged</dt><dd>20%</dd>" in shown
    assert "<dt>Cost per accepted fix</dt><dd>$0.6250</dd>" in shown
    assert shown.count('<svg role="img"') == 3
    assert "&lt;Error&gt;" in shown
    assert "<Error>" not in shown


async def test_what_is_off_and_why_is_told(house: House) -> None:
    await house.furnish()
    assert "turned off by boss-of-acme" in await text_of(house, "repositories", "reader")
    assert "Nothing is done here" in await text_of(house, "repositories/42", "reader")
    await house.parts.pauses.set(Pause(why="upgrade", at="2026-01-02"))
    await house.parts.pauses.set(Pause(place="rival/x", why="rival-plan", at="2026-01-02"))
    shown = await text_of(house, "queue", "reader")
    assert "everything is paused by the operator (upgrade)" in shown
    assert "rival-plan" not in shown
    assert "rival-plan" in await text_of(house, "queue", "operator")


async def test_a_change_of_a_mission_is_one_event(house: House) -> None:
    await house.furnish()
    http = await house.browser_of("reader")
    page = f"/dashboard/missions/{quote(RUNS, safe='')}"
    address = re.search(r'data-events="([^"]+)"', (await http.get(page)).text)
    assert address is not None
    assert (await http.get(address[1])).text == "", "the page has the newest state"
    mark = StageMark(name="fix", at=house.clock.now().isoformat())
    await house.missions.stage(RUNS, mark)
    changed = (await http.get(address[1])).text
    assert changed.startswith("data: changed\nid: ")
    seen = changed.split("id: ")[1].split()[0]
    assert (await http.get(address[1], headers={"last-event-id": seen})).text == ""


async def test_the_stream_of_an_ended_mission_is_not_opened_again(house: House) -> None:
    await house.furnish()
    http = await house.browser_of("reader")
    address = f"/dashboard/missions/{quote(ENDED, safe='')}/events"
    changed = await http.get(address)
    assert changed.status_code == 200
    seen = changed.text.split("id: ")[1].split()[0]
    assert (await http.get(address, headers={"last-event-id": seen})).status_code == 204


async def test_a_running_mission_is_renewed_and_an_ended_one_is_not(house: House) -> None:
    await house.furnish()
    runs = await text_of(house, f"missions/{quote(RUNS, safe='')}")
    assert 'data-live="4000"' in runs
    assert "data-live" not in await text_of(house, f"missions/{quote(ENDED, safe='')}")


async def test_a_database_that_fails_is_a_page_that_says_so(house: House) -> None:
    http = await house.browser_of("operator")

    class Away:
        async def find(self, _: str | None) -> None:
            raise StoreError("the server closed the connection at 10.0.0.7")

    object.__setattr__(house.parts, "sessions", Away())
    reply = await http.get("/dashboard")
    assert (reply.status_code, "Not now" in reply.text) == (503, True)
    assert "10.0.0.7" not in reply.text


async def test_a_stream_whose_database_goes_away_ends(house: House) -> None:
    await house.furnish()
    http = await house.browser_of("reader")
    found = await house.missions.find(RUNS)

    class GoesAway:
        answers = iter([found])

        async def find(self, *_: object) -> object:
            for answer in self.answers:
                return answer
            raise StoreError("the server closed the connection at 10.0.0.7")

    object.__setattr__(house.parts, "records", GoesAway())
    reply = await http.get(f"/dashboard/missions/{quote(RUNS, safe='')}/events")
    assert (reply.status_code, reply.text) == (200, "")


def test_stages_last_until_the_next_one_and_the_last_until_the_end() -> None:
    minute = "2026-01-02T03:04"
    marks = tuple(
        StageMark(name=name, at=f"{minute}:{at:02}+00:00") for name, at in (("a", 0), ("b", 30))
    )
    steps = timeline(marks, f"{minute}:40+00:00")
    assert [(one.name, one.seconds, one.share) for one in steps] == [("a", 30, 100), ("b", 10, 33)]
    assert timeline((), f"{minute}:40+00:00") == ()
    assert timeline(marks[:1], "2025-01-01T00:00:00+00:00")[0].seconds == 0, "a clock went back"


def test_diffs_amounts_and_durations_are_readable() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c"
    kinds = [line.kind for line in diff_lines(text)]
    assert kinds == ["file", "file", "file", "place", "removed", "added", "same"]
    assert [usd(value) for value in (None, 0.0, 0.0123, 12.345)] == [
        "unknown",
        "$0.00",
        "$0.0123",
        "$12.35",
    ]
    assert [seconds(value) for value in (None, 3.14, 61.0, 7_260.0)] == [
        "\N{EN DASH}",
        "3.1 s",
        "1 min 1 s",
        "2 h 1 min",
    ]
    assert {tone(one) for one in (*Outcome, *RecordState)} <= {
        "good",
        "bad",
        "asks",
        "active",
        "plain",
    }


def test_titles_show_their_code_as_code_and_nothing_else_as_markup() -> None:
    assert ticks("Use `<` for `<=` <b>") == (
        "Use <code>&lt;</code> for <code>&lt;=</code> &lt;b&gt;"
    )
    assert ticks("a ` alone <b>") == "a ` alone &lt;b&gt;"
    assert ticks("`\u202ex`") == "<code>x</code>"


def test_charts_escape_names_and_stand_nothing_at_all() -> None:
    drawn = charts.shares("<b>", [("<script>", 1, 2), ("x", 0, 0)])
    assert "&lt;script&gt;" in drawn
    assert "<b>" not in drawn
    for empty in (charts.shares("a", []), charts.days("b", {}), charts.distribution("c", [])):
        assert empty.startswith("<svg")
    assert charts.distribution("c", [0.0]).count("polyline") == 1
