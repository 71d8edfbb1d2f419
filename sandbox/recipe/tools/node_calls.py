"""Split the calls of package managers and monorepo tools into options, words and arguments."""

from typing import NamedTuple

from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options

_COMMON = frozenset({"--registry", "--loglevel", "--reporter", "--cwd", "-C", "--dir", "--prefix"})
_VALUED = {
    "npm": _COMMON
    | {"-w", "--workspace", "--cache", "--userconfig", "--script-shell", "--omit", "--include"},
    "pnpm": _COMMON
    | {"--filter", "-F", "--filter-prod", "--workspace-concurrency", "--store-dir"}
    | {"--changed-files-ignore-pattern", "--test-pattern", "--resume-from", "--config-dir"}
    | {"--network-concurrency", "--child-concurrency"},
    "yarn": _COMMON
    | {"-j", "--jobs", "--include", "--exclude", "--from", "--mutex", "--network-timeout"}
    | {"--cache-folder", "--modules-folder", "--use-yarnrc"},
    "bun": _COMMON | {"--filter", "-F", "-c", "--config", "--preload", "-r", "--backend"},
    "turbo": frozenset(
        {"--filter", "-F", "--scope", "--concurrency", "--cache-dir", "--cwd", "--log-order"}
        | {"--output-logs", "--env-mode", "--ignore", "--since", "--token", "--team", "--cache"}
    ),
    "nx": frozenset(
        {"-t", "--target", "--targets", "-p", "--projects", "--exclude", "--base", "--head"}
        | {"-c", "--configuration", "--output-style", "--outputStyle", "--runner", "--files"}
    ),
    "lerna": frozenset({"--scope", "--ignore", "--concurrency", "--since", "--loglevel"}),
}
"""Options with a value as the next word, by program."""
_ALIASES = {"yarnpkg": "yarn"}
INSTALLS = frozenset(
    {"ci", "install", "i", "add", "clean-install", "rebuild", "link"}
    | {"install-test", "it", "install-ci-test", "cit", "clean-install-test", "sit"}
)
_LEADING = INSTALLS | {
    *("run", "run-script", "rum", "urn", "exec", "x", "dlx", "workspace", "workspaces", "foreach")
}
"""Sub-commands whose own options may follow."""
_SHORT = frozenset({"test", "t", "tst"})
"""Sub-commands of pnpm that read its options wherever they are."""
_MOVED = frozenset({"-w", "--workspace-root", "-r", "--recursive"})


class ManagerCall(NamedTuple):
    """The parts of one call."""

    options: Options
    """The manager's own options."""
    words: tuple[str, ...]
    """Sub-commands, and the name of the script or program: `run`, `test`."""
    arguments: tuple[str, ...]
    """The arguments of the script or program, quoted."""


def split_call(call: Call) -> ManagerCall:
    """Return the parts of a manager's call; what follows the script's name belongs to it.

    npm differs: it reads all options before `--`, and passes on other words.
    """
    program = _ALIASES.get(call.program, call.program)
    valued = _VALUED.get(program, _COMMON)
    given: list[tuple[str, str]] = []
    words: list[str] = []
    arguments: list[str] = []
    index, named = 1, False
    while index < len(call.words):
        word, shown = call.words[index], call.shown[index]
        index += 1
        if word == "--":
            arguments += call.shown[index:]
            break
        if word.startswith("-") and word != "-" and (not named or program == "npm"):
            name, equals, value = word.partition("=")
            if not equals and word in valued and index < len(call.words):
                value = call.words[index]
                index += 1
            given.append((name, value))
        elif named and program == "pnpm" and words[0] in _SHORT and word in _MOVED:
            given.append((word, ""))
        elif named:
            arguments.append(shown)
        else:
            # `yarn workspace NAME script`: the name of the package is no script.
            named = word not in _LEADING and words[-1:] != ["workspace"]
            words.append(word)
    return ManagerCall(Options(tuple(words), tuple(given)), tuple(words), tuple(arguments))


def split_monorepo(call: Call) -> Options:
    """Return the options and names of `turbo`, `nx` and `lerna`."""
    valued = _VALUED[call.program]
    given: list[tuple[str, str]] = []
    words: list[str] = []
    index = 1
    while index < len(call.words) and call.words[index] != "--":
        name, equals, value = call.words[index].partition("=")
        index += 1
        if not name.startswith("-"):
            words.append(name)
            continue
        if not equals and name in valued and index < len(call.words):
            value = call.words[index]
            index += 1
        given.append((name, value))
    return Options(tuple(words), tuple(given))
