"""Programs that use up everything leave a sandbox that goes on at once; programs that look for a way out find none."""

import json
import time
from collections.abc import Iterator
from typing import Any

import docker
import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.isolation import find_excess_privileges
from sandbox.spec import RunLimits, SandboxSpec
from tests.hostile.burdens import BURDENS, GUARD, PROBE

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

MIB = 1 << 20
WALL_S = 2.0
SLACK_S = 25.0
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> DockerBackend:
    spec = SandboxSpec(
        memory_bytes=384 * MIB,
        work_bytes=64 * MIB,
        tmp_bytes=48 * MIB,
        shm_bytes=16 * MIB,
        pids=128,
        pool=0,
    )
    return DockerBackend(spec)


@pytest.fixture
def client(docker_ready: None) -> Iterator[docker.DockerClient]:
    made = docker.from_env(timeout=120)
    made.api.headers["Connection"] = "close"
    yield made
    made.close()


async def wrong_with(guest: Guest, program: str) -> list[str]:
    """In what the sandbox did not hold while a program ran, and afterwards."""
    started = time.monotonic()
    result = await guest.run((PYTHON, "-c", GUARD + program), limits=RunLimits(wall_s=WALL_S))
    found = []
    if time.monotonic() - started > WALL_S + SLACK_S:
        found.append(f"took {time.monotonic() - started:.1f} s")
    if len(result.stdout) + len(result.stderr) > 2 * MIB:
        found.append("kept too much output")
    after = await guest.run(
        ("/bin/sh", "-c", "ls -d /proc/[0-9]* | wc -l"), limits=RunLimits(wall_s=10), cwd="/"
    )
    if not after.stdout.strip().isdigit() or int(after.stdout) > 4:
        found.append(f"not as before afterwards: {after}")
    # What it left in memory file systems is not the next program's burden here; a run of its own has its own sandbox.
    sweep = "chmod -R u+rwx /work 2> /dev/null; rm -rf /tmp/* /dev/shm/* /work/repo /work/x; mkdir -p /work/repo"
    await guest.run(("/bin/sh", "-c", sweep), limits=RunLimits(wall_s=30), cwd="/")
    return found


async def test_no_burden_ends_the_sandbox_or_outlives_its_command(backend: DockerBackend) -> None:
    wrong = {}
    async with backend.open(await backend.ensure_toolchain()) as guest:
        for name, program in BURDENS.items():
            found = await wrong_with(guest, program)
            if found:
                wrong[name] = found
    assert wrong == {}
    assert len(BURDENS) >= 35


async def test_a_probe_of_everything_finds_nothing(backend: DockerBackend) -> None:
    async with backend.open(await backend.ensure_toolchain()) as guest:
        result = await guest.run((PYTHON, "-c", PROBE), limits=RunLimits(wall_s=60))
    assert result.stdout.strip() == "FINDINGS []", result


async def test_the_probe_finds_much_in_a_weak_container(
    backend: DockerBackend, client: docker.DockerClient
) -> None:
    """The control."""
    image = await backend.ensure_toolchain()
    container: Any = client.containers.create(
        image, entrypoint=[PYTHON, "-c", PROBE], user="0:0", environment={"API_TOKEN": "x"}
    )
    try:
        container.start()
        container.wait(timeout=60)
        said = container.logs().decode("utf-8", "replace")
    finally:
        container.remove(force=True, v=True)
    assert said.count("'") >= 2 * 15, said


async def test_the_doctors_probe_finds_nothing_and_much_in_a_weak_container(
    backend: DockerBackend, client: docker.DockerClient
) -> None:
    assert await find_excess_privileges(backend) == ()
    image = await backend.ensure_toolchain()
    program = f"{GUEST_DIR}/probe.py"
    container: Any = client.containers.create(image, entrypoint=[PYTHON, program], user="0:0")
    try:
        container.start()
        container.wait(timeout=60)
        said = json.loads(container.logs())
    finally:
        container.remove(force=True, v=True)
    assert {
        "runs as root",
        "is traced",
        "opens raw sockets",
        "reads /proc/1/mem",
        "writes /etc/passwd",
    } <= set(said)
