"""What a set-up sandbox may add to the daemon's disk."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox.backends.docker_setup import Growth, watch_size, watched
from sandbox.errors import SandboxDied, SetupFailed

pytestmark = pytest.mark.anyio


class Daemon:
    """A daemon with one container that grows."""

    id = "1"

    def __init__(self, disk: str, *sizes: int) -> None:
        self.api = self
        self.disk = disk
        self.sizes = list(sizes)
        self.removed = False

    def info(self) -> dict[str, str]:
        return {"DockerRootDir": self.disk}

    def containers(self, **which: Any) -> list[dict[str, int]]:
        return [{"SizeRw": self.sizes.pop(0) if len(self.sizes) > 1 else self.sizes[0]}]

    def remove(self, **how: Any) -> None:
        self.removed = True


async def test_what_writes_too_much_is_ended(tmp_path: Path) -> None:
    daemon = Daemon(str(tmp_path), 0, 1 << 20, 3 << 20)
    assert await watch_size(daemon, daemon, 2 << 20, every_s=0.0) == "it wrote more than 2 MiB"  # type: ignore[arg-type]
    assert daemon.removed


async def test_files_without_content_are_counted(tmp_path: Path) -> None:
    growth = Growth(Daemon(str(tmp_path), 0), Daemon("", 0))  # type: ignore[arg-type]
    for number in range(40):
        (tmp_path / str(number)).touch()
    assert growth.excess(1, 1_000_000) is None
    if growth._files():  # some file systems do not count them
        assert growth.excess(1, 5) == "it created more than 5 files on Docker's disk"


async def test_a_disk_that_cannot_be_seen_is_not_judged() -> None:
    assert Growth(Daemon("/nowhere", 0), Daemon("", 0)).excess(1, 0) is None  # type: ignore[arg-type]


async def test_who_used_an_ended_sandbox_is_told_why(tmp_path: Path) -> None:
    daemon = Daemon(str(tmp_path), 9 << 20)
    with pytest.raises(SetupFailed, match="ended: it wrote more than 2 MiB"):
        async with watched(daemon, daemon, 2 << 20):  # type: ignore[arg-type]
            raise SandboxDied("The sandbox went away.")


async def test_any_other_failure_is_what_it_is(tmp_path: Path) -> None:
    daemon = Daemon(str(tmp_path), 0)
    with pytest.raises(SandboxDied):
        async with asyncio.timeout(120), watched(daemon, daemon, 2 << 20):  # type: ignore[arg-type]
            raise SandboxDied("The sandbox went away.")
