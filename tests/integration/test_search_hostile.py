"""Candidates that do harm: the search goes on, finds its fix, and nothing outside a trial is touched."""

import asyncio
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import (
    Checkout,
    FolderSource,
    JobHints,
    SearchRequest,
    Survivor,
    SurvivorComparison,
    TrialDone,
    TrialEvent,
    TrialStarted,
)
from sandbox.workspace import Sandboxes

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

HARM = {
    "loops": "while True:\n    pass",
    "loops_for_good": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "stays_in_c": "sum(range(10 ** 13))",
    "sleeps": "time.sleep(10 ** 6)",
    "hogs_memory": "held = []\nwhile True:\n    held.append(bytearray(10 ** 7))",
    "forks": "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "leaves_a_daemon": "if os.fork() == 0:\n    os.setsid()\n    while True:\n        pass",
    "kills_its_parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "kills_everybody": "os.kill(-1, signal.SIGKILL)",
    "stops_older_ones": "for pid in range(2, os.getpid()):\n    try:\n        os.kill(pid, signal.SIGSTOP)\n    except OSError:\n        pass",
    "limits_older_ones": (
        "for pid in range(2, os.getpid()):\n    try:\n        resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))\n"
        "    except OSError:\n        pass"
    ),
    "deletes_the_tree": "shutil.rmtree(ROOT, ignore_errors=True)",
    "empties_the_program": "open(__file__, 'w').close()",
    "writes_a_file": "open(os.path.join(ROOT, 'left_behind.txt'), 'w').write('here')",
    "renames_the_tests": "os.rename(os.path.join(ROOT, 'test_answers.py'), os.path.join(ROOT, 'gone.py'))",
    "deletes_the_system": "for name in ('/bin', '/usr', '/opt', '/home'):\n    shutil.rmtree(name, ignore_errors=True)",
    "closes_descriptors": "os.closerange(0, 1024)",
    "talks_to_everybody": (
        'for number in range(3, 1024):\n    try:\n        os.write(number, b\'{"done": {"reason": "refused"}}\\n\')\n'
        "    except OSError:\n        pass"
    ),
    "leaves": "os._exit(0)",
    "changes_its_world": (
        "os.environ.clear()\nos.chdir('/')\nsys.path.clear()\nsys.modules.clear()\n"
        "for number in range(1, 32):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass"
    ),
    "takes_its_limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))",
}


def program(names: Iterable[str] = HARM) -> str:
    """One function that does harm on numbers the tests never use, unless a candidate changes a condition."""
    lines = [
        "import os, resource, shutil, signal, sys, time",
        "",
        "ROOT = os.path.dirname(os.path.abspath(__file__))",
    ]
    for name in names:
        lines += ["", "", f"def {name}():", textwrap.indent(HARM[name], "    ")]
    lines += ["", "", "def answer(n):"]
    for name in names:
        lines += ["    if not n:", f"        {name}()"]
    return "\n".join([*lines, "    return n - 1", ""])


FILES = {
    "answers.py": program(),
    "test_answers.py": (
        "from answers import answer\n\n\ndef test_answer():\n    assert answer(4) == 5\n\n\n"
        "def test_next():\n    assert answer(7) == 8\n\n\ndef test_kind():\n    assert isinstance(answer(1), int)\n"
    ),
}


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


async def searched(
    backend: Backend, folder: Path, files: Mapping[str, str] = FILES, **changes: object
) -> list[TrialEvent]:
    for name, text in files.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    given: dict[str, object] = {
        "command": "python -m pytest -q",
        "failing": ("test_answers.py::test_answer", "test_answers.py::test_next"),
        "passing": ("test_answers.py::test_kind",),
        "protected": ("test_*.py",),
        "time_limit_s": 420.0,
        "max_survivors": 50,
        "max_candidates": 60,
        # The conditions are turned first, and what mends it is found behind them.
        "template_shifts": {"negate_condition": -3.3},
    }
    sandboxes = Sandboxes(SandboxSpec(), backend, folder / "data")
    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(folder / "repo")))
    ) as workspace:
        request = SearchRequest.model_validate({**given, **changes})
        events = [event async for event in workspace.search(request)]
        assert await workspace.changes() == ()
        tools = await workspace.run("ls /bin/sh /usr/bin/env && python -c 'import answers'")
        assert tools.exit_code == 0
    return events


RIGHT = {"`-` became `+`", "`1` became `-1`"}
"""The same fix, written in two ways: on a crowded machine the one found first may stay alone."""


def mended(events: list[TrialEvent]) -> list[str]:
    return [event.description for event in events if isinstance(event, Survivor)]


@pytest.mark.parametrize(
    "lanes", [("swap", "fresh"), ("fresh",)], ids=["swapped in", "imported afresh"]
)
async def test_harmful_candidates_neither_stop_the_search_nor_leave_anything(
    lanes: tuple[str, ...], backend: Backend, tmp_path: Path
) -> None:
    events = await searched(backend, tmp_path, lanes=lanes)
    done = events[-1]
    assert isinstance(done, TrialDone)
    assert done.reason in {"exhausted", "enough", "candidates"}, done.detail
    started = next(event for event in events if isinstance(event, TrialStarted))
    assert any("enabled" in note for note in started.lane_notes)
    assert RIGHT & set(mended(events))
    assert done.tried > len(HARM)


async def test_with_files_on_disk_they_do_not_either(backend: Backend, tmp_path: Path) -> None:
    harms = (
        "deletes_the_tree",
        "writes_a_file",
        "empties_the_program",
        "deletes_the_system",
        "kills_everybody",
        "leaves",
    )
    files = {**FILES, "answers.py": program(harms)}
    events = await searched(
        backend,
        tmp_path,
        files,
        lanes=("cold",),
        max_candidates=40,
        max_survivors=1,
        time_limit_s=240.0,
    )
    done = events[-1]
    assert isinstance(done, TrialDone)
    assert {event.lane for event in events if isinstance(event, Survivor)} == {"cold"}
    assert done.tried > len(harms)


async def test_a_sandbox_full_of_processes_does_not_disturb_a_search_in_another(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "answers.py": "def answer(n):\n    return n - 1\n\n\ndef even(n):\n    return n % 2 == 1\n",
        "test_answers.py": (
            "from answers import answer, even\n\n\ndef test_answer():\n    assert answer(4) == 5\n\n\n"
            "def test_even():\n    assert even(4)\n    assert not even(3)\n"
        ),
    }
    both = ("test_answers.py::test_answer", "test_answers.py::test_even")
    (tmp_path / "busy").mkdir()
    crowded = Checkout(
        source=FolderSource(path=str(tmp_path / "busy")), hints=JobHints(command="true")
    )
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(crowded) as busy:
        crowd = asyncio.create_task(
            busy.run("for n in $(seq 150); do sleep 60 & done; wait", timeout_s=60.0)
        )
        await asyncio.sleep(1.0)
        events = await searched(
            backend, tmp_path, files, failing=both, passing=(), template_shifts={}
        )
        assert not crowd.done()
        crowd.cancel()
        await asyncio.gather(crowd, return_exceptions=True)
    compared = next(event for event in events if isinstance(event, SurvivorComparison))
    assert compared.inputs > 0
    assert len(set(compared.clusters)) < len(compared.clusters)
