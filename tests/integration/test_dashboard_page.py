"""The dashboard in a real browser: signing in, acting, keyboard, no script, no console error, narrow screens."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvicorn

from tests.browser import browser, inaccessible
from tests.unit.bot.dashboard.house import ENDED, RUNS, TOKEN, VIEWERS, House

__all__ = ["browser"]

pytestmark = pytest.mark.slow
Answer = TypeVar("Answer")
WITHIN_S = 60.0
PAGES = ("", "repositories", "repositories/42", "lessons", "scoreboard?days=365", "queue")


def complete(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run it in another thread: while a browser is open, its event loop is this one's."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


class Site:
    """The dashboard on a port of this machine."""

    def __init__(self, folder: Path) -> None:
        self.house = House(folder)
        complete(self.house.furnish())
        config = uvicorn.Config(self.house.app, port=0, log_level="warning", lifespan="off")
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run, daemon=True)
        self._thread.start()
        end = time.monotonic() + WITHIN_S
        while not self.server.started:
            assert time.monotonic() < end
            time.sleep(0.02)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.home = f"http://localhost:{port}/dashboard"

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join(WITHIN_S)
        self.house.database.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def open_page(browser: Any, site: Site, *, token: str = TOKEN, **options: Any) -> Any:
    """A page of a person who signed in with a token; console errors are kept in `errors`."""
    page = browser.new_context(**options).new_page()
    page.errors = []
    page.on("console", lambda one: page.errors.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(site.home)
    page.fill("#token", token)
    page.click("button")
    page.wait_for_load_state()
    return page


def mission_page(site: Site, mission_id: str) -> str:
    return f"{site.home}/missions/{mission_id.replace(':', '%3A')}"


def test_the_operator_signs_in_cancels_a_mission_and_signs_out(browser: Any, site: Site) -> None:
    page = open_page(browser, site, token="a guess")
    assert inaccessible(page) == []
    assert "wrong" in page.text_content("[role=alert]")
    page.fill("#token", TOKEN)
    page.click("button")
    page.wait_for_selector("h1:has-text('Missions')")
    cookies = {one["path"]: one for one in page.context.cookies()}
    assert set(cookies) == {"/dashboard", "/api"}
    assert {(one["httpOnly"], one["sameSite"]) for one in cookies.values()} == {(True, "Lax")}
    page.goto(mission_page(site, RUNS))
    page.click("button:has-text('Cancel')")
    page.wait_for_selector("[role=status]")
    assert "asked to stop" in page.text_content("[role=status]")
    assert complete(site.house.missions.asked_to_stop()) == {RUNS: "operator"}
    page.click("button:has-text('Sign out')")
    page.wait_for_selector("h1:has-text('Sign in')")
    page.goto(mission_page(site, RUNS))
    assert page.url.endswith("/sign-in")
    assert [one for one in page.errors if "403" not in one] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_every_page_is_free_of_errors_and_of_sideways_scrolling(
    browser: Any, site: Site, scheme: str, width: int, tmp_path: Path
) -> None:
    page = open_page(browser, site, color_scheme=scheme, viewport={"width": width, "height": 900})
    for path in (*PAGES, f"missions/{ENDED}", f"missions/{RUNS}"):
        page.goto(f"{site.home}/{path}" if path else site.home)
        picture = tmp_path / f"{path.partition('?')[0].replace('/', '-')}.png"
        page.screenshot(path=str(picture), full_page=True)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{path} is {wide} pixels too wide"
        assert page.locator("h1").count() == 1
        assert inaccessible(page) == [], path
    assert page.errors == []


def test_the_check_of_pages_finds_faults(browser: Any) -> None:
    page = browser.new_page()
    page.set_content("<html lang=en><title>A</title><main><h1>B</h1><img src=c.png></main></html>")
    assert [one.partition(" (")[0] for one in inaccessible(page)] == ["image-alt"]


def test_the_pages_work_without_scripts(browser: Any, site: Site) -> None:
    page = open_page(browser, site, java_script_enabled=False)
    page.click("a:has-text('Queue')")
    page.wait_for_url("**/queue")
    page.click("button:has-text('Cancel')")
    page.wait_for_url("**said=stopping")
    page.goto(f"{site.home}/missions")
    page.select_option("select[name=outcome]", "FIXED")
    page.click("button:has-text('Filter')")
    page.wait_for_url("**outcome=FIXED**")
    assert page.locator("tbody tr").count() == 3


def test_a_keyboard_reaches_the_content_and_every_link(browser: Any, site: Site) -> None:
    page = open_page(browser, site)
    page.goto(site.home)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().height") > 10
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('tbody') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/missions/**")
    outline = "getComputedStyle(document.querySelector('a.brand')).outlineStyle"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(outline) == "solid", "the focus can be seen"


def test_a_mission_that_ends_is_shown_as_ended_without_a_reload(browser: Any, site: Site) -> None:
    page = open_page(browser, site)
    page.goto(mission_page(site, RUNS))
    assert page.text_content("h1 .badge") == "running"
    complete(site.house.missions.stop(RUNS, "2026-01-02T03:04:09+00:00"))
    page.wait_for_selector("h1 .badge:has-text('ended')", timeout=WITHIN_S * 1000)
    assert page.errors == []


def test_the_evidence_is_a_file_to_keep(browser: Any, site: Site) -> None:
    page = open_page(browser, site)
    page.goto(mission_page(site, ENDED))
    with page.expect_download() as loading:
        page.click("a:has-text('Download evidence')")
    assert loading.value.suggested_filename.endswith(".zip")
    content = Path(loading.value.path()).read_bytes()
    assert content == f"evidence of {ENDED}".encode()


def test_a_person_of_another_tenant_sees_nothing_of_this_one(browser: Any, site: Site) -> None:
    secret = complete(site.house.parts.sessions.start(VIEWERS["stranger"]))
    context = browser.new_context()
    context.add_cookies([{"name": "metaagent_session", "value": secret, "url": site.home}])
    page = context.new_page()
    for path in PAGES:
        page.goto(f"{site.home}/{path}")
        assert "acme" not in page.content()
    page.goto(mission_page(site, ENDED))
    assert page.text_content("h1") == "Not found"
