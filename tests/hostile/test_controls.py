"""The controls: where nothing protects, the shared corpus does what it is for. So no check of it is vacuous."""

import io
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.snapshot import Origin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import Recipe, TrustTier
from tests.attack_corpus import Attack, generate
from tests.hostile.test_forgeries import NAIVE

pytestmark = [pytest.mark.docker, pytest.mark.shared, pytest.mark.slow, pytest.mark.anyio]

PYTHON = "/opt/env/bin/python"
NEEDS_MORE = {"network", "socket"}
"""A container without a route and without a socket file of the host shows nothing to these."""


@pytest.fixture(scope="module")
async def image(docker_ready: None) -> str:
    recipe = Recipe(command="python -m pytest", requirements=("pytest",))
    backend = DockerBackend(SandboxSpec(pool=0))
    return (
        await Snapshotter(backend, SandboxSpec()).ensure(recipe, Origin(repository_id="tests", tier=TrustTier.LOCAL))
    ).image


@pytest.fixture(scope="module")
def attacks(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Attack]:
    return generate(shared, tmp_path_factory.mktemp("controls"), "sandbox")


@pytest.fixture
def client(docker_ready: None) -> Iterator[docker.DockerClient]:
    made = docker.from_env(timeout=120)
    made.api.headers["Connection"] = "close"
    yield made
    made.close()


def packed(attacks: list[Attack]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for attack in attacks:
            tar.add(
                attack.folder / "repo", arcname=f"weak/{attack.name}", filter=lambda m: None if "/.git" in m.name else m
            )
    return buffer.getvalue()


def weakly(client: docker.DockerClient, image: str, attacks: list[Attack], argv: list[str]) -> str:
    """What a command prints as root in a container with Docker's defaults and a secret in its environment."""
    container: Any = client.containers.create(
        image,
        entrypoint=["/bin/sh", "-c", 'sleep 100 & exec "$@"', "sh", *argv],
        user="0:0",
        network_mode="none",
        working_dir="/weak",
        environment={"GITHUB_TOKEN": "ghs_CANARYSECRET0123456789abcdefghijklmnop"},
        mem_limit="1g",
        pids_limit=512,
    )
    try:
        container.put_archive("/", packed(attacks))
        container.start()
        container.wait(timeout=110)
        return str(container.logs().decode("utf-8", "replace"))
    finally:
        container.remove(force=True, v=True)


def is_probe(attack: Attack) -> bool:
    words = set(re.findall(r"[a-z]+", str(attack.about["title"])))
    return bool(attack.expect.get("contained")) and words.isdisjoint(NEEDS_MORE | {"sockets"})


def is_forgery(attack: Attack) -> bool:
    expect = attack.expect
    return expect.get("verdict_not") == ["PASS"] and expect.get("max_wall_s", 99) <= 30 and "runs" not in attack.about


async def test_every_probe_finds_something_in_a_weak_container(
    client: docker.DockerClient, image: str, attacks: list[Attack]
) -> None:
    probes = [attack for attack in attacks if is_probe(attack)]
    assert len(probes) >= 4
    script = 'for d in */; do (cd $d; echo "CASE $d"; timeout 60 $0 -m pytest -q -s -p no:cacheprovider 2>&1 | grep ESCAPE: ); done'
    said = weakly(client, image, probes, ["/bin/sh", "-c", script, PYTHON])
    found = {part.split("/")[0]: part for part in said.split("CASE ")[1:]}
    silent = [attack.name for attack in probes if "ESCAPE:" not in found.get(attack.name, "")]
    assert silent == []


async def test_a_judge_of_exit_codes_believes_most_forgeries(
    client: docker.DockerClient, image: str, attacks: list[Attack]
) -> None:
    forgeries = [attack for attack in attacks if is_forgery(attack)]
    said = weakly(client, image, forgeries, [PYTHON, "-c", NAIVE, *(attack.name for attack in forgeries)])
    line = next(line for line in said.splitlines() if line.startswith("STATUS"))
    believed = [name for name, status in json.loads(line.removeprefix("STATUS")).items() if status == 0]
    assert len(believed) >= 8, said[-2000:]


def test_every_case_of_the_corpus_is_of_a_kind_that_some_test_runs(shared: Path, tmp_path: Path) -> None:
    """Kinds and where they run: a new kind, or a case that nothing can run here, is told and not passed over."""
    runs = {
        "sandbox": "tests/integration/test_attack_containment.py",
        "patch": "tests/unit/sandbox/test_attack_patches.py",
        "text": "tests/unit/sandbox/test_attack_texts.py",
        "hostgit": "tests/integration/test_attack_import.py",
        "setup": "tests/integration/test_attack_setup.py",
    }
    found = generate(shared, tmp_path, *runs)
    listed = {path.name for path in tmp_path.iterdir()}
    assert {attack.name for attack in found} == listed
    assert {str(attack.about["kind"]) for attack in found} == set(runs)
    # Scripts of npm: the toolchain image has no npm, so such a repository is set up without it; the test says so.
    npm = [attack.name for attack in found if attack.read("package.json") is not None]
    print(f"cases that only npm would run (no npm in the toolchain; set up, never run): {npm or 'none here'}")  # noqa: T201
