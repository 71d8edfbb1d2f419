"""The order in which folders list their entries is turned round; nothing else changes."""

from pathlib import Path

from sandbox.guest.reverse import reverse


def test_everything_stays_where_it_was(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    for name in ("b/y/2", "b/y/1", "b/x", "a", ".git/config", "c"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "link").symlink_to("a")
    kept = (root / ".git").stat().st_mtime_ns
    before = sorted(str(path) for path in root.rglob("*"))
    reverse(str(root), str(tmp_path / "spare"))
    assert sorted(str(path) for path in root.rglob("*")) == before
    assert (root / "b/y/2").read_text() == "b/y/2"
    assert (root / "link").readlink() == Path("a")
    assert (root / ".git").stat().st_mtime_ns == kept
    assert not (tmp_path / "spare").exists()
