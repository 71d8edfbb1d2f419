"""What a step leaves for people and for a later job, and how little of it that job believes."""

import stat
from pathlib import Path

import pytest

from bot.action.report import MISSION, PATCH, REPORT, read_mission, write_report
from bot.domain.mission import Outcome
from bot.errors import StoreError, UsageError
from tests.builders import DIFF, a_mission


def test_a_mission_is_read_as_it_was_left(tmp_path: Path) -> None:
    write_report(tmp_path, a_mission(), "# report\n")
    assert read_mission(tmp_path) == a_mission()
    assert (tmp_path / PATCH).read_text() == DIFF
    assert (tmp_path / REPORT).read_text() == "# report\n"


def test_there_is_no_patch_without_a_fix_and_an_old_one_goes(tmp_path: Path) -> None:
    write_report(tmp_path, a_mission(), "")
    write_report(tmp_path, a_mission(Outcome.NO_FIX), "")
    assert not (tmp_path / PATCH).exists()


def test_a_folder_that_is_not_there_is_our_operator_s_business(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        write_report(tmp_path / "gone", a_mission(), "")


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff", b'{"mission_id": 1}'])
def test_what_is_no_mission_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MISSION).write_bytes(content)
    with pytest.raises(UsageError, match="not a MetaAgent mission"):
        read_mission(tmp_path)


def test_a_missing_a_linked_and_an_endless_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is missing"):
        read_mission(tmp_path)
    (tmp_path / MISSION).symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="is missing"):
        read_mission(tmp_path)
    (tmp_path / MISSION).unlink()
    with (tmp_path / MISSION).open("wb") as file:
        file.truncate((16 << 20) + 1)
    assert stat.S_ISREG((tmp_path / MISSION).lstat().st_mode)
    with pytest.raises(UsageError, match="larger than"):
        read_mission(tmp_path)
