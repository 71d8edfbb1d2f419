"""Split the calls of package managers into options, words and arguments, with their tables."""

from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options

_COMMON = frozenset({"--registry", "--loglevel", "--reporter", "--cwd", "-C", "--dir", "--prefix"})
VALUED = {
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
}
"""Options with a value as the next word, by program."""
_ALIASES = {"yarnpkg": "yarn"}
_FROZEN_TESTS = frozenset({"install-ci-test", "cit", "clean-install-test", "sit"})
TESTING = _FROZEN_TESTS | {"install-test", "it"}
"""Installations of npm that run the tests, too."""
FREEZING = _FROZEN_TESTS | {"ci", "clean-install"}
"""Installations that refuse a lock file older than the dependencies."""
INSTALLS = TESTING | FREEZING | {"install", "i", "add", "rebuild", "link"}
RUN_WORDS = frozenset({"run", "run-script", "rum", "urn"})
EXEC_WORDS = frozenset({"exec", "x", "dlx"})
SCRIPT_NAMES = {"t": "test", "tst": "test"}
"""Short names of scripts."""
_LEADING = INSTALLS | RUN_WORDS | EXEC_WORDS | {"workspace", "workspaces", "foreach"}
"""Sub-commands whose own options may follow."""
_MOVED = frozenset({"-w", "--workspace-root", "-r", "--recursive"})
_MOVING = {"test", *SCRIPT_NAMES}
"""Options that pnpm also reads after its sub-command `test`, and the spellings of that."""


def split_call(call: Call) -> Options:
    """Return the parts of a manager's call; what follows the script's name belongs to it.

    npm differs: it reads all options before `--`, and passes on other words.

    Returns:
        The manager's own options; as positional words the sub-commands and the name of the script
        or program (`run`, `test`); as the rest its arguments, quoted.
    """
    program = _ALIASES.get(call.program, call.program)
    valued = VALUED.get(program, _COMMON)
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
        elif named and program == "pnpm" and words[0] in _MOVING and word in _MOVED:
            given.append((word, ""))
        elif named:
            arguments.append(shown)
        else:
            # `yarn workspace NAME script`: the name of the package is no script.
            named = word not in _LEADING and words[-1:] != ["workspace"]
            words.append(word)
    return Options(tuple(words), tuple(given), tuple(arguments))
