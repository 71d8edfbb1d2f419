"""Who is below whom."""

import os
from pathlib import Path

from sandbox.guest.reaper import descendants, processes


def test_descendants_are_found_at_any_depth() -> None:
    parents = {1: 0, 2: 1, 3: 2, 4: 3, 5: 1, 6: 5, 7: 0}
    assert sorted(descendants(2, parents)) == [3, 4]
    assert sorted(descendants(1, parents)) == [2, 3, 4, 5, 6]
    assert descendants(7, parents) == []


def test_a_process_that_names_itself_oddly_is_read_right(tmp_path: Path) -> None:
    (tmp_path / "12").mkdir()
    (tmp_path / "12/stat").write_bytes(b"12 (odd ) 3 (name) S 7 12 12 0\n")
    (tmp_path / "13").mkdir()
    (tmp_path / "self").mkdir()
    assert processes(str(tmp_path)) == {12: 7}


def test_we_are_among_the_processes() -> None:
    assert processes()[os.getpid()] == os.getppid()
