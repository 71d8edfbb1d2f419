"""Split a command line of a JavaScript test runner into the runner, its arguments and Node's."""

import posixpath
import re
from collections.abc import Mapping

from pydantic import Field

from sandbox.guest.pytest_command import split_words
from sandbox.types import Frozen
from sandbox.types.launchers import ASSIGNMENT, NODE_COVERAGE_VALUED, NODE_LAUNCHERS

_TOOLS = {"vitest": "vitest", "jest": "jest", "mocha": "mocha", "_mocha": "mocha"}
_STARTERS = {
    *NODE_LAUNCHERS, ("pnpx",), ("bun",), ("env",), ("pnpm", "run"), ("bun", "run"),
    ("yarn", "dlx"), ("pnpm", "dlx"),
}  # fmt: skip
_STARTER_FLAGS = frozenset(
    {"--no", "-y", "--yes", "--no-install", "--silent", "-s", "--", "--bun", "-q", "--quiet"}
)
_COVERAGE = frozenset({"c8", "nyc"})
NODE_VALUED = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
    | {"--env-file", "--stack-size"}
)
"""Options of Node.js whose value is the next word."""
_SCRIPT = re.compile(
    r"(?:\./)?(?:\.\./)*node_modules/(?:\.bin/(?P<bin>[\w-]+)"
    r"|(?P<package>vitest|jest|jest-cli|mocha)/(?:[\w./-]+/)?[\w.-]+)"
)
_NOT_RUNS = {
    "vitest": frozenset({"bench", "init", "list", "watch", "dev", "related"}),
    "jest": frozenset({"--init", "--showConfig", "--clearCache", "--listTests", "--version"}),
    "mocha": frozenset({"init", "--version", "--list-files"}),
}
_EXPANDING = frozenset({"mocha", "node:test"})
_PATTERNS = re.compile(r"[\w\s./*=:@,+-]{1,2000}")
_NOT_OURS = frozenset({"--browser", "--typecheck.only", "--standalone", "--mergeReports"})
"""Options of runs that are not in Node.js alone, or run no tests."""


class NodeCommand(Frozen):
    """A command line of a test runner."""

    tool: str
    """`vitest`, `jest`, `mocha` or `node:test`."""
    args: tuple[str, ...] = ()
    node_options: tuple[str, ...] = ()
    """Options of Node.js itself: `--experimental-vm-modules`."""
    environment: dict[str, str] = Field(default_factory=dict)


def split_node_command(command: str) -> NodeCommand | None:
    """Return the parts of a command that only starts a JavaScript test runner; None otherwise."""
    words = split_words(command)
    if words is None and _PATTERNS.fullmatch(command):
        # Only patterns of files need a shell, and these two expand them by themselves.
        found = split_node_command(" ".join(f"'{w}'" if "*" in w else w for w in command.split()))
        return found if found is not None and found.tool in _EXPANDING else None
    if not words or len(words) > 500:  # noqa: PLR2004 - a bound for parsing
        return None
    environment: dict[str, str] = {}
    words = _strip(list(words), environment)
    if not words:
        return None
    program, rest = words[0], words[1:]
    if posixpath.basename(program) == "node":
        return _split_node(rest, environment)
    return _known(_tool(program), rest, (), environment)


def _strip(words: list[str], environment: dict[str, str]) -> list[str]:
    """Strip starters, assignments and coverage tools from a command's words."""
    for _ in range(20):
        while words and ASSIGNMENT.fullmatch(words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        if not words:
            return words
        pair = tuple(words[:2])
        if pair in _STARTERS:
            words = words[2:]
        elif words[:1] in (["cross-env"], ["cross-env-shell"]) or tuple(words[:1]) in _STARTERS:
            words = words[1:]
        elif words[0] in _COVERAGE:
            words = _after_options(words[1:], NODE_COVERAGE_VALUED)
        else:
            return words
        while words and words[0] in _STARTER_FLAGS:
            words = words[1:]
    return []


def _after_options(words: list[str], valued: frozenset[str]) -> list[str]:
    """Return the words after a program's own options."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in valued else 1
    return words[index:]


def _tool(program: str) -> str | None:
    """Return the test runner that a program or script is; None for another one."""
    found = _SCRIPT.fullmatch(program)
    if found is None:
        return _TOOLS.get(program)
    name = found["bin"] or found["package"].removesuffix("-cli")
    return _TOOLS.get(name)


def _split_node(words: list[str], environment: Mapping[str, str]) -> NodeCommand | None:
    """Split `node [OPTIONS] --test …` and `node [OPTIONS] node_modules/.bin/jest …`."""
    if "--test" in words:
        return _known("node:test", [word for word in words if word != "--test"], (), environment)
    rest = _after_options(words, NODE_VALUED)
    options = tuple(words[: len(words) - len(rest)])
    if not rest or any(word in {"-e", "--eval", "-p", "--print", "-c"} for word in options):
        return None
    return _known(_tool(rest[0]), rest[1:], options, environment)


def _known(
    tool: str | None,
    args: list[str],
    node_options: tuple[str, ...],
    environment: Mapping[str, str],
) -> NodeCommand | None:
    if tool is None or not _NOT_OURS.isdisjoint(word.partition("=")[0] for word in args):
        return None
    skipped = _NOT_RUNS.get(tool, frozenset())
    first = next((word for word in args if not word.startswith("-")), "")
    if first in skipped or not skipped.isdisjoint(args):
        return None
    if tool == "vitest" and args[:1] == ["run"]:
        args = args[1:]
    return NodeCommand(
        tool=tool, args=tuple(args), node_options=node_options, environment=dict(environment)
    )
