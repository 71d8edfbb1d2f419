"""`DEMO_STAY=1 make demo`: keep the local GitHub and the service open, and print where to look."""

import threading
from collections.abc import Iterable, Mapping

from bot.dashboard.token_file import FILE
from tests.demo.bot_process import BotProcess
from tests.demo.story import Told

VARIABLE = "DEMO_STAY"


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Return True if the person asked for it."""
    return environment.get(VARIABLE, "") not in {"", "0"}


def list_addresses(bot: BotProcess, results: Iterable[Told]) -> list[str]:
    """Return a line for each page to open in a browser."""
    token = (bot.data / FILE).read_text().strip()
    lines = [f"dashboard     {bot.url}/dashboard", f"its token     {token}"]
    lines += [
        f"pull request  {bot.github.web_url}/acme/{told.name}/pull/{told.pull_request.number}"
        for told in results
        if told.pull_request is not None
    ]
    return lines


def wait_for_interrupt() -> None:
    """Wait until the person presses Ctrl-C."""
    try:
        print("demo: everything stays open until you press Ctrl-C", flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        print("\ndemo: closing", flush=True)
