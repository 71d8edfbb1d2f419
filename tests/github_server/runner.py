"""Runs shell steps in a temporary clone, with a small environment, a time limit and a log in GitHub's form."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.github_server.entities import Ci, Step
from tests.github_server.gitstore import git_environment
from tests.github_server.node_packages import npm_command

LOG_LIMIT = 2_000_000
# Installing is the business of whoever gives the CI its Python: a test must never change the host's packages.
PYTHON = """#!/bin/sh
if [ "$1" = -m ] && [ "$2" = pip ]; then shift 2; echo "pip $*: already installed in the local CI"; exit 0; fi
exec "{python}" "$@"
"""
PIP = """#!/bin/sh
echo "pip $*: already installed in the local CI"
"""


@dataclass(slots=True)
class Outcome:
    """How a step ended."""

    name: str
    conclusion: str
    status: int = 0


@dataclass(slots=True)
class JobLog:
    """A job's log: every line with the time it was written."""

    lines: list[str] = field(default_factory=list)
    stamps: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Append lines."""
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"
        for line in text.splitlines():
            self.lines.append(line)
            self.stamps.append(stamp)

    def text(self) -> str:
        """The log as GitHub serves it: a byte-order mark, a stamp on every line, commands shown as `##[...]`."""
        pairs = zip(self.stamps, self.lines, strict=True)
        return "\ufeff" + "".join(f"{stamp} {_shown(line)}\n" for stamp, line in pairs)


def _shown(line: str) -> str:
    """A workflow command as the log shows it."""
    for level in ("error", "warning", "notice"):
        if line.startswith(f"::{level}") and "::" in line[2:]:
            return f"##[{level}]" + line[2:].split("::", 1)[1]
    return line


def run_steps(
    ci: Ci, source: Path, sha: str, python: Path, place: tuple[Path, dict[str, str]]
) -> tuple[JobLog, list[Outcome]]:
    """Run the steps on a commit.

    Args:
        ci: the steps and the time limit.
        source: the bare repository.
        sha: the commit.
        python: the interpreter that `python` means in a step.
        place: a folder for the clone, and further variables.
    """
    folder, extra = place
    log, outcomes = JobLog(), []
    log.add(
        "Current runner version: '2.336.0'\n##[group]Operating System\nLinux\n##[endgroup]\nPrepare all required actions"
    )
    work = Path(tempfile.mkdtemp(prefix="job-", dir=folder))
    deadline = time.monotonic() + ci.timeout
    try:
        _check_out(source, sha, work / "work", log)
        environment = {**_environment(python, work), **extra}
        failed = False
        for step in ci.steps:
            outcome = (
                Outcome(step.name, "skipped")
                if failed
                else _run(step, work, environment, log, deadline)
            )
            failed = failed or outcome.conclusion != "success"
            outcomes.append(outcome)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    log.add("Cleaning up orphan processes")
    return log, outcomes


def _check_out(source: Path, sha: str, target: Path, log: JobLog) -> None:
    """A work tree at the commit."""
    log.add(f"##[group]Run actions/checkout@v6\nref: {sha}\n##[endgroup]")
    target.mkdir()
    commands = (
        ("init", "--quiet"),
        ("fetch", "--quiet", "--depth=1", f"file://{source}", sha),
        ("checkout", "--quiet", "--detach", "FETCH_HEAD"),
    )
    for command in commands:
        subprocess.run(
            ["git", *command], cwd=target, env=git_environment(), check=True, capture_output=True
        )


def _environment(python: Path, work: Path) -> dict[str, str]:
    """All a step sees; nothing of the host's own environment but the path to its tools."""
    tools, home = work / "tools", work / "home"
    tools.mkdir()
    home.mkdir()
    # realpath would leave a virtual environment, so the interpreter is started by the path that was given
    scripts = {"python": PYTHON, "python3": PYTHON, "pip": PIP, "pip3": PIP}
    if (npm := npm_command(work / "work")) is not None:
        scripts["npm"] = npm
    for name, text in scripts.items():
        (tools / name).write_text(
            text.format(python=python) if "{python}" in text else text, encoding="utf-8"
        )
        (tools / name).chmod(0o755)
    return {
        "PATH": f"{tools}:{python.parent}:/usr/local/bin:/usr/bin:/bin{_node_folder()}",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def _node_folder() -> str:
    """Return the folder of this machine's Node.js as the end of PATH; empty without Node.js."""
    node = shutil.which("node")
    return f":{Path(node).parent}" if node else ""


def _run(
    step: Step, work: Path, environment: dict[str, str], log: JobLog, deadline: float
) -> Outcome:
    """Run one step with sh, as a process group that is killed whole."""
    first = step.run.strip().splitlines()[0]
    shown = "\n".join(f"\x1b[36;1m{line}\x1b[0m" for line in step.run.strip().splitlines())
    log.add(f"##[group]Run {first}\n{shown}\nshell: /usr/bin/sh -e {{0}}\n##[endgroup]")
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            ["/bin/sh", "-e", "-c", step.run],
            cwd=work / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        timed_out = False
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _kill_group(process)
        output.seek(0)
        log.add(output.read(LOG_LIMIT).decode("utf-8", "replace"))
    if timed_out:
        log.add("##[error]The operation was canceled.")
        return Outcome(step.name, "cancelled", process.returncode)
    if process.returncode:
        log.add(f"##[error]Process completed with exit code {process.returncode}.")
        return Outcome(step.name, "failure", process.returncode)
    return Outcome(step.name, "success")


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Leave nothing of a step behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
