"""What telemetry costs a mission: the same missions over two services, one with traces and metrics on.

    python -m benchmarks.telemetry [--runs N]

Both services run beside each other and get the same red commits in turn. Traces go to a collector on this machine, and
metrics are asked for every second, as Prometheus does at its shortest usual interval.
"""

import argparse
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

import httpx
from typing_extensions import override

from benchmarks.measure import as_users_have_it, report, summary
from benchmarks.mission import play
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import broken_repository
from tests.demo.story import problems_of
from tests.github_server.server import LocalGitHub, Options

SCRAPE_S = 1.0


@contextmanager
def collector() -> Iterator[tuple[str, list[int]]]:
    """Accept traces on a free port; yields the address and the size of each request."""
    sizes: list[int] = []

    class Accept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sizes.append(len(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        @override
        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Accept)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", sizes
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def scraped(bot: BotProcess) -> Iterator[list[int]]:
    """Ask for metrics again and again; yields the sizes of the answers."""
    sizes: list[int] = []
    done = threading.Event()

    def scrape() -> None:
        while not done.wait(SCRAPE_S):
            sizes.append(len(httpx.get(f"{bot.url}/metrics", timeout=10).content))

    thread = threading.Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield sizes
    finally:
        done.set()
        thread.join(15)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    was_off = as_users_have_it()
    broken = broken_repository("broken_math")
    seconds: dict[str, list[float]] = {"off": [], "on": []}
    problems: set[str] = set()
    with (
        tempfile.TemporaryDirectory() as folder,
        collector() as (address, traces),
        LocalGitHub(Options()) as plain,
        LocalGitHub(Options()) as traced,
        BotProcess(plain, Path(folder) / "off"),
        BotProcess(
            traced,
            Path(folder) / "on",
            {
                "METAAGENT_TELEMETRY__METRICS": "true",
                "METAAGENT_TELEMETRY__OTLP_URL": address,
            },
        ) as observed,
        scraped(observed) as sizes,
    ):
        # The first mission of each service warms its environment and is not counted.
        for turn in range(runs + 1):
            both = [("off", plain), ("on", traced)]
            for name, github in both if turn % 2 else reversed(both):
                told = play(github, broken, f"owner{turn}")
                problems.update(problems_of(broken, told))
                if turn:
                    seconds[name].append(told.seconds_to_check)
    off, on = (median(seconds[name]) for name in ("off", "on"))
    differences = [b - a for a, b in zip(seconds["off"], seconds["on"], strict=True)]
    results = {
        "runs": runs,
        "problems": sorted(problems),
        "off_s": summary(seconds["off"]),
        "on_s": summary(seconds["on"]),
        "difference_s": summary(differences),
        "share": round(on / off - 1, 4),
        "traces": len(traces),
        "scrapes": len(sizes),
    }
    report("telemetry", results, bytecode_was_off=was_off)


if __name__ == "__main__":
    main()
