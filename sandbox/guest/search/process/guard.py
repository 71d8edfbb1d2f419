"""Restrict children that run candidates: no signals to older processes, no writes to the checkout.

Landlock enforces both where the kernel supports it (signals from ABI version 6). A seccomp filter
restricts signals as well: process ids grow, so a smaller id is one of our processes. Changes that
neither prevents are found by comparing the tree afterwards; see `tree_memory`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from typing import Any, List, Optional, Tuple

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
BENEATH = 1
WRITES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))
RENAMES, TRUNCATES = 1 << 13, 1 << 14
SIGNALS = 1 << 1
NO_NEW_PRIVILEGES, SET_FILTER, FILTER_MODE = 38, 22, 2
LOAD, EQUAL, AT_LEAST, ABOVE, RETURN = 0x20, 0x15, 0x35, 0x25, 0x06
ALLOW, DENY = 0x7FFF0000, 0x00050000 | 1
MACHINES = {
    "x86_64": (0xC000003E, (62, 200, 234, 129, 297, 302, 434)),
    "aarch64": (0xC00000B7, (129, 130, 131, 138, 240, 261, 434)),
}
"""Per machine: the audit architecture and the numbers of the filtered system calls.

The calls are kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, prlimit64 and pidfd_open.
"""


class Guard:
    """Prepared once by the parent and activated in every child.

    Args:
        root: The checkout.
        guards_tree: Deny writes to the checkout; False if its own tests write to it.
    """

    def __init__(self, root: str, *, guards_tree: bool = True) -> None:
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        self._rules = -1
        version = self._libc.syscall(CREATE_RULESET, None, 0, 1)
        allowed = _writable_beside(os.path.realpath(root)) if guards_tree else None
        self.guards_tree = version >= 1 and allowed is not None
        """True if children cannot write to the checkout."""
        if version >= 1 and (self.guards_tree or version >= 6):
            self._rules = self._ruleset(version, allowed if self.guards_tree else None)
            self.guards_tree = self.guards_tree and self._rules >= 0

    def _ruleset(self, version: int, allowed: Optional[List[str]]) -> int:
        rights = WRITES | (RENAMES if version >= 2 else 0) | (TRUNCATES if version >= 3 else 0)
        # The struct has one field before version 4, two before version 6, then three.
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        wanted = struct.pack(
            "<QQQ", rights if allowed is not None else 0, 0, SIGNALS if version >= 6 else 0
        )
        rules = int(self._libc.syscall(CREATE_RULESET, wanted[:size], ctypes.c_size_t(size), 0))
        for path in (allowed or []) if rules >= 0 else []:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            file_rights = rights if os.path.isdir(path) else rights & (1 << 1 | TRUNCATES)
            self._libc.syscall(ADD_RULE, rules, BENEATH, struct.pack("<Qi", file_rights, place), 0)
            os.close(place)
        return rules

    def activate(self) -> None:
        """Activate the restrictions in this process; they cannot be removed."""
        # Landlock and seccomp require this of unprivileged processes.
        self._libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if self._rules >= 0:
            self._libc.syscall(RESTRICT_SELF, self._rules, 0)
            os.close(self._rules)
        known = MACHINES.get(os.uname().machine)
        if known:
            code = _filter(known, os.getpid())
            buffer = ctypes.create_string_buffer(code, len(code))
            program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
            self._libc.prctl(SET_FILTER, FILTER_MODE, program, 0, 0)


def _writable_beside(root: str) -> Optional[List[str]]:
    """Return all top-level folders except the one that holds the checkout.

    Return None if temporary files go there as well.
    """
    top = os.sep + root.split(os.sep)[1]
    if os.path.realpath(tempfile.gettempdir()).startswith(top + os.sep) or top == os.path.realpath(
        tempfile.gettempdir()
    ):
        return None
    return [
        os.path.join(os.sep, name)
        for name in sorted(os.listdir(os.sep))
        if os.path.join(os.sep, name) != top
    ]


def _filter(machine: Tuple[int, Tuple[int, ...]], own: int) -> bytes:
    """Return a seccomp filter program.

    It allows signals to younger processes and groups and to the own group, and all other system
    calls.
    """
    name, calls = machine
    # Negative pids are process groups. As unsigned numbers, older groups are above `last`.
    last = (1 << 32) - own
    code = [(LOAD, 4, 0, 0), (EQUAL, name, 1, 0), (RETURN, ALLOW, 0, 0), (LOAD, 0, 0, 0)]
    for number in calls:
        code += [(EQUAL, number, 0, 6), (LOAD, 16, 0, 0), (EQUAL, 0, 2, 0), (AT_LEAST, own, 0, 2)]
        code += [(ABOVE, last, 1, 0), (RETURN, ALLOW, 0, 0), (RETURN, DENY, 0, 0)]
    code += [(RETURN, ALLOW, 0, 0)]
    return b"".join(struct.pack("<HBBI", op, yes, no, value) for op, value, yes, no in code)
