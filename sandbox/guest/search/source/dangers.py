"""Dangerous calls.

Their arguments are never varied, and they are never copied: a wrong call could destroy or disclose
data.
"""

from __future__ import annotations

import ast
from typing import Dict, Mapping, Set

from sandbox.guest.search.source.render import NodePosition

FORBIDDEN_MODULES = frozenset((
    "subprocess", "socket", "shutil", "signal", "ctypes", "multiprocessing", "ftplib", "smtplib",
    "paramiko", "pty", "resource", "fcntl", "mmap", "winreg", "psutil",
))  # fmt: skip
"""Modules of which every call is dangerous."""
FORBIDDEN_OF_OS = frozenset((
    "remove", "rename", "replace", "kill", "truncate", "chmod", "chown", "link", "symlink", "open",
    "write", "mkfifo", "mknod", "setuid", "setgid", "chroot", "putenv", "unsetenv", "startfile",
    "nice", "umask", "makedirs", "mkdir", "chdir", "utime", "dup2", "close", "popen", "abort",
))  # fmt: skip
FORBIDDEN_CALLS = frozenset((
    "unlink", "rmtree", "rmdir", "removedirs", "renames", "killpg", "popen", "Popen", "check_call",
    "check_output", "write_text", "write_bytes", "system", "fork", "forkpty", "ftruncate",
    "sendall", "sendto", "connect", "exec", "eval", "_exit", "abort", "lchown", "fchmod", "fchown",
    "hardlink_to", "symlink_to", "link_to", "copytree", "copyfile", "copyfileobj", "execfile",
    "run_command", "getstatusoutput", "getoutput", "urlopen", "urlretrieve", "extractall",
    "terminate", "create_subprocess_exec", "create_subprocess_shell", "posix_spawn", "send_signal",
    "kill", "__import__", "import_module", "create_connection", "rename",
    *(f"exec{ends}" for ends in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    *(f"spawn{ends}" for ends in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
))  # fmt: skip
"""Function names that are dangerous on any object, because its type is unknown."""
DANGEROUS_MODULES = FORBIDDEN_MODULES | {"os", "posix", "nt"}
# Reading is harmless, but an edit of the mode makes it a write, so every `open` is excluded.
OPENERS = frozenset(("open", "fdopen", "TemporaryFile", "NamedTemporaryFile"))
PATHS = frozenset(("Path", "PurePath", "PosixPath", "WindowsPath"))
PATH_METHODS = frozenset(
    ("rename", "replace", "unlink", "rmdir", "chmod", "open", "touch", "mkdir", "write")
)


class Dangers:
    """The dangerous calls of one file, including imported aliases.

    Args:
        tree: The file.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._modules: Dict[str, str] = {}
        self._names: Dict[str, str] = {}
        self._around: Set[ast.AST] = set()
        for node in ast.walk(tree):
            self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._modules[alias.asname or alias.name.partition(".")[0]] = alias.name.partition(
                    "."
                )[0]
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").partition(".")[0]
            for alias in node.names:
                self._names[alias.asname or alias.name] = f"{module}.{alias.name}"
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
            self._learn_alias(node, node.value)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            if (
                _last_name(node.value.func) in PATHS
                or self._names.get(_last_name(node.value.func)) == "pathlib.Path"
            ):
                self._names.update(dict.fromkeys(names, "path"))

    def _learn_alias(self, node: ast.Assign, value: ast.Name | ast.Attribute) -> None:
        """Record aliases such as `remove = os.remove` and `system = os`."""
        for target in node.targets:
            if not isinstance(target, ast.Name):
                continue
            if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
                module = self._modules.get(value.value.id, value.value.id)
                if _is_forbidden(module, value.attr):
                    self._names[target.id] = f"{module}.{value.attr}"
            elif isinstance(value, ast.Name) and (
                value.id in self._modules or value.id in DANGEROUS_MODULES
            ):
                self._modules[target.id] = self._modules.get(value.id, value.id)
            elif isinstance(value, ast.Name) and value.id in self._names:
                self._names[target.id] = self._names[value.id]

    def is_dangerous(self, node: ast.AST) -> bool:
        """Return True for a call whose arguments must not be varied, or a call on its result."""
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if any(self._names_danger(argument) for argument in node.args):
            return True  # `map(os.unlink, paths)`
        if isinstance(function, ast.Call):
            # `getattr(os, "unlink")(path)`, `partial(os.unlink, path)()`
            return self.is_dangerous(function) or any(
                self._module_name(a) in DANGEROUS_MODULES for a in function.args
            )
        if isinstance(function, ast.Attribute) and self.is_dangerous(function.value):
            return True
        if isinstance(function, ast.Name):
            return self._is_dangerous_name(function.id)
        return isinstance(function, ast.Attribute) and self._is_dangerous_method(function)

    def _module_name(self, node: ast.AST) -> str:
        return self._modules.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def _names_danger(self, node: ast.AST) -> bool:
        """Return True if an argument is itself a dangerous function."""
        if isinstance(node, ast.Attribute):
            return _is_forbidden(self._module_name(node.value), node.attr)
        module, _, original = self._names.get(getattr(node, "id", ""), "").partition(".")
        return _is_forbidden(module, original)

    def _is_dangerous_name(self, name: str) -> bool:
        module, _, original = self._names.get(name, f".{name}").partition(".")
        if _is_forbidden(module, original or name) or original in FORBIDDEN_CALLS:
            return True
        return original in OPENERS

    def _is_dangerous_method(self, function: ast.Attribute) -> bool:
        base: ast.expr = function.value
        while isinstance(base, ast.Attribute):
            base = base.value
        name = base.id if isinstance(base, ast.Name) else ""
        if isinstance(base, ast.Call) and _last_name(base.func) in PATHS | {"cwd", "home"}:
            name = "path"
        module = self._modules.get(name) or self._names.get(name, name).partition(".")[0]
        if _is_forbidden(module, function.attr) or function.attr in FORBIDDEN_CALLS:
            return True
        if (module == "path" or self._names.get(name) == "path") and function.attr in PATH_METHODS:
            return True
        if module in ("pathlib", "Path"):
            return function.attr in PATH_METHODS
        return function.attr in OPENERS

    def around(self, places: Mapping[ast.AST, NodePosition]) -> Set[ast.AST]:
        """Return every node of the file that is or contains a dangerous call."""
        if not self._around:
            for node in places:
                if isinstance(node, ast.Call) and self.is_dangerous(node):
                    around: ast.AST = node
                    # All nodes above a dangerous call contain it; a known one has known parents.
                    while around not in self._around:
                        self._around.add(around)
                        around = places[around].parent if around in places else around
        return self._around


def _is_forbidden(module: str, name: str) -> bool:
    return module in FORBIDDEN_MODULES or (
        module in ("os", "posix", "nt") and name in FORBIDDEN_OF_OS | FORBIDDEN_CALLS
    )


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_dangerous(node: ast.AST, tree: ast.AST | None = None) -> bool:
    """Return True for a dangerous call; without its file, aliases are not resolved."""
    return Dangers(tree if tree is not None else ast.Module([], [])).is_dangerous(node)
