"""Read npm, pnpm, yarn, bun and the programs of Node.js packages."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.recipe.command import classify_command, split_command
from sandbox.recipe.files import inside
from sandbox.recipe.job import Absent, ToolReading
from sandbox.recipe.node_checks import NODE_CHECKS
from sandbox.recipe.node_packages import INSTALLED, node_folder
from sandbox.recipe.programs import NODE
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import (
    Options,
    ToolContext,
    checked_command,
    plain_command,
    read_options,
)
from sandbox.recipe.tools.node_calls import (
    EXEC_WORDS,
    INSTALLS,
    RUN_WORDS,
    SCRIPT_NAMES,
    TESTING,
    split_call,
)
from sandbox.recipe.tools.node_installs import (
    install_folders,
    read_added,
    read_install,
    read_lifecycle,
    read_setting,
)
from sandbox.recipe.tools.node_monorepo import read_monorepo
from sandbox.recipe.tools.node_programs import (
    BROWSERS,
    missing_parts,
    modules_of_nyc,
    names_source,
    parallel_lines,
    start_by_npx,
    starts_no_program,
)
from sandbox.recipe.tools.node_scripts import (
    matching_scripts,
    named_by_pattern,
    read_script,
    scripts_of,
)
from sandbox.recipe.tools.node_tools import read_tools
from sandbox.recipe.tools.node_workspaces import select_packages, workspace_top
from sandbox.runners.builds import BUILD_PROGRAMS
from sandbox.runners.javascript.command import NODE_VALUED
from sandbox.types import StepKind
from sandbox.types.launchers import NODE_COVERAGE_VALUED, NODE_MANAGERS
from sandbox.types.monorepo import MONOREPO_TOOLS

_CHECKS = dict.fromkeys(row.split()[0] for row in NODE_CHECKS)
PROGRAMS = (
    "npx", "pnpx", "bunx", "node", "corepack", "tsx", *BROWSERS,
    "ts-node", "cross-env", "cross-env-shell", "npm-run-all", "npm-run-all2", "run-s", "run-p",
    "concurrently", "publint", "attw", "wireit", "patch-package", "husky",
    *_CHECKS, *NODE_MANAGERS, *MONOREPO_TOOLS, *BUILD_PROGRAMS,
)  # fmt: skip
_NOTHING = frozenset(
    {
        "config", "cache", "audit", "version", "publish", "ls", "list",
        "set", "why", "dedupe", "store", "setup", "fetch", "approve-builds", "fund", "outdated",
        "pkg", "view", "info", "whoami", "login",
    }
)  # fmt: skip
_EVERY = ("-r", "--recursive", "-ws", "--workspaces", "-A", "--all")
_SELECTING = ("-w", "--workspace", "--filter", "-F", "--filter-prod", "--include", "--from")
_RUNNERS = frozenset({"npm-run-all", "npm-run-all2", "run-s", "run-p"})
_COMMITS = frozenset({"--from", "-f", "--to", "-t", "--last", "-l", "--edit", "-e"})
"""Options of `commitlint` that make it read messages from git."""
_NO_HISTORY = "`commitlint` reads messages of commits, and the sandbox has no history"
_NODE_TEST = re.compile(r"""["']node:test["']""")


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of a Node.js tool."""
    if call.program == "corepack":
        # The set-up installs the manager itself.
        is_start = call.words[1:] and call.from_(1).program in NODE_MANAGERS
        return read(call.from_(1), context) if is_start else ToolReading()
    if call.program in BROWSERS:
        line = f"`{call.line()[:100]}`"
        context.log.dropped(call.line(), f"no set-up here installs what {call.program} needs")
        return plain_command(call).with_(
            obstacles=(f"{line} needs {call.program}'s own runtime or browsers",)
        )
    options, folder = split_call(call), call.folder
    if call.program in NODE_MANAGERS:
        if (tools := read_tools(call, options)) is not None:
            for name in tools.others:
                reason = "apart from the project, only packages that check it are installed"
                context.log.dropped(f"{call.program}: {name}", reason)
            return ToolReading(node_tools=tools.packages)
        folder = _start_folder(call, options, context)
        asks = next(iter(options.positional), "")
        own = scripts_of(context.files, folder)
        is_nothing = asks in _NOTHING and (call.program == "npm" or asks not in own)
        if is_nothing or options.has("--version", "-v"):
            return ToolReading(node_install=read_setting((*options.positional, *options.rest)))
    folders = node_folder(context.files, folder)
    if folders is None:
        context.log.dropped(call.line(), NODE.runs)
        return plain_command(call).with_(obstacles=(NODE.obstacle(call.line()),))
    if call.program in NODE_MANAGERS:
        found = _Reader(call, options, folder, context).read()
        if found.node_install.manager is not None:
            folders = install_folders(call.with_(folder=folder), context)
    else:
        found = _read_program(call, folder, context)
    return found.with_(node_folders=folders)


def _start_folder(call: Call, options: Options, context: ToolContext) -> str:
    """Return the folder in which a package manager works."""
    folder = call.folder
    for value in options.values("--prefix", "-C", "--cwd", "--dir"):
        folder = inside(folder, value) or folder
    if call.program == "pnpm" and options.has("-w", "--workspace-root"):
        folder = workspace_top(context.files, folder)
    return folder


@dataclass(frozen=True)
class _Reader:
    """The reader of one call of a package manager."""

    call: Call
    options: Options
    folder: str
    context: ToolContext

    def read(self) -> ToolReading:
        """Return its reading."""
        words, files = list(self.options.positional), self.context.files
        asks = words[0] if words else "install" if self.call.program.startswith("yarn") else ""
        if asks == "workspace" and words[1:]:
            return self._run(words[2:], select_packages(files, self.folder, words[1:2]))
        if asks == "workspaces":
            return self._run_in_packages([word for word in words[1:] if word != "foreach"])
        if self.call.program == "bun" and asks == "test":
            line = f"`{self.call.line()[:100]}` needs bun's own test runner"
            return plain_command(self.call).with_(obstacles=(line,))
        is_script = self.call.program != "npm" and asks in scripts_of(files, self.folder)
        if asks in INSTALLS and not is_script:
            found = self._install(words)
            return found.plus(self._run(["test"], [self.folder])) if asks in TESTING else found
        if not asks:
            return ToolReading()
        if asks == "pack":
            return plain_command(self.call)
        if self.options.has(*_EVERY) or any(self.options.values(*_SELECTING)):
            return self._run_in_packages(words)
        return self._run(words, [self.folder])

    def _install(self, words: list[str]) -> ToolReading:
        options, context = self.options, self.context
        if archive := next(
            (word for word in words[1:] if word.endswith((".tgz", ".tar.gz"))), None
        ):
            reason = f"needs the archive {archive[:100]}, and no package is packed here"
            context.log.dropped(self.call.line(), reason)
            return ToolReading(absent=(Absent(place=self.folder, reason=reason),))
        if words[1:] or options.has("-g", "--global"):
            is_elsewhere = options.has("-g", "--global", *_EVERY) or any(
                options.values(*_SELECTING)
            )
            added = None if is_elsewhere else read_added(self.call, words, options, context)
            if added is None and is_elsewhere and not options.has("-g", "--global"):
                return self._added_elsewhere()
            if added is None:
                reason = "only the project's own packages are installed"
                context.log.dropped(self.call.line(), reason)
                return ToolReading()
            context.log.replaced(self.call.line(), "the set-up adds these packages")
            return ToolReading(node_install=added)
        context.log.replaced(self.call.line(), INSTALLED)
        call = self.call.with_(folder=self.folder)
        reading = ToolReading(node_install=read_install(call, words, options, context))
        if options.has("--ignore-scripts"):
            return reading
        return reading.plus(read_lifecycle(call, context))

    def _added_elsewhere(self) -> ToolReading:
        """Return the packages that get others, which the set-up does not add."""
        reason = f"needs what `{self.call.line()[:100]}` adds"
        self.context.log.dropped(self.call.line(), "the set-up adds packages at the top only")
        chosen = self.options.split(*_SELECTING)
        places = select_packages(self.context.files, self.folder, chosen)
        return ToolReading(absent=tuple(Absent(place=one, reason=reason) for one in places))

    def _run_in_packages(self, words: list[str]) -> ToolReading:
        """Read `pnpm -r test` and the like: the script of each selected package that has it."""
        files, options = self.context.files, self.options
        places = select_packages(
            files,
            self.folder,
            options.split(*_SELECTING),
            options.values("--exclude"),
        )
        is_run = not RUN_WORDS.isdisjoint(words[:1])
        named = words[1:] if is_run else words
        if named and (is_run or named[0] not in EXEC_WORDS):
            name = SCRIPT_NAMES.get(named[0], named[0])
            having = [
                place
                for place in places
                if name in scripts_of(files, place) or named_by_pattern(files, place, name)
            ]
            # Without such a script in any package, the word names a program.
            is_program = self.call.program != "npm" and not having
            places = places if is_program else having
        return self._run(words, places)

    def _run(self, words: list[str], places: list[str]) -> ToolReading:
        """Read what runs in some folders: a script, or a program of a package."""
        is_run = not RUN_WORDS.isdisjoint(words[:1])
        words = words[1:] if is_run else words
        arguments = list(self.options.rest)
        if words and words[0] in EXEC_WORDS and not is_run:
            return self._run_program([*map(shlex.quote, words[1:]), *arguments], places)
        if not words:
            return ToolReading()
        if names_source(words[0], self.call, self.context.files):
            return plain_command(self.call)
        name = SCRIPT_NAMES.get(words[0], words[0])
        reading = ToolReading()
        for place in places:
            several = named_by_pattern(self.context.files, place, name)
            for script in several or [name]:
                reading = reading.plus(self._run_script(script, arguments, place))
        return reading

    def _run_script(self, name: str, arguments: list[str], folder: str) -> ToolReading:
        call = self.call.with_(folder=folder)
        if (found := read_script(call, name, arguments, self.context)) is not None:
            return found
        scripts = scripts_of(self.context.files, folder)
        is_program = name not in scripts
        if is_program and self.call.program != "npm":
            return self._run_program([shlex.quote(name), *arguments], [folder])
        # Every Node.js has npm, and other managers run scripts in the same way.
        line = ["npm", *(["test"] if name == "test" else ["run", shlex.quote(name)])]
        line += ["--", *arguments] if arguments else []
        if self.call.program == "npm" and folder == self.call.folder:
            line = list(self.call.shown)
        text = " ".join(line)
        words = tuple(split_command(text))
        found = _kept(call.with_(words=words, shown=tuple(line), text=text), self.context)
        return found.with_(obstacles=missing_parts(text, scripts.get(name, "")))

    def _run_program(self, program: list[str], places: list[str]) -> ToolReading:
        """Read a program of a package, called in some folders."""
        reading = ToolReading()
        for place in places if program else ():
            line = " ".join(program)
            found = self.context.script(line, place, self.call.environment)
            reading = reading.plus(start_by_npx(found, line))
        return reading


def _read_program(call: Call, folder: str, context: ToolContext) -> ToolReading:
    """Read a program of a package, or one that runs scripts or other programs."""
    words = [word for word in call.words[1:] if not word.startswith("-")]
    if call.program in {"cross-env", "cross-env-shell"}:
        return context.script(" ".join(call.shown[1:]), call.folder, call.environment)
    if call.program in {"npx", "bunx", "pnpx"}:
        return _read_launched(call, context)
    if call.program in {"c8", "nyc"}:
        return _read_covered(call, context)
    if (line := _reporting_line(call, context)) is not None:
        return context.script(line, call.folder, call.environment)
    if call.program in _RUNNERS:
        names = matching_scripts(context.files, folder, words)
        lines = [f"npm run {shlex.quote(name)}" for name in names]
        return context.scripts(lines, folder, call.environment)
    if call.program == "concurrently":
        lines = parallel_lines(call, context.files, folder)
        return context.scripts(lines, folder, call.environment)
    if call.program in MONOREPO_TOOLS:
        found = read_monorepo(call, folder, context)
        return found if found is not None else _kept(call, context)
    options = {word.partition("=")[0] for word in call.words[1:]}
    needs_history = call.program == "commitlint" and not _COMMITS.isdisjoint(options)
    return _kept(call, context).with_(obstacles=(_NO_HISTORY,) if needs_history else ())


def _reporting_line(call: Call, context: ToolContext) -> str | None:
    """Return a command that runs the same tests of Node.js's own runner and reports each one.

    None if there is no better one than the call itself.
    """
    is_named = "--test" in call.words
    if call.program == "tsx" and is_named:
        return " ".join(("node", "--import", "tsx", *call.shown[1:]))
    if call.program != "node" or is_named:
        return None
    script = read_options(call.words[1:], NODE_VALUED, stop=True).rest
    path = inside(call.folder, script[0]) if len(script) == 1 else None
    if path is None or _NODE_TEST.search(context.files.text(path)) is None:
        return None
    return " ".join(("node", *call.shown[1:-1], "--test", call.shown[-1]))


def _read_covered(call: Call, context: ToolContext) -> ToolReading:
    """Read the program whose coverage `c8` or `nyc` measures."""
    rest = read_options(call.words[1:], NODE_COVERAGE_VALUED, stop=True).rest
    if not rest:
        return _kept(call, context)
    if starts_no_program(rest):
        context.log.dropped(call.line(), "coverage is not measured")
        return ToolReading()
    context.log.replaced(call.line(), "coverage is not measured")
    loaded = modules_of_nyc(call, context.files) if call.program == "nyc" else ()
    before = call.environment.get("NODE_OPTIONS", context.variables.get("NODE_OPTIONS", ""))
    options = " ".join(filter(None, (before, *(f"--require {name}" for name in loaded))))
    own = {"NODE_OPTIONS": options} if loaded else {}
    return _read_rest(call.with_(environment={**call.environment, **own}), rest, context)


def _read_launched(call: Call, context: ToolContext) -> ToolReading:
    """Read the program that `npx` and the like start."""
    rest = read_options(call.words[1:], ("-p", "--package"), stop=True).rest
    if rest and rest[0] in set(PROGRAMS) - {"node", "npx"}:
        return _read_rest(call, rest, context)
    return _kept(call, context)


def _read_rest(call: Call, rest: Sequence[str], context: ToolContext) -> ToolReading:
    """Read the last words of a call as a call of its own."""
    line = " ".join(call.shown[len(call.words) - len(rest) :])
    return context.script(line, call.folder, call.environment)


def _kept(call: Call, context: ToolContext) -> ToolReading:
    """Return the call itself, started so that a package's program is found by its name."""
    if call.program not in {"npm", "npx", "node"} and not call.words[0].startswith((".", "/")):
        program = "npx" if call.program in {"bunx", "pnpx"} else f"npx {call.shown[0]}"
        rest = call.shown[1:]
        shown = (*program.split(" "), *rest)
        call = call.with_(
            words=(*program.split(" "), *call.words[1:]),
            shown=shown,
            text=f"npx {call.text}" if call.program not in {"bunx", "pnpx"} else " ".join(shown),
        )
    is_check = classify_command(call.line()) is not StepKind.OTHER
    return checked_command(call, context) if is_check else plain_command(call)
