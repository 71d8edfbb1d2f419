"""Container settings: the specification as arguments of the Docker SDK."""

from typing import Any

import docker
from docker.errors import APIError, DockerException
from docker.types import LogConfig, Mount, Ulimit

from sandbox.backends.owners import owner
from sandbox.errors import HostGone
from sandbox.spec import EGRESS_FOLDER, IPV6_LOOPBACK, SANDBOX_UID, Phase, SandboxSpec, own_name
from sandbox.types import USUAL, Surroundings

LABEL = "metaagent"
OWNER_LABEL = "metaagent.owner"
ADVICE = "Start it, or choose --sandbox-backend local."
USER = f"{SANDBOX_UID}:{SANDBOX_UID}"


def runtime(spec: SandboxSpec, known: frozenset[str]) -> str | None:
    """Return the container runtime to request; None uses the daemon's default.

    Args:
        spec: The operator's settings.
        known: The runtimes of the daemon.
    """
    wanted = spec.requires_gvisor or spec.runtime != "runc"
    return "runsc" if wanted and "runsc" in known else None


def container_arguments(
    spec: SandboxSpec,
    phase: Phase,
    chosen_runtime: str | None,
    egress: str | None = None,
    *,
    surroundings: Surroundings = USUAL,
    ipv6: bool = True,
) -> dict[str, Any]:
    """Return the arguments for `containers.create`.

    They hold no secret and no environment variable, and mount nothing of the host but one socket.

    Args:
        spec: All limits.
        phase: A set-up has a writable root and egress; a mission has neither.
        chosen_runtime: The result of `runtime`.
        egress: The host folder with the socket of a set-up's proxy.
        surroundings: User, host name, and paths of checkout and home.
        ipv6: False if the daemon's kernel has no IPv6.
    """
    ulimits = spec.ulimits(phase).items()
    arguments: dict[str, Any] = {
        "network_mode": spec.setup_network if phase == "setup" else "none",
        "read_only": phase == "mission",
        "user": f"{surroundings.uid}:{surroundings.uid}",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "pids_limit": spec.pids,
        "mem_limit": spec.memory_bytes,
        # Equal to the memory limit, so that there is no swap.
        "memswap_limit": spec.memory_bytes,
        "nano_cpus": int(spec.cpus * 1e9),
        "shm_size": spec.shm_bytes,
        "ipc_mode": "private",
        "cgroupns": "private",
        "hostname": surroundings.hostname,
        "extra_hosts": [own_name(surroundings)],
        "sysctls": IPV6_LOOPBACK if ipv6 else {},
        "tmpfs": spec.folders(phase, surroundings),
        "ulimits": [Ulimit(name=name, soft=value, hard=value) for name, value in ulimits],
        # Docker would store the output of repository code on the host's disk.
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "stdin_open": True,
        "auto_remove": True,
        "working_dir": "/",
        "labels": {LABEL: phase, OWNER_LABEL: owner()},
    }
    if egress is not None:
        # Not as `volumes`: the kept image's configuration would contain those.
        arguments["mounts"] = [
            Mount(target=EGRESS_FOLDER, source=egress, type="bind", read_only=True)
        ]
    if chosen_runtime:
        arguments["runtime"] = chosen_runtime
    return arguments


def lacks_ipv6(error: APIError) -> bool:
    """Return True if a container did not start because its kernel has no IPv6."""
    return "/proc/sys/net/ipv6/" in str(error) and "no such file" in str(error)


def greet() -> tuple[docker.DockerClient, dict[str, Any]]:
    """Return a client, and the daemon's description of itself.

    Raises:
        HostGone: No daemon responds.
    """
    client: docker.DockerClient | None = None
    try:
        client = connect()
        return client, dict(client.info())
    except (DockerException, OSError) as error:
        if client is not None:
            client.close()
        raise HostGone(f"Docker does not respond ({type(error).__name__}).", ADVICE) from error


def connect() -> docker.DockerClient:
    """Return a client for the daemon in the host's Docker settings."""
    client = docker.from_env(timeout=120, max_pool_size=16)
    # Close each connection after its request, so that a forgotten client leaves none open.
    client.api.headers["Connection"] = "close"
    return client
