"""Repositories whose trees, names, submodules and messages are made for git on the host: nothing runs, nothing is read."""

import subprocess
import time
from pathlib import Path

import pytest

from sandbox.errors import ImportRejected
from sandbox.importer import ImportedRepository, Importer
from sandbox.spec import SandboxSpec
from sandbox.types import GitSource
from tests.integration.git_http import git, serve_git

pytestmark = [pytest.mark.anyio]

MARKER = "/tmp/hostile-marker"
RUN = f"touch {MARKER}"
HONEST = {"m.py": "x = 1\n", "test_a.py": "def test_a(): pass\n"}
CASES: dict[str, dict[str, str]] = {
    "a submodule whose address is a command": {".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "{RUN}"\n'},
    "a submodule whose address is an option": {".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = --upload-pack={RUN}\n'},
    "a submodule whose name leaves": {".gitmodules": '[submodule "../../x"]\n\tpath = s\n\turl = https://h.invalid/x\n'},
    "a submodule with an update command": {".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = https://h.invalid/x\n\tupdate = !{RUN}\n'},
    "a submodule of a local file": {".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = file:///etc\n'},
    "names in two cases": {"A.py": "1\n", "a.py": "2\n", "dir/x": "1\n", "Dir/x": "2\n"},
    "names in two forms": {"\u00e9.py": "1\n", "e\u0301.py": "2\n"},
    "odd names": {
        "-rf": "", "--output=x": "", "$(id)": "", "`id`": "", "a\nb": "", "a\tb": "", "\u202ename": "", "a;b|c&d": "", "\x1b[2J": "",
        "con": "", "x ": "", "'\"": "", "{{x}}": "", ":(top)x": "", "HEAD": "", "refs/heads/main": "",
    },
    "names that are git's in disguise": {".g\u200cit/config": f"[core]\n\tfsmonitor = {RUN}\n"},
    "a short name of git": {"git~1/config": f"[core]\n\tfsmonitor = {RUN}\n"},
    "attributes of every kind": {".gitattributes": "* filter=evil diff=evil merge=evil working-tree-encoding=UTF-16 ident eol=crlf\n"},
    "a settings file of git": {".gitconfig": f"[alias]\n\tstatus = !{RUN}\n", "config": f"[core]\n\tfsmonitor = {RUN}\n"},
    "a large file of attributes": {".gitattributes": "*.py filter=evil\n" * 20_000},
    "a deep tree": {"/".join(["d"] * 300) + "/x": "1\n"},
    "a long name": {"n" * 200 + ".py": "1\n"},
}  # fmt: skip
REFUSED = {
    "a submodule whose name leaves", "a submodule whose address is an option", "a submodule with an update command",
    "names that are git's in disguise", "a short name of git",
}  # fmt: skip
"""git's own checks refuse these while they arrive."""


def made(folder: Path, files: dict[str, str], message: str) -> str:
    """A repository with these files, none of them ever written to a work tree; returns the commit."""
    git(folder.parent, "init", "-q", "-b", "main", folder.name)
    stream = [
        f"commit refs/heads/main\ncommitter a <a@example.invalid> 0 +0000\ndata {len(message.encode())}\n{message}\n".encode()
    ]
    for name, text in {**HONEST, **files}.items():
        quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        stream.append(f'M 100644 inline "{quoted}"\ndata {len(text.encode())}\n{text}\n'.encode())
    done = subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        check=False,
        cwd=folder,
        input=b"".join(stream),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return git(folder, "rev-parse", "refs/heads/main")


def clear() -> None:
    Path(MARKER).unlink(missing_ok=True)


def has_run() -> bool:
    return Path(MARKER).exists()


def below(folder: Path, name: str) -> list[Path]:
    return list(folder.rglob(name))


async def imported(folder: Path, sha: str, imports: Path) -> ImportedRepository | ImportRejected:
    with serve_git(folder) as server:
        source = GitSource(url=f"{server.url}/repo/.git", sha=sha, repository_id="hostile")
        try:
            return await Importer(imports, SandboxSpec()).fetch(source)
        except ImportRejected as error:
            return error


@pytest.mark.parametrize("name", CASES)
async def test_nothing_a_repository_brings_runs_on_the_host(name: str, tmp_path: Path) -> None:
    clear()
    (tmp_path / "served").mkdir()
    sha = made(tmp_path / "served/repo", CASES[name], f"m\n\n--upload-pack={RUN}\n\x1b[2J$(id)\n")
    started = time.perf_counter()
    found = await imported(tmp_path / "served", sha, tmp_path / "imports")
    assert time.perf_counter() - started < 20
    assert not has_run()
    assert isinstance(found, ImportRejected) is (name in REFUSED), found
    if isinstance(found, ImportedRepository):
        assert {"m.py", "test_a.py"} <= set(found.files)
        # Only the bare repository is there: no file of the commit stands in any folder.
        assert not below(tmp_path / "imports", "m.py")


@pytest.mark.parametrize(
    "sha", ["--upload-pack=x", "main", "HEAD", "0" * 39, "g" * 40, "0" * 40 + "\n", "-u", ""]
)
def test_only_a_whole_commit_id_is_ever_asked_for(sha: str) -> None:
    with pytest.raises(ValueError, match="sha"):
        GitSource(url="https://h.invalid/o/r", sha=sha, repository_id="x")


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x", "file:///etc", "ssh://h/x", "git@h:x", "https://u:p@h/x", "https://h/x?y", "http://h/x", "-u", "//h/x",
        "https://h/x y", "https://h/\nx", "https://h/$(id)", "HTTPS://h\\x/y", "https://[::1", "git://h/x", "ftp://h/x", "https:///x",
    ],
)  # fmt: skip
async def test_only_a_plain_address_is_ever_asked(url: str, tmp_path: Path) -> None:
    with pytest.raises((ImportRejected, ValueError)):
        await Importer(tmp_path, SandboxSpec()).fetch(
            GitSource(url=url, sha="0" * 40, repository_id="x")
        )
    assert not below(tmp_path, "*")
