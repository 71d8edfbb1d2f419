"""How a container is made: the specification as arguments of the docker SDK."""

from typing import Any

import docker
from docker.errors import DockerException
from docker.types import LogConfig, Mount, Ulimit

from sandbox.backends.owners import owner
from sandbox.errors import HostGone
from sandbox.spec import EGRESS_FOLDER, SANDBOX_UID, Phase, SandboxSpec
from sandbox.types import USUAL, Surroundings

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
    wanted = spec.requires_gvisor or spec.runtime != "runc"
    return "runsc" if wanted and "runsc" in known else None


def container_arguments(
    spec: SandboxSpec,
    phase: Phase,
    chosen_runtime: str | None,
    egress: str | None = None,
    *,
    surroundings: Surroundings = USUAL,
) -> dict[str, Any]:
    """Arguments for `containers.create`. No secret, no environment at all, nothing of the host but one socket.

    Args:
        spec: Every limit.
        phase: Setting up has a writable root and a way out; a mission has neither.
        chosen_runtime: What `runtime` returned.
        egress: Folder of the host with the socket of a set-up's proxy.
        surroundings: User, host name, and where checkout and home are.
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
        "memswap_limit": spec.memory_bytes,
        "nano_cpus": int(spec.cpus * 1e9),
        "shm_size": spec.shm_bytes,
        "ipc_mode": "private",
        "cgroupns": "private",
        "hostname": surroundings.hostname,
        "tmpfs": spec.folders(phase, surroundings),
        "ulimits": [Ulimit(name=name, soft=value, hard=value) for name, value in ulimits],
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "stdin_open": True,
        "auto_remove": True,
        "working_dir": "/",
        "labels": {LABEL: phase, OWNER_LABEL: owner()},
    }
    if egress is not None:
        # Not as `volumes`: those would stand in the configuration of the image that is kept.
        arguments["mounts"] = [Mount(target=EGRESS_FOLDER, source=egress, type="bind", read_only=True)]
    if chosen_runtime:
        arguments["runtime"] = chosen_runtime
    return arguments


def greet() -> tuple[docker.DockerClient, dict[str, Any]]:
    """A client, and what the daemon says about itself.

    Raises:
        HostGone: no daemon answers.
    """
    client: docker.DockerClient | None = None
    try:
        client = connect()
        return client, dict(client.info())
    except (DockerException, OSError) as error:
        if client is not None:
            client.close()
        raise HostGone(f"Docker does not answer ({type(error).__name__}).", ADVICE) from error


def connect() -> docker.DockerClient:
    """A client for the daemon that the host's Docker settings name."""
    client = docker.from_env(timeout=120, max_pool_size=16)
    # No connection is kept between requests: none is left open by whoever forgets the client.
    client.api.headers["Connection"] = "close"
    return client
