"""The controls: where nothing protects, a corpus does what it is for. So no check of it is vacuous."""

import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import PythonPart, Recipe, TrustTier
from tests.attack_corpus import CORPORA, Attack, corpus, generate, kinds

pytestmark = [pytest.mark.docker, pytest.mark.shared, pytest.mark.slow, pytest.mark.anyio]

PYTHON = "/opt/env/bin/python"
WALL_S = 40
"""For the tests of one case, in seconds."""

NEEDS_MORE = {"network", "socket"}
"""A container without a route and without a socket file of the host shows nothing to these."""


@pytest.fixture(scope="module")
async def image(docker_ready: None) -> str:
    recipe = Recipe(command="python -m pytest", parts=(PythonPart(requirements=("pytest",)),))
    backend = DockerBackend(SandboxSpec(pool=0))
    return (
        await Snapshotter(backend, SandboxSpec()).ensure(
            recipe, EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL)
        )
    ).image


@pytest.fixture(scope="module", params=CORPORA)
def attacks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Attack]:
    return generate(corpus(request), tmp_path_factory.mktemp("controls"), "sandbox")


@pytest.fixture
def client(docker_ready: None) -> Iterator[docker.DockerClient]:
    made = docker.from_env(timeout=120)
    made.api.headers["Connection"] = "close"
    yield made
    made.close()


def packed(attack: Attack) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(
            attack.folder / "repo",
            arcname="weak",
            filter=lambda m: None if "/.git" in m.name else m,
        )
    return buffer.getvalue()


def weakly(
    client: docker.DockerClient, image: str, attack: Attack, *, printing: bool = False
) -> tuple[int, str]:
    """Run a case's tests as root in a container with Docker's defaults and a secret in its environment.

    Each case has a container of its own: one that overwrites the runner would speak for all after it.

    Args:
        client: Docker.
        image: Holds pytest.
        attack: The case.
        printing: Show what the tests print, also when they leave without flushing.

    Returns:
        The exit status of pytest, and what was printed.
    """
    options = ["-u", "-m", "pytest", "-s"] if printing else ["-m", "pytest"]
    argv = [PYTHON, *options, "-q", "-p", "no:cacheprovider"]
    container: Any = client.containers.create(
        image,
        entrypoint=[
            "/bin/sh",
            "-c",
            f'sleep {WALL_S + 10} & exec timeout {WALL_S} "$@"',
            "sh",
            *argv,
        ],
        user="0:0",
        network_mode="none",
        working_dir="/weak",
        environment={"GITHUB_TOKEN": "ghs_CANARYSECRET0123456789abcdefghijklmnop"},
        mem_limit="1g",
        pids_limit=512,
    )
    try:
        container.put_archive("/", packed(attack))
        container.start()
        status = container.wait(timeout=WALL_S + 60)["StatusCode"]
        return status, str(container.logs().decode("utf-8", "replace"))
    finally:
        container.remove(force=True, v=True)


def is_probe(attack: Attack) -> bool:
    words = set(re.findall(r"[a-z]+", str(attack.about["title"])))
    return bool(attack.expect.get("contained")) and words.isdisjoint(NEEDS_MORE | {"sockets"})


def is_forgery(attack: Attack) -> bool:
    expect = attack.expect
    return (
        expect.get("verdict_not") == ["PASS"]
        and expect.get("max_wall_s", 99) <= 30
        and attack.runs == 1
    )


async def test_every_probe_finds_something_in_a_weak_container(
    client: docker.DockerClient, image: str, attacks: list[Attack]
) -> None:
    said = {
        attack.name: weakly(client, image, attack, printing=True)
        for attack in attacks
        if is_probe(attack)
    }
    assert [name for name, (_, printed) in said.items() if "ESCAPE:" not in printed] == []


async def test_a_judge_of_exit_codes_believes_forgeries(
    client: docker.DockerClient, image: str, attacks: list[Attack]
) -> None:
    statuses = {
        attack.name: weakly(client, image, attack)[0] for attack in attacks if is_forgery(attack)
    }
    assert 0 in statuses.values(), statuses


@pytest.mark.parametrize("folder", CORPORA, indirect=True)
def test_every_case_of_a_corpus_is_of_a_kind_that_some_test_runs(folder: Path) -> None:
    """A new kind is reported and not passed over."""
    runs = {
        "sandbox": "integration/test_attack_containment.py",
        "patch": "unit/sandbox/test_attack_patches.py",
        "text": "unit/sandbox/test_attack_texts.py",
        "hostgit": "integration/test_attack_import.py",
        "setup": "integration/test_attack_setup.py",
    }
    assert {name: kind for name, kind in kinds(folder).items() if kind not in runs} == {}
    for kind, test in runs.items():
        assert f'"{kind}"' in (Path(__file__).parents[1] / test).read_text()


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    return corpus(request)
