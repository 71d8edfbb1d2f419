"""Derive `ruff check --fix` or `ruff format` from the failing command."""

import shlex
from collections.abc import Mapping

from bot.fixers.rung0_tools.tool import ToolFix

SUFFIXES = (".py", ".pyi", ".ipynb")

_FOR_BOTH = {
    "--config": True,
    "--line-length": True,
    "--target-version": True,
    "--exclude": True,
    "--preview": False,
    "--no-preview": False,
    "--isolated": False,
    "--force-exclude": False,
    "--respect-gitignore": False,
    "--no-respect-gitignore": False,
}
"""Options that define which files and rules ruff sees, and whether a value follows. A repair must
use the same ones."""
_FOR_CHECK = _FOR_BOTH | {
    "--select": True,
    "--ignore": True,
    "--extend-select": True,
    "--extend-ignore": True,
    "--extend-exclude": True,
    "--per-file-ignores": True,
    "--extend-per-file-ignores": True,
    "--fixable": True,
    "--unfixable": True,
}
_SEPARATORS = frozenset(";&|()\n")


def fixes(command: str) -> tuple[ToolFix, ...]:
    """Return the safe fixes for a failing shell command line; empty if it does not run ruff."""
    repairs = (_fix(launcher, subcommand, words) for launcher, subcommand, words in _runs(command))
    return tuple(dict.fromkeys(repairs))


def _fix(launcher: tuple[str, ...], subcommand: str, words: tuple[str, ...]) -> ToolFix:
    version = shlex.join([*launcher, "--version"])
    tidy = [*launcher, "format", "--no-cache", *_select_options(words, _FOR_BOTH), "--"]
    if subcommand == "format":
        return ToolFix(
            template="ruff format",
            command=shlex.join(tidy),
            version_command=version,
            format_only=True,
        )
    # Explicit, because a repository's configuration may enable unsafe fixes.
    fix = [
        *launcher,
        "check",
        "--fix",
        "--no-unsafe-fixes",
        "--no-cache",
        *_select_options(words, _FOR_CHECK),
        "--",
    ]
    return ToolFix(
        template="ruff check",
        command=shlex.join(fix),
        version_command=version,
        tidy_check=shlex.join([*tidy[:-1], "--check", "--"]),
        tidy=shlex.join(tidy),
    )


def _runs(command: str) -> tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]:
    """Return the launcher, subcommand and arguments of each ruff run in a command line."""
    found: dict[tuple[tuple[str, ...], str, tuple[str, ...]], None] = {}
    for words in _commands(command):
        place = next(
            (i for i, word in enumerate(words) if word == "ruff" or word.endswith("/ruff")), None
        )
        if place is None or place + 1 >= len(words) or words[place + 1] not in {"check", "format"}:
            continue
        is_module = words[max(0, place - 2) : place][-1:] == ["-m"] and place >= 2  # noqa: PLR2004 - python -m
        launcher = ("python", "-m", "ruff") if is_module else ("ruff",)
        subcommand = words[place + 1]
        if subcommand == "format" and not {"--check", "--diff"} & set(words):
            continue  # without --check it rewrites files and cannot fail for style
        found.setdefault((launcher, subcommand, tuple(words[place + 2 :])))
    return tuple(found)


def _commands(line: str) -> list[list[str]]:
    """Return the simple commands of a shell line; empty if it cannot be split."""
    # Split at shell operators; a line break ends a command, too.
    lexer = shlex.shlex(
        line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()"
    )
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= _SEPARATORS:
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return [words for words in commands if words]


def _select_options(words: tuple[str, ...], options: Mapping[str, bool]) -> tuple[str, ...]:
    kept: list[str] = []
    waiting = False
    for word in words:
        name, equals, _ = word.partition("=")
        if waiting or name in options:
            kept.append(word)
        waiting = not waiting and not equals and options.get(name, False)
    return tuple(kept)
