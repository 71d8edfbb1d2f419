"""A real Chromium, driven through Playwright; tests that need one are skipped loudly where it is not installed."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.missing import missing

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the program; None where it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def launch(driver: Playwright, program: str) -> Browser:
    """Start a browser without a window."""
    # As root Chromium's own sandbox does not start; the pages are ours.
    return driver.chromium.launch(
        executable_path=program, args=["--no-sandbox", "--no-proxy-server"]
    )


@pytest.fixture
def browser() -> Iterator[Any]:
    """A browser without a window, for one test: while it runs, its event loop is the thread's."""
    program = find_chromium()
    if program is None:
        missing("no Chromium is installed")
    with sync_playwright() as driver:
        started = launch(driver, program)
        yield started
        started.close()


def inaccessible(page: Any) -> list[str]:
    """Return what axe finds on an open page: its rule, how serious it is, and where."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {[node['target'] for node in one['nodes']]}"
        for one in found
    ]
