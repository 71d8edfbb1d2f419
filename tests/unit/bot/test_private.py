"""No core dumps, private folders, and folders of others left alone."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.private import close_to_others, make_private_folder
from bot.setup.stored import make_room
from bot.store.database import make_private
from bot.wiring.data_folder import close_data_dir

CRASH = """
import ctypes, os, resource, signal, subprocess
from bot.private import forbid_core_dumps
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
forbid_core_dumps()
print(*resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)
print(subprocess.run(["sh", "-c", "ulimit -c; ulimit -Hc"], capture_output=True, text=True).stdout.split(), flush=True)
os.kill(os.getpid(), signal.SIGSEGV)
"""


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_crash_leaves_no_memory_behind() -> None:
    done = subprocess.Popen([sys.executable, "-c", CRASH], stdout=subprocess.PIPE, text=True)
    out, _ = done.communicate(timeout=60)
    assert out.splitlines() == ["0 0 0", "['0', '0']"]
    assert done.returncode == -signal.SIGSEGV


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_every_missing_folder_is_made_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


@pytest.mark.usefixtures("umask")
def test_the_data_directory_is_private_whichever_part_makes_it(tmp_path: Path) -> None:
    make_private(tmp_path / "database" / "engine.sqlite")
    make_room(tmp_path / "setup")
    assert mode(tmp_path / "database") == mode(tmp_path / "setup") == 0o700


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path)
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize(
    "names",
    [
        (),
        (
            "app.json",
            "metaagent.sqlite",
            "engine.sqlite-wal",
            "blobs",
            "imports",
            ".app",
            ".gitignore",
        ),
    ],
)
def test_an_open_data_directory_with_nothing_else_in_it_is_closed(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    close_data_dir(tmp_path)
    assert mode(tmp_path) == 0o700


@pytest.mark.parametrize(("bits", "name"), [(0o755, "somebody.txt"), (0o1777, "app.json")])
def test_a_folder_that_others_use_is_told_and_left_alone(
    tmp_path: Path, bits: int, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / name).touch()
    tmp_path.chmod(bits)
    with caplog.at_level(logging.WARNING):
        close_data_dir(tmp_path)
    assert mode(tmp_path) == bits & 0o777
    assert "chmod 700" in caplog.text


def test_a_data_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    close_data_dir(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    os.chown(tmp_path, 65_532, 65_532)
    tmp_path.chmod(0o755)
    close_to_others(tmp_path, frozenset())
    assert mode(tmp_path) == 0o755
