"""`DEMO_PICTURES=FOLDER make demo`: pictures of the dashboard, as `docs/pictures` has them."""

from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bot.dashboard.token_file import FILE
from tests.browser import find_chromium, launch
from tests.demo.bot_process import BotProcess

VARIABLE = "DEMO_PICTURES"
WIDTH, HEIGHT = 1100, 800


def wanted_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder for pictures, if the person asked for some."""
    name = environment.get(VARIABLE, "")
    return Path(name) if name else None


def take_pictures(bot: BotProcess, folder: Path) -> list[Path]:
    """Take a picture of the list of missions, and of the newest mission.

    Raises:
        RuntimeError: no Chromium is installed.
    """
    program = find_chromium()
    if program is None:
        raise RuntimeError("pictures need Chromium: run `make browser`")
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = launch(driver, program)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        sign_in(page, bot)
        taken = [take(page, folder / "dashboard.png")]
        page.locator("main a[href*='/missions/']").first.click()
        taken.append(take(page, folder / "mission.png"))
        browser.close()
    return taken


def sign_in(page: Page, bot: BotProcess) -> None:
    """Open the dashboard as its admin."""
    page.goto(f"{bot.url}/dashboard")
    page.get_by_label("token", exact=False).fill((bot.data / FILE).read_text().strip())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_load_state()


def take(page: Page, path: Path) -> Path:
    """Take one picture of the top of a page."""
    page.screenshot(path=path)
    return path
