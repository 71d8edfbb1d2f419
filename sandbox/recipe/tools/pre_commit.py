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
}
"""Hook to its tool's distribution, and the command that checks without changing files."""
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
    return [
        (repository, hook)
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
    known = _HOOKS.get(name)
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
    places = [] if name in _PLACES and not _PLACES[name] else [_PLACES.get(name, ".")]
    line = " ".join([command, shlex.join(kept), *places]).strip()
    wanted = clean_lines([pin], "pre-commit", context.log).plus(extra)
    return ToolReading(wanted=wanted).plus(
        context.script(" ".join(line.split()), call.folder, call.environment)
    )


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
