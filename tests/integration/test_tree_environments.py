"""What set-up commands of one tree made is never the ground of a verdict on another tree. On a real daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.docker_hardening import connect
from sandbox.spec import SandboxSpec
from sandbox.types import (
    ChangeAction,
    Checkout,
    FileChange,
    FolderSource,
    GitSource,
    JobHints,
    RunVerdict,
    TrustTier,
    WorkspaceFacts,
)
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.integration.git_http import GitServer, commit, serve_git

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

SITE = "$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')"
HINTS = JobHints(command="python -m pytest -q", setup=("sh deps.sh",))
PLANTED = f"echo 'import sys; sys.planted = True' > \"{SITE}/planted.pth\"\n"
ASK = "import sys, rates; print(rates.RATE, getattr(sys, 'planted', False))"


def deps(rate: int) -> str:
    return f'set -e\necho "RATE = {rate}" > "{SITE}/rates.py"\n'


PROJECT = {
    "deps.sh": deps(1),
    "m.py": "def double(x):\n    return 2 * x\n",
    "test_m.py": "from m import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
}
BROKEN = {"m.py": "def double(x):\n    return 3 * x\n"}


class World:
    """A served repository, workspaces on its commits, and the environments that they make."""

    def __init__(self, server: GitServer, backend: DockerBackend, data: Path) -> None:
        self.folder = server.root / "r"
        self._url = f"{server.url}/r/.git"
        self.sandboxes = Sandboxes(SandboxSpec(), backend, data)
        self.images: list[str] = []

    @asynccontextmanager
    async def open(
        self, sha: str, fork: str | None = None, **more: Any
    ) -> AsyncIterator[SandboxWorkspace]:
        """A workspace on a commit of the repository, or of one of its forks: GitHub serves both from one place."""
        source = GitSource(
            url=self._url,
            sha=sha,
            base_sha=more.pop("base_sha", None),
            repository_id=str(self.folder),
        )
        tier = TrustTier.BRANCH if fork is None else TrustTier.FORK
        checkout = Checkout(source=source, tier=tier, head_repository_id=fork, hints=HINTS, **more)
        async with self.on(checkout) as workspace:
            yield workspace

    @asynccontextmanager
    async def on(self, checkout: Checkout) -> AsyncIterator[SandboxWorkspace]:
        async with self.sandboxes.open_workspace(checkout) as workspace:
            self.images.append((await workspace.facts()).image)
            yield workspace

    async def ask(
        self, sha: str, fork: str | None = None, **more: Any
    ) -> tuple[str, WorkspaceFacts]:
        """Say what the environment of a commit holds."""
        async with self.open(sha, fork, **more) as workspace:
            said = await workspace.run(f'python -c "{ASK}"')
            assert said.ok, said.stderr
            return said.stdout.strip(), await workspace.facts()


@pytest.fixture
async def world(docker_ready: None, tmp_path: Path) -> AsyncIterator[World]:
    (tmp_path / "served").mkdir()
    # With sandboxes that wait: one that was started for another tree must not be handed out.
    backend = DockerBackend(SandboxSpec(pool=1))
    with serve_git(tmp_path / "served") as server:
        made = World(server, backend, tmp_path / "data")
        yield made
        await made.sandboxes.close()
    client = connect()
    for image in set(made.images):
        client.images.remove(image, force=True)
    client.close()


async def test_no_fork_sees_what_another_planted(world: World) -> None:
    base = commit(world.folder, dict(PROJECT))
    planted = commit(world.folder, {"deps.sh": PROJECT["deps.sh"] + PLANTED})
    honest = commit(world.folder, {"deps.sh": PROJECT["deps.sh"], **BROKEN})
    assert (await world.ask(planted, "mallory", base_sha=base))[0] == "1 True"
    said, facts = await world.ask(honest, "bob", base_sha=base)
    assert (said, facts.warm) == ("1 False", False)
    # The base commit, which says whether the change broke anything, is set up by itself too.
    assert (await world.ask(planted, "mallory", base_sha=base, revision="base"))[0] == "1 False"
    # Nor does a fork get what another set up from the very same commit.
    assert not (await world.ask(honest, "mallory", base_sha=base))[1].warm
    again, facts = await world.ask(honest, "bob", base_sha=base)
    assert (again, facts.warm) == ("1 False", True)


async def test_each_commit_of_a_branch_is_judged_with_its_own_set_up(world: World) -> None:
    commits = [commit(world.folder, {**PROJECT, "deps.sh": deps(rate)}) for rate in (1, 2)]
    seen = [await world.ask(sha) for sha in commits]
    assert [said for said, _ in seen] == ["1 False", "2 False"]
    assert (await world.ask(commits[1], revision="base"))[0] == "1 False"


async def test_a_fix_is_verified_in_the_environment_of_the_failing_commit(world: World) -> None:
    commit(world.folder, dict(PROJECT))
    red = commit(world.folder, dict(BROKEN))
    async with world.open(red) as first:
        assert (await first.run_tests()).verdict is RunVerdict.FAIL
        key = (await first.facts()).environment_key
    async with world.open(red) as fresh:
        change = FileChange(action=ChangeAction.REPLACE, path="m.py", content=PROJECT["m.py"])
        also = FileChange(action=ChangeAction.REPLACE, path="deps.sh", content=deps(5))
        await fresh.apply_changes((change, also))
        assert (await fresh.run_tests()).verdict is RunVerdict.PASS
        facts = await fresh.facts()
        assert (facts.warm, facts.environment_key) == (True, key)
        # What a fix changes in the set-up's files does not count before it is a commit.
        assert (await fresh.run(f'python -c "{ASK}"')).stdout.strip() == "1 False"


async def test_local_changes_of_a_folder_are_set_up_by_themselves(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    source = FolderSource(path=str(folder), repository_id=str(folder))
    seen = []
    for rate in (1, 2, 2):
        for name, text in {**PROJECT, "deps.sh": deps(rate)}.items():
            (folder / name).write_text(text)
        async with world.on(
            Checkout(source=source, tier=TrustTier.LOCAL, hints=HINTS)
        ) as workspace:
            said = await workspace.run(f'python -c "{ASK}"')
            seen.append((said.stdout.strip(), (await workspace.facts()).warm))
    assert seen == [("1 False", False), ("2 False", False), ("2 False", True)]


async def test_without_set_up_commands_all_trees_share_one_environment(world: World) -> None:
    commits = [commit(world.folder, {**PROJECT, "note.txt": str(number)}) for number in range(2)]
    keys = set()
    for sha, fork in zip(commits, ("mallory", "bob"), strict=True):
        source = GitSource(url=world._url, sha=sha, repository_id=str(world.folder))
        hints = JobHints(command=HINTS.command)
        checkout = Checkout(
            source=source, tier=TrustTier.FORK, head_repository_id=fork, hints=hints
        )
        async with world.sandboxes.open_workspace(checkout) as workspace:
            keys.add((await workspace.facts()).environment_key)
    assert len(keys) == 1
