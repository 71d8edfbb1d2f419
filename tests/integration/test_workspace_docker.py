"""Workspaces on real parts: real git, a real daemon, a real package index."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.errors import ImportRejected, SandboxUnavailable, SetupFailed
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, GitSource, JobHints, RunVerdict, TrustTier
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.fakes.scripted_backend import ScriptedBackend
from tests.integration.git_http import GitServer, commit, git, serve_git
from tests.patience import HANG_S

pytestmark = [pytest.mark.docker, pytest.mark.slow]

GOOD = {
    "m.py": "def add(a, b):\n    return a + b\n",
    "test_m.py": "from m import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
BAD = {"m.py": "def add(a, b):\n    return a - b\n"}


class Ground:
    """A served repository and a door to workspaces on it."""

    def __init__(self, server: GitServer, sandboxes: Sandboxes) -> None:
        self.server = server
        self.folder = server.root / "r"
        self._sandboxes = sandboxes

    @asynccontextmanager
    async def open(self, sha: str, **more: Any) -> AsyncIterator[SandboxWorkspace]:
        """A workspace on a commit; `hints`, `tier`, `revision` and `base_sha` as wanted."""
        base = more.pop("base_sha", None)
        source = GitSource(
            url=f"{self.server.url}/r/.git", sha=sha, base_sha=base, repository_id="r"
        )
        async with self._sandboxes.open_workspace(Checkout(source=source, **more)) as workspace:
            yield workspace


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> AsyncIterator[DockerBackend]:
    backend = DockerBackend(SandboxSpec(pool=0))
    yield backend
    await backend.close()


@pytest.fixture
def ground(backend: DockerBackend, tmp_path: Path) -> Iterator[Ground]:
    (tmp_path / "served").mkdir()
    with serve_git(tmp_path / "served") as server:
        yield Ground(server, Sandboxes(SandboxSpec(), backend, tmp_path / "data"))


@pytest.mark.anyio
async def test_head_is_red_base_is_green_in_the_same_environment(ground: Ground) -> None:
    base = commit(ground.folder, dict(GOOD))
    head = commit(ground.folder, dict(BAD))
    async with ground.open(head) as red, ground.open(head, revision="base") as green:
        assert (await red.run_tests()).verdict is RunVerdict.FAIL
        assert (await green.run_tests()).verdict is RunVerdict.PASS
        facts, other = await red.facts(), await green.facts()
    assert (facts.head_sha, facts.base_sha) == (head, base)
    assert facts.red_diff.files == {"m.py": (2,)}
    assert (facts.recipe, facts.environment_key, facts.image_digest) == (
        other.recipe,
        other.environment_key,
        other.image_digest,
    )
    assert other.warm


@pytest.mark.anyio
async def test_what_is_installed_is_compiled_so_that_tests_start_quickly(ground: Ground) -> None:
    async with ground.open(commit(ground.folder, dict(GOOD))) as workspace:
        program = "import pytest, pathlib; print(pathlib.Path(pytest.__file__).with_name('__pycache__').is_dir())"
        assert (await workspace.run(f'python -c "{program}"')).stdout.strip() == "True"


@pytest.mark.anyio
async def test_the_recipe_of_the_head_holds_for_the_base(ground: Ground) -> None:
    commit(ground.folder, {"m.py": "x = 1\n"})
    head = commit(ground.folder, {"test_m.py": "def test_x():\n    pass\n"})
    async with ground.open(head, revision="base") as workspace:
        assert (await workspace.facts()).recipe.command == "python -m pytest"
        assert "test_m.py" not in await workspace.list_files()


@pytest.mark.anyio
async def test_what_a_command_does_and_sees(ground: Ground) -> None:
    sha = commit(
        ground.folder,
        {
            **GOOD,
            "pkg/x.py": "",
            ".github/workflows/ci.yml": "env: {COLOUR: red}\njobs: {a: {steps: [{run: pytest .., working-directory: pkg}]}}",
        },
    )
    async with ground.open(sha) as workspace:
        said = await workspace.run(
            "pwd; echo $COLOUR; which python pytest ruff; echo oops >&2; exit 3"
        )
        assert said.exit_code == 3
        assert said.stdout.split() == [
            *(
                "/work/repo/pkg",
                "red",
                "/opt/env/bin/python",
                "/opt/env/bin/pytest",
                "/opt/env/bin/ruff",
            ),
        ]
        assert said.stderr == "oops\n"
        started = time.perf_counter()
        slow = await workspace.run("sleep 600 & sleep 600", timeout_s=1.0)
        assert slow.timed_out
        assert time.perf_counter() - started < HANG_S
        assert "sleep" not in (await workspace.run("ps -A -o comm")).stdout
        assert (await workspace.run("no-such-command")).exit_code == 127
        assert not (await workspace.run("touch /opt/env/x || touch /etc/x")).ok
        flood = await workspace.run("head -c 5000000 /dev/zero | tr '\\0' x")
        assert len(flood.stdout) < 400_000


@pytest.mark.anyio
async def test_git_inside_knows_the_commit_and_has_no_hooks(ground: Ground) -> None:
    commit(ground.folder, dict(GOOD))
    commit(ground.folder, {"a": "1"})
    sha = commit(ground.folder, {"b": "1"})
    async with ground.open(sha, hints=JobHints(repository="octo/r")) as workspace:
        said = await workspace.run(
            "git rev-parse HEAD; git status --short; git log --oneline | wc -l; ls .git/hooks;"
            "git remote get-url origin"
        )
    assert said.stdout.split() == [sha, "2", "https://github.com/octo/r"]


@pytest.mark.anyio
async def test_the_work_tree_holds_the_very_bytes_of_the_commit(ground: Ground) -> None:
    files = {
        **GOOD,
        ".gitattributes": "*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16\n*.id ident\nhidden export-ignore\n*.f filter=x\n",
        "unix.txt": "a\nb\n",
        "x.u16": "plain\n",
        "x.id": "$Id$\n",
        "hidden": "x",
        "y.f": "x\n",
    }
    attributes = files[".gitattributes"]
    commit(
        ground.folder,
        {name: content for name, content in files.items() if name != ".gitattributes"},
    )
    (ground.folder / "attributes").write_text(
        attributes
    )  # beside git's own conversions, which would act here too
    oid = git(ground.folder, "hash-object", "-w", "attributes")
    git(ground.folder, "update-index", "--add", "--cacheinfo", f"100644,{oid},.gitattributes")
    git(ground.folder, "commit", "-q", "-m", "attributes")
    async with ground.open(git(ground.folder, "rev-parse", "HEAD")) as workspace:
        assert {name: await workspace.read_file(name) for name in files} == files
        assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_repository_code_cannot_keep_anything_through_a_revert(ground: Ground) -> None:
    sha = commit(ground.folder, {**GOOD, ".gitignore": "ignored\n"})
    hostile = (
        "git config core.worktree /tmp",
        "rm -rf .git",
        "printf '[filter \"x\"]\\n\\tsmudge = echo evil\\n' >> .git/config; echo '* filter=x' > .git/info/attributes; rm m.py",
        "for i in $(seq 60); do echo $i > f$i; done",
        "chmod 000 .; true",
        "git init -q inner; echo x > inner/f; mkdir -p a/b; ln -s /etc/passwd a/b/l; mkfifo pipe",
        "touch .git/index.lock; git update-index --assume-unchanged m.py; echo evil > m.py; echo x > ignored",
        "git checkout -q --orphan evil; git rm -qrf .; echo 'def test_x(): pass' > test_y.py",
    )
    async with ground.open(sha) as workspace:
        clean = (await workspace.run("ls -A")).stdout
        for command in hostile:
            await workspace.run(command)
            await workspace.revert()
            assert await workspace.changes() == (), command
            assert (await workspace.run("ls -A")).stdout == clean, command
            assert (await workspace.run_tests()).verdict is RunVerdict.PASS, command


@pytest.mark.anyio
async def test_a_src_project_counts_as_installed_without_running_its_set_up(ground: Ground) -> None:
    pyproject = """
[build-system]
requires = ["setuptools"]
build-backend = "evil"
backend-path = ["."]
[project]
name = "my-pkg"
version = "1.2.3"
dependencies = ["iniconfig"]
[project.scripts]
my-command = "my_pkg.cli:main"
"""
    test = """
import importlib.metadata, iniconfig, my_pkg, subprocess


def test_it():
    assert importlib.metadata.version("my-pkg") == "1.2.3"
    assert subprocess.check_output(["my-command"], text=True) == "hello\\n"
"""
    files = {
        "pyproject.toml": pyproject,
        "evil.py": "raise SystemExit('the build backend ran')\n",
        "src/my_pkg/__init__.py": "",
        "src/my_pkg/cli.py": "def main():\n    print('hello')\n",
        "tests/test_it.py": test,
    }
    async with ground.open(commit(ground.folder, dict(files))) as workspace:
        report = await workspace.run_tests()
        facts = await workspace.facts()
    assert report.verdict is RunVerdict.PASS, report.raw_output
    assert [
        entry.treatment for entry in facts.recipe.fidelity if entry.step == "install the project"
    ] == ["replaced"]


@pytest.mark.anyio
async def test_set_up_commands_run_with_the_checkout(ground: Ground) -> None:
    test = "def test_made():\n    import made_by_set_up\n"
    setup = (
        'echo "x = $(cat value)" > "$VIRTUAL_ENV/lib/python3.11/site-packages/made_by_set_up.py"'
    )
    sha = commit(ground.folder, {"test_m.py": test, "value": "42"})
    async with ground.open(sha, hints=JobHints(setup=(setup,)), tier=TrustTier.FORK) as workspace:
        report = await workspace.run_tests()
    assert report.verdict is RunVerdict.PASS, report.raw_output


@pytest.mark.parametrize(
    ("files", "hints", "error", "said"),
    [
        ({"m.py": "x"}, {}, SetupFailed, "nothing to run"),
        (
            {**GOOD, "requirements.txt": "no-such-package-zzz-0123456789==1\n"},
            {},
            SetupFailed,
            "could not install no-such-package",
        ),
        (GOOD, {"setup": ("echo no luck; exit 4",)}, SetupFailed, "echo no luck"),
    ],
)
@pytest.mark.anyio
async def test_an_environment_that_cannot_be_made_is_said(
    ground: Ground, files: dict[str, str], hints: dict[str, Any], error: type[Exception], said: str
) -> None:
    async with ground.open(
        commit(ground.folder, dict(files)), hints=JobHints(**hints)
    ) as workspace:
        with pytest.raises(error, match=said):
            await workspace.facts()
        with pytest.raises(error, match=said):  # asked again it fails again, and does not hang
            await workspace.list_files()


@pytest.mark.anyio
async def test_a_test_command_that_does_not_exist_is_no_verdict(ground: Ground) -> None:
    sha = commit(ground.folder, dict(GOOD))
    async with ground.open(sha, hints=JobHints(command="./no-such-script --all")) as workspace:
        report = await workspace.run_tests()
    assert not report.success
    assert report.exit_code == 127


@pytest.mark.anyio
async def test_a_python_the_image_does_not_have_is_replaced_and_told(ground: Ground) -> None:
    sha = commit(ground.folder, dict(GOOD))
    async with ground.open(sha, hints=JobHints(python="3.7")) as workspace:
        facts = await workspace.facts()
    assert ("Python 3.7", "replaced") in [
        (entry.step, entry.treatment) for entry in facts.recipe.fidelity
    ]


@pytest.mark.anyio
async def test_a_clone_that_fails_is_said(ground: Ground) -> None:
    async with ground.open("1" * 40) as workspace:
        with pytest.raises(ImportRejected):
            await workspace.run_tests()


@pytest.mark.anyio
async def test_two_missions_of_one_repository_fetch_and_set_up_once(ground: Ground) -> None:
    sha = commit(ground.folder, dict(GOOD))
    async with ground.open(sha) as one, ground.open(sha) as other:
        await asyncio.gather(one.facts(), other.facts())
        count = len(ground.server.requests)
    async with ground.open(sha) as third:
        assert (await third.facts()).warm
    assert len(ground.server.requests) == count


@pytest.mark.anyio
async def test_nothing_is_opened_before_the_first_use_and_everything_closed_after(
    tmp_path: Path,
) -> None:
    backend = ScriptedBackend()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    source = GitSource(url="https://example.org/r", sha="1" * 40, repository_id="r")
    async with sandboxes.open_workspace(Checkout(source=source)) as workspace:
        await workspace.revert()
    assert (backend.setups, backend.guests) == ([], [])
    assert not (tmp_path / "data").exists()


@pytest.mark.anyio
async def test_without_a_daemon_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    (tmp_path / "test_m.py").write_text("def test_x(): pass\n")
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")
    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(tmp_path)))
    ) as workspace:
        with pytest.raises(SandboxUnavailable, match="Docker does not respond"):
            await workspace.facts()
