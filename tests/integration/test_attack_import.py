"""Hostile repositories met by git on the host: every case of a corpus whose form says so."""

import time
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import ImportRejected
from sandbox.importer import ImportedRepository, Importer
from sandbox.spec import SandboxSpec
from sandbox.types import GitSource
from tests.attack_corpus import CORPORA, Attack, corpus, generate
from tests.integration.git_http import git, serve_git
from tests.patience import hang_after

pytestmark = [pytest.mark.shared, pytest.mark.slow]


@pytest.fixture(scope="module", params=CORPORA)
def cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Attack]:
    """The cases for git on the host, found by their form."""
    return generate(corpus(request), tmp_path_factory.mktemp("corpus"), "hostgit")


def markers() -> set[str]:
    """What a payload leaves behind on the host."""
    return {str(path) for path in Path("/tmp").glob("attack-marker*")}


def disk_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / (1 << 20)


async def attack(case: Attack, imports: Path) -> tuple[ImportedRepository | ImportRejected, float]:
    """Import the case's main branch; returns what came of it and how long it took."""
    sha = git(case.folder / "repo", "rev-parse", "refs/heads/main")
    started = time.perf_counter()
    with serve_git(case.folder) as server:
        source = GitSource(url=f"{server.url}/repo/.git", sha=sha, repository_id=case.name)
        try:
            found: ImportedRepository | ImportRejected = await Importer(
                imports, SandboxSpec()
            ).fetch(source)
        except ImportRejected as error:
            found = error
    return found, time.perf_counter() - started


def failures(
    expect: dict[str, Any], found: ImportedRepository | ImportRejected, imports: Path
) -> list[str]:
    """What is not as the case expects."""
    wrong = []
    if expect.get("import_rejected") and not isinstance(found, ImportRejected):
        wrong.append("it was taken in")
    if isinstance(found, ImportedRepository):
        missing = set(expect.get("files_present", ())) - set(found.files)
        wrong += [f"{name} is missing" for name in missing]
        contents = found.read(file.oid for file in found.files.values())
        if expect.get("no_outside_read") and any(
            b"root:" in content for content in contents.values()
        ):
            wrong.append("a file of the host was read")
    if disk_mb(imports) > expect.get("host_disk_mb", 1000):
        wrong.append("it fills the disk")
    return wrong


@pytest.mark.anyio
async def test_every_attack_on_git_of_the_host_is_harmless(
    cases: list[Attack], tmp_path: Path
) -> None:
    before, wrong = markers(), []
    for case in cases:
        imports = tmp_path / case.name
        imports.mkdir()
        found, seconds = await attack(case, imports)
        problems = failures(case.expect, found, imports)
        if markers() - before:
            problems.append(f"it left {markers() - before}")
        if seconds > hang_after(case.expect.get("max_wall_s", 30)):
            problems.append(f"it took {seconds:.1f} s")
        wrong += [f"{case.name}: {problem}" for problem in problems]
    assert wrong == []


@pytest.mark.anyio
async def test_links_of_an_attack_stay_links(cases: list[Attack], tmp_path: Path) -> None:
    """A link is no regular file: nothing that reads files of the checkout follows it."""
    for case in cases:
        found, _ = await attack(case, tmp_path / case.name)
        if isinstance(found, ImportedRepository):
            assert all(file.mode in {"100644", "100755"} for file in found.files.values())
            links = {path.name for path in (case.folder / "repo").rglob("*") if path.is_symlink()}
            assert not links or "symbolic links" in found.notes, case.name
