"""Anything that a stranger can send to pages and API: no crash, and nothing of others in an answer."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bot.dashboard.access import COOKIE
from bot.github.sign_in import GitHubSignIn
from tests.databases import BOTH, a_database_of
from tests.unit.bot.dashboard.house import (
    ACME,
    ENDED,
    HIDDEN,
    HOME,
    OTHER,
    RUNS,
    SECRET_ONE,
    TOKEN,
    VIEWERS,
    House,
)

CASES, REQUESTS = 20, 12
"""Examples for each operation of the API and kind of values, and for each page."""
Case: TypeAlias = schemathesis.Case[Any]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
KNOWN: dict[str, list[dict[str, Any]]] = {
    "/missions/{mission_id}": [{"mission_id": ENDED}, {"mission_id": RUNS}],
    "/repositories/{owner}/{name}": [{"owner": "acme", "name": "shop"}],
}
"""Values with which a path leads somewhere."""
Test = TypeVar("Test", bound=Callable[..., None])


def examples(number: int) -> Callable[[Test], Test]:
    """Try so many examples, the same ones every time."""
    return settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


GITHUB = GitHubSignIn("http://127.0.0.1:9/", "id", SecretStr("unused"))
"""It is never asked: no made-up state fits a cookie."""


def furnished(house: House) -> House:
    """The same house with missions of both tenants."""
    asyncio.run(house.furnish())
    return house


@pytest.fixture
def house(tmp_path: Path) -> House:
    return furnished(House(tmp_path, sign_in=GITHUB))


def people_of(house: House) -> dict[str, dict[str, str]]:
    """The headers of people who may read something; a reader has a session."""
    secret = asyncio.run(house.parts.sessions.start(VIEWERS["reader"]))
    return {
        "operator": {"authorization": f"Bearer {TOKEN}"},
        "reader": {"cookie": f"{COOKIE}={secret}"},
    }


def test_every_answer_of_the_api_is_as_its_description_says(house: House) -> None:
    people = people_of(house)
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", house.app)
    seen: set[tuple[str, int]] = set()

    def ask(case: Case, headers: dict[str, str]) -> str:
        reply = case.call(base_url=f"{HOME}/api", headers=headers)
        case.validate_response(reply, checks=CHECKS)
        seen.add((case.path, reply.status_code))
        return reply.text

    def fuzz(values: st.SearchStrategy[Case]) -> None:
        @examples(CASES)
        @given(case=values, person=st.sampled_from(sorted(people)))
        def try_them(case: Case, person: str) -> None:
            assert HIDDEN not in ask(case, people[person]) or person == "operator"

        try_them()

    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        given_values = KNOWN.get(operation.path, [{}])
        ask(operation.Case(path_parameters=given_values[0]), {})
        for one in given_values:
            fuzz(operation.as_strategy(path_parameters=one or None))
        if list(operation.iter_parameters()):
            fuzz(operation.as_strategy(schemathesis.GenerationMode.NEGATIVE))
            fuzz(operation.as_strategy())
        assert {(operation.path, 200), (operation.path, 401)} <= seen
    assert len({path for path, _ in seen}) == 7
    assert {("/missions", 422), ("/missions/{mission_id}", 404)} <= seen


ROUTES: dict[str, tuple[str, ...]] = {
    "/dashboard/missions": ("repository", "outcome", "state", "before"),
    "/dashboard/missions/{}": ("said",),
    "/dashboard/missions/{}/events": ("seen",),
    "/dashboard/missions/{}/evidence": (),
    "/dashboard/repositories/{}": (),
    "/dashboard/lessons": ("repository",),
    "/dashboard/scoreboard": ("days",),
    "/dashboard/signed-in": ("state", "code"),
    "/dashboard/static/{}": ("v",),
    "/dashboard/{}": (),
    "/api/missions": ("repository", "outcome", "state", "since", "before", "limit"),
    "/api/missions/{}": (),
    "/api/repositories/{}/{}": (),
    "/api/lessons": ("repository",),
    "/api/scoreboard": ("days",),
    "/api/{}": (),
}
"""Paths that take something, with the parameters of their query."""
FORMS: dict[str, tuple[str, ...]] = {
    "/dashboard/missions/{}/cancel": ("form_token",),
    "/dashboard/missions/{}/retry": ("form_token", "nonce"),
    "/dashboard/sign-in": ("token",),
    "/dashboard/sign-out": ("form_token",),
}
ODD = ("", "\x00", "\ud800", "9" * 400, "-1", "\u202e'--%00../")
"""Values that broke others: NUL, half a character, numbers beyond a database's, and so on."""
IDS = (ENDED, SECRET_ONE, "local:1", str(ACME), str(OTHER), "acme/shop")
HEADERS = st.dictionaries(
    st.sampled_from(["cookie", "host", "origin", "last-event-id", "authorization", "content-type"]),
    st.text(st.characters(codec="latin-1", exclude_characters="\r\n\x00"), max_size=60)
    | st.sampled_from(
        [HOME, "localhost:8080", f"{COOKIE}={'A' * 43}", "metaagent_state=of-nobody"]
    ),
    max_size=2,
)
Send = Callable[..., int]


def fill(route: str, values: Iterable[str]) -> str:
    """A path with values in its gaps."""
    return route.format(*(quote(one, safe="", errors="surrogatepass") for one in values))


@pytest.fixture
def send() -> Iterator[Callable[[House], Send]]:
    """Send a request as it is; an error of the application is raised."""
    with asyncio.Runner() as runner:

        def to(house: House) -> Send:
            async def ask(method: str, path: str, body: str, headers: dict[str, str]) -> int:
                sent = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
                async with house.browser() as http:
                    reply = await http.request(method, path, content=body.encode(), headers=sent)
                assert reply.status_code < 500
                assert HIDDEN not in reply.text
                return reply.status_code

            return lambda *request: runner.run(ask(*request))

        yield to


@pytest.mark.parametrize("kind", BOTH)
def test_values_that_broke_others_break_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, send: Callable[[House], Send]
) -> None:
    database = a_database_of(kind, request, tmp_path)
    house = furnished(House(tmp_path, sign_in=GITHUB, given=database))
    headers, ask = people_of(house)["reader"], send(house)
    seen: set[int] = set()
    for route, names in ROUTES.items():
        for odd in ODD:
            if "{" in route:
                seen.add(ask("GET", fill(route, (odd, odd)), "", headers))
            for name in names:
                query = urlencode({name: odd}, errors="surrogatepass")
                seen.add(ask("GET", f"{fill(route, (ENDED, 'x'))}?{query}", "", headers))
    assert seen == {200, 307, 403, 404, 422}


@pytest.mark.parametrize("route", [*ROUTES, *FORMS])
def test_no_request_is_a_server_error(
    house: House, route: str, send: Callable[[House], Send]
) -> None:
    reader, ask = people_of(house)["reader"], send(house)
    method, names = ("POST", FORMS[route]) if route in FORMS else ("GET", ROUTES[route])
    values = st.text(max_size=40) | st.sampled_from(ODD + IDS) | st.integers().map(str)

    @examples(REQUESTS)
    @given(
        words=st.lists(values, min_size=2, max_size=2),
        query=st.dictionaries(st.sampled_from([*names, "x"]), values, max_size=3),
        headers=HEADERS,
    )
    def try_them(words: list[str], query: dict[str, str], headers: dict[str, str]) -> None:
        form = urlencode(query, errors="surrogatepass")
        path = fill(route, words)
        if method == "POST":
            ask(method, path, form, {"origin": HOME} | reader | headers)
        else:
            ask(method, f"{path}?{form}", "", reader | headers)

    try_them()
