"""How a container is made: the specification as arguments of the docker SDK."""

import os
import socket
from pathlib import Path
from typing import Any, Literal

import docker
from docker.errors import DockerException
from docker.types import LogConfig, Ulimit

from sandbox.errors import SandboxUnavailable
from sandbox.spec import MIB, SANDBOX_UID, SandboxSpec

Phase = Literal["setup", "mission"]

LABEL = "metaagent"
OWNER_LABEL = "metaagent.owner"
ADVICE = "Start it, or choose --sandbox-backend local."
USER = f"{SANDBOX_UID}:{SANDBOX_UID}"


def runtime(spec: SandboxSpec, known: frozenset[str]) -> str | None:
    """The container runtime to ask for; None takes the daemon's default.

    Args:
        spec: What the operator wants.
        known: The runtimes the daemon has.
    """
    return "runsc" if spec.runtime != "runc" and "runsc" in known else None


def _mounts(spec: SandboxSpec, phase: Phase) -> dict[str, str]:
    own = f"uid={SANDBOX_UID},gid={SANDBOX_UID},mode=0700"
    mounts = {
        "/work": f"rw,exec,nosuid,nodev,size={spec.work_bytes},nr_inodes=100000,{own}",
        "/tmp": f"rw,exec,nosuid,nodev,size={spec.tmp_bytes},nr_inodes=20000,mode=1777",  # noqa: S108 (inside)
    }
    if phase == "mission":
        mounts |= {
            "/home/sandbox": f"rw,exec,nosuid,nodev,size={spec.home_bytes},nr_inodes=20000,{own}",
            "/var/tmp": f"rw,noexec,nosuid,nodev,size={8 * MIB},mode=1777",  # noqa: S108 (inside)
            "/run/lock": "ro,size=4096",
        }
    return mounts


def _ulimits(spec: SandboxSpec, phase: Phase) -> list[Ulimit]:
    file_bytes = 512 * MIB if phase == "setup" else spec.file_bytes
    limits = {"nofile": 1024, "core": 0, "fsize": file_bytes, "msgqueue": 0, "memlock": 65_536}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in limits.items()]


def container_arguments(spec: SandboxSpec, phase: Phase, chosen_runtime: str | None) -> dict[str, Any]:
    """Arguments for `containers.create`. No secret, no mount of the host, no environment at all.

    Args:
        spec: Every limit.
        phase: Setting up has a network and a writable root; a mission has neither.
        chosen_runtime: What `runtime` returned.
    """
    arguments: dict[str, Any] = {
        "network_mode": spec.setup_network if phase == "setup" else "none",
        "read_only": phase == "mission",
        "user": USER,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "pids_limit": spec.pids,
        "mem_limit": spec.memory_bytes,
        "memswap_limit": spec.memory_bytes,
        "nano_cpus": int(spec.cpus * 1e9),
        "shm_size": spec.shm_bytes,
        "ipc_mode": "private",
        "cgroupns": "private",
        "hostname": "sandbox",
        "tmpfs": _mounts(spec, phase),
        "ulimits": _ulimits(spec, phase),
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "stdin_open": True,
        "auto_remove": True,
        "working_dir": "/",
        "labels": {LABEL: phase, OWNER_LABEL: owner()},
    }
    if chosen_runtime:
        arguments["runtime"] = chosen_runtime
    return arguments


def _started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return stat.rpartition(b")")[2].split()[19].decode("ascii")


def _namespace() -> str:
    """Which set of process ids we count in: the same number elsewhere is another process."""
    try:
        return f"{socket.gethostname()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def owner() -> str:
    """Who made a container: this process, told apart from any other that may get its number."""
    return f"{_namespace()}/{os.getpid()}/{_started(os.getpid())}"


def is_orphan(label: str) -> bool:
    """Whether the owner named by a label is known to be gone."""
    namespace, _, rest = label.rpartition("/")
    namespace, _, pid = namespace.rpartition("/")
    return namespace == _namespace() and pid.isdigit() and _started(int(pid)) != rest


def greet() -> tuple[docker.DockerClient, dict[str, Any]]:
    """A client, and what the daemon says about itself.

    Raises:
        SandboxUnavailable: no daemon answers.
    """
    client: docker.DockerClient | None = None
    try:
        client = connect()
        return client, dict(client.info())
    except (DockerException, OSError) as error:
        if client is not None:
            client.close()
        raise SandboxUnavailable(f"Docker does not answer ({type(error).__name__}).", ADVICE) from error


def connect() -> docker.DockerClient:
    """A client for the daemon that the host's Docker settings name."""
    client = docker.from_env(timeout=120, max_pool_size=16)
    # No connection is kept between requests: none is left open by whoever forgets the client.
    client.api.headers["Connection"] = "close"
    return client
