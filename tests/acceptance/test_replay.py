"""A verdict run again from its bundle alone: through the real line, in real sandboxes, also when somebody changed it."""

import json
from pathlib import Path

import pytest

from bot.domain.evidence import Claim, EvidenceBundle
from bot.evidence.bundle import read_bundle, write_bundle
from sandbox.types import FileEdit
from tests.acceptance.test_fix_command import fix, metaagent
from tests.demo.repositories import broken_repository

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def replay(bundle: Path, *words: str, folder: Path) -> tuple[int, dict[str, object]]:
    """Run `metaagent replay --json`; its status and its one object."""
    done = metaagent("replay", str(bundle), "--json", *words, folder=folder)
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def differing(found: dict[str, object]) -> set[str]:
    rows = found["compared"]
    assert isinstance(rows, list)
    return {row["what"] for row in rows if not row["same"]}


def rewritten(bundle: Path, change: EvidenceBundle, name: str) -> Path:
    path = bundle.with_name(name)
    path.write_bytes(write_bundle(change))
    return path


def patched_with(claim: Claim, old: str, new: str) -> Claim:
    """A claim about a fix whose one edit reads otherwise."""
    assert claim.fix is not None
    (edit,) = claim.fix.edits
    text = edit.content.decode()
    assert old in text
    other = FileEdit(path=edit.path, mode=edit.mode, content=text.replace(old, new).encode())
    return claim.with_(fix=claim.fix.with_(edits=(other,)))


def test_a_fix_is_confirmed_from_its_bundle_alone_and_a_changed_bundle_is_not(
    tmp_path: Path, docker_ready: None
) -> None:
    tree = broken_repository("broken_math").write(tmp_path / "tree")
    bundle = tmp_path / "evidence.zip"
    status, result = fix(str(tree), "--evidence", str(bundle), folder=tmp_path)
    assert (status, result["outcome"], result["evidence"]) == (0, "FIXED", str(bundle))
    for path in sorted(tree.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()

    status, found = replay(bundle, "--keep-red", folder=tmp_path / "elsewhere")
    assert (status, found["verdict"], differing(found)) == (0, "CONFIRMED", set()), found
    assert found["bundle_sha256"] == result["evidence_sha256"]
    assert "test_add" in str(found["red_output"])

    honest = read_bundle(bundle.read_bytes())
    weaker = honest.with_(claim=patched_with(honest.claim, "a + b", "a - b"))
    status, found = replay(rewritten(bundle, weaker, "weaker.zip"), folder=tmp_path / "elsewhere")
    assert (status, found["verdict"]) == (1, "NOT CONFIRMED"), found
    assert "verdict on the fix" in differing(found)


def test_a_mission_without_a_fix_replays_its_red_run(tmp_path: Path, docker_ready: None) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "test_odd.py").write_text("def test_odd():\n    assert 'a' == 'b'\n")
    bundle = tmp_path / "evidence.zip"
    status, result = fix(
        str(tree), "--time-limit", "10", "--evidence", str(bundle), folder=tmp_path
    )
    assert (status, result["outcome"]) == (1, "NO_FIX"), result
    status, found = replay(bundle, folder=tmp_path)
    assert (status, found["verdict"]) == (0, "CONFIRMED"), found


def test_a_file_that_was_swapped_is_noticed_before_anything_runs(tmp_path: Path) -> None:
    from tests.unit.bot.evidence.test_bundle import a_bundle, members_of, zipped

    members = members_of(write_bundle(a_bundle()))
    members["checkout.tar"] = b"another"
    (tmp_path / "swapped.zip").write_bytes(zipped(members))
    status, found = replay(tmp_path / "swapped.zip", folder=tmp_path)
    assert (status, found["outcome"], found["fault"]) == (2, "ERROR", "user")
    assert "checkout.tar" in str(found["message"])
