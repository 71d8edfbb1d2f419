"""Who may see and do what: every route, every kind of person, two tenants. Nothing crosses."""

import re
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute

from bot.dashboard.access import HEADERS
from bot.domain.mission import Outcome
from tests.unit.bot.dashboard.house import ENDED, HIDDEN, HOME, OTHER, RUNS, SECRET_ONE, House

pytestmark = pytest.mark.anyio

OPEN = {"/dashboard/sign-in", "/dashboard/signed-in", "/dashboard/static/{name}"}
"""Routes for people who are not signed in; the way to GitHub is among them."""
PEOPLE = ("nobody", "reader", "writer", "stranger", "nobody's", "operator")
PAGES = ("", "missions", "repositories", "lessons", "scoreboard", "queue")


@pytest.fixture
async def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    await made.furnish()
    return made


def of(mission_id: str, rest: str = "") -> str:
    return f"/dashboard/missions/{quote(mission_id, safe='')}{rest}"


@pytest.mark.parametrize("person", PEOPLE)
async def test_overviews_show_only_what_a_person_can_read(house: House, person: str) -> None:
    http = await house.browser_of(person)
    for page in PAGES:
        reply = await http.get(f"/dashboard/{page}" if page else "/dashboard")
        if person == "nobody":
            assert (reply.status_code, reply.headers["location"]) == (303, "/dashboard/sign-in")
            continue
        assert reply.status_code == 200
        sees_acme, sees_other = (
            person in {"reader", "writer", "operator"},
            person
            in {
                "stranger",
                "operator",
            },
        )
        if page not in {"scoreboard", "queue"}:
            assert ("acme/shop" in reply.text or "learned in shop" in reply.text) == sees_acme
            assert (HIDDEN in reply.text) == sees_other
        if page == "queue":
            assert (RUNS in reply.text.replace("%3A", ":")) == sees_acme
            assert ("<h2>Workers</h2>" in reply.text) == (person == "operator")
        if not sees_other:
            assert HIDDEN not in reply.text
            assert "rival" not in reply.text


@pytest.mark.parametrize("person", PEOPLE)
async def test_a_mission_that_a_person_cannot_read_does_not_exist(
    house: House, person: str
) -> None:
    http = await house.browser_of(person)
    missions = (ENDED, SECRET_ONE, "local:1", "unknown")
    for mission, rest in product(missions, ("", "/events", "/evidence")):
        reply = await http.get(of(mission, rest))
        readers = {
            ENDED: {"reader", "writer", "operator"},
            SECRET_ONE: {"stranger", "operator"},
            "local:1": {"operator"},
            "unknown": set(),
        }[mission]
        if person == "nobody":
            assert reply.status_code == 303
        elif person not in readers or (rest == "/evidence" and mission == "local:1"):
            assert reply.status_code == 404
            assert HIDDEN not in reply.text
            unknown = await http.get(of("unknown", rest))
            if person not in readers:
                assert reply.text == unknown.text, "it cannot be told from one that does not exist"
        else:
            assert reply.status_code == 200
            if rest == "/events":
                assert reply.headers["content-type"].startswith("text/event-stream")
            elif rest:
                assert reply.content == f"evidence of {mission}".encode()
                assert reply.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize("person", ["reader", "writer", "stranger", "nobody's", "operator"])
async def test_a_repository_that_a_person_cannot_read_does_not_exist(
    house: House, person: str
) -> None:
    http = await house.browser_of(person)
    for repository, path in product(
        (42, OTHER, 4711), ("repositories/{}", "lessons?repository={}")
    ):
        reply = await http.get(f"/dashboard/{path.format(repository)}")
        readers = {42: {"reader", "writer", "operator"}, OTHER: {"stranger", "operator"}}
        allowed = person in readers.get(repository, set())
        assert reply.status_code == (200 if allowed else 404)
        if not allowed:
            assert HIDDEN not in reply.text


@pytest.mark.parametrize(("mission", "action"), [(RUNS, "cancel"), (ENDED, "retry")])
@pytest.mark.parametrize("person", PEOPLE)
async def test_only_people_with_write_access_act(
    house: House, person: str, mission: str, action: str
) -> None:
    http = await house.browser_of(person)
    reply = await house.post(http, of(mission, f"/{action}"))
    expected = {
        "nobody": 401,
        "reader": 403,
        "writer": 303,
        "stranger": 404,
        "nobody's": 404,
        "operator": 303,
    }[person]
    assert reply.status_code == expected
    acted = expected == 303
    assert (await house.missions.asked_to_stop() != {}) == (acted and action == "cancel")
    assert (len(house.queue.requests) == 1) == (acted and action == "retry")
    noted = [one for one in await house.audit.entries() if one.action == action]
    assert [one.actor for one in noted] == ([person] if acted else [])


@pytest.mark.parametrize("mission", [ENDED, RUNS])
async def test_buttons_are_shown_to_those_who_may_use_them(house: House, mission: str) -> None:
    for person, shown in (("reader", False), ("writer", True), ("operator", True)):
        reply = await (await house.browser_of(person)).get(of(mission))
        action = "retry" if mission == ENDED else "cancel"
        assert (f'/{action}">' in reply.text) == shown


@pytest.mark.parametrize("action", ["cancel", "retry"])
@pytest.mark.parametrize(
    ("origin", "token", "status"),
    [
        ("https://evil.example", None, 403),
        ("null", None, 403),
        (HOME, "", 403),
        (HOME, "0" * 64, 403),
        (HOME, "stranger's", 403),
    ],
)
async def test_a_form_of_another_page_or_session_does_nothing(
    house: House, action: str, origin: str, token: str | None, status: int
) -> None:
    http = await house.browser_of("writer")
    if token == "stranger's":
        token = await house.form_token(await house.browser_of("stranger"))
    given = {} if token is None else {"form_token": token}
    path = of(RUNS if action == "cancel" else ENDED, f"/{action}")
    reply = await house.post(http, path, origin, **given)
    assert reply.status_code == status
    assert await house.missions.asked_to_stop() == {}
    assert house.queue.requests == {}


async def test_every_route_but_the_door_needs_a_session(house: House) -> None:
    http = house.browser()
    routes = [one for one in _routes(house) if one.path not in OPEN]
    assert len(routes) >= 12
    for route in routes:
        path = route.path.format(mission_id=quote(ENDED, safe=""), repository=42)
        for method in route.methods or ():
            reply = await http.request(method, path, headers={"origin": HOME})
            assert reply.status_code in ({404} if path.endswith("/github") else {303, 401}), path
            assert "acme" not in reply.text


def _routes(house: House) -> list[APIRoute]:
    """Every route of the dashboard, however it is nested."""
    found, waiting = [], list(house.app.routes)
    while waiting:
        one = waiting.pop()
        waiting += getattr(getattr(one, "original_router", None), "routes", [])
        if isinstance(one, APIRoute):
            found.append(one)
    return found


@pytest.mark.parametrize("person", PEOPLE)
async def test_every_answer_forbids_frames_scripts_in_pages_and_caches(
    house: House, person: str
) -> None:
    http = await house.browser_of(person)
    for path in ("/dashboard", "/dashboard/sign-in", of("unknown"), of(ENDED)):
        reply = await http.get(path)
        for name, value in HEADERS.items():
            assert reply.headers[name] == value
        assert "<style" not in reply.text
        assert " style=" not in reply.text
        assert "<script>" not in reply.text
        assert " onclick" not in reply.text


async def test_a_retry_of_a_person_is_a_request_of_that_person(house: House) -> None:
    await house.post(await house.browser_of("writer"), of(ENDED, "/retry"))
    (request,) = house.queue.requests.values()
    assert request.mission_id.startswith(f"{ENDED}:again:")
    assert (request.requested_by, request.trigger.value) == ("writer", "comment")
    assert request.repository is not None
    assert request.repository.id == 42


async def test_a_double_click_is_one_retry_and_a_reloaded_page_another(house: House) -> None:
    http = await house.browser_of("writer")
    for _ in range(2):
        page = (await http.get(of(ENDED))).text
        nonce = re.search(r'name="nonce" value="([0-9a-f]{8})"', page)
        assert nonce is not None
        for _ in range(2):
            await house.post(http, of(ENDED, "/retry"), nonce=nonce[1])
    assert len(house.queue.requests) == 2
    assert len([one for one in await house.audit.entries() if one.action == "retry"]) == 2
    await house.post(http, of(ENDED, "/retry"), nonce="../x")
    assert not any("../x" in mission_id for mission_id in house.queue.requests)


async def test_an_ended_mission_is_not_cancelled_and_an_active_one_not_retried(
    house: House,
) -> None:
    http = await house.browser_of("writer")
    ended = await house.post(http, of(ENDED, "/cancel"))
    assert ended.headers["location"].endswith("said=ended")
    assert (await house.post(http, of(RUNS, "/retry"))).status_code == 409
    found = await house.missions.find(ENDED)
    assert found is not None
    assert found.outcome is Outcome.FIXED


async def test_hostile_addresses_are_refused_without_an_error_of_ours(house: House) -> None:
    http = await house.browser_of("operator")
    paths = [
        of("x" * 5_000),
        of("a\x00b"),
        of("../../etc/passwd"),
        "/dashboard/missions/%2e%2e%2f%2e%2e",
        "/dashboard/missions?before=999999999999999999999999",
        "/dashboard/missions?before=-1&outcome=NO&state=%27%20OR%201=1--",
        "/dashboard/missions?repository=%27;DROP%20TABLE%20mission",
        "/dashboard/repositories/%00",
        "/dashboard/repositories/-1",
        "/dashboard/scoreboard?days=1e9",
        "/dashboard/static/../access.py",
        "/dashboard/static/%2e%2e%2faccess.py",
        "/dashboard/lessons?repository=42:fork",
    ]
    for path in paths:
        reply = await http.get(path)
        assert reply.status_code in {200, 404}, path
    for cookie in ("x" * 4_000, "\x7f", "a=b", ""):
        reply = await house.browser().get(
            "/dashboard", headers={"cookie": f"metaagent_session={cookie}"}
        )
        assert reply.status_code == 303
