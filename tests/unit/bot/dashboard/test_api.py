"""The JSON API: who reads what, the same form as the command line's, and no secret in an answer."""

import json
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from bot.dashboard.access import HEADERS
from bot.domain.mission_record import MissionRecord, MissionView, RepositoryTally
from bot.domain.pause import Pause
from bot.errors import StoreError
from bot.ports import Readable
from sandbox.gate import prepare_needles
from tests.builders import a_lesson, a_repository, a_request
from tests.contract.test_mission_records import an_end
from tests.unit.bot.dashboard.house import (
    ACME,
    ENDED,
    HIDDEN,
    HOME,
    OTHER,
    RUNS,
    SECRET_ONE,
    TOKEN,
    House,
)
from tests.unit.bot.dashboard.test_authorization import PEOPLE

pytestmark = pytest.mark.anyio

LISTS = ("missions", "repositories", "lessons", "scoreboard", "queue")
OF_ACME = {"reader", "writer", "operator"}
OF_OTHER = {"stranger", "operator"}


@pytest.fixture
async def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    await made.furnish()
    return made


def of(mission_id: str) -> str:
    return f"/api/missions/{quote(mission_id, safe='')}"


async def get(house: House, path: str, person: str = "operator", **query: Any) -> httpx.Response:
    """What a person gets."""
    return await (await house.browser_of(person)).get(path, params=query)


@pytest.mark.parametrize("person", PEOPLE)
async def test_lists_have_only_what_a_person_can_read(house: House, person: str) -> None:
    http = await house.browser_of(person)
    for path in LISTS:
        reply = await http.get(f"/api/{path}")
        if person == "nobody":
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
            assert set(reply.json()) == {"detail"}
            continue
        assert reply.status_code == 200
        if path == "scoreboard":
            assert reply.json()["missions"] == {"operator": 3, "nobody's": 0}.get(person, 1)
        else:
            sign = {"queue": RUNS, "lessons": "learned in shop"}.get(path, "acme/shop")
            assert (sign in reply.text) == (person in OF_ACME)
        if path in {"missions", "repositories", "lessons"}:
            assert (HIDDEN in reply.text) == (person in OF_OTHER)
        if person not in OF_OTHER:
            assert HIDDEN not in reply.text
            assert "rival" not in reply.text


@pytest.mark.parametrize("person", PEOPLE)
async def test_what_a_person_cannot_read_is_answered_as_if_it_did_not_exist(
    house: House, person: str
) -> None:
    rivals = f"/api/repositories/rival/{HIDDEN}"
    readers: dict[str, set[str]] = {
        of(ENDED): OF_ACME,
        of(RUNS): OF_ACME,
        of(SECRET_ONE): OF_OTHER,
        of("local:1"): {"operator"},
        of("unknown"): set(),
        "/api/repositories/acme/shop": OF_ACME,
        rivals: OF_OTHER,
        "/api/repositories/rival/unknown": set(),
        f"/api/lessons?repository={ACME}": OF_ACME,
        "/api/lessons?repository=acme/shop": OF_ACME,
        f"/api/lessons?repository={OTHER}": OF_OTHER,
    }
    http = await house.browser_of(person)
    for path, who in readers.items():
        reply = await http.get(path)
        if person == "nobody":
            assert reply.status_code == 401
        elif person in who:
            assert reply.status_code == 200, path
        else:
            assert reply.status_code == 404, path
            unknown = await http.get(of("unknown"))
            assert reply.text == unknown.text, "it cannot be told from one that does not exist"


async def test_the_operators_token_opens_it_without_a_session(house: House) -> None:
    http = house.browser()
    for wrong in ("", "guess", TOKEN[:-1], f"{TOKEN}x", "\u00e9"):
        given = f"Bearer {wrong}".encode("latin-1")
        reply = await http.get("/api/missions", headers=[(b"authorization", given)])
        assert reply.status_code == 401, wrong
    reply = await http.get("/api/missions", headers={"authorization": f"Bearer {TOKEN}"})
    assert {one["mission_id"] for one in reply.json()["missions"]} == {
        ENDED,
        RUNS,
        SECRET_ONE,
        "local:1",
    }
    reader = await house.browser_of("reader")
    both = await reader.get("/api/missions", headers={"authorization": "Bearer guess"})
    assert both.status_code == 401, "a wrong token is not replaced by a session"


async def test_neither_a_token_nor_a_session_goes_over_plain_http(house: House) -> None:
    http = house.browser("http://bot.example.com")
    reply = await http.get("/api/missions", headers={"authorization": f"Bearer {TOKEN}"})
    assert reply.status_code == 403
    assert "https" in reply.json()["detail"]


async def test_a_session_that_was_ended_opens_nothing(house: House) -> None:
    http = await house.browser_of("reader")
    assert (await http.get("/api/queue")).status_code == 200
    await house.post(http, "/dashboard/sign-out")
    assert (await http.get("/api/queue")).status_code == 401


async def test_every_answer_has_the_headers_of_the_pages(house: House) -> None:
    for person, path in product(
        ("nobody", "reader"), ("/api/missions", "/api/unknown", "/api/openapi.json")
    ):
        reply = await get(house, path, person)
        for name, value in HEADERS.items():
            assert reply.headers[name] == value
        assert reply.headers["content-type"] == "application/json"


async def test_it_is_read_only(house: House) -> None:
    http = await house.browser_of("operator")
    for method, path in product(("POST", "PUT", "PATCH", "DELETE"), ("missions", "queue")):
        reply = await http.request(method, f"/api/{path}", headers={"origin": HOME})
        assert reply.status_code == 405


async def test_missions_are_filtered_and_paged(house: House) -> None:
    async def ids(**query: Any) -> list[str]:
        found = (await get(house, "/api/missions", **query)).json()
        return [one["mission_id"] for one in found["missions"]]

    assert await ids(repository="Acme/Shop") == [RUNS, ENDED]
    assert await ids(repository="acme/shop", outcome="FIXED") == [ENDED]
    assert await ids(state="running") == [RUNS]
    assert await ids(since="2999-01-01") == []
    assert len(await ids(since="1000d")) == 4
    first = (await get(house, "/api/missions", limit=3)).json()
    rest = (await get(house, "/api/missions", limit=3, before=first["next"])).json()
    assert (len(first["missions"]), len(rest["missions"]), rest["next"]) == (3, 1, None)


async def test_an_invalid_parameter_is_named(house: House) -> None:
    for path, query, name in (
        ("missions", {"limit": 201}, "limit"),
        ("missions", {"repository": "acme/\0shop"}, "repository"),
        ("missions", {"before": 10**30}, "before"),
        ("missions", {"before": "first"}, "before"),
        ("missions", {"outcome": "fixed"}, "outcome"),
        ("missions", {"since": "0001-01-01T00:00:00+14:00"}, "is no time"),
        ("missions", {"outcom": "FIXED"}, "outcom"),
        ("scoreboard", {"days": 0}, "days"),
        ("scoreboard", {"days": 10**30}, "days"),
    ):
        reply = await get(house, f"/api/{path}", **query)
        assert (reply.status_code, set(reply.json())) == (422, {"detail"})
        assert name in reply.json()["detail"]


async def test_one_mission_has_the_form_of_the_command_line(house: House) -> None:
    found = (await get(house, of(ENDED), "reader")).json()
    assert MissionView.model_validate(found).model_dump(mode="json") == found
    assert [one["name"] for one in found["stages"]] == ["reproduce", "fix", "verify"]
    assert found["detail"]["cause"]
    assert "request" not in found["detail"], "unsanitized, for a retry only"
    assert set(found) - {"stages", "detail", "audit"} == set(MissionRecord.model_fields)


async def test_a_repository_shows_why_it_is_off_and_its_policy(house: House) -> None:
    found = (await get(house, "/api/repositories/ACME/shop", "reader")).json()
    assert (found["repository"], found["missions"], found["fixed"]) == (ACME, 2, 1)
    assert found["off"].startswith("turned off by boss-of-acme")
    assert [one["mission_id"] for one in found["latest"]] == [RUNS, ENDED]
    assert found["policy"]["mode"]


async def test_lessons_without_a_repository_are_those_of_the_latest(house: House) -> None:
    found = (await get(house, "/api/lessons", "reader")).json()
    assert found["repository"] == ACME
    assert [one["sentence"] for one in found["lessons"]] == ["learned in shop"]
    everything = (await get(house, "/api/lessons")).json()
    assert (everything["repository"], len(everything["lessons"])) == (None, 2)


async def test_lessons_of_all_are_for_the_operator_even_if_a_folder_is_readable(
    house: House,
) -> None:
    figures = dict.fromkeys(("missions", "fixed", "flaky", "merged", "refused"), 1)
    folder = RepositoryTally(repository=None, place="/src/shop", newest="2026-11-24", **figures)

    class Folders:
        async def repositories(self, readable: Readable = None) -> tuple[RepositoryTally, ...]:
            return (folder,)

    house.with_parts(records=Folders())
    assert (await get(house, "/api/lessons", "reader")).json()["lessons"] == []


async def test_a_lesson_is_sent_whole(house: House) -> None:
    difference = "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-    return a\n+    return b\n"
    lesson = a_lesson(id="whole", repository_id=str(ACME), difference=difference)
    await house.lessons.remember(lesson)
    found = (await get(house, "/api/lessons", "reader")).json()["lessons"]
    (whole,) = (one for one in found if one["id"] == "whole")
    assert whole["difference"] == difference


async def test_the_scoreboard_has_the_figures_of_its_page(house: House) -> None:
    found = (await get(house, "/api/scoreboard", "reader", days=365)).json()
    assert (found["outcomes"], found["missions"]) == ({"FIXED": 1}, 1)
    (day,) = found["days"]
    assert (day, found["days"][day]) == (house.clock.now().date().isoformat(), [1, 1])
    page = (await get(house, "/dashboard/scoreboard", "reader")).text
    assert f"{found['median_s']:.1f} s" in page


async def test_the_queue_shows_pauses_of_everything_to_all_and_others_to_the_operator(
    house: House,
) -> None:
    for place in ("", "rival"):
        await house.parts.pauses.set(Pause(place=place, why="upgrade"))
    for person, places in (("reader", [""]), ("operator", ["", "rival"])):
        found = (await get(house, "/api/queue", person)).json()
        assert sorted(one["place"] for one in found["pauses"]) == places


async def test_stored_secrets_and_control_characters_are_not_sent(tmp_path: Path) -> None:
    house = House(tmp_path)
    secret = "hunter2-hunter2-hunter2"
    github_token = "ghp_" + "a1B2" * 9
    house.with_parts(secrets=prepare_needles((secret,)))
    acme = a_repository(id=ACME, owner="acme", name="shop")
    dirty = f"{secret} {github_token} \x1b[31mred\u202e \x00"
    await house.recorder.enqueue(a_request(mission_id=ENDED, repository=acme))
    # As another version might have stored it.
    end = an_end(ENDED, repository=ACME, place="acme/shop", reason=dirty, title=dirty)
    detail = {
        "cause": dirty,
        dirty: [dirty, float("nan"), {"policy": dirty}],
        "policy": {"x": dirty},
    }
    await house.missions.finish(end, detail)
    lesson = a_lesson(id="1", mission_id=ENDED, repository_id=str(ACME), sentence=dirty)
    await house.lessons.remember(lesson)
    paths = (of(ENDED), "/api/missions", "/api/lessons", "/api/repositories/acme/shop")
    for path in paths:
        reply = await get(house, path)
        assert reply.status_code == 200, path
        assert secret not in reply.text
        assert github_token not in reply.text
        assert not {"\x1b", "\x00", "\u202e"} & set(json.dumps(reply.json(), ensure_ascii=False))
        assert "red" in reply.text


async def test_a_database_that_does_not_answer_is_no_crash(tmp_path: Path) -> None:
    house = House(tmp_path)

    class Broken:
        async def page(self, query: object, readable: Readable = None) -> None:
            raise StoreError("the password is hunter2")

    house.with_parts(records=Broken())
    reply = await get(house, "/api/missions")
    assert (reply.status_code, "hunter2" in reply.text) == (503, False)


async def test_the_description_is_served_in_one_place_and_names_no_version(house: House) -> None:
    http = house.browser()
    found = (await http.get("/api/openapi.json")).json()
    assert found["servers"] == [{"url": "/api"}]
    assert found["info"]["version"] == "1"
    for path, operations in found["paths"].items():
        assert set(operations) == {"get"}, path
        answers = operations["get"]["responses"]
        assert {"200", "401", "403", "422", "503"} <= set(answers), path
        assert ("404" in answers) == ("{" in path or path == "/lessons"), path
        assert len(operations["get"]["security"]) == 2
