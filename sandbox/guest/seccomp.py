"""A seccomp filter on top of Docker's own, the same on any Docker version."""

import ctypes
import errno
import os
import struct
from typing import Dict, List, NamedTuple, Tuple

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

FAMILIES = (1, 2, 10, 16)
"""Allowed address families of sockets: UNIX, INET, INET6, NETLINK (getifaddrs needs the last)."""

TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""

X32_BIT = 0x40000000

NEW_NAMESPACES = 0x7E020000
"""The clone flags that create a namespace."""

CLONE3 = 435
"""A filter cannot read its flags behind a pointer.

It is reported as missing, and libraries fall back.
"""

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, DENY, MISSING = (
    0x7FFF0000,
    0x80000000,
    0x00050000 | errno.EPERM,
    0x00050000 | errno.ENOSYS,
)
AT_NUMBER, AT_ARCH, AT_FIRST, AT_SECOND = 0, 4, 16, 24


class Table(NamedTuple):
    """The system call numbers of one processor architecture."""

    audit: int
    x32: bool
    socket: int
    socketpair: int
    ioctl: int
    clone: int
    denied: Dict[str, int]


# Calls with the same number everywhere (the unified table starts at 424).
_UNIFIED = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443, "memfd_secret": 447, "open_tree_attr": 467,
}  # fmt: skip

X86_64 = Table(
    audit=0xC000003E,
    x32=True,
    socket=41,
    socketpair=53,
    ioctl=16,
    clone=56,
    denied={
        **_UNIFIED,
        "ptrace": 101, "mknod": 133, "pivot_root": 155, "adjtimex": 159, "chroot": 161,
        "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
        "swapoff": 168, "reboot": 169,
        "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
        "clock_settime": 227,
        "mbind": 237, "set_mempolicy": 238, "kexec_load": 246, "add_key": 248, "request_key": 249,
        "keyctl": 250,
        "migrate_pages": 256, "mknodat": 259, "unshare": 272, "vmsplice": 278, "move_pages": 279,
        "perf_event_open": 298, "fanotify_init": 300, "open_by_handle_at": 304,
        "clock_adjtime": 305, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321, "userfaultfd": 323,
    },
)  # fmt: skip

AARCH64 = Table(
    audit=0xC00000B7,
    x32=False,
    socket=198,
    socketpair=199,
    ioctl=29,
    clone=220,
    denied={
        **_UNIFIED,
        "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60,
        "vmsplice": 75,
        "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106,
        "clock_settime": 112,
        "ptrace": 117, "reboot": 142, "settimeofday": 170, "adjtimex": 171, "add_key": 217,
        "request_key": 218,
        "keyctl": 219, "swapon": 224, "swapoff": 225, "mbind": 235, "set_mempolicy": 237,
        "migrate_pages": 238,
        "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262, "open_by_handle_at": 265,
        "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
        "kcmp": 272,
        "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
    },
)  # fmt: skip

TABLES = {"x86_64": X86_64, "aarch64": AARCH64}


def program(table: Table) -> bytes:
    """Return the filter as classic BPF.

    Args:
        table: The numbers of the architecture.
    """
    code: List[Tuple[int, int, int, int]] = [
        (LOAD, AT_ARCH, 0, 0),
        # System calls of another architecture have other numbers and would bypass the filter.
        (EQUAL, table.audit, 1, 0),
        (RETURN, KILL, 0, 0),
        (LOAD, AT_NUMBER, 0, 0),
    ]
    # The x32 ABI reaches the same system calls by other numbers.
    if table.x32:
        code += [(AT_LEAST, X32_BIT, 0, 1), (RETURN, DENY, 0, 0)]
    for number in sorted(set(table.denied.values())):
        code += [(EQUAL, number, 0, 1), (RETURN, DENY, 0, 0)]
    for number in (table.socket, table.socketpair):
        code += [(EQUAL, number, 0, 2 + 2 * len(FAMILIES)), (LOAD, AT_FIRST, 0, 0)]
        for family in FAMILIES:
            code += [(EQUAL, family, 0, 1), (RETURN, ALLOW, 0, 0)]
        code += [(RETURN, DENY, 0, 0)]
    code += [(EQUAL, CLONE3, 0, 1), (RETURN, MISSING, 0, 0)]
    code += [
        (EQUAL, table.clone, 0, 4),
        (LOAD, AT_FIRST, 0, 0),
        (ANY_BIT, NEW_NAMESPACES, 0, 1),
        (RETURN, DENY, 0, 0),
    ]
    code += [(RETURN, ALLOW, 0, 0)]
    code += [(EQUAL, table.ioctl, 0, 1 + 2 * len(TERMINAL_INJECTION)), (LOAD, AT_SECOND, 0, 0)]
    for request in TERMINAL_INJECTION:
        code += [(EQUAL, request, 0, 1), (RETURN, DENY, 0, 0)]
    code += [(RETURN, ALLOW, 0, 0)]
    return b"".join(struct.pack("<HBBI", op, yes, no, value) for op, value, yes, no in code)


class _Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class Kernel:
    """System calls that Python does not provide."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        table = TABLES.get(os.uname().machine)
        self._filter = program(table) if table else b""

    @property
    def filters(self) -> bool:
        """Return True if there is a filter for this architecture."""
        return bool(self._filter)

    def _prctl(self, option: int, *values: object) -> None:
        padded = [*values, 0, 0, 0, 0][:4]
        if self._libc.prctl(option, *padded):
            number = ctypes.get_errno()
            raise OSError(number, "prctl %d: %s" % (option, os.strerror(number)))

    def set_dumpable(self, value: int) -> None:
        """Set the dumpable flag.

        0 closes /proc/<pid>/{mem,fd,environ} and ptrace to processes of the same user.
        """
        self._prctl(PR_SET_DUMPABLE, value)

    def become_subreaper(self) -> None:
        """Become the parent of orphaned descendants."""
        self._prctl(PR_SET_CHILD_SUBREAPER, 1)

    def no_new_privileges(self) -> None:
        """Disable setuid files for this process and its descendants."""
        self._prctl(PR_SET_NO_NEW_PRIVS, 1)

    def release_memory(self) -> None:
        """Return the memory of the start-up to the system, if the library can."""
        trim = getattr(self._libc, "malloc_trim", None)
        if trim is not None:
            trim(0)

    def install_filter(self) -> None:
        """Install the filter on top of existing ones; it cannot be removed."""
        self.no_new_privileges()
        if self._filter:
            buffer = ctypes.create_string_buffer(self._filter, len(self._filter))
            value = _Program(len(self._filter) // 8, ctypes.cast(buffer, ctypes.c_void_p))
            self._prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(value))
