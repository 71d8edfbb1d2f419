"""The docker backend on a real daemon: hardening, start-up, environments, and what is left behind."""

import asyncio
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.docker_hardening import LABEL, OWNER_LABEL, connect, lacks_ipv6
from sandbox.backends.docker_images import Images
from sandbox.backends.guest_tree import GuestTree
from sandbox.backends.owners import owner
from sandbox.errors import SandboxDied, SandboxError, SandboxUnavailable, SetupFailed
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import USUAL
from tests.patience import HANG_S

pytestmark = [pytest.mark.anyio, pytest.mark.docker]

QUICK = RunLimits(wall_s=20.0)
MIB = 1 << 20


@pytest.fixture(scope="module")
def backend(docker_ready: None, tmp_path_factory: pytest.TempPathFactory) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture(scope="module")
async def image(backend: DockerBackend) -> str:
    return await backend.ensure_toolchain()


def ours(phase: str) -> list[Any]:
    """Containers made by this very process."""
    client = connect()
    found = client.containers.list(
        all=True, filters={"label": f"{LABEL}={phase}"}, ignore_removed=True
    )
    client.close()
    return [container for container in found if container.labels.get(OWNER_LABEL) == owner()]


async def until_gone(phase: str) -> None:
    """The daemon removes what has ended, a moment later."""
    end = time.monotonic() + HANG_S
    while ours(phase):
        assert time.monotonic() < end, "a sandbox was left behind"
        await asyncio.sleep(0.1)


async def test_a_running_sandbox_is_what_the_specification_says(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open(image):
        (container,) = ours("mission")
        assert SandboxSpec().check(container.attrs) == []
        assert SandboxSpec(memory_bytes=4096 * MIB).check(container.attrs)


NAMES = """
import socket
with socket.socket(socket.AF_INET6) as one:
    one.bind(("::1", 0))
print(socket.gethostbyname(socket.gethostname()))
try:
    socket.getaddrinfo("no-such-host.invalid", 80)
except socket.gaierror as error:
    print("unknown" if error.errno == socket.EAI_NONAME else error)
"""


async def test_names_and_the_loopback_answer_as_on_a_ci_machine(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open(image) as guest:
        done = await guest.run(("python3", "-c", NAMES), limits=QUICK)
    assert done.stdout.split() == ["127.0.1.1", "unknown"], done


async def test_a_kernel_without_ipv6_is_recognised(docker_ready: None, image: str) -> None:
    client = connect()
    missing = {"net.ipv6.conf.missing0.disable_ipv6": "0"}
    container = client.containers.create(
        image,
        ["/bin/true"],
        network_mode="none",
        sysctls=missing,
        labels={LABEL: "x", OWNER_LABEL: owner()},
    )
    with pytest.raises(APIError) as caught:
        container.start()
    container.remove(force=True)
    client.close()
    assert lacks_ipv6(caught.value)


async def test_a_sandbox_is_gone_after_its_end(backend: DockerBackend, image: str) -> None:
    async with backend.open(image):
        assert len(ours("mission")) == 1
    await until_gone("mission")


async def test_a_sandbox_that_is_removed_from_outside_is_reported_as_died(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open(image) as guest:
        running = asyncio.ensure_future(guest.run(("/bin/sleep", "20"), limits=QUICK))
        await asyncio.sleep(0.3)
        (container,) = ours("mission")
        container.remove(force=True)
        with pytest.raises(SandboxDied):
            await running
        with pytest.raises(SandboxDied):
            await guest.list_files()


async def test_a_sandbox_ends_by_itself_when_its_owner_is_killed(
    backend: DockerBackend, image: str
) -> None:
    script = f"""
        import asyncio, os, signal
        from sandbox.backends.docker_container import DockerBackend
        from sandbox.spec import RunLimits, SandboxSpec

        async def main():
            async with DockerBackend(SandboxSpec(pool=0)).open({image!r}) as guest:
                asyncio.ensure_future(guest.run(("/bin/sleep", "60"), limits=RunLimits()))
                await asyncio.sleep(0.5)
                from sandbox.backends.owners import owner
                print(owner(), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    label = done.stdout.strip()
    assert label, done.stderr
    client = connect()
    end = time.monotonic() + HANG_S
    while client.containers.list(filters={"label": f"{OWNER_LABEL}={label}"}, ignore_removed=True):
        assert time.monotonic() < end, "the sandbox outlived its owner"
        await asyncio.sleep(0.1)
    client.close()


async def test_the_sweep_removes_what_a_dead_owner_left_and_nothing_else(
    backend: DockerBackend, image: str
) -> None:
    client = connect()
    dead = f"{owner().rpartition('/')[0].rpartition('/')[0]}/{2**22 - 1}/1"
    left = client.containers.create(
        image, ["/bin/true"], network_mode="none", labels={LABEL: "mission", OWNER_LABEL: dead}
    )
    mine = client.containers.create(
        image, ["/bin/true"], network_mode="none", labels={LABEL: "x", OWNER_LABEL: owner()}
    )
    foreign = {LABEL: "x", OWNER_LABEL: f"elsewhere/1/{2**22 - 1}/1"}
    other = client.containers.create(image, ["/bin/true"], network_mode="none", labels=foreign)
    try:
        backend.sweep()
        names = {
            container.id for container in client.containers.list(all=True, ignore_removed=True)
        }
        assert left.id not in names
        assert {mine.id, other.id} <= names
    finally:
        mine.remove()
        other.remove()
        client.close()


async def test_a_container_that_somebody_else_starts_from_our_image_is_never_swept(
    backend: DockerBackend, image: str
) -> None:
    client = connect()
    service = client.containers.create(image, ["/bin/true"], network_mode="none")
    try:
        assert service.labels[OWNER_LABEL] == ""
        backend.sweep()
        assert service.id in {
            one.id for one in client.containers.list(all=True, ignore_removed=True)
        }
    finally:
        service.remove()
        client.close()


async def test_a_sandbox_waits_for_the_next_opening_and_is_removed_at_the_end(image: str) -> None:
    backend = DockerBackend(SandboxSpec(pool=1))
    async with backend.open(image):
        pass
    end = time.monotonic() + HANG_S
    while [container.status for container in ours("mission")] != ["running"]:
        assert time.monotonic() < end, "no sandbox was started in advance"
        await asyncio.sleep(0.1)
    async with backend.open(image) as guest:
        assert (await guest.run(("/bin/true",), limits=QUICK)).ok
    await backend.close()
    await until_gone("mission")


async def test_a_waiting_sandbox_serves_checkouts_of_its_name_only(image: str) -> None:
    backend, named = DockerBackend(SandboxSpec(pool=1)), USUAL.named("shop")
    await backend._pool.fill((image, named), 1)
    for surroundings in (USUAL, named):
        async with backend.open(image, surroundings=surroundings) as guest:
            done = await guest.run(("/bin/pwd",), limits=QUICK)
        assert done.stdout.strip() == surroundings.workdir
    await backend.close()
    await until_gone("mission")


async def test_a_flood_of_output_costs_us_no_memory(backend: DockerBackend, image: str) -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with backend.open(image) as guest:
        limits = RunLimits(wall_s=30, kill_output_bytes=512 * MIB)
        result = await guest.run(("/bin/sh", "-c", "head -c 400000000 /dev/zero"), limits=limits)
    assert result.ok
    assert len(result.stdout) <= 300 * 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < 32


async def test_memory_over_the_limit_is_told_and_the_sandbox_lives(
    backend: DockerBackend, image: str
) -> None:
    small = DockerBackend(
        SandboxSpec(
            memory_bytes=256 * MIB,
            work_bytes=64 * MIB,
            tmp_bytes=16 * MIB,
            home_bytes=16 * MIB,
            shm_bytes=16 * MIB,
            pool=0,
        )
    )
    async with small.open(image) as guest:
        result = await guest.run(("/usr/bin/python3", "-c", "x = bytearray(1 << 30)"), limits=QUICK)
        assert result.oom_kills >= 1
        assert result.exit_code is None
        assert (await guest.run(("/bin/true",), limits=QUICK)).ok


async def test_ten_megabytes_are_unpacked_quickly(backend: DockerBackend, image: str) -> None:
    import io
    import os
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number in range(800):
            member = tarfile.TarInfo(f"d{number % 20}/f{number}.bin")
            member.size = 13_000
            tar.addfile(member, io.BytesIO(os.urandom(13_000)))
    async with backend.open(image) as guest:
        started = time.perf_counter()
        await guest.unpack(buffer.getvalue(), guest.workdir)
        assert time.perf_counter() - started < HANG_S
        assert await guest.snap() == 800


async def test_an_environment_is_kept_and_found_with_nothing_of_the_set_up(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    key = "integration-kept"
    async with backend.open_setup(image) as setup:
        script = "mkdir -p /opt/env/bin ~/.cache; ln -s /usr/bin/python3 /opt/env/bin/python; echo secret > ~/.cache/x; env"
        done = await setup.run(
            ("/bin/sh", "-c", script), limits=QUICK, env={"TOKEN": "not-to-be-kept"}
        )
        assert done.ok
        assert "SSL_CERT_FILE" in done.stdout
        reference = await backend.keep_environment(setup, key)
    client = connect()
    try:
        assert await backend.find_environment(key) == reference
        assert (await backend.digest(reference)).startswith("sha256:")
        config = client.api.inspect_image(reference)["Config"]  # type: ignore[no-untyped-call]
        assert "not-to-be-kept" not in str(config)
        assert not config.get("Env")
        assert not config.get("Volumes")
        async with backend.open(reference) as guest:
            assert guest.python == "/opt/env/bin/python"
            script = "ls -A /home/sandbox /tmp /var/tmp; touch /opt/env/x"
            result = await guest.run(("/bin/sh", "-c", script), limits=QUICK)
            assert "Read-only" in result.stderr
            assert "cache" not in result.stdout
            assert ".pem" not in result.stdout
        newer = GuestTree(files={**GuestTree.installed().files, "new.py": b'"""New."""\n'})
        images = Images(client, SandboxSpec(), newer, tmp_path)
        derived = images.environment(key)
        assert derived not in {None, reference}
        async with backend.open(str(derived)) as guest:
            assert (
                await guest.run(("/bin/cat", f"{guest.guest_dir}/new.py"), limits=QUICK)
            ).stdout == '"""New."""\n'
        client.images.remove(str(derived), force=True)
    finally:
        client.images.remove(reference, force=True)
        client.close()
    assert await backend.find_environment(key) is None


async def test_only_an_open_set_up_can_be_kept(backend: DockerBackend, image: str) -> None:
    async with backend.open(image) as guest:
        with pytest.raises(SandboxError, match="set-up"):
            await backend.keep_environment(guest, "never")


async def test_a_set_up_that_grows_too_large_is_ended_and_says_so(
    backend: DockerBackend, image: str
) -> None:
    small = DockerBackend(SandboxSpec(setup_bytes=32 * MIB, pool=0))
    with pytest.raises(SetupFailed, match="it wrote more than 32 MiB"):
        async with small.open_setup(image) as setup:
            await setup.run(
                ("/bin/sh", "-c", "head -c 90000000 /dev/zero > /opt/env/big; sleep 30"),
                limits=QUICK,
            )


async def test_a_daemon_that_does_not_answer_is_the_operators_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(SandboxUnavailable, match="does not respond") as caught:
        await DockerBackend(SandboxSpec()).ensure_toolchain()
    assert "--sandbox-backend local" in caught.value.advice


async def test_an_image_that_cannot_be_pulled_is_the_operators_matter(docker_ready: None) -> None:
    spec = SandboxSpec(image="localhost:1/nothing/here:1")
    with pytest.raises(SandboxUnavailable, match="localhost:1/nothing/here"):
        await DockerBackend(spec).ensure_toolchain()


async def test_a_runtime_that_is_required_and_missing_is_refused(backend: DockerBackend) -> None:
    client = connect()
    has = "runsc" in (client.info().get("Runtimes") or {})
    client.close()
    if has:
        pytest.skip("this daemon has gVisor")
    with pytest.raises(SandboxUnavailable, match="gVisor"):
        await DockerBackend(SandboxSpec(runtime="require")).ensure_toolchain()
