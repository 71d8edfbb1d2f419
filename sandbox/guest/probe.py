"""Request privileges that no sandbox has, and print the granted ones as JSON.

The arguments of the calls would use none of them.
"""

import ctypes
import errno
import glob
import json
import os
import socket
from typing import Callable, Dict, Iterator

CLONE_NEWUSER = 0x10000000
PTRACE_TRACEME = 0
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
FAMILIES = {"packet": 17, "bluetooth": 31, "alg": 38, "vsock": 40, "xdp": 44}
CLOSED = (
    "/proc/1/mem",
    "/proc/1/environ",
    "/proc/1/maps",
    "/proc/kcore",
    "/dev/kmsg",
    "/etc/shadow",
)
FIXED = (
    "/etc/passwd", "/etc/ld.so.preload", "/usr/bin/git", "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/proc/1/oom_score_adj", "/dev/mem",
)  # fmt: skip
DAEMONS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)
EMPTY = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def findings() -> Iterator[str]:
    """Yield a short description of every granted privilege."""
    yield from _files()
    yield from _network()
    yield from _calls()
    yield from _status()


def _opens(path: str, flags: int) -> bool:
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    return True


def _files() -> Iterator[str]:
    fixed = (
        *FIXED,
        os.path.abspath(__file__),
        *glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True)[:5],
    )
    for path in CLOSED:
        if _opens(path, os.O_RDONLY):
            yield "reads %s" % path
    for path in fixed:
        if _opens(path, os.O_WRONLY):
            yield "writes %s" % path
    for path in DAEMONS:
        if os.path.exists(path):
            yield "sees %s" % path
    if os.access("/proc/1/root", os.X_OK):
        yield "enters the root of the first process"


def _network() -> Iterator[str]:
    for _, name in socket.if_nameindex():
        if name != "lo" and _is_up(name):
            yield "has the network interface %s" % name
    for name, family in FAMILIES.items():
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
            except OSError:
                continue
            yield "opens %s sockets" % name
            break
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
        yield "opens raw sockets"
    except OSError:
        pass


def _is_up(interface: str) -> bool:
    """Return True if an interface is up; the kernel may list tunnels that cannot be enabled."""
    try:
        with open("/sys/class/net/%s/flags" % interface) as file:
            return bool(int(file.read(), 16) & 1)
    except (OSError, ValueError):
        return True


def _calls() -> Iterator[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    # Every call has harmless arguments: only the kind of refusal matters.
    asked: Dict[str, Callable[[], int]] = {
        "makes a user namespace": lambda: int(libc.unshare(CLONE_NEWUSER)),
        "mounts": lambda: int(libc.mount(b"probe", b"/mnt", b"tmpfs", 0, None)),
        "unmounts": lambda: int(libc.umount2(b"/proc", 2)),
        "is traced": lambda: int(libc.ptrace(PTRACE_TRACEME, 0, 0, 0)),
        "enters namespaces": lambda: int(libc.setns(-1, 0)),
        "changes its root": lambda: int(libc.chroot(b"/")),
        "names the host": lambda: int(libc.sethostname(b"probe", 5)),
        "becomes root": lambda: int(libc.setuid(0)),
        "makes devices": lambda: int(libc.mknod(b"/tmp/probe-device", 0o20600, 0x103)),
    }
    for name, call in asked.items():
        ctypes.set_errno(0)
        if call() >= 0 or ctypes.get_errno() not in REFUSED:
            yield name


def _status() -> Iterator[str]:
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)
    if status.get("NoNewPrivs", "").strip() != "1":
        yield "may gain rights by setuid programs"
    if status.get("Seccomp", "").strip() != "2":
        yield "has no filter of system calls"
    for name in EMPTY:
        if int(status.get(name, "0"), 16):
            yield "has capabilities (%s)" % name
    if 0 in (os.getuid(), os.geteuid(), os.getgid()):
        yield "runs as root"


if __name__ == "__main__":
    print(json.dumps(sorted(set(findings()))))
