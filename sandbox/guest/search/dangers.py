"""Calls whose arguments are never varied and which are never borrowed: a wrong one could destroy or disclose."""

from __future__ import annotations

import ast
from typing import Iterable

FORBIDDEN_MODULES = {"subprocess", "socket", "shutil", "signal", "ctypes", "multiprocessing"}
FORBIDDEN_OF_OS = {"remove", "rename", "replace", "kill", "truncate", "chmod", "chown", "link", "symlink"}
FORBIDDEN_CALLS = {
    "unlink", "rmtree", "rmdir", "removedirs", "renames", "killpg", "popen", "Popen", "check_call", "check_output",
    "write_text", "write_bytes", "system", "execv", "execve", "spawnv", "fork", "ftruncate", "sendall", "connect",
    "exec", "eval", "_exit", "abort",
}  # fmt: skip


def is_dangerous(node: ast.AST) -> bool:
    """Whether a node is a call whose arguments must not be varied, or a call on the result of one."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute) and is_dangerous(function.value):
        return True
    if isinstance(function, ast.Name):
        return function.id in FORBIDDEN_CALLS or (function.id == "open" and _may_write(node))
    if not isinstance(function, ast.Attribute):
        return False
    base = function.value
    while isinstance(base, ast.Attribute):
        base = base.value
    name = base.id if isinstance(base, ast.Name) else ""
    if function.attr in FORBIDDEN_CALLS or name in FORBIDDEN_MODULES:
        return True
    if name == "os" and function.attr in FORBIDDEN_OF_OS:
        return True
    return function.attr == "open" and _may_write(node)


def _may_write(call: ast.Call) -> bool:
    modes: Iterable[ast.expr] = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and set(mode.value) & set("wax+")
        and len(mode.value) <= 3
        for mode in modes
    ) or any(not isinstance(mode, ast.Constant) for mode in modes)


def holds_danger(node: ast.AST) -> bool:
    """Whether there is such a call anywhere inside."""
    return any(is_dangerous(inner) for inner in ast.walk(node))
