"""Read turbo, nx and lerna: the scripts or commands of all tasks in all selected packages."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.recipe.files import CheckoutFiles, beside, inside, mapping, words
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.node_scripts import Needed, needed_scripts, scripts_of
from sandbox.recipe.tools.node_workspaces import find_unread, list_packages, select_packages
from sandbox.types.monorepo import MonorepoCall, split_monorepo

_RUN_COMMANDS = frozenset({"nx:run-commands", "@nrwl/workspace:run-commands"})
_RUN_SCRIPT = frozenset({"nx:run-script", "@nrwl/workspace:run-script"})
_INFERRED = {
    "eslint": ("lint",),
    "jest": ("test",),
    "vite": ("test", "build", "typecheck", "vite:test", "vite:build"),
    "vitest": ("test", "vitest:test"),
    "typescript": ("typecheck", "build"),
    "rollup": ("build",),
    "webpack": ("build",),
    "rspack": ("build",),
    "rsbuild": ("build",),
    "playwright": ("e2e",),
    "cypress": ("e2e",),
    "storybook": ("build-storybook", "test-storybook"),
}
"""Targets that plugins of nx make from a tool's own settings, by a part of the plugin's name."""
_COMMAND_OPTIONS = frozenset(
    {"command", "commands", "cwd", "args", "parallel", "readyWhen", "color", "env", "envFile"}
    | {"forwardAllArgs", "usePty", "streamOutput", "tty"}
)
"""Options of `nx:run-commands` that are no arguments of its commands."""
_NAME = re.compile(r"(?:\./)?[@\w/-]+(?:\.[\w/-]+)*")
"""A selector of one package."""
_MOST_TASKS = 20
_MOST_PLUGINS = 60


def read_monorepo(call: Call, folder: str, context: ToolContext) -> ToolReading | None:
    """Read `turbo run lint test`, `nx run-many -t test`, `lerna run test`.

    Args:
        call: The call.
        folder: The folder of the workspace.
        context: The files of the checkout.

    Returns:
        None if no package has such a task.
    """
    asked = split_monorepo(call.words)
    if unknown := next((one for one in asked.chosen if "$" in one), None):
        needs = f"`{call.line()[:100]}` needs {unknown}, which is not known here"
        return ToolReading(obstacles=(needs,))
    return _Monorepo(call, asked, folder, context).read()


@dataclass(frozen=True)
class _Monorepo:
    """The reader of one call."""

    call: Call
    asked: MonorepoCall
    folder: str
    context: ToolContext

    def read(self) -> ToolReading | None:
        """Return the commands of each task, after the builds that it needs."""
        files, folder, asked = self.context.files, self.folder, self.asked
        projects = self._projects()
        places = select_packages(files, folder, asked.chosen, asked.excluded, projects=projects)
        everything = select_packages(files, folder, (), projects=projects)
        reading = ToolReading()
        if len(asked.tasks) > _MOST_TASKS:
            return ToolReading(obstacles=(f"`{self.call.line()[:100]}` names too many tasks",))
        needed = {task: needed_scripts(files, folder, task) for task in asked.tasks}
        # What nx runs by itself has its builds.
        read = [own for task, own in needed.items() if not self._is_inferred(task)]
        for build in dict.fromkeys(one for own in read for one in own.builds):
            reading = reading.plus(self._tasks(build, everything, MonorepoCall()))
        for task in _in_order(needed):
            here = places if self.call.program != "turbo" else self._with_top(task, places)
            given = asked if task in asked.tasks else asked._replace(arguments=())
            reading = reading.plus(self._tasks(task, here, given))
        if not reading.commands and not reading.obstacles:
            return None
        is_named = places != everything and all(map(_NAME.fullmatch, asked.chosen))
        if not is_named and (path := find_unread(files, folder)) is not None:
            obstacle = f"`{self.call.line()[:100]}` may run a task of {path}, which is not read"
            reading = reading.with_(obstacles=(*reading.obstacles, obstacle))
        return reading

    def _projects(self) -> list[str]:
        """Return the folders of nx's projects that are no packages of the workspace."""
        if self.call.program != "nx":
            return []
        prefix = "" if self.folder == "." else f"{self.folder}/"
        packages = list_packages(self.context.files, self.folder)
        places = [
            name.rpartition("/")[0] or "."
            for name in sorted(self.context.files.contents)
            if name.startswith(prefix) and name.rpartition("/")[2] == "project.json"
        ]
        if "nx" in self.context.files.json(beside(self.folder, "package.json")):
            places = [self.folder, *places]
        return [place for place in dict.fromkeys(places) if place not in packages]

    def _with_top(self, task: str, places: list[str]) -> list[str]:
        """Return packages, with the top if turbo has a task of its own there: `//#format`."""
        turbo = self.context.files.json(beside(self.folder, "turbo.json"))
        named = mapping(turbo.get("tasks") or turbo.get("pipeline"))
        is_own = f"//#{task}" in named and not self.asked.chosen
        return [self.folder, *places] if is_own and self.folder not in places else places

    def _is_inferred(self, task: str) -> bool:
        """Return True if only nx knows in which packages it runs a task."""
        return self.call.program == "nx" and task in _inferred(self.context.files, self.folder)

    def _tasks(self, task: str, places: Iterable[str], asked: MonorepoCall) -> ToolReading:
        """Return the commands of a task in some packages."""
        if self._is_inferred(task):
            return self._by_nx(["run-many", "-t", task], asked)
        arguments = asked.arguments
        reading = ToolReading()
        for place in places:
            target = self._target(task, place)
            if target is not None:
                reading = reading.plus(self._read_target(task, place, target, arguments))
            elif self._is_script(task, place):
                reading = reading.plus(self._script(task, place, arguments))
        return reading

    def _is_script(self, task: str, place: str) -> bool:
        """Return True if a task is a script of a package, and does not run the tool again."""
        script = scripts_of(self.context.files, place).get(task)
        if script is None or self.call.program != "nx":
            return script is not None
        own = mapping(self.context.files.json(beside(place, "package.json")).get("nx"))
        included = own.get("includedScripts")
        is_included = not isinstance(included, list) or task in included
        return is_included and re.search(r"(?<![\w-])nx\s", script) is None

    def _target(self, task: str, place: str) -> dict[str, Any] | None:
        """Return nx's definition of a target; None if it is a script of the package or none."""
        files = self.context.files
        if self.call.program != "nx":
            return None
        package = mapping(files.json(beside(place, "package.json")).get("nx"))
        defaults = mapping(files.json(beside(self.folder, "nx.json")).get("targetDefaults"))
        usual = mapping(defaults.get(task))
        for table in (files.json(beside(place, "project.json")), package):
            own = mapping(table.get("targets")).get(task)
            if isinstance(own, dict):
                options = {**mapping(usual.get("options")), **mapping(own.get("options"))}
                found = {**usual, **own, "options": options}
                if found.get("executor") or found.get("command"):
                    return found
        return None

    def _read_target(
        self, task: str, place: str, target: dict[str, Any], arguments: tuple[str, ...]
    ) -> ToolReading:
        executor, options = target.get("executor"), mapping(target.get("options"))
        command = target.get("command")
        if executor in _RUN_SCRIPT:
            return self._script(str(options.get("script", task)), place, arguments)
        if executor not in _RUN_COMMANDS and not isinstance(command, str):
            return self._by_nx(["run", f"{self._name(place)}:{task}"], MonorepoCall())
        listed = options.get("commands")
        lines = [command, options.get("command")] if command else [options.get("command")]
        lines += listed if isinstance(listed, list) else []
        texts = [mapping(one).get("command", one) for one in lines]
        where = options.get("cwd") if isinstance(options.get("cwd"), str) else "."
        here = inside(self.folder, self._filled(str(where), place)) or self.folder
        given = (*_own_arguments(options), *map(shlex.quote, arguments))
        found = [" ".join((one, *given)) for one in texts if isinstance(one, str)]
        found = [self._filled(one, place) for one in found]
        return self.context.scripts(found, here, self.call.environment)

    def _filled(self, text: str, place: str) -> str:
        """Return a text of nx with its own variables replaced."""
        prefix = "" if self.folder == "." else f"{self.folder}/"
        own = place.removeprefix(prefix)
        text = text.replace("{workspaceRoot}/", "").replace("{workspaceRoot}", ".")
        return text.replace("{projectRoot}", own).replace("{projectName}", self._name(place))

    def _name(self, place: str) -> str:
        files = self.context.files
        tables_ = (files.json(beside(place, name)) for name in ("project.json", "package.json"))
        names = (table.get("name") for table in tables_)
        named = next((name for name in names if isinstance(name, str)), "")
        return named or place.rpartition("/")[2]

    def _script(self, script: str, place: str, arguments: tuple[str, ...]) -> ToolReading:
        words = ["npm", "run", script, *(("--", *arguments) if arguments else ())]
        return self.context.script(shlex.join(words), place, self.call.environment)

    def _by_nx(self, words: list[str], asked: MonorepoCall) -> ToolReading:
        """Return a call of nx itself, which needs no history: all instead of affected projects."""
        if asked.chosen:
            words = [*words, "-p", ",".join(asked.chosen)]
        if asked.excluded:
            words = [*words, f"--exclude={','.join(asked.excluded)}"]
        words += ["--", *asked.arguments] if asked.arguments else []
        command = ToolCommand(
            command=shlex.join(("npx", "nx", *words)),
            working_directory=self.folder,
            environment=self.call.environment,
        )
        return ToolReading(commands=(command,))


def _own_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the arguments that the options of a target add to its commands."""
    args = options.get("args", [])
    found = [args] if isinstance(args, str) else words(args)
    named = {name: value for name, value in options.items() if name not in _COMMAND_OPTIONS}
    return [
        *found,
        *(shlex.quote(f"--{name}={value}") for name, value in named.items() if _is_plain(value)),
    ]


def _is_plain(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.isprintable())


def _in_order(needed: dict[str, Needed]) -> list[str]:
    """Return the tasks, each after the checks that it depends on."""
    found = [one for task, own in needed.items() for one in (*own.checks, task)]
    return list(dict.fromkeys(found))


def _inferred(files: CheckoutFiles, folder: str) -> set[str]:
    """Return the targets that plugins of nx may make in any project."""
    found: set[str] = set()
    listed = files.json(beside(folder, "nx.json")).get("plugins")
    for plugin in listed[:_MOST_PLUGINS] if isinstance(listed, list) else ():
        table = mapping(plugin)
        name = str(table.get("plugin", plugin))
        options = mapping(table.get("options")).values()
        found |= {value for value in options if isinstance(value, str)}
        for part in name.split("/"):
            found.update(_INFERRED.get(part, ()))
    return found
