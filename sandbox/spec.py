"""SandboxSpec: every flag and limit of a sandbox, in one place, with safe defaults."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from sandbox.types import USUAL, Frozen, Surroundings

MIB = 1 << 20
GIB = 1 << 30
SANDBOX_UID = USUAL.uid
"""User and group a sandboxed process runs as, unless it is given others; no host gives it to a person."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where our own helper commands are looked for inside: never in the environment, which packages fill."""

ENVIRONMENT_NAMES = frozenset({"PATH", "HOSTNAME", "HOME"})
"""Names a container's own configuration may hold; commands get theirs from the supervisor."""

EGRESS_FOLDER = "/run/egress"
"""Where a set-up sandbox finds the socket of its proxy: the one thing of the host it sees."""

VAR_TMP_BYTES = 8 * MIB
SETUP_FILE_BYTES = 512 * MIB
IN_MEMORY_SHARE = 0.6
"""Of a sandbox's memory, at most so much may be files: they are charged to it."""

Phase = Literal["setup", "mission"]

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
    test_cpu_s: float = 0.0
    """Processor time of one test, where the runner can stop it alone; 0 for no limit."""
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
    test_cpu_s: float = Field(default=30.0, ge=0)
    """Processor time after which one test (pytest, unittest) is stopped as endless and the others go on; 0: never."""
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
    """`auto` takes gVisor's runsc when the daemon has it, `require` refuses to start anything without it."""
    require_runtime: bool = False
    """The same as `require`, as a switch of its own: nothing starts without gVisor."""
    setup_network: Literal["none", "bridge"] = "none"
    """`none`: the set-up phase has no network interface, only the proxy; `bridge` is weaker, every host is reached."""
    egress_hosts: tuple[str, ...] = ()
    """Hosts a set-up may reach besides the package index and its file hosts: `host`, `host:port`, `http://host`."""
    egress_bytes: int = GIB
    """How much one set-up may receive."""
    egress_wall_s: float = Field(default=600.0, gt=0)
    """How long one set-up may reach anything."""
    egress_folder: str | None = None
    """Folder for the proxy's sockets that Docker sees under the same path; None takes the user's cache folder."""
    upstream_proxy: SecretStr | None = None
    """The proxy this host itself goes through, `http://[user:password@]host:port`."""
    ca_bundle: str | None = None
    """Host path of a CA bundle, shown read-only to the set-up phase (companies with their own CA)."""
    index_url: str | None = None
    """Package index for the set-up phase, without a password; None takes the installer's default."""
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
    """Sandboxes started before they are asked for, per hot environment and surroundings; 0 starts none."""
    pool_idle_s: float = 600.0
    """Those of an environment that nobody asked for so long are removed."""
    local_uid: int | None = None
    """Local backend only: the unprivileged user id children run as when we are root (root itself is refused)."""
    disposable_host: bool = False
    """Local backend only: the operator declares this host disposable (a CI runner)."""

    @field_validator("egress_hosts", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        """The environment and the command line give several as one text."""
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _leave_memory(self) -> Self:
        """Files in memory must leave room for processes."""
        files = self.work_bytes + self.tmp_bytes + self.home_bytes + self.shm_bytes + VAR_TMP_BYTES
        if self.backend == "docker" and files > self.memory_bytes * IN_MEMORY_SHARE:
            raise ValueError(
                f"work_bytes, tmp_bytes, home_bytes and shm_bytes ask for {files // MIB} MiB of a sandbox's memory, "
                f"at most {IN_MEMORY_SHARE:.0%} of memory_bytes ({self.memory_bytes // MIB} MiB) may be files"
            )
        return self

    def folders(self, phase: Phase, surroundings: Surroundings = USUAL) -> dict[str, str]:
        """Folders in memory and their mount options.

        Args:
            phase: What a set-up leaves in the home folder is kept with the environment, so it is no memory there.
            surroundings: Where the checkout and the home folder are, and whose.
        """
        own = f"uid={surroundings.uid},gid={surroundings.uid},mode=0700"
        found = {
            surroundings.top: f"rw,exec,nosuid,nodev,size={self.work_bytes},nr_inodes=100000,{own}",
            "/tmp": f"rw,exec,nosuid,nodev,size={self.tmp_bytes},nr_inodes=20000,mode=1777",  # noqa: S108 (inside)
        }
        if phase == "mission":
            found |= {
                surroundings.home: f"rw,exec,nosuid,nodev,size={self.home_bytes},nr_inodes=20000,{own}",
                "/var/tmp": f"rw,noexec,nosuid,nodev,size={VAR_TMP_BYTES},mode=1777",  # noqa: S108 (inside)
                "/run/lock": "ro,size=4096",
            }
        if surroundings.top != USUAL.top:
            # Room for a link to the checkout, for environments that hold its usual path.
            found[USUAL.top] = f"rw,noexec,nosuid,nodev,size=4096,nr_inodes=10,{own}"
        return found

    def ulimits(self, phase: Phase) -> dict[str, int]:
        """Limits of every process; the supervisor adds one of CPU time for each command."""
        file_bytes = SETUP_FILE_BYTES if phase == "setup" else self.file_bytes
        return {"nofile": 1024, "core": 0, "fsize": file_bytes, "msgqueue": 0, "memlock": 65_536}

    def check(
        self,
        inspected: Mapping[str, Any],
        phase: Phase = "mission",
        *,
        egress: str | None = None,
        runtime: str | None = None,
        apparmor: bool = False,
        surroundings: Surroundings = USUAL,
    ) -> list[Deviation]:
        """Compare a container, as the daemon describes it, with this specification.

        Args:
            inspected: The daemon's description (`docker inspect`).
            phase: Setting up has a writable root.
            egress: The one folder of the host that may be mounted, with the socket of a proxy or a door in it.
            runtime: The container runtime that was asked for; None when any will do.
            apparmor: Whether the daemon confines containers with AppArmor.
            surroundings: Those that were asked for.

        Returns:
            Every point in which it is weaker; empty when it may be used.
        """
        host, config = inspected.get("HostConfig") or {}, inspected.get("Config") or {}
        network = self.setup_network if phase == "setup" else "none"
        ulimits = {name: (value, value) for name, value in self.ulimits(phase).items()}
        exact: dict[str, tuple[object, object]] = {
            "network": (network, host.get("NetworkMode")),
            "read-only root": (phase == "mission", bool(host.get("ReadonlyRootfs"))),
            "privileged": (False, bool(host.get("Privileged"))),
            "dropped capabilities": (["ALL"], host.get("CapDrop")),
            "user": (f"{surroundings.uid}:{surroundings.uid}", config.get("User")),
            "process limit": (self.pids, host.get("PidsLimit")),
            "memory": (self.memory_bytes, host.get("Memory")),
            "memory and swap": (self.memory_bytes, host.get("MemorySwap")),
            "processor": (int(self.cpus * 1e9), host.get("NanoCpus")),
            "shared memory": (self.shm_bytes, host.get("ShmSize")),
            "limits of a process": (ulimits, _ulimits(host)),
            "folders in memory": (self.folders(phase, surroundings), host.get("Tmpfs")),
            "mounts": (_only(egress), _mounted(inspected)),
            "log driver": ("none", (host.get("LogConfig") or {}).get("Type")),
            "interprocess namespace": ("private", host.get("IpcMode")),
            "restart policy": (True, (host.get("RestartPolicy") or {}).get("Name") in {"", "no", None}),
            "new privileges": (True, any("no-new-privileges" in option for option in host.get("SecurityOpt") or ())),
            "runtime": (self._runtime(runtime), host.get("Runtime") if self._runtime(runtime) else None),
            "AppArmor": (True, not apparmor or inspected.get("AppArmorProfile") not in {None, "", "unconfined"}),
            "hidden files of the kernel": (True, host.get("MaskedPaths") != [] and host.get("ReadonlyPaths") != []),
            "out-of-memory protection": (True, (host.get("OomScoreAdj") or 0) >= 0 and not host.get("OomKillDisable")),
        }
        found = [Deviation(field=n, wanted=str(w), found=str(f)[:200]) for n, (w, f) in exact.items() if w != f]
        return found + _must_be_empty(host, config) + _foreign_names(config)

    @property
    def requires_gvisor(self) -> bool:
        """Whether nothing may start without gVisor."""
        return self.require_runtime or self.runtime == "require"

    def _runtime(self, chosen: str | None) -> str | None:
        """The runtime a container must have; None when any will do."""
        return "runsc" if self.requires_gvisor else chosen


def _ulimits(host: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {one.get("Name"): (one.get("Soft"), one.get("Hard")) for one in host.get("Ulimits") or ()}


def _only(egress: str | None) -> list[tuple[str, str, str, bool]]:
    """The one mount there may be: kind, source, target, writable."""
    return [] if egress is None else [("bind", egress, EGRESS_FOLDER, False)]


def _mounted(inspected: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Everything mounted into a container, as it was asked for and as it came to be; volumes of its image too."""
    asked = (inspected.get("HostConfig") or {}).get("Mounts") or ()
    found = {(m.get("Type"), m.get("Source"), m.get("Target"), not m.get("ReadOnly")) for m in asked}
    became = inspected.get("Mounts") or ()
    found |= {(m.get("Type"), m.get("Source"), m.get("Destination"), bool(m.get("RW", True))) for m in became}
    return sorted(found, key=str)


def _must_be_empty(host: Mapping[str, Any], config: Mapping[str, Any]) -> list[Deviation]:
    """Whatever reaches out of the container."""
    values = {
        "mounts of the host": host.get("Binds"),
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
        "device rules": host.get("DeviceCgroupRules"),
        "kernel settings": host.get("Sysctls"),
        "all ports published": host.get("PublishAllPorts"),
        "parent control group": host.get("CgroupParent"),
        "security options": [o for o in host.get("SecurityOpt") or () if any(bad in o for bad in HARMFUL_OPTIONS)],
    }
    return [Deviation(field=name, wanted="none", found=str(value)[:200]) for name, value in values.items() if value]


def _foreign_names(config: Mapping[str, Any]) -> list[Deviation]:
    """Names in the container's own environment: what stands there is in every snapshot."""
    names = {entry.partition("=")[0] for entry in config.get("Env") or ()}
    foreign = sorted(names - ENVIRONMENT_NAMES)
    return [Deviation(field="environment", wanted="nothing of ours", found=", ".join(foreign))] if foreign else []
