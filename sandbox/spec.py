"""SandboxSpec: every flag and limit of a sandbox, in one place, with safe defaults."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field
from typing_extensions import override

from sandbox.types import Frozen

MIB = 1 << 20
GIB = 1 << 30
SANDBOX_UID = 65_532
"""User and group every sandboxed process runs as; no host gives it to a person."""

ENVIRONMENT_NAMES = frozenset({"PATH", "HOSTNAME", "HOME"})
"""Names a container's own configuration may hold; commands get theirs from the supervisor."""

HARMFUL_OPTIONS = ("unconfined", "label=disable", "label:disable")


class Deviation(Frozen):
    """One point in which a container is not what the specification says."""

    field: str
    wanted: str
    found: str

    @override
    def __str__(self) -> str:
        return f"{self.field} is {self.found}, should be {self.wanted}"


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

    model_config = ConfigDict(use_attribute_docstrings=True)

    backend: Literal["docker", "local"] = "docker"
    """Where repository code runs."""
    memory_bytes: int = 2 * GIB
    """Memory of one sandbox, its temporary files included."""
    cpus: float = 2.0
    """Processors of one sandbox."""
    pids: int = 256
    """Processes and threads in one sandbox."""
    work_bytes: int = 512 * MIB
    """Room for the checkout."""
    tmp_bytes: int = 256 * MIB
    """Room for /tmp."""
    home_bytes: int = 64 * MIB
    """Room for the home folder."""
    shm_bytes: int = 64 * MIB
    """Room for /dev/shm."""
    file_bytes: int = 256 * MIB
    """The largest single file a command may write."""
    setup_wall_s: float = 600.0
    """How long a set-up may take."""
    setup_bytes: int = 3 * GIB
    """How much a set-up may write."""
    test_wall_s: float = 300.0
    """How long one run of the tests may take."""
    command_wall_s: float = 120.0
    """How long any other command may take."""
    mission_wall_s: float = 1800.0
    """How long a sandbox may live."""
    export_bytes: int = 8 * MIB
    """How much may come out of a sandbox."""
    export_files: int = 20
    """How many edited files may come out."""
    max_files: int = 20_000
    """Files of a checkout."""
    max_tree_bytes: int = 200 * MIB
    """Size of a checkout."""
    max_blob_bytes: int = 100 * MIB
    """Size of one file of a checkout."""
    fetch_wall_s: float = 60.0
    """How long fetching may take."""
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
    """Debian release the toolchain image is built from."""
    environments_bytes: int = Field(default=20 * GIB, ge=0)
    """Room for environments kept for the next time; those used least recently give way."""
    environments_days: float = Field(default=14.0, gt=0)
    """Environments that nobody used for so long are removed."""
    python_downloads: Literal["auto", "never"] = "auto"
    """Whether a Python that the image lacks is fetched by uv when an environment is set up."""
    python_mirror: str | None = None
    """Where uv fetches Pythons from; None takes its default."""
    python_downloads_json: str | None = None
    """List of the Pythons that uv can fetch; None takes the one built into it."""
    pool: int = 1
    """Sandboxes started before they are asked for, per hot environment; 0 starts none."""
    pool_idle_s: float = 600.0
    """Those of an environment that nobody asked for so long are removed."""
    local_uid: int | None = None
    """Local backend only: the unprivileged user id children run as when we are root (root itself is refused)."""
    disposable_host: bool = False
    """Local backend only: the operator declares this host disposable (a CI runner)."""

    def check(self, inspected: Mapping[str, Any], phase: Literal["setup", "mission"] = "mission") -> list[Deviation]:
        """Compare a container, as the daemon describes it, with this specification.

        Args:
            inspected: The daemon's description (`docker inspect`).
            phase: Setting up has a network and a writable root.

        Returns:
            Every point in which it is weaker; empty when it may be used.
        """
        host, config = inspected.get("HostConfig") or {}, inspected.get("Config") or {}
        network = self.setup_network if phase == "setup" else "none"
        user = f"{SANDBOX_UID}:{SANDBOX_UID}"
        exact: dict[str, tuple[object, object]] = {
            "network": (network, host.get("NetworkMode")),
            "read-only root": (phase == "mission", bool(host.get("ReadonlyRootfs"))),
            "privileged": (False, bool(host.get("Privileged"))),
            "dropped capabilities": (["ALL"], host.get("CapDrop")),
            "user": (user, config.get("User")),
            "process limit": (self.pids, host.get("PidsLimit")),
            "memory": (self.memory_bytes, host.get("Memory")),
            "memory and swap": (self.memory_bytes, host.get("MemorySwap")),
            "processor": (int(self.cpus * 1e9), host.get("NanoCpus")),
            "shared memory": (self.shm_bytes, host.get("ShmSize")),
            "log driver": ("none", (host.get("LogConfig") or {}).get("Type")),
            "interprocess namespace": ("private", host.get("IpcMode")),
            "restart policy": (True, (host.get("RestartPolicy") or {}).get("Name") in {"", "no", None}),
            "new privileges": (True, any("no-new-privileges" in option for option in host.get("SecurityOpt") or ())),
            "work folder": (True, _is_bounded(host, "/work")),
        }
        found = [Deviation(field=n, wanted=str(w), found=str(f)) for n, (w, f) in exact.items() if w != f]
        return found + _must_be_empty(host, config) + _foreign_names(config)


def _is_bounded(host: Mapping[str, Any], folder: str) -> bool:
    """Whether a folder is memory with a limit and without setuid and devices."""
    options = (host.get("Tmpfs") or {}).get(folder, "").split(",")
    return {"nosuid", "nodev"} <= set(options) and any(option.startswith("size=") for option in options)


def _must_be_empty(host: Mapping[str, Any], config: Mapping[str, Any]) -> list[Deviation]:
    """Whatever reaches out of the container."""
    values = {
        "mounts of the host": host.get("Binds"),
        "mounts": host.get("Mounts"),
        "volumes": config.get("Volumes"),
        "volumes of others": host.get("VolumesFrom"),
        "added capabilities": host.get("CapAdd"),
        "devices": host.get("Devices"),
        "device requests": host.get("DeviceRequests"),
        "published ports": host.get("PortBindings"),
        "links": host.get("Links"),
        "added groups": host.get("GroupAdd"),
        "process namespace": host.get("PidMode"),
        "host name namespace": host.get("UTSMode"),
        "user namespace": host.get("UsernsMode"),
        "host's control groups": "host" if host.get("CgroupnsMode") == "host" else "",
        "out-of-memory protection": host.get("OomKillDisable"),
        "security options": [o for o in host.get("SecurityOpt") or () if any(bad in o for bad in HARMFUL_OPTIONS)],
    }
    return [Deviation(field=name, wanted="none", found=str(value)[:200]) for name, value in values.items() if value]


def _foreign_names(config: Mapping[str, Any]) -> list[Deviation]:
    """Names in the container's own environment: what stands there is in every snapshot."""
    names = {entry.partition("=")[0] for entry in config.get("Env") or ()}
    foreign = sorted(names - ENVIRONMENT_NAMES)
    return [Deviation(field="environment", wanted="nothing of ours", found=", ".join(foreign))] if foreign else []
