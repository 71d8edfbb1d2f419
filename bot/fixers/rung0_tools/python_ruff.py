"""ruff check --fix and ruff format: which of the two, from the failing command."""

import shlex

from bot.fixers.rung0_tools.tool import ToolFix

SUFFIXES = (".py", ".pyi", ".ipynb")

_WITH_VALUE = frozenset(
    {
        "--config",
        "--select",
        "--ignore",
        "--extend-select",
        "--extend-ignore",
        "--per-file-ignores",
        "--extend-per-file-ignores",
        "--fixable",
        "--unfixable",
        "--exclude",
        "--extend-exclude",
        "--line-length",
        "--target-version",
    }
)
"""Options that decide what the linter sees; a fix must see the same."""
_FLAGS = frozenset(
    {"--preview", "--no-preview", "--isolated", "--force-exclude", "--no-respect-gitignore", "--respect-gitignore"}
)
_SEPARATORS = frozenset(";&|()\n")


def fixes(command: str) -> tuple[ToolFix, ...]:
    """The safe fixes for a failing shell command line; none when it does not run ruff."""
    return tuple(
        ToolFix(
            template=f"ruff {subcommand}",
            command=shlex.join([*start, *_switches(subcommand), *options, "--"]),
            version_command=shlex.join([*start[:-1], "--version"]),
            format_only=subcommand == "format",
        )
        for start, subcommand, options in _runs(command)
    )


def _switches(subcommand: str) -> tuple[str, ...]:
    # Said explicitly: a repository may have switched unsafe fixes on in its own configuration.
    return ("--fix", "--no-unsafe-fixes", "--no-cache") if subcommand == "check" else ("--no-cache",)


def _runs(command: str) -> tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]:
    """Every run of ruff in a command line: how it is started, which of its commands, and the options to keep."""
    found: dict[tuple[tuple[str, ...], str, tuple[str, ...]], None] = {}
    for words in _commands(command):
        place = next((i for i, word in enumerate(words) if word == "ruff" or word.endswith("/ruff")), None)
        if place is None or place + 1 >= len(words) or words[place + 1] not in {"check", "format"}:
            continue
        is_module = words[max(0, place - 2) : place][-1:] == ["-m"] and place >= 2  # noqa: PLR2004 - python -m
        launcher = ("python", "-m", "ruff") if is_module else ("ruff",)
        subcommand = words[place + 1]
        if subcommand == "format" and not {"--check", "--diff"} & set(words):
            continue  # this run changes files itself: it cannot be what failed for style
        found.setdefault(((*launcher, subcommand), subcommand, _kept(words[place + 2 :])))
    return tuple(found)


def _commands(line: str) -> list[list[str]]:
    """The simple commands of a shell line; none when it cannot be split."""
    lexer = shlex.shlex(line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()")
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


def _kept(words: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    waiting = False
    for word in words:
        if waiting:
            kept.append(word)
            waiting = False
        elif word in _FLAGS or word.partition("=")[0] in _WITH_VALUE:
            kept.append(word)
            waiting = word in _WITH_VALUE
    return tuple(kept)
