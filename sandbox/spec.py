"""SandboxSpec: every flag and limit of a sandbox, in one place, with safe defaults."""

from typing import Literal

from pydantic import Field

from sandbox.types import Frozen

MIB = 1 << 20
GIB = 1 << 30


class RunLimits(Frozen):
    """What one command may use."""

    wall_s: float = Field(default=120.0, gt=0)
    output_bytes: int = 256 * 1024
    """Kept per stream, head and tail."""
    kill_output_bytes: int = 64 * MIB
    """Printed more than this: the command is killed."""
    results_bytes: int = 4 * MIB
    """Capacity of the results channel (file descriptor 3)."""


class SandboxSpec(Frozen):
    """How a sandbox is made. Every field is a setting `sandbox.<name>`."""

    backend: Literal["docker", "local"] = "docker"
    memory_bytes: int = 2 * GIB
    cpus: float = 2.0
    pids: int = 256
    work_bytes: int = 512 * MIB
    tmp_bytes: int = 256 * MIB
    home_bytes: int = 64 * MIB
    shm_bytes: int = 64 * MIB
    setup_wall_s: float = 600.0
    setup_bytes: int = 3 * GIB
    test_wall_s: float = 300.0
    command_wall_s: float = 120.0
    mission_wall_s: float = 1800.0
    export_bytes: int = 8 * MIB
    export_files: int = 20
    max_files: int = 20_000
    max_tree_bytes: int = 200 * MIB
    max_blob_bytes: int = 100 * MIB
    fetch_wall_s: float = 60.0
    runtime: Literal["auto", "require", "runc"] = "auto"
    """`auto` takes gVisor's runsc when the daemon has it, `require` refuses without."""
    setup_network: str = "bridge"
    """Docker network of the set-up phase only."""
    ca_bundle: str | None = None
    """Host path of a CA bundle, shown read-only to the set-up phase (companies with their own CA)."""
    index_url: str | None = None
    """Package index for the set-up phase; None takes the installer's default."""
    image: str | None = None
    """Toolchain image to pull; None builds one from Debian packages."""
    debian_suite: str = "bookworm"
    pool: int = 1
    """Sandboxes started before they are asked for, per hot environment."""
    local_uid: int | None = None
    """Local backend only: the unprivileged user id children run as when we are root (root itself is refused)."""
    disposable_host: bool = False
    """Local backend only: the operator declares this host disposable (a CI runner)."""
