"""Promotion: a process that dies at any line leaves the old or the new version whole."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.improve.history import History
from bot.improve.promotion import StoredVersion, hash_of, promote, promote_fix, roll_back
from bot.improve.values import CycleRecord, CycleStatus
from sandbox.diffs import Original, write_diff
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit

ROOT = Path(__file__).parents[4]
OLD = b"import os\r\nx = 1\r\n"
NEW = b"x = 1\r\n"

# Runs the end of a cycle in a child, which is killed at the line with the given number, by a signal that it cannot see.
DRIVER = """
import os, signal, sys
from pathlib import Path
from datetime import datetime, UTC
from bot.improve.history import History
from bot.improve.promotion import StoredVersion, hash_of, promote, roll_back
from bot.improve.values import CycleRecord, CycleStatus, Improvement

folder, project, limit, step = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
OLD, NEW = b"import os\\r\\nx = 1\\r\\n", b"x = 1\\r\\n"


def cycle(home):
    file = home / "some.py"
    history = History(home / "improve")
    with history.locked():
        if step == "rollback":
            roll_back(history.fallback_versions)
            return
        iteration = history.begin(datetime(2026, 1, 2, tzinfo=UTC), 1)
        record = CycleRecord(id=iteration.name, at="now", target="some.py", cycle=1, status=CycleStatus.FAILURE,
            reason="interrupted", file=str(file), old_sha256=hash_of(OLD), new_sha256=hash_of(NEW),
            improvement=Improvement(path="some.py", title="t"))
        history.note(iteration, record)
        version = StoredVersion(id=record.id, root=str(home), path="some.py", mode="100644",
            old_sha256=hash_of(OLD), new_sha256=hash_of(NEW))
        promote(history.fallback_versions, version, OLD, NEW)
        history.end(iteration, record.with_(status=CycleStatus.SUCCESS_PROMOTED, reason=""))


def die_at(number):
    left = number
    def trace(frame, event, argument):
        nonlocal left
        ours = frame.f_code.co_filename.endswith(("promotion.py", "history.py", "sandbox/apply.py"))
        if not ours:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    return trace


for number in range(limit):
    home = folder / f"{step}-{number}"
    home.mkdir()
    (home / "some.py").write_bytes(OLD)
    if step == "rollback":
        wanted, step = step, "promotion"
        cycle(home)
        step = wanted
    child = os.fork()
    if child == 0:
        sys.settrace(die_at(number))
        cycle(home)
        sys.settrace(None)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        print(number)
        break
"""


def crash_everywhere(tmp_path: Path, step: str) -> list[Path]:
    """Return the homes of all children: each died one line later; the last one lived."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path), str(ROOT), "2000", step],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [tmp_path / f"{step}-{number}" for number in range(int(done.stdout) + 1)]


@pytest.mark.slow
def test_a_crash_at_every_line_leaves_a_whole_version_and_one_line(tmp_path: Path) -> None:
    homes = crash_everywhere(tmp_path, "promotion")
    assert len(homes) > 60, "the trace must see every step"
    seen = set()
    for home in homes:
        content = (home / "some.py").read_bytes()
        assert content in {OLD, NEW}
        history = History(home / "improve")
        with history.locked():
            pass
        records = history.records()
        # Before its first note, the cycle had not begun.
        assert len(records) <= 1
        assert len(records) == 1 or content == OLD
        for record in records:
            assert (record.status is CycleStatus.SUCCESS_PROMOTED) is (content == NEW)
        lines = history.file.read_bytes().splitlines() if records else []
        assert len(lines) == len(records), "no line is torn"
        assert list((home / "improve" / "iterations").iterdir()) == []
        seen.add((content, bool(records)))
        if content == NEW:
            roll_back(history.fallback_versions)
            assert (home / "some.py").read_bytes() == OLD
    assert seen == {(OLD, False), (OLD, True), (NEW, True)}


@pytest.mark.slow
def test_a_crash_at_every_line_of_a_rollback_leaves_a_whole_version(tmp_path: Path) -> None:
    contents = [(home / "some.py").read_bytes() for home in crash_everywhere(tmp_path, "rollback")]
    assert set(contents) == {OLD, NEW}
    assert contents[-1] == OLD


@pytest.mark.parametrize(
    "old", [b"x = 1", b"x = 1\n\n", b"\xef\xbb\xbfx = 1\r\n", b"x = '\xc3\xa9'\r"]
)
def test_promotion_and_rollback_keep_every_byte(tmp_path: Path, old: bytes) -> None:
    new = old + b"y = 2"
    file = tmp_path / "some.py"
    file.write_bytes(old)
    file.chmod(0o640)
    version = StoredVersion(
        id="1",
        root=str(tmp_path),
        path="some.py",
        mode="100644",
        old_sha256=hash_of(old),
        new_sha256=hash_of(new),
    )
    promote(tmp_path / "versions", version, old, new)
    assert file.read_bytes() == new
    roll_back(tmp_path / "versions")
    assert file.read_bytes() == old
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_stored_version_that_was_damaged_is_not_restored(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_bytes(OLD)
    version = StoredVersion(
        id="1",
        root=str(tmp_path),
        path="some.py",
        mode="100644",
        old_sha256=hash_of(OLD),
        new_sha256=hash_of(NEW),
    )
    kept = promote(tmp_path / "versions", version, OLD, NEW)
    (kept / "previous").write_bytes(b"other")
    with pytest.raises(Exception, match="no promoted version"):
        roll_back(tmp_path / "versions")
    (kept / "manifest.json").write_bytes(b"{")
    with pytest.raises(Exception, match="no promoted version"):
        roll_back(tmp_path / "versions")


def test_a_fix_of_several_files_is_undone_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    root, versions = tmp_path / "project", tmp_path / "versions"
    root.mkdir()
    before = {"a.py": b"x = 1", "b.py": b"\xef\xbb\xbfy = '\xc3\xa9'\r\n"}
    after = {"a.py": b"x = 2\n", "b.py": b"y = 2\n", "new.py": b"z = 3\n"}
    for name, content in before.items():
        (root / name).write_bytes(content)
    edits = [FileEdit(path=name, mode="100644", content=new) for name, new in after.items()]
    diff = write_diff(edits, {name: Original(content=old) for name, old in before.items()})
    promote_fix(versions, "1", root, diff)
    assert {one.name: one.read_bytes() for one in root.iterdir()} == after
    (root / "new.py").write_bytes(b"mine\n")
    with pytest.raises(UsageError, match="no promoted version"):
        roll_back(versions)
    assert (root / "a.py").read_bytes() == after["a.py"]
    (root / "new.py").write_bytes(after["new.py"])
    roll_back(versions, root / "b.py")
    assert {one.name: one.read_bytes() for one in root.iterdir()} == before


def test_a_fix_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"mine\n")
    edit = FileEdit(path="a.py", mode="100644", content=b"x = 2\n")
    diff = write_diff([edit], {"a.py": Original(content=b"x = 1\n")})
    with pytest.raises(ChangeRejected):
        promote_fix(tmp_path / "versions", "1", tmp_path, diff)
    assert (tmp_path / "a.py").read_bytes() == b"mine\n"
    assert not (tmp_path / "versions").exists()


def test_a_torn_line_of_the_history_is_replaced(tmp_path: Path) -> None:
    history = History(tmp_path)
    record = CycleRecord(id="1", at="", target="t", cycle=1, status=CycleStatus.FAILURE)
    with history.locked():
        history.file.write_text('{"id": "0", "at"')
        iteration = history.begin(datetime(2026, 1, 2, tzinfo=UTC), 1)
        history.end(iteration, record)
    assert history.records() == (record,)
    assert history.file.read_text().count("\n") == 1
