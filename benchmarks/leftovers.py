"""What processes of ours left on this host: containers, volumes, images without a name, folders, sockets, processes."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.measure import run
from sandbox.backends.docker_hardening import LABEL, OWNER_LABEL

MARKER = "METAAGENT_SOAK"
"""A variable in the environment of every process that was started for the soak, and of its children."""


def containers(pids: Iterable[int]) -> list[str]:
    """Containers made by these processes, running or not."""
    made_by = {str(pid) for pid in pids}
    found = run(
        "docker",
        "ps",
        "--all",
        "--no-trunc",
        "--filter",
        f"label={LABEL}",
        "--format",
        "{{json .}}",
    )
    lines = [json.loads(line) for line in found.splitlines()]
    return [
        f"{line['ID'][:12]} {line['Status']}"
        for line in lines
        for label in line["Labels"].split(",")
        if label.startswith(f"{OWNER_LABEL}=") and _pid_in(label) in made_by
    ]


def _pid_in(label: str) -> str:
    parts = label.split("/")
    return parts[-2] if len(parts) > 1 else ""


def volumes() -> set[str]:
    """Every volume without a name of its own, as Docker makes them for containers; nobody here names one."""
    names = run("docker", "volume", "ls", "--quiet").split()
    return {name for name in names if re.fullmatch("[0-9a-f]{64}", name)}


def nameless_images() -> set[str]:
    """Images without a name, which nobody will ever ask for."""
    return set(
        run("docker", "images", "--filter", "dangling=true", "--quiet", "--no-trunc").split()
    )


def processes(marker: str) -> list[str]:
    """Processes that carry the marker of a soak."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                command = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
                found.append(f"{entry.name} {command[:120]}")
        except OSError:
            continue
    return found


def files(*folders: Path) -> list[str]:
    """What stands in folders that ought to be empty, and sockets anywhere below them."""
    found = []
    for folder in folders:
        found += [str(path.relative_to(folder.parent)) for path in sorted(folder.glob("*"))]
        found += [
            str(path.relative_to(folder.parent)) for path in folder.rglob("*") if path.is_socket()
        ]
    return sorted(set(found))


def unfinished(data: Path) -> list[str]:
    """Imports and bundles that were begun and not ended."""
    patterns = ("imports/fetching-*", "evidence/.writing-*")
    return [str(path.relative_to(data)) for pattern in patterns for path in data.glob(pattern)]
