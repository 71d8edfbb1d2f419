"""Read `poe test`: the tasks of Poe the Poet in pyproject.toml, each as its commands."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, join, normpath
from typing import Any

from sandbox.recipe.files import beside, inside, mapping, section, tables, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import DEEPEST, ToolContext, read_options, substitute
from sandbox.types import USUAL

_VALUED = frozenset({"-C", "--directory", "--root", "-e", "--executor", "-X", "--executor-opt"})
_NAMES = ("pyproject.toml", "poe_tasks.toml")
_TYPES = ("cmd", "shell", "sequence", "parallel", "ref", "script")
_OTHER_TYPES = ("switch", "expr")
_ITEM_TYPE = "default_array_item_task_type"
_MOST_PARTS = 40
_VARIABLE = re.compile(
    r"\$(?:([A-Za-z_]\w{0,99})|\{([A-Za-z_]\w{0,99})(?::([-+])([^{}]{0,200}))?\})"
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")
_FUNCTION = re.compile(r"([A-Za-z_][\w.]{0,200}):([A-Za-z_]\w{0,100})(\(.*\))?", re.DOTALL)
_SHELLS = frozenset({"posix", "sh", "bash", "zsh"})


@dataclass(frozen=True)
class _Scope:
    """The folder, the variables and the arguments of a task."""

    folder: str
    environment: Mapping[str, str]
    given: tuple[str, ...] = ()
    """Words of the command line, quoted."""
    depth: int = 0


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of poe."""
    options = read_options(call.words[1:], _VALUED, stop=True)
    if options.has("--version", "-h", "--help") or not options.rest:
        return ToolReading()
    start = call.folder
    for value in options.values("-C", "--directory", "--root"):
        start = inside(start, value) or start
    found = _find_table(start, context)
    name = options.rest[0]
    if found is None or name not in _tasks_of(found[1]):
        context.log.dropped(call.line(), f"there is no task {name} of poe in the checkout")
        return None
    folder, table = found
    context.log.replaced(call.line(), f"the commands of the task {name} are run without poe")
    places = {
        "POE_ROOT": normpath(join(USUAL.workdir, folder)),
        "POE_PWD": normpath(join(USUAL.workdir, call.folder)),
    }
    run = _Run(table, _tasks_of(table), context, places)
    given = call.shown[len(call.words) - len(options.rest) + 1 :]
    environment = run.environment(table, call.environment)
    return run.task(run.tasks[name], _Scope(folder, environment, given))


def _find_table(folder: str, context: ToolContext) -> tuple[str, Mapping[str, Any]] | None:
    """Return the settings of poe in a folder or above it, and their folder."""
    while True:
        for name in _NAMES:
            toml = context.files.toml(beside(folder, name))
            table = section(toml, "tool", "poe") or (toml if name != "pyproject.toml" else {})
            if "tasks" in table or "include" in table:
                return folder, _with_included(table, folder, context)
        if folder == ".":
            return None
        folder = dirname(folder) or "."


def _with_included(
    table: Mapping[str, Any], folder: str, context: ToolContext
) -> Mapping[str, Any]:
    """Add the tasks of included files; those of the table itself take precedence."""
    asked = table.get("include")
    one = [asked] if isinstance(asked, str | dict) else asked
    paths = [*words(one), *(str(item.get("path")) for item in tables(one))]
    tasks: dict[str, Any] = {}
    for path in paths[:_MOST_PARTS]:
        place = inside(folder, path)
        toml = context.files.toml(place) if place is not None else {}
        own = _tasks_of(section(toml, "tool", "poe") or toml)
        if not own:
            context.log.dropped(f"include {path}", "it has no tasks that can be read")
        tasks = {**own, **tasks}
    return {**table, "tasks": {**tasks, **_tasks_of(table)}}


def _tasks_of(table: Mapping[str, Any]) -> dict[str, Any]:
    groups = mapping(table.get("groups")).values()
    grouped = [mapping(mapping(group).get("tasks")) for group in groups]
    return {
        name: task
        for tasks in (*grouped, mapping(table.get("tasks")))
        for name, task in tasks.items()
    }


@dataclass(frozen=True)
class _Run:
    settings: Mapping[str, Any]
    tasks: Mapping[str, Any]
    context: ToolContext
    places: Mapping[str, str]

    def task(self, task: object, scope: _Scope, usual: str = "") -> ToolReading:
        """Return what a task runs.

        Args:
            task: Its definition.
            scope: Where it runs.
            usual: The type of a task that is only a text.
        """
        if scope.depth > DEEPEST or not self.context.budget.take():
            reason = "its tasks call each other too often"
            self.context.log.dropped("poe", reason)
            return ToolReading(obstacles=(f"poe: {reason}",))
        if isinstance(task, str):
            kind = usual or str(self.settings.get("default_task_type", "cmd"))
            return self._typed({kind: task}, scope)
        if isinstance(task, list):
            kind = str(self.settings.get("default_array_task_type", "sequence"))
            return self._typed({kind: task}, scope)
        return self._typed(mapping(task), scope)

    def environment(self, table: Mapping[str, Any], before: Mapping[str, str]) -> dict[str, str]:
        """Return the variables before with those of a table."""
        found = dict(before)
        for name, value in list(mapping(table.get("env")).items())[:_MOST_PARTS]:
            default = mapping(value).get("default")
            if default is not None and name in {**self.context.variables, **found}:
                continue
            text = str(value if default is None else default)
            known = {**self.context.variables, **self.places, **found}
            found[name] = _fill(text, known)
        return found

    def _typed(self, task: Mapping[str, Any], scope: _Scope) -> ToolReading:
        kind = next((name for name in _TYPES if name in task), "")
        if not kind:
            named = next((name for name in _OTHER_TYPES if name in task), "of an unknown type")
            self.context.log.dropped("poe", f"a task `{named}` is not supported")
            return ToolReading(obstacles=(f"a task of poe is `{named}`, which is not supported",))
        scope = self._scope(task, scope)
        reading = ToolReading()
        for needed in words(task.get("deps"))[:_MOST_PARTS]:
            reading = reading.plus(self._named(needed, replace(scope, given=())))
        if kind in {"cmd", "shell"}:
            found = self._script(kind, task, scope)
        elif kind in {"sequence", "parallel"}:
            found = self._parts(task[kind], task, scope)
        elif kind == "ref":
            found = self._named(" ".join((str(task[kind]), *scope.given)), scope)
        else:
            found = self._function(str(task[kind]), task, scope)
        return reading.plus(found)

    def _scope(self, task: Mapping[str, Any], scope: _Scope) -> _Scope:
        """Return the scope within a task: its folder, variables and named arguments."""
        environment = self.environment(task, scope.environment)
        given = scope.given
        if "args" in task:
            environment, given = {**environment, **_arguments(task["args"], given)}, ()
        folder = scope.folder
        if isinstance(task.get("cwd"), str):
            known = {**environment, **self.places}
            path = _fill(task["cwd"], known)
            folder = inside(folder, path) or folder
        return _Scope(folder, environment, given, scope.depth + 1)

    def _named(self, line: str, scope: _Scope) -> ToolReading:
        """Return what a task runs, by its name with arguments."""
        known = {**self.context.variables, **self.places, **scope.environment}
        name, *given = _fill(line, known).split() or [""]
        if name not in self.tasks:
            self.context.log.dropped(f"poe {name}", "there is no such task")
            return ToolReading()
        return self.task(self.tasks[name], replace(scope, given=tuple(given)))

    def _parts(self, parts: object, task: Mapping[str, Any], scope: _Scope) -> ToolReading:
        usual = str(task.get("default_item_type", self.settings.get(_ITEM_TYPE, "ref")))
        listed = parts if isinstance(parts, list) else []
        if len(listed) > _MOST_PARTS:
            return ToolReading(obstacles=(f"a task of poe has more than {_MOST_PARTS} parts",))
        reading = ToolReading()
        for part in listed:
            reading = reading.plus(self.task(part, replace(scope, given=()), usual))
        if task.get("ignore_fail") in (True, "return_zero"):  # it may be a list
            commands = (one.with_(command=f"{one.command} || true") for one in reading.commands)
            return reading.with_(commands=tuple(commands))
        return reading

    def _script(self, kind: str, task: Mapping[str, Any], scope: _Scope) -> ToolReading:
        text = str(task[kind])
        if kind == "shell":
            asked = task.get("interpreter", self.settings.get("shell_interpreter", "posix"))
            if not _SHELLS & {*words(asked), asked if isinstance(asked, str) else ""}:
                return ToolReading(obstacles=("a task of poe is written for another shell",))
        else:  # in a command, a line break separates words only
            lines = _COMMENT.sub("", text).splitlines()
            text = " ".join((" ".join(line.strip() for line in lines).strip(), *scope.given))
        seen = replace(self.context, variables={**self.context.variables, **self.places})
        return seen.script(text, scope.folder, scope.environment)

    def _function(self, text: str, task: Mapping[str, Any], scope: _Scope) -> ToolReading:
        """Return the call of a function of Python; its arguments may be any expression."""
        found = _FUNCTION.fullmatch(text.strip())
        if found is None or "args" in task:
            return ToolReading(obstacles=(f"a task of poe calls `{text[:100]}`",))
        code = f"import {found[1]}; {found[1]}.{found[2]}{found[3] or '()'}"
        quoted = code.replace("'", "'\"'\"'")
        return self.context.script(f"python -c '{quoted}'", scope.folder, scope.environment)


def _fill(text: str, known: Mapping[str, str]) -> str:
    """Substitute variables in a text: `$A`, `${A:-default}`, `${A:+instead}`."""

    def value(found: re.Match[str]) -> str:
        known_value, other = known.get(found[1] or found[2]) or "", found[4] or ""
        return (other if known_value else "") if found[3] == "+" else known_value or other

    return substitute(_VARIABLE, value, text)


def _arguments(declared: object, given: Sequence[str]) -> dict[str, str]:
    """Return the values of a task's declared arguments, by name."""
    if isinstance(declared, dict):
        named = [{**mapping(about), "name": name} for name, about in declared.items()]
    else:
        items = declared if isinstance(declared, list) else []
        named = [item if isinstance(item, dict) else {"name": item} for item in items]
    named = named[:_MOST_PARTS]
    options = {
        option: item
        for item in named
        if not item.get("positional")
        for option in words(item.get("options")) or [f"--{item.get('name')}"]
    }
    found = {str(item.get("name")): str(item["default"]) for item in named if "default" in item}
    places = [str(item.get("name")) for item in named if item.get("positional")]
    left = list(given)
    while left:
        option, equals, value = left.pop(0).partition("=")
        if option in options:
            is_flag = options[option].get("type") == "boolean"
            own = value if equals else "true" if is_flag or not left else left.pop(0)
            found[str(options[option].get("name"))] = own
        elif places:
            found[places.pop(0)] = option + equals + value
    return found
