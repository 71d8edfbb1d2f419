"""Split the calls of turbo, nx and lerna into tasks and packages."""

from collections.abc import Sequence
from typing import NamedTuple

MONOREPO_TOOLS = frozenset({"turbo", "nx", "lerna"})
_TASKS = ("-t", "--target", "--targets")
_CHOSEN = ("-p", "--projects", "--project", "--filter", "-F", "--scope")
_EXCLUDED = ("--exclude", "--ignore")
_LISTS = {"nx": frozenset({*_TASKS, "-p", "--projects", "--exclude", "--files"})}
"""Options with all following words as values."""
_VALUED = {
    "turbo": frozenset(
        {"--filter", "-F", "--scope", "--concurrency", "--cache-dir", "--cwd", "--log-order"}
        | {"--output-logs", "--env-mode", "--ignore", "--since", "--token", "--team", "--cache"}
        | {"--log-prefix", "--ui", "--api", "--profile", "--cache-workers", "--color"}
    ),
    "nx": frozenset(
        {"--base", "--head", "-c", "--configuration", "--output-style", "--outputStyle"}
        | {"--runner", "--parallel", "--maxParallel", "--project"}
    ),
    "lerna": frozenset({"--scope", "--ignore", "--concurrency", "--since", "--loglevel"}),
}
_MANY = frozenset({"run-many", "affected"})
_NX_FLAGS = frozenset(
    {"--all", "--verbose", "--skip-nx-cache", "--skipNxCache", "--nx-bail", "--nxBail", "--graph"}
    | {"--skip-remote-cache", "--cloud", "--no-cloud", "--dte", "--no-dte", "--agents", "--batch"}
    | {"--no-agents", "--uncommitted", "--untracked", "--tui", "--no-tui", "--prod", "--skip-sync"}
    | {"--exclude-task-dependencies", "--nx-ignore-cycles", "--parallel"}
)
"""Options of nx itself without a value. It hands others to the task."""
_NX_OWN = frozenset(
    {"format", "reset", "report", "graph", "sync", "migrate", "release", "exec", "list", "show"}
    | {"init", "g", "generate", "connect", "daemon", "repair", "fix-ci", "start-ci-run", "record"}
    | {"stop-all-agents", "complete-ci-run"}
)
"""Commands of nx that run no target of a project."""


class MonorepoCall(NamedTuple):
    """The tasks that a call runs, and the packages in which it runs them."""

    tasks: tuple[str, ...] = ()
    """Empty if the call runs no task."""
    chosen: tuple[str, ...] = ()
    """Selectors of packages; empty for all of them."""
    excluded: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """The words after `--`, and options that nx hands to a task."""


def split_monorepo(words: Sequence[str]) -> MonorepoCall:
    """Return the parts of a call of turbo, nx or lerna.

    Args:
        words: The tool and its arguments.
    """
    tool = words[0].rpartition("/")[2]
    positional, given, rest = _sort(words[1:], tool)
    named = [value for name, value in given if name in _TASKS]
    chosen = [value for name, value in given if name in _CHOSEN]
    excluded = [value for name, value in given if name in _EXCLUDED]
    if tool == "lerna":
        named += positional[1:2] if positional[:1] == ["run"] else []
    elif tool == "turbo":
        names = positional[1:] if positional[:1] == ["run"] else positional
        chosen += [one.partition("#")[0] for one in names if "#" in one]
        named += [one.rpartition("#")[2] for one in names]
    else:
        task, projects = _read_nx(positional)
        named += task
        chosen += projects
    before = words[1 : len(words) - len(rest)]
    handed = [word for word in before if tool == "nx" and _is_handed(word)]
    arguments = (*handed, *rest)
    return MonorepoCall(
        tuple(dict.fromkeys(named)), tuple(dict.fromkeys(chosen)), tuple(excluded), arguments
    )


def _read_nx(positional: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the target and the project of `nx test PROJECT`, `nx run PROJECT:test`."""
    asked = next(iter(positional), "")
    first, colon, second = asked.partition(":")
    if asked in _MANY or not asked:
        return [], []
    if first == "affected":
        return [second], []
    if first in _NX_OWN:
        return [], []
    if asked == "run":
        project, _, target = "".join(positional[1:2]).partition(":")
        return ([target.partition(":")[0]] if target else []), [project]
    if colon:
        return [second.partition(":")[0]], [first]
    return [asked], list(positional[1:2])


def _sort(
    words: Sequence[str], tool: str
) -> tuple[list[str], list[tuple[str, str]], Sequence[str]]:
    """Return positional words, options with their values, and the words after `--`."""
    lists, valued = _LISTS.get(tool, frozenset()), _VALUED[tool]
    positional: list[str] = []
    given: list[tuple[str, str]] = []
    taking = ""
    for index, word in enumerate(words):
        if word == "--":
            return positional, given, words[index + 1 :]
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            taking = name if name in lists or (name in valued and not equals) else ""
            given += _values(name, value) if equals else []
        elif taking:
            given += _values(taking, word)
            taking = taking if taking in lists else ""
        elif not word.isdigit():
            positional.append(word)
    return positional, given, ()


def _is_handed(word: str) -> bool:
    """Return True if a word is an option of the task."""
    name = word.partition("=")[0]
    known = _LISTS["nx"] | _VALUED["nx"] | _NX_FLAGS
    return word.startswith("-") and word != "--" and name not in known


def _values(name: str, text: str) -> list[tuple[str, str]]:
    return [(name, one) for one in text.replace(",", " ").split()]
