"""SandboxSpec: every flag and limit of a sandbox, with safe defaults."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from sandbox.types import USUAL, DebianPackage, Frozen, Surroundings

MIB = 1 << 20
GIB = 1 << 30
SANDBOX_UID = USUAL.uid
"""Default user and group id of sandboxed processes. No host assigns it to a person."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Search path for our own helper commands.

It excludes the environment, whose packages are untrusted.
"""

ENVIRONMENT_NAMES = frozenset({"PATH", "HOSTNAME", "HOME"})
"""Names that a container's configuration may define. Commands get theirs from the supervisor."""

EGRESS_FOLDER = "/run/egress"
"""Folder with the proxy's socket in a set-up sandbox: the only mount from the host."""

IPV6_LOOPBACK = {"net.ipv6.conf.lo.disable_ipv6": "0"}
"""Kernel settings of a sandbox's own network: Docker switches `::1` off without a network."""

VAR_TMP_BYTES = 8 * MIB
SETUP_FILE_BYTES = 512 * MIB
IN_MEMORY_SHARE = 0.6
"""Maximum share of a sandbox's memory that its in-memory file systems may fill."""

Phase = Literal["setup", "mission"]

HARMFUL_OPTIONS = ("unconfined", "label=disable", "label:disable")


class Deviation(Frozen):
    """One difference between a container and the specification."""

    field: str
    wanted: str
    found: str

    @override
    def __str__(self) -> str:
        return f"{self.field} is {self.found}, should be {self.wanted}"


class RunLimits(Frozen):
    """Resource limits of one command."""

    wall_s: float = Field(default=120.0, gt=0)
    test_cpu_s: float = 0.0
    """Processor seconds of one test, if the runner can stop it alone; 0 means no limit."""
    output_bytes: int = 256 * 1024
    """Bytes kept for each stream, head and tail."""
    kill_output_bytes: int = 64 * MIB
    """Printed bytes after which the command is killed."""
    results_bytes: int = 4 * MIB
    """Capacity of the results channel (file descriptor 3)."""


class SandboxSpec(Frozen):
    """The configuration of a sandbox. Every field is a setting `sandbox.<name>`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    backend: Literal["docker", "local"] = "docker"
    """The backend that runs repository code."""
    memory_bytes: int = 2 * GIB
    """Memory of one sandbox, its temporary files included."""
    cpus: float = 2.0
    """Processors of one sandbox."""
    pids: int = 256
    """Processes and threads in one sandbox."""
    work_bytes: int = 512 * MIB
    """Space for the checkout."""
    tmp_bytes: int = 256 * MIB
    """Space for /tmp."""
    home_bytes: int = 64 * MIB
    """Space for the home folder."""
    shm_bytes: int = 64 * MIB
    """Space for /dev/shm."""
    file_bytes: int = 256 * MIB
    """The largest single file a command may write."""
    setup_wall_s: float = 600.0
    """Time limit of a set-up, in seconds."""
    left_out_most: int = Field(default=3, ge=0)
    """Maximum number of requirements of tests that a set-up leaves out if they fail."""
    setup_bytes: int = 3 * GIB
    """Bytes that a set-up may write."""
    test_wall_s: float = 300.0
    """Time limit of one test run, in seconds."""
    test_cpu_s: float = Field(default=30.0, ge=0)
    """Processor seconds after which one test (pytest, unittest) is stopped; 0 means no limit."""
    command_wall_s: float = 120.0
    """Time limit of any other command, in seconds."""
    mission_wall_s: float = 1800.0
    """Time limit of a sandbox, in seconds."""
    export_bytes: int = 8 * MIB
    """Bytes that may leave a sandbox."""
    export_files: int = 20
    """Edited files that may leave a sandbox."""
    max_files: int = 20_000
    """Maximum number of files in a checkout."""
    max_tree_bytes: int = 200 * MIB
    """Maximum size of a checkout, in bytes."""
    max_blob_bytes: int = 100 * MIB
    """Maximum size of one file of a checkout, in bytes."""
    fetch_wall_s: float = 60.0
    """Time limit of a fetch, in seconds."""
    runtime: Literal["auto", "require", "runc"] = "auto"
    """`auto` uses gVisor's runsc if the daemon has it, `require` starts nothing without it."""
    require_runtime: bool = False
    """The same as `runtime = "require"`, as a separate switch."""
    setup_network: Literal["none", "bridge"] = "none"
    """`none`: the set-up has no network, only the proxy.

    `bridge` is weaker: every host is reachable.
    """
    egress_hosts: tuple[str, ...] = ()
    """Hosts that a set-up may reach besides the package index: `host`, `host:port`, `http://host`.
    """
    egress_bytes: int = GIB
    """Bytes that one set-up may receive."""
    egress_wall_s: float = Field(default=600.0, gt=0)
    """Time in which one set-up may use the network, in seconds."""
    egress_folder: str | None = None
    """Folder for the proxy's sockets, visible to Docker under the same path; None uses the user's
    cache folder.
    """
    upstream_proxy: SecretStr | None = None
    """The proxy of this host, `http://[user:password@]host:port`."""
    ca_bundle: str | None = None
    """Host path of a CA bundle for the set-up, mounted read-only (for a company's own CA)."""
    index_url: str | None = None
    """Package index for the set-up, without a password; None uses the installer's default."""
    npm_registry: str | None = None
    """Registry of Node.js packages for the set-up, without a password; None uses npm's default."""
    go_proxy: str | None = None
    """Proxy of Go modules for the set-up, without a password; None uses Go's default."""
    image: str | None = None
    """Toolchain image to pull; None builds one from Debian packages."""
    debian_suite: str = "bookworm"
    """Debian release of the toolchain image."""
    debian_packages: tuple[DebianPackage, ...] = ()
    """Further Debian packages of the image that is built, for example `libpq-dev`."""
    environments_bytes: int = Field(default=20 * GIB, ge=0)
    """Space for cached environments, in bytes; the least recently used ones are removed."""
    environments_days: float = Field(default=14.0, gt=0)
    """Days after which an unused environment is removed."""
    python_downloads: Literal["auto", "never"] = "auto"
    """`auto` lets uv download a Python that the image lacks."""
    python_mirror: str | None = None
    """Mirror for uv's Python downloads; None uses uv's default."""
    python_downloads_json: str | None = None
    """List of the Pythons that uv can download; None uses uv's own."""
    pool: int = 1
    """Sandboxes started in advance for each recently used environment and its surroundings; 0
    starts none.
    """
    pool_idle_s: float = 600.0
    """Seconds after which unused sandboxes of an environment are removed."""
    local_uid: int | None = None
    """Local backend only: the unprivileged user id of children if the service runs as root (root is
    refused).
    """
    disposable_host: bool = False
    """Local backend only: the operator declares this host disposable (a CI runner)."""

    @field_validator("egress_hosts", "debian_packages", mode="before")
    @classmethod
    def _split_values(cls, value: object) -> object:
        """Split one text into several values, as the environment and the command line give them."""
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _leave_memory(self) -> Self:
        """Check that the in-memory file systems leave memory for processes."""
        files = self.work_bytes + self.tmp_bytes + self.home_bytes + self.shm_bytes + VAR_TMP_BYTES
        if self.backend == "docker" and files > self.memory_bytes * IN_MEMORY_SHARE:
            raise ValueError(
                f"work_bytes, tmp_bytes, home_bytes and shm_bytes ask for {files // MIB} MiB of "
                f"a sandbox's memory, at most {IN_MEMORY_SHARE:.0%} of memory_bytes "
                f"({self.memory_bytes // MIB} MiB) may be files"
            )
        return self

    def folders(self, phase: Phase, surroundings: Surroundings = USUAL) -> dict[str, str]:
        """Return the in-memory file systems and their mount options.

        Args:
            phase: A set-up has no home in memory, because its home is kept with the environment.
            surroundings: Paths and owner of the checkout and the home folder.
        """
        own = f"uid={surroundings.uid},gid={surroundings.uid},mode=0700"
        found = {
            surroundings.top: f"rw,exec,nosuid,nodev,size={self.work_bytes},nr_inodes=100000,{own}",
        }
        # Inside the sandbox, on a file system of its own.
        tmp = "/tmp"  # noqa: S108
        found[tmp] = f"rw,exec,nosuid,nodev,size={self.tmp_bytes},nr_inodes=20000,mode=1777"
        if phase == "mission":
            found |= {
                surroundings.home: f"rw,exec,nosuid,nodev,size={self.home_bytes},nr_inodes=20000,"
                f"{own}",
                "/var/tmp": f"rw,noexec,nosuid,nodev,size={VAR_TMP_BYTES},mode=1777",  # noqa: S108
                "/run/lock": "ro,size=4096",
            }
        if surroundings.top != USUAL.top:
            # Space for a link to the checkout, for environments that contain its usual path.
            found[USUAL.top] = f"rw,noexec,nosuid,nodev,size=4096,nr_inodes=10,{own}"
        return found

    def ulimits(self, phase: Phase) -> dict[str, int]:
        """Return the limits of every process.

        The supervisor adds one of CPU time for each command.
        """
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
            phase: A set-up has a writable root.
            egress: The only folder of the host that may be mounted: the one with the socket of a
                proxy or a door.
            runtime: The requested container runtime; None allows any.
            apparmor: Whether the daemon confines containers with AppArmor.
            surroundings: The requested surroundings.

        Returns:
            Every difference; empty if the container may be used.
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
            "mounts": (_permitted_mounts(egress), _list_mounts(inspected)),
            "host names": ([own_name(surroundings)], host.get("ExtraHosts")),
            "log driver": ("none", (host.get("LogConfig") or {}).get("Type")),
            "interprocess namespace": ("private", host.get("IpcMode")),
            "runtime": (
                self._runtime(runtime),
                host.get("Runtime") if self._runtime(runtime) else None,
            ),
            **_confinement(inspected, host, apparmor=apparmor),
        }
        found = [
            Deviation(field=n, wanted=str(w), found=str(f)[:200])
            for n, (w, f) in exact.items()
            if w != f
        ]
        return found + _check_host_access(host, config) + _check_environment(config)

    @property
    def requires_gvisor(self) -> bool:
        """Return True if nothing may start without gVisor."""
        return self.require_runtime or self.runtime == "require"

    def _runtime(self, chosen: str | None) -> str | None:
        """Return the required runtime of a container; None allows any."""
        return "runsc" if self.requires_gvisor else chosen


def own_name(surroundings: Surroundings) -> str:
    """Return the entry with which a sandbox reaches itself by its own name, as CI machines do."""
    return f"{surroundings.hostname}:127.0.1.1"


def _confinement(
    inspected: Mapping[str, Any], host: Mapping[str, Any], *, apparmor: bool
) -> dict[str, tuple[object, object]]:
    """Return the protections that must be on, each with its state."""
    return {
        "restart policy": (
            True,
            (host.get("RestartPolicy") or {}).get("Name") in {"", "no", None},
        ),
        "new privileges": (
            True,
            any("no-new-privileges" in option for option in host.get("SecurityOpt") or ()),
        ),
        "AppArmor": (
            True,
            not apparmor or inspected.get("AppArmorProfile") not in {None, "", "unconfined"},
        ),
        "hidden files of the kernel": (
            True,
            host.get("MaskedPaths") != [] and host.get("ReadonlyPaths") != [],
        ),
        "out-of-memory protection": (
            True,
            (host.get("OomScoreAdj") or 0) >= 0 and not host.get("OomKillDisable"),
        ),
    }


def _ulimits(host: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        one.get("Name"): (one.get("Soft"), one.get("Hard")) for one in host.get("Ulimits") or ()
    }


def _permitted_mounts(egress: str | None) -> list[tuple[str, str, str, bool]]:
    """Return the only permitted mount: kind, source, target, writable."""
    return [] if egress is None else [("bind", egress, EGRESS_FOLDER, False)]


def _list_mounts(inspected: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Return all mounts of a container, requested and actual ones."""
    asked = (inspected.get("HostConfig") or {}).get("Mounts") or ()
    found = {
        (m.get("Type"), m.get("Source"), m.get("Target"), not m.get("ReadOnly")) for m in asked
    }
    became = inspected.get("Mounts") or ()
    found |= {
        (m.get("Type"), m.get("Source"), m.get("Destination"), bool(m.get("RW", True)))
        for m in became
    }
    return sorted(found, key=str)


def _check_host_access(host: Mapping[str, Any], config: Mapping[str, Any]) -> list[Deviation]:
    """Return a deviation for each option that gives access to the host."""
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
        "kernel settings": {
            name: value
            for name, value in (host.get("Sysctls") or {}).items()
            if IPV6_LOOPBACK.get(name) != value
        },
        "all ports published": host.get("PublishAllPorts"),
        "parent control group": host.get("CgroupParent"),
        "security options": [
            o for o in host.get("SecurityOpt") or () if any(bad in o for bad in HARMFUL_OPTIONS)
        ],
    }
    return [
        Deviation(field=name, wanted="none", found=str(value)[:200])
        for name, value in values.items()
        if value
    ]


def _check_environment(config: Mapping[str, Any]) -> list[Deviation]:
    """Return a deviation for each unknown variable of the container.

    Every snapshot would contain it.
    """
    names = {entry.partition("=")[0] for entry in config.get("Env") or ()}
    foreign = sorted(names - ENVIRONMENT_NAMES)
    return (
        [Deviation(field="environment", wanted="nothing of ours", found=", ".join(foreign))]
        if foreign
        else []
    )
