"""Counters of the kernel, in both layouts of control groups."""

from pathlib import Path

import pytest

from sandbox.guest import counters


@pytest.mark.parametrize(
    "files",
    [
        {
            "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            "pids/pids.events": "max 7\n",
        },
        {"memory.events": "low 0\nmax 9\noom 4\noom_kill 3\n", "pids.events": "max 7\n"},
    ],
    ids=["version 1", "version 2"],
)
def test_counters_are_read(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert counters.read(str(tmp_path)) == {"oom_kills": 3, "pids_hits": 7}


def test_a_kernel_without_counters_counts_nothing(tmp_path: Path) -> None:
    assert counters.read(str(tmp_path)) == {"oom_kills": 0, "pids_hits": 0}


def test_nonsense_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("oom_kill many\n")
    assert counters.read(str(tmp_path))["oom_kills"] == 0
