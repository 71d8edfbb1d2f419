"""What a child that runs candidates cannot do: signal anybody older than itself, write into the checkout.

Landlock bounds both where the kernel has it (signals from its sixth version on). Signals are bounded by a filter of
system calls besides: process ids grow, so whoever has a smaller one is one of ours. What neither covers is found out
by comparing the tree afterwards; see `tree_memory`.
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
"""Per machine: its name in filters; kill, tkill, tgkill, the two of sigqueue, prlimit64, pidfd_open."""


class Guard:
    """Made once by whoever forks; put on in every child.

    Args:
        root: The checkout.
        guards_tree: Whether the checkout may not be written; False where its own tests write into it.
    """

    def __init__(self, root: str, *, guards_tree: bool = True) -> None:
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        self._rules = -1
        version = self._libc.syscall(CREATE_RULESET, None, 0, 1)
        allowed = _writable_beside(os.path.realpath(root)) if guards_tree else None
        self.guards_tree = version >= 1 and allowed is not None
        """Whether the checkout is safe from children."""
        if version >= 1 and (self.guards_tree or version >= 6):
            self._rules = self._ruleset(version, allowed if self.guards_tree else None)
            self.guards_tree = self.guards_tree and self._rules >= 0

    def _ruleset(self, version: int, allowed: Optional[List[str]]) -> int:
        rights = WRITES | (RENAMES if version >= 2 else 0) | (TRUNCATES if version >= 3 else 0)
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        wanted = struct.pack("<QQQ", rights if allowed is not None else 0, 0, SIGNALS if version >= 6 else 0)
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

    def put_on(self) -> None:
        """In the child; there is no way back."""
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
    """Every folder of the system but the one that holds the checkout; None when temporary files go there as well."""
    top = os.sep + root.split(os.sep)[1]
    if os.path.realpath(tempfile.gettempdir()).startswith(top + os.sep) or top == os.path.realpath(
        tempfile.gettempdir()
    ):
        return None
    return [os.path.join(os.sep, name) for name in sorted(os.listdir(os.sep)) if os.path.join(os.sep, name) != top]


def _filter(machine: Tuple[int, Tuple[int, ...]], own: int) -> bytes:
    """Signals to younger processes, to one's own group and to younger groups pass; everything else passes anyway."""
    name, calls = machine
    last = (1 << 32) - own
    code = [(LOAD, 4, 0, 0), (EQUAL, name, 1, 0), (RETURN, ALLOW, 0, 0), (LOAD, 0, 0, 0)]
    for number in calls:
        code += [(EQUAL, number, 0, 6), (LOAD, 16, 0, 0), (EQUAL, 0, 2, 0), (AT_LEAST, own, 0, 2)]
        code += [(ABOVE, last, 1, 0), (RETURN, ALLOW, 0, 0), (RETURN, DENY, 0, 0)]
    code += [(RETURN, ALLOW, 0, 0)]
    return b"".join(struct.pack("<HBBI", op, yes, no, value) for op, value, yes, no in code)
