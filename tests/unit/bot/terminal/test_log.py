"""metaagent logs: the lines of one mission, of every process it ran in."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.cli import main
from bot.domain.blob import BlobKind, Drawer
from bot.errors import UsageError
from bot.settings import Settings
from bot.terminal.log import run_log

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")
Make = Callable[..., Settings]
LIVE = "mission:7:" + "a" * 40 + ":auto"


def keep(settings: Settings, *parts: bytes) -> None:
    store = HashedStore(FolderShelf(settings.data_dir / "blobs"))
    for part in parts:
        asyncio.run(store.put(Drawer(kind=BlobKind.LOGS, owner=LIVE), part))


def test_every_line_of_every_process_is_shown(
    settings: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    made = settings()
    keep(made, b'{"message": "one"}\n', b'{"message": "two"}\n{"message": "three"}\n')
    assert main(["logs", LIVE, "--data-dir", str(made.data_dir)]) == 0
    said = [json.loads(line)["message"] for line in capsys.readouterr().out.splitlines()]
    assert sorted(said) == ["one", "three", "two"]
    assert main(["logs", LIVE, "--json", "--data-dir", str(made.data_dir)]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert sorted(line["message"] for line in listed) == ["one", "three", "two"]


def test_the_former_name_still_works_and_says_so(
    settings: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    made = settings()
    keep(made, b'{"message": "one"}\n')
    assert main(["log", LIVE, "--data-dir", str(made.data_dir)]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"message": "one"}
    assert "use `logs`" in shown.err


@pytest.mark.parametrize("mission", ["", "unknown", "../../etc/passwd"])
def test_a_mission_of_which_nothing_is_kept_is_wrong_use(settings: Make, mission: str) -> None:
    with pytest.raises(UsageError, match="no log is kept"):
        run_log(mission, settings())


def test_what_a_terminal_would_obey_is_not_shown(settings: Make) -> None:
    made = settings()
    keep(made, b"\x1b]0;owned\x07 and \xff\n")
    text = run_log(LIVE, made)
    assert "owned" in text
    assert not {"\x1b", "\x07"} & set(text)


def test_a_place_that_is_no_folder_holds_no_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "blobs").write_text("a file where a folder belongs")
    (tmp_path / "blobs").chmod(0o600)
    assert main(["log", LIVE, "--data-dir", str(tmp_path)]) == 2
    assert "no log is kept" in capsys.readouterr().err
