"""A folder is taken in without running anything in it, and without following anything out of it."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from sandbox.checkout import take_folder
from sandbox.errors import ImportRejected
from sandbox.spec import SandboxSpec
from tests.fakes.scripted_backend import ScriptedGuest


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


@pytest.mark.anyio
async def test_regular_files_come_in_and_caches_environments_and_secrets_do_not(
    tmp_path: Path,
) -> None:
    fill(tmp_path, "m.py", "pkg/ü.py", ".github/workflows/ci.yml", ".gitignore", ".env.example")
    fill(
        tmp_path,
        ".git/config",
        "node_modules/x.js",
        "a/__pycache__/m.pyc",
        "env/pyvenv.cfg",
        "env/lib/x.py",
        ".env",
    )
    fill(tmp_path, ".env.local", "web/.env.production.local", ".envrc", "id_ed25519")
    (tmp_path / "run.sh").write_text("x")
    (tmp_path / "run.sh").chmod(0o755)
    source = await take_folder(str(tmp_path), SandboxSpec())
    assert set(source.names()) == {
        "m.py",
        "pkg/ü.py",
        ".github/workflows/ci.yml",
        ".gitignore",
        ".env.example",
        "run.sh",
    }
    assert (await source.originals(["run.sh"]))["run.sh"].mode == "100755"
    assert (await source.read(["m.py", "missing"])) == {"m.py": b"m.py"}
    assert source.notes == ("files of secrets (left out)",)
    assert source.head_sha is None


@pytest.mark.anyio
async def test_a_long_lock_file_of_a_workspace_is_read(tmp_path: Path) -> None:
    fill(tmp_path, "web/pnpm-lock.yaml", "web/package.json")
    for name in ("pnpm-lock.yaml", "package.json"):
        (tmp_path / "web" / name).write_text("x" * (2 << 20))
    source = await take_folder(str(tmp_path), SandboxSpec())
    assert set(await source.read(source.names())) == {"web/pnpm-lock.yaml"}


@pytest.mark.anyio
async def test_long_lock_files_are_read_up_to_a_limit_for_all(tmp_path: Path) -> None:
    names = ["pnpm-lock.yaml", *(f"packages/p{number}/pnpm-lock.yaml" for number in range(5))]
    fill(tmp_path, *names)
    for name in names:
        (tmp_path / name).write_bytes(b"x" * (7 << 20))
    source = await take_folder(str(tmp_path), SandboxSpec())
    assert list(await source.read(source.names())) == names[:4]


@pytest.mark.anyio
async def test_links_and_special_files_stay_outside(tmp_path: Path) -> None:
    fill(tmp_path, "project/m.py", "outside/secret")
    (tmp_path / "project/link.py").symlink_to("/etc/passwd")
    (tmp_path / "project/folder").symlink_to(tmp_path / "outside")
    os.mkfifo(tmp_path / "project/pipe.py")
    source = await take_folder(str(tmp_path / "project"), SandboxSpec())
    assert set(source.names()) == {"m.py"}
    assert source.notes == ("symbolic links (left out)",)


@pytest.mark.anyio
async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="not a folder"):
        await take_folder(str(tmp_path / "missing"), SandboxSpec())


@pytest.mark.parametrize(
    "limits", [{"max_files": 2}, {"max_blob_bytes": 3}, {"max_tree_bytes": 10}]
)
@pytest.mark.anyio
async def test_a_folder_over_a_limit_is_refused(tmp_path: Path, limits: dict[str, int]) -> None:
    fill(tmp_path, "a.txt", "b.txt", "c.txt")
    with pytest.raises(ImportRejected):
        await take_folder(str(tmp_path), SandboxSpec.model_validate(limits))


@pytest.mark.anyio
async def test_the_files_are_unpacked_in_the_work_folder(tmp_path: Path) -> None:
    fill(tmp_path, "m.py", "a/b.py")
    guest = ScriptedGuest(lambda argv: None)
    await (await take_folder(str(tmp_path), SandboxSpec())).place(guest)
    assert guest.unpacked == {"/work/repo": {"m.py": b"m.py", "a/b.py": b"a/b.py"}}
    assert "git init" in guest.commands[-1][2]


@pytest.mark.anyio
async def test_the_same_folder_makes_the_same_archive(tmp_path: Path) -> None:
    fill(tmp_path, "b.py", "a.py")
    guest = ScriptedGuest(lambda argv: None)
    seen = []
    for _ in range(2):
        source = await take_folder(str(tmp_path), SandboxSpec())
        seen.append(source._archive)
        (tmp_path / "a.py").touch()
    assert seen[0] == seen[1]
    with tarfile.open(fileobj=io.BytesIO(seen[0])) as archive:
        assert all(member.uid == 0 and member.mode == 0o644 for member in archive)
    assert guest.commands == []


@pytest.mark.anyio
async def test_a_folder_is_known_by_all_that_would_be_placed(tmp_path: Path) -> None:
    fill(tmp_path, "deps.sh", "pkg/m.py")

    async def digest() -> str:
        return await (await take_folder(str(tmp_path), SandboxSpec())).digest()

    seen = [await digest()]
    (tmp_path / "deps.sh").touch()
    assert await digest() == seen[0]
    (tmp_path / "deps.sh").write_text("deps.sh ")
    seen.append(await digest())
    (tmp_path / "deps.sh").chmod(0o755)
    seen.append(await digest())
    (tmp_path / "pkg/m.py").rename(tmp_path / "pkg/n.py")
    seen.append(await digest())
    assert len(set(seen)) == 4
