"""A hostile corpus inside the hardened sandbox: whatever it does, it stays inside, ends in time, and harms no next run."""

import io
import resource
import shutil
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox.backends import open_backend
from sandbox.backends.base import Backend, Guest
from sandbox.errors import ChangeRejected
from sandbox.judge import run_tests
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import RunVerdict, TestReport
from tests.attack_corpus import CORPORA, Attack, corpus, generate
from tests.patience import hang_after

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.shared, pytest.mark.slow]

ENVIRONMENT = "attack-corpus-1"
WALL_S = 8.0
"""Smaller than what the attacks allow themselves, so that the limits are what ends them."""

PATIENT_S = 120.0
MIB = 1 << 20


@pytest.fixture(scope="module", params=CORPORA)
def attacks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Attack]:
    """Every attack that is a repository whose tests are run; generated, never run, on the host."""
    return generate(corpus(request), tmp_path_factory.mktemp("corpus"), "sandbox")


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> Backend:
    return open_backend(
        SandboxSpec(
            memory_bytes=768 * MIB, work_bytes=256 * MIB, tmp_bytes=64 * MIB, pids=200, pool=0
        )
    )


@pytest.fixture(scope="module")
async def image(backend: Backend) -> str:
    """An environment with pytest in it."""
    found = await backend.find_environment(ENVIRONMENT)
    if found is not None:
        return found
    async with backend.open_setup(await backend.ensure_toolchain()) as setup:
        script = "uv venv --clear /opt/env && uv pip install pytest"
        done = await setup.run(("/bin/sh", "-c", script), limits=RunLimits(wall_s=300), cwd="/")
        assert done.ok, done.stderr
        return await backend.keep_environment(setup, ENVIRONMENT)


def packed(repository: Path) -> bytes:
    """A repository's files, without its history, as an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(
            repository,
            arcname=".",
            filter=lambda member: None if "/.git" in member.name else member,
        )
    return buffer.getvalue()


def most_of(attack: Attack) -> float:
    """What has to pass is given the time to, also on a busy machine."""
    return PATIENT_S if attack.expect.get("verdict_in") == ["PASS"] else WALL_S


async def attacked(guest: Guest, attack: Attack) -> tuple[TestReport, float]:
    """Have the attack's tests judged; gives the report and how long we waited."""
    await guest.unpack(packed(attack.folder / "repo"), guest.workdir)
    await guest.snap()
    limits = RunLimits(wall_s=min(float(attack.about.get("wall", PATIENT_S)), most_of(attack)))
    targets = [str(attack.about["target"])] if attack.about.get("target") else []
    started = time.monotonic()
    report = await run_tests(
        guest, "python -m pytest -q -x -s -p no:cacheprovider", limits=limits, targets=targets
    )
    return report, time.monotonic() - started


def misjudged(report: TestReport, expect: dict[str, Any]) -> list[str]:
    """In what the verdict is not as the case wants it."""
    verdict = report.verdict.name
    found = []
    if verdict in expect.get("verdict_not", ()) or report.success is not (
        report.verdict is RunVerdict.PASS
    ):
        found.append(f"the verdict is {verdict}: {report.summary}")
    if not expect.get("flaky") and verdict not in expect.get("verdict_in", [verdict]):
        found.append(f"the verdict is {verdict}: {report.summary} {report.raw_output[-800:]}")
    return found


async def problems(guest: Guest, report: TestReport, waited: float, attack: Attack) -> list[str]:
    """Everything in which the sandbox did not hold."""
    expect = attack.expect
    found = misjudged(report, expect)
    if waited > hang_after(min(expect.get("max_wall_s", 60), most_of(attack))):
        found.append(f"took {waited:.1f} s")
    if "ESCAPE:" in report.raw_output:
        found.append("escaped: " + report.raw_output[-500:])
    if len(report.raw_output) > expect.get("max_captured_mb", 2) * MIB:
        found.append("kept too much output")
    check = await guest.run(
        ("/bin/sh", "-c", "ls -d /proc/[0-9]* | wc -l; echo alive"), limits=RunLimits(wall_s=10)
    )
    count, _, alive = check.stdout.partition("\n")
    if alive != "alive\n" or int(count) > 4:  # us, the shell, ls and wc
        found.append(f"not as before afterwards: {check}")
    try:
        exported = await guest.export()
        if sum(len(edit.content) for edit in exported) > expect.get("export_max_mb", 16) * MIB:
            found.append("exported too much")
    except ChangeRejected:
        pass  # refusing is an answer
    return found


def memory_of_ours() -> int:
    """The most memory this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def markers() -> list[Path]:
    """What attacks leave when they run outside."""
    return list(Path("/tmp").glob("attack-marker*"))


async def test_every_attack_is_contained(
    backend: Backend, image: str, attacks: list[Attack]
) -> None:
    failed = []
    disk, memory = shutil.disk_usage("/").used, memory_of_ours()
    for attack in attacks:
        async with backend.open(image) as guest:
            report, waited = await attacked(guest, attack)
            found = await problems(guest, report, waited, attack)
        if found:
            failed.append(f"{attack.name} ({report.verdict}, {waited:.1f} s): {found}")
    assert not failed, "\n".join(failed)
    assert memory_of_ours() - memory < 96
    # Others write beside us; what an attack may fill, and leave behind, is gigabytes.
    assert (shutil.disk_usage("/").used - disk) >> 20 < 2_048, "the host's disk grew"
    assert not markers(), "something was executed on the host"


async def test_an_attack_does_not_reach_the_next_sandbox(backend: Backend, image: str) -> None:
    places = "/tmp/.seen /var/tmp/.seen /home/sandbox/.seen /dev/shm/.seen /work/.seen"
    async with backend.open(image) as first:
        await first.run(("/bin/sh", "-c", f"touch {places}"), limits=RunLimits(wall_s=10))
    async with backend.open(image) as second:
        result = await second.run(
            ("/bin/sh", "-c", f"ls {places} 2>/dev/null"), limits=RunLimits(wall_s=10)
        )
    assert result.stdout == ""


async def test_an_attack_on_the_supervisor_finds_every_door_closed(
    backend: Backend, image: str
) -> None:
    script = """
import ctypes, os, signal
bad = []
libc = ctypes.CDLL(None, use_errno=True)
for name in ("mem", "environ", "maps", "fd", "root", "cwd", "task/1/mem"):
    try:
        path = "/proc/1/" + name
        os.listdir(path) if name in ("fd", "root", "cwd") else os.close(os.open(path, os.O_RDONLY))
        bad.append(path)
    except OSError:
        pass
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD):
    os.kill(1, number)
if libc.ptrace(16, 1, 0, 0) == 0: bad.append("ptrace")
for fd in range(4, 64):
    try: os.fstat(fd); bad.append("descriptor %d" % fd)
    except OSError: pass
for path in ("/etc/x", "/opt/metaagent/guest/wire.py", "/opt/env/x", "/usr/local/bin/x", "/sys/fs/cgroup/x", "/proc/sys/kernel/core_pattern"):
    try: os.close(os.open(path, os.O_WRONLY | os.O_CREAT)); bad.append(path)
    except OSError: pass
print(bad)
"""
    async with backend.open(image) as guest:
        result = await guest.run((guest.python, "-c", script), limits=RunLimits(wall_s=10))
        assert result.stdout == "[]\n", result
        assert (await guest.run(("/bin/true",), limits=RunLimits(wall_s=10))).ok


async def test_an_attack_has_no_network_to_use(backend: Backend, image: str) -> None:
    script = "cat /proc/net/route /proc/net/ipv6_route; ls /sys/class/net; cat /etc/resolv.conf"
    async with backend.open(image) as guest:
        result = await guest.run(("/bin/sh", "-c", script), limits=RunLimits(wall_s=10))
        names = {line.split()[-1] for line in result.stdout.splitlines() if line.strip()}
        assert "eth0" not in result.stdout
        assert "lo" in names
