"""Follow a nox session's statements: its installs and commands, as far as they are known."""

import ast
import shlex
from dataclasses import dataclass, field
from typing import Any

from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools import pip
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.nox_values import (
    NotKnown,
    NoxScope,
    dotted_name,
    plain_texts,
    show,
)

MOST_STATEMENTS = 2000
_DEEPEST = 6
"""Limit of nested function calls, which may be circular."""


@dataclass
class SessionRun:
    """The state while following the body of one session."""

    name: str
    function: ast.FunctionDef
    python: str | None
    context: ToolContext
    functions: dict[str, ast.FunctionDef]
    scope: NoxScope
    folder: str
    environment: dict[str, str] = field(default_factory=dict)
    reading: ToolReading = field(default_factory=ToolReading)
    left: int = MOST_STATEMENTS

    def read(self, call: Call, posargs: tuple[str, ...]) -> ToolReading:
        """Return the session's installs and commands."""
        self.environment = dict(call.environment)
        self.scope.session = {
            "posargs": list(posargs),
            "python": self.python,
            "name": self.name,
            "bin": "bin",
            "interactive": False,
            "venv_backend": "virtualenv",
        }
        arguments = self.function.args.args
        if arguments:
            self.scope.names[arguments[0].arg] = "<session>"
        self._body(self.function.body, 0)
        return self.reading.with_(python=self.reading.python or self.python)

    def _body(self, body: list[ast.stmt], depth: int) -> bool:
        """Follow statements. Return False if the function ends within them."""
        for node in body:
            self.left -= 1
            if self.left < 0 or depth > 12:  # noqa: PLR2004 (deeper than anybody writes)
                return False
            if not self.scope.spend():
                return False
            if isinstance(node, ast.Return | ast.Raise):
                return False
            if not self._statement(node, depth):
                return False
        return True

    def _statement(self, node: ast.stmt, depth: int) -> bool:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._call(node.value, depth)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(node, depth)
        elif isinstance(node, ast.If):
            return self._if(node, depth)
        elif isinstance(node, ast.For):
            self._for(node, depth)
        elif isinstance(node, ast.With):
            return self._with(node, depth)
        elif isinstance(node, ast.Try):
            return self._body(node.body, depth + 1) and self._body(node.finalbody, depth + 1)
        return True

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, depth: int) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(node.value, ast.Call):
            self._call(node.value, depth)  # `output = session.run(...)`
        try:
            value = self.scope.value(node.value) if node.value is not None else None
        except NotKnown:
            value = NotKnown
        if isinstance(target, ast.Subscript) and dotted_name(target.value).endswith(".env"):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            if isinstance(key, str) and isinstance(value, str):
                self.environment[key] = value
        elif isinstance(target, ast.Name):
            before = self.scope.names.get(target.id)
            if (
                isinstance(node, ast.AugAssign)
                and isinstance(before, list)
                and isinstance(value, list)
            ):
                value = [*before, *value]
            elif isinstance(node, ast.AugAssign):
                value = NotKnown
            self.scope.names[target.id] = value

    def _if(self, node: ast.If, depth: int) -> bool:
        try:
            holds = bool(self.scope.value(node.test))
        except NotKnown:
            # guards such as `if os.environ.get("CI")` mostly add something; the other branch is for
            # other machines
            self.context.log.dropped(
                f"if {show(node.test)[:120]}", "its condition is only known at run time"
            )
            self._body(node.body, depth + 1)
            return True
        return self._body(node.body if holds else node.orelse, depth + 1)

    def _for(self, node: ast.For, depth: int) -> None:
        try:
            values = self.scope.value(node.iter)
        except NotKnown:
            return
        for value in values[:20] if isinstance(values, list) else []:
            if isinstance(node.target, ast.Name):
                self.scope.names[node.target.id] = value
            elif isinstance(node.target, ast.Tuple) and isinstance(value, list | tuple):
                pairs = zip(node.target.elts, value, strict=False)
                self.scope.names.update(
                    {t.id: item for t, item in pairs if isinstance(t, ast.Name)}
                )
            self._body(node.body, depth + 1)

    def _with(self, node: ast.With, depth: int) -> bool:
        before = self.folder
        for item in node.items:
            if isinstance(item.context_expr, ast.Call):
                self._call(item.context_expr, depth)
        goes_on = self._body(node.body, depth + 1)
        self.folder = before
        return goes_on

    def _call(self, node: ast.Call, depth: int) -> bool:
        """Follow a call. Return False if it ends the session."""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in {"append", "extend", "insert"} and isinstance(node.func, ast.Attribute):
            self._extend_list(node.func, node)
        elif self._is_session(node):
            return self._method(method, node)
        elif (
            isinstance(node.func, ast.Name) and node.func.id in self.functions and depth < _DEEPEST
        ):
            self._function(self.functions[node.func.id], node, depth)
        return True

    def _is_session(self, node: ast.Call) -> bool:
        owner = (
            dotted_name(node.func).partition(".")[0] if isinstance(node.func, ast.Attribute) else ""
        )
        return self.scope.names.get(owner) == "<session>"

    def _extend_list(self, function: ast.Attribute, node: ast.Call) -> None:
        name = function.value.id if isinstance(function.value, ast.Name) else ""
        present = self.scope.names.get(name)
        try:
            value = self.scope.value(node.args[-1]) if node.args else None
        except NotKnown:
            return
        if isinstance(present, list) and len(present) < 500:  # noqa: PLR2004 (no command is longer)
            self.scope.names[name] = [
                *present,
                *(value if function.attr == "extend" and isinstance(value, list) else [value]),
            ]

    def _function(self, function: ast.FunctionDef, node: ast.Call, depth: int) -> None:
        """Follow a function of the noxfile with its arguments."""
        before = dict(self.scope.names)
        names = [argument.arg for argument in function.args.args]
        defaults = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
        defaults.update(
            {
                a.arg: d
                for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
                if d
            }
        )
        given = {**defaults, **dict(zip(names, node.args, strict=False))}
        given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
        inner: dict[str, Any] = {}
        for name, value in given.items():
            try:
                inner[name] = self.scope.value(value)
            except NotKnown:
                inner[name] = NotKnown
        if function.args.vararg is not None:
            inner[function.args.vararg.arg] = self._values(list(node.args[len(names) :]))
        self.scope.names = inner
        self._body(function.body, depth + 1)
        self.scope.names = before

    def _values(self, arguments: list[ast.expr]) -> list[str]:
        """Return arguments as words; unknown ones are dropped and logged."""
        found: list[str] = []
        for argument in arguments[:500]:
            try:
                if isinstance(argument, ast.Starred):
                    inner = self.scope.value(argument.value)
                    found += plain_texts(inner)
                else:
                    value = self.scope.value(argument)
                    found += (
                        [str(value)] if isinstance(value, str | int | float) else plain_texts(value)
                    )
            except (NotKnown, TypeError):
                self.context.log.dropped(
                    f"{self.name}: {show(argument)[:120]}",
                    "its value is only known at run time",
                )
        return found[:500]

    def _method(self, method: str, node: ast.Call) -> bool:
        if method in {"skip", "error"}:
            return False
        words = self._values(list(node.args)) if method in _METHODS else []
        if method in {"install", "conda_install"} and words:
            call = Call(
                words=("pip", "install", *words),
                shown=("pip", "install", *map(shlex.quote, words)),
                text="session.install",
                folder=self.folder,
            )
            wanted = pip.read_install(call, tuple(words), self.context)
            if not any(word.startswith(("-r", "--requirement")) for word in words):
                wanted = wanted.as_for_tests()
            self.reading = self.reading.plus(ToolReading(wanted=wanted))
        elif method in {"chdir", "cd"} and words:
            self.folder = inside(self.folder, words[0]) or self.folder
        elif method in {"run", "run_always", "run_install"} and words:
            self._command(words, node)
        elif method == "notify" and words:
            pass  # another session has its own reading
        elif method == "installroot":
            self._install_root(node)
        return True

    def _install_root(self, node: ast.Call) -> None:
        """Read nox-poetry's `session.poetry.installroot()`."""
        values = [keyword.value for keyword in node.keywords if keyword.arg == "extras"]
        extras = ",".join(self._values(values))
        words = [f".[{extras}]" if extras else "."]
        call = Call(
            words=("pip", "install", *words),
            shown=("pip", "install", *words),
            text="installroot",
            folder=self.folder,
        )
        self.reading = self.reading.plus(
            ToolReading(wanted=pip.read_install(call, tuple(words), self.context))
        )

    def _command(self, words: list[str], node: ast.Call) -> None:
        environment = dict(self.environment)
        for keyword in node.keywords:
            if keyword.arg == "env":
                try:
                    given = self.scope.value(keyword.value)
                except NotKnown:
                    given = {}
                known = given.items() if isinstance(given, dict) else ()
                environment.update({str(k): text for k, v in known for text in plain_texts([v])})
        self.reading = self.reading.plus(
            self.context.script(shlex.join(words), self.folder, environment)
        )


_METHODS = frozenset(
    {"install", "conda_install", "chdir", "cd", "run", "run_always", "run_install", "notify"}
)
