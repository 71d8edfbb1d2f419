"""`pre-commit run`: the hooks whose tool comes from an index, as the commands they run."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from sandbox.recipe.files import beside, mapping, tables, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Wanted, clean_lines
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Desk, read_options, runs

_MOST_BYTES = 64 * 1024
_NAMES = (".pre-commit-config.yaml", ".pre-commit-config.yml")
_VALUED = frozenset(
    {"-c", "--config", "--hook-stage", "--from-ref", "--to-ref", "--color", "--hook-type", "-s", "-o", "--files"}
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
"""Hook to the distribution that has its tool, and the command that checks and changes nothing."""
_CHANGES = frozenset(
    {"--fix", "--exit-non-zero-on-fix", "--in-place", "-i", "--write-changes", "-w", "--unsafe-fixes", "--show-fixes"}
)
_PLACES = {"mypy": ".", "pyright": "", "vulture": ".", "yamllint": ".", "codespell": ""}


def read(call: Call, desk: Desk) -> ToolReading | None:
    """One call of pre-commit."""
    options = read_options(call.words[1:], _VALUED)
    if options.positional[:1] != ("run",):
        return ToolReading()
    named = options.values("-c", "--config")
    path = (
        beside(call.folder, named[-1])
        if named
        else next((beside(call.folder, n) for n in _NAMES if desk.files.is_file(beside(call.folder, n))), _NAMES[0])
    )
    hooks = _hooks(desk, path)
    if hooks is None:
        desk.log.dropped(call.line(), f"there is no {path} that can be read")
        return runs(call).with_(obstacles=(f"pre-commit has no {path} that can be read",))
    only = set(options.positional[1:])
    skipped = set({**desk.variables, **call.environment}.get("SKIP", "").split(","))
    reading = ToolReading()
    for repository, hook in hooks[:60]:
        name = str(hook.get("id", ""))
        if (not only or name in only) and name not in skipped:
            reading = reading.plus(_hook(repository, hook, call, desk))
    desk.log.replaced(call.line(), "the hooks whose tools can be installed are run on the whole checkout")
    if not reading.commands:
        return reading.with_(obstacles=("no hook of pre-commit has a tool that comes from an index",))
    return reading


def _hooks(desk: Desk, path: str) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]] | None:
    text = desk.files.text(path)
    if not text or len(text) > _MOST_BYTES or text.count("*") + text.count("&") > 2000:  # noqa: PLR2004 (aliases)
        return None
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    repositories = tables(mapping(document).get("repos"))
    return [(repository, hook) for repository in repositories[:60] for hook in tables(repository.get("hooks"))[:60]]


def _hook(repository: Mapping[str, Any], hook: Mapping[str, Any], call: Call, desk: Desk) -> ToolReading:
    name = str(hook.get("id", ""))[:100]
    arguments = (
        [str(item) for item in hook.get("args", []) if isinstance(item, str | int)]
        if isinstance(hook.get("args"), list)
        else []
    )
    if "manual" in words(hook.get("stages")):
        return ToolReading()
    if repository.get("repo") == "local":
        return _local(hook, arguments, call, desk)
    known = _HOOKS.get(name)
    if known is None:
        desk.log.dropped(f"pre-commit hook {name}", "its tool does not come from an index of Python packages")
        return ToolReading()
    distribution, command = known
    version = re.fullmatch(r"v?(\d+(?:\.\d+){0,3}(?:[a-z]+\d*)?)", str(repository.get("rev", "")))
    pin = f"{distribution}=={version[1]}" if version else distribution
    extra = clean_lines(words(hook.get("additional_dependencies")), f"pre-commit hook {name}", desk.log, call.folder)
    kept = [item for item in arguments if item not in _CHANGES and not item.startswith("--write")]
    places = [] if name in _PLACES and not _PLACES[name] else [_PLACES.get(name, ".")]
    line = " ".join([command, shlex.join(kept), *places]).strip()
    wanted = clean_lines([pin], "pre-commit", desk.log).plus(extra)
    return ToolReading(wanted=wanted).plus(desk.script(" ".join(line.split()), call.folder, call.environment))


def _local(hook: Mapping[str, Any], arguments: list[str], call: Call, desk: Desk) -> ToolReading:
    """A hook of the repository's own: its entry, on the whole checkout."""
    entry, language = str(hook.get("entry", "")), str(hook.get("language", ""))
    if language not in {"system", "python", "unsupported"} or not entry:
        desk.log.dropped(f"pre-commit hook {hook.get('id')}", "its tool does not come from an index of Python packages")
        return ToolReading()
    extra = clean_lines(words(hook.get("additional_dependencies")), "pre-commit", desk.log, call.folder)
    passes = hook.get("pass_filenames") is not False and not arguments
    line = " ".join([entry, shlex.join(arguments), *(["."] if passes else [])])
    return ToolReading(wanted=Wanted(lines=extra.lines, missing=extra.missing)).plus(
        desk.script(" ".join(line.split()), call.folder, call.environment)
    )
