"""`make demo`: the main job on a local GitHub, no key and no account; prints one report and how long things took.

With `DEMO_STAY=1` it stays open until Ctrl-C; with `DEMO_PICTURES=FOLDER` it takes pictures of the dashboard.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.demo import pictures, stay
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import BrokenRepository, broken_repositories
from tests.demo.story import Told, problems_of, push_green, push_red, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options

TIMED = "broken_math"


def main() -> int:
    """Run the demo; 0 when every mission ended as it must."""
    say("preparing the sandbox's image (the first time takes minutes)")
    start = time.monotonic()
    image = subprocess.run(
        [sys.executable, "-m", "bot", "image"], capture_output=True, text=True, check=False
    )
    if image.returncode:
        sys.stderr.write(image.stderr)
        return image.returncode
    say(f"image {image.stdout.strip()} is there after {time.monotonic() - start:.1f} s")
    start = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="metaagent-demo-") as folder,
        LocalGitHub(Options()) as github,
        BotProcess(github, Path(folder)) as bot,
    ):
        say(f"a local GitHub at {github.web_url}, the service beside it")
        results = run_all(github)
        report(results)
        failed = [name for name, _, problems in results if problems]
        say(f"done in {time.monotonic() - start:.1f} s")
        if failed:
            say(f"NOT as it must be: {', '.join(failed)}")
        if (place := pictures.wanted_folder(os.environ)) is not None:
            for taken in pictures.take_pictures(bot, place):
                say(f"picture {taken}")
        if stay.is_wanted(os.environ):
            for address in stay.list_addresses(bot, [told for _, told, _ in results]):
                say(address)
            stay.wait_for_interrupt()
    return 1 if failed else 0


def run_all(github: LocalGitHub) -> list[tuple[str, Told, list[str]]]:
    """The other repositories together, which warms the environments; then the timed one alone."""
    repositories = broken_repositories()
    if shutil.which("npm") is None:
        left_out = [broken.name for broken in repositories if broken.needs_node]
        say(f"without Node.js on this machine, these are left out: {', '.join(left_out)}")
        repositories = [broken for broken in repositories if not broken.needs_node]
    for broken in repositories:
        name = push_green(github, broken)
        wait_for_ci(github, github.store(name).ref("refs/heads/main") or "")
    say(f"{len(repositories)} repositories are green; now a commit breaks each of them")
    lock = threading.Lock()
    results: list[tuple[str, Told, list[str]]] = []

    def one(broken: BrokenRepository) -> None:
        told = watch(github, broken, push_red(github, broken))
        with lock:
            results.append((broken.name, told, problems_of(broken, told)))
            say(line(told))

    with ThreadPoolExecutor(len(repositories)) as pool:
        list(pool.map(one, [broken for broken in repositories if broken.name != TIMED]))
    for broken in repositories:
        if broken.name == TIMED:
            one(broken)
    return results


def line(told: Told) -> str:
    """One mission in one line."""
    text = f"{told.name:<12} {told.outcome:<8} after {told.seconds_to_check:5.1f} s"
    if told.pull_request is not None and told.seconds_to_pull_request is not None:
        text += (
            f", pull request #{told.pull_request.number} after {told.seconds_to_pull_request:.1f} s"
        )
        text += f", CI on its branch: {told.fix_ci}"
    return text


def report(results: list[tuple[str, Told, list[str]]]) -> None:
    """The pull request of the timed repository as its reader sees it, and what went wrong."""
    for name, told, problems in results:
        if name == TIMED and told.pull_request is not None:
            print(
                f"\n{'=' * 100}\n{told.pull_request.title}\n{'=' * 100}\n{told.pull_request.body}\n{'=' * 100}\n"
            )
        for problem in problems:
            say(f"{name}: {problem}")
            print(f"    {told.own_check.title}\n    {(told.own_check.summary or '')[:2000]}")


def say(text: str) -> None:
    """A line of progress."""
    print(f"demo: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
