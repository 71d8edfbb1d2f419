"""Read programs of Node.js packages: how they are started, and what they need besides packages."""

import re
from collections.abc import Sequence

from sandbox.recipe.command import split_command
from sandbox.recipe.files import CheckoutFiles, beside, inside, mapping, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import read_options
from sandbox.recipe.tools.node_scripts import matching_scripts
from sandbox.types.launchers import NODE_COVERAGE_VALUED

BROWSERS = frozenset(
    {"deno", "playwright", "cypress", "karma", "wdio", "testcafe", "nightwatch", "wtr"}
    | {"web-test-runner", "vscode-test", "zuul", "airtap"}
)
"""Programs whose runtime, browsers or editor no set-up here installs."""
_COVERAGE_READS = frozenset({"report", "check-coverage", "merge", "instrument"})
"""Sub-commands of `c8` and `nyc` that start no program."""
_PARALLEL_VALUED = frozenset(
    {"-n", "--names", "--name-separator", "-c", "--prefix-colors", "-p", "--prefix", "-l"}
    | {"--prefix-length", "-t", "--timestamp-format", "-s", "--success", "-m", "--max-processes"}
    | {"--restart-tries", "--restart-after", "--hide", "--default-input-target"}
    | {"--kill-signal", "--teardown"}
)
"""Options of `concurrently` with a value as the next word."""
_SHORTHAND = re.compile(r"(npm|yarn|pnpm|bun):(\S+)((?:\s.*)?)", re.DOTALL)
_PROGRAM = re.compile(r"@?\w[\w.-]*(?:/\w[\w.-]*)?(?:@[\w.^~-]+)?")
_SYSTEM = frozenset(
    {"node", "npm", "npx", "bash", "sh", "env", "python", "python3", "make", "git", "docker"}
    | {"rm", "cp", "mv", "mkdir", "cat", "echo", "sed", "chmod", "touch", "ln", "tar", "unzip"}
    | {"sleep", "test", "true", "false", "exit", "bun", "grep", "find", "diff", "cmp", "ls", "awk"}
    | {
        "printf",
        "sort",
        "tee",
        "xargs",
        "wc",
        "head",
        "tail",
        "curl",
        "which",
        "cd",
        "gcc",
        "cmake",
    }
)
"""Programs that no package brings."""
_MODULE = re.compile(r"[@.\w][\w@./-]{0,200}")
_MOST_MODULES = 20
_SOURCE = re.compile(r".+\.[cm]?[jt]sx?")


def starts_no_program(words: Sequence[str]) -> bool:
    """Return True if `c8` or `nyc` only reads the coverage that it measured before."""
    return not _COVERAGE_READS.isdisjoint(words[:1])


def modules_of_nyc(call: Call, files: CheckoutFiles) -> tuple[str, ...]:
    """Return the modules that only `nyc` loads into the program whose coverage it measures."""
    options = read_options(call.words[1:], NODE_COVERAGE_VALUED, stop=True)
    named = options.values("--require", "-i")
    for folder in dict.fromkeys((call.folder, ".")):
        tables = (
            mapping(files.json(beside(folder, "package.json")).get("nyc")),
            *(files.json(beside(folder, name)) for name in (".nycrc", ".nycrc.json")),
            *(files.yaml(beside(folder, name)) for name in (".nycrc.yml", ".nycrc.yaml")),
        )
        if found := next(filter(None, tables), None):
            listed = found.get("require")
            named += [listed] if isinstance(listed, str) else words(listed)
            break
    return tuple(dict.fromkeys(name for name in named if _MODULE.fullmatch(name)))[:_MOST_MODULES]


def missing_parts(line: str, script: str) -> tuple[str, ...]:
    """Return the obstacles of a script that runs unchanged.

    Args:
        line: The call that runs it.
        script: Its text.
    """
    parts = [split_command(part) for part in script.split("&&")]
    words = [word for part in parts for quoted in part for word in quoted.split()]
    found = next((word for word in words if word in BROWSERS), None)
    obstacles = (f"`{line[:100]}` needs {found}'s own runtime or browsers",) if found else ()
    if any(map(_reads_coverage, parts)):
        return (*obstacles, f"`{line[:100]}` needs coverage of tests, which is not measured")
    return obstacles


def _reads_coverage(words: Sequence[str]) -> bool:
    rest = read_options(words[1:], NODE_COVERAGE_VALUED, stop=True).rest
    return words[:1] in (["c8"], ["nyc"]) and starts_no_program(rest)


def parallel_lines(call: Call, files: CheckoutFiles, folder: str) -> list[str]:
    """Return the command lines that `concurrently` starts: `npm:test-*` names scripts."""
    lines: list[str] = []
    for word in read_options(call.words[1:], _PARALLEL_VALUED).positional:
        named = _SHORTHAND.fullmatch(word)
        if named is None:
            lines.append(word)
            continue
        manager, pattern, rest = named.groups()
        names = matching_scripts(files, folder, [pattern]) if "*" in pattern else [pattern]
        lines += [f"{manager} run {name}{rest}" for name in names]
    return lines


def names_source(word: str, call: Call, files: CheckoutFiles) -> bool:
    """Return True if `bun` runs a file of the checkout by itself: `bun scripts/build.ts`."""
    path = inside(call.folder, word)
    is_source = _SOURCE.fullmatch(word) is not None and path is not None
    return call.program == "bun" and is_source and files.is_file(path or "")


def start_by_npx(found: ToolReading, line: str) -> ToolReading:
    """Return the reading of a package's program, started so that it is found by its name.

    Args:
        found: The reading of the line.
        line: The program with its arguments.
    """
    program = next(iter(split_command(line)), "")
    if program in _SYSTEM or _PROGRAM.fullmatch(program) is None:
        return found
    commands = tuple(
        one.with_(command=f"npx {line}") if one.command == line else one for one in found.commands
    )
    return found.with_(commands=commands)
