"""Start-up time and idle memory: the command beside a bare interpreter, the service beside an empty FastAPI process.

Also the time until wrong use of `metaagent fix` is refused without a sandbox.

python -m benchmarks.startup [--runs N]
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import psutil

from benchmarks.measure import ROOT, as_users_have_it, report, run, summary, timed
from tests.demo.bot_process import BotProcess
from tests.github_server.server import LocalGitHub, Options

SETTLE_S = 2.0
EMPTY = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
app.get("/healthz")(lambda: {})
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
"""
IMPORT = "import time; begun = time.perf_counter(); import bot.terminal.fix; print(time.perf_counter() - begun)"


WRONG_USE = {
    "no_folder": ("nowhere",),
    "empty_folder": ("empty",),
    "unclosed_quote": ("project", "--test", "pytest 'x"),
    "too_many_files": ("project", "--sandbox-max-files", "1"),
    "unknown_revision": ("project", "--since", "nowhere"),
    "nothing_to_run": ("project",),
}
"""Wrong uses of `metaagent fix` beside an empty folder and a project without tests."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    was_off = as_users_have_it()
    python = sys.executable
    result = {
        "runs": runs,
        "help_s": _wall(runs, python, "-m", "bot", "--help"),
        "help_of_fix_s": _wall(runs, python, "-m", "bot", "fix", "--help"),
        "bare_interpreter_s": _wall(runs, python, "-c", "pass"),
        "import_fastapi_s": _wall(runs, python, "-c", "import fastapi"),
        "import_fix_command_s": _printed(runs, python, "-c", IMPORT),
        "wrong_use_s": _wrong_use(runs, python),
        "serve_idle_rss_mb": _service_mb(),
        "empty_fastapi_rss_mb": _empty_mb(),
    }
    report("startup", result, bytecode_was_off=was_off)


def _wall(runs: int, *words: str) -> dict[str, float]:
    run(*words)  # warms the files and writes the compiled modules
    return summary([timed(lambda: run(*words)) for _ in range(runs)])


def _printed(runs: int, *words: str) -> dict[str, float]:
    run(*words)
    return summary([float(run(*words)) for _ in range(runs)])


def _wrong_use(runs: int, python: str) -> dict[str, dict[str, float]]:
    """Return the seconds until each wrong use is refused."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty").mkdir()
        (folder / "project").mkdir()
        for file in ("a.py", "b.py"):
            (folder / "project" / file).write_text("x = 1\n")
        run("git", "init", "-q", "project", cwd=folder)

        def refuse(words: tuple[str, ...]) -> None:
            # Isolated from the current folder, whose packages would be ours otherwise.
            start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bot.cli import main"
            code = f"{start}; sys.exit(main({['fix', *words]!r}))"
            run(python, "-I", "-c", code, cwd=folder, fails=True)

        found = {}
        for kind, words in WRONG_USE.items():
            refuse(words)
            found[kind] = summary([timed(partial(refuse, words)) for _ in range(runs)])
        return found


def _megabytes(pid: int) -> float:
    """Resident memory of a process and its children."""
    time.sleep(SETTLE_S)
    process = psutil.Process(pid)
    return round(
        sum(p.memory_info().rss for p in [process, *process.children(recursive=True)]) / 2**20, 1
    )


def _service_mb() -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalGitHub(Options()) as github,
        BotProcess(github, Path(folder) / "bot") as bot,
    ):
        if bot.process is None:
            raise RuntimeError("the service is gone")
        return _megabytes(bot.process.pid)


def _empty_mb() -> float:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", EMPTY, str(port)], cwd=ROOT)
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2).close()
                return _megabytes(process.pid)
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise RuntimeError("the empty application did not start")
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    main()
