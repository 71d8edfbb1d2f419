"""Read `hatch run test`, `hatch test`, `hatch fmt` with environments and scripts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from sandbox.recipe.declared import project_in
from sandbox.recipe.files import beside, mapping, section, tables, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Local, Requirements, clean_lines
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.shell.words import MOST_CHARACTERS
from sandbox.recipe.tools.base import ToolContext, read_options, substitute

_VALUED = frozenset(
    {
        "-e",
        "--env",
        "-p",
        "--project",
        "-i",
        "--include",
        "-x",
        "--exclude",
        "--config",
        "--data-dir",
        "--cache-dir",
    }
)
_TEST_VALUED = frozenset(
    {"-py", "--python", "-i", "--include", "-x", "--exclude", "-n", "--parallel-x"}
)
_NOTHING = frozenset(
    {
        "env",
        "version",
        "build",
        "publish",
        "config",
        "dep",
        "new",
        "clean",
        "python",
        "status",
        "project",
        "shell",
        "self",
    }
)
_LISTS = (
    "dependencies",
    "extra-dependencies",
    "features",
    "dependency-groups",
    "pre-install-commands",
    "post-install-commands",
)
_DEEPEST = 6
_MOST_LINES = 500
_ARGUMENTS = re.compile(r"\{args(?::([^{}]*(?:\{[^{}]*\}[^{}]*)?))?\}")
_MATRIX = re.compile(r"\{matrix:([\w-]+)(?::([^{}]*))?\}")
_ENV_NAME = re.compile(r"\{env_name\}")


@dataclass(frozen=True)
class _Environment:
    """An environment with its inherited options."""

    name: str
    options: Mapping[str, Any]
    cell: Mapping[str, str]


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of hatch."""
    options = read_options(call.words[1:], _VALUED, stop=True)
    start = len(call.words) - len(options.rest)
    asks = call.words[start] if start < len(call.words) else ""
    named = next(iter(options.values("-e", "--env")), None) or {
        **context.variables,
        **call.environment,
    }.get("HATCH_ENV")
    if asks == "run":
        return _run(call, start + 1, named, context)
    if asks == "test":
        return _test(call, start + 1, context)
    if asks in {"fmt", "check"}:
        rest = call.words[start + 1 :]
        checks = "--check" in rest
        both = not {"-f", "--formatter", "-l", "--linter"} & set(rest)
        lint = ["ruff check ."] if both or {"-l", "--linter"} & set(rest) else []
        form = (
            [f"ruff format{' --check' if checks else ''} ."]
            if both or {"-f", "--formatter"} & set(rest)
            else []
        )
        context.log.replaced(call.line(), "ruff is run directly, with the project's own settings")
        return context.scripts([*lint, *form], call.folder, call.environment)
    return ToolReading() if asks in _NOTHING or not asks else None


def _environments(context: ToolContext, folder: str) -> Mapping[str, Any]:
    own = section(context.files.toml(beside(folder, "hatch.toml")), "envs")
    return own or section(
        context.files.toml(beside(folder, "pyproject.toml")), "tool", "hatch", "envs"
    )


def _resolve(name: str, envs: Mapping[str, Any], python: str | None) -> _Environment:
    """Return an environment by name.

    With a matrix, take the cell of the job's Python, else the first.
    """
    base, cell = name, dict[str, str]()
    for known in envs:
        if known not in {name, "default"} and not name.startswith(f"{known}."):
            continue
        cells = list(_cells(mapping(envs[known])))
        exact = next(
            (
                c
                for c in cells
                if name in {f"{known}.{_cell_name(c)}", _cell_name(c) if known == "default" else ""}
            ),
            None,
        )
        if exact is not None:
            base, cell = known, exact
        elif known == name and cells:
            cell = next(
                (c for c in cells if python is not None and c.get("python", c.get("py")) == python),
                cells[0],
            )
    return _Environment(base, _merge_templates(base, envs), cell)


def _cell_name(cell: Mapping[str, str]) -> str:
    """Return a cell's name, such as `py3.11-1.0`."""
    return "-".join(
        f"py{value}" if key in {"python", "py"} else value for key, value in cell.items()
    )


def _cells(options: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for table in tables(options.get("matrix"))[:20]:
        names = list(table)[:6]
        # A matrix is a product, so a short table can have very many cells.
        for count, values in enumerate(product(*(words(table[name]) for name in names))):
            if count > 200:  # noqa: PLR2004 (more than anybody writes)
                return
            yield dict(zip(names, values, strict=True))


def _merge_templates(name: str, envs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options merged with those of the templates."""
    chain: list[Mapping[str, Any]] = []
    seen = set[str]()
    # Templates may name each other in a circle.
    while name and name not in seen and len(chain) < _DEEPEST:
        seen.add(name)
        options = mapping(envs.get(name))
        chain.append(options)
        template = options.get("template", "default" if name != "default" else "")
        name = template if isinstance(template, str) and options.get("detached") is not True else ""
    found: dict[str, Any] = {}
    # From the outermost template inwards: an environment's own options win.
    for options in reversed(chain):
        merged = {
            key: {**mapping(found.get(key)), **mapping(options[key])}
            for key in ("scripts", "env-vars")
            if key in options
        }
        found = {**found, **options, **merged}
    return found


def _wanted(env: _Environment, folder: str, context: ToolContext) -> Requirements:
    lists = {key: words(env.options.get(key)) for key in _LISTS}
    for condition, lines in _apply_overrides(env).items():
        if condition in lists:
            lists[condition] = [*lists[condition], *lines]
    lines = [
        _substitute(line, env, "")
        for line in (*lists["dependencies"], *lists["extra-dependencies"])
    ]
    wanted = clean_lines(
        [line.replace("{root:uri}", ".") for line in lines],
        f"hatch environment {env.name}",
        context.log,
        folder,
    ).as_for_tests()
    features = tuple(lists["features"])
    if (
        env.options.get("detached") is not True
        and env.options.get("skip-install") is not True
        and context.files.is_project(folder)
    ):
        wanted = wanted.plus(Requirements(local=(Local(folder=folder, extras=features),)))
    elif features:
        wanted = wanted.plus(project_in(context.files, folder).with_extras(features))
    return wanted.plus(project_in(context.files, folder).only_extras(lists["dependency-groups"]))


def _apply_overrides(env: _Environment) -> dict[str, list[str]]:
    """Apply `overrides.matrix.django.dependencies = [{value = ..., if = [...]}]`."""
    found: dict[str, list[str]] = {}
    for variable, options in list(section(env.options, "overrides", "matrix").items())[:20]:
        value = env.cell.get(variable)
        for key, items in list(mapping(options).items())[:20] if value is not None else []:
            for item in items[:50] if isinstance(items, list) else []:
                if isinstance(item, str):
                    found.setdefault(key, []).append(item)
                elif isinstance(item, dict) and ("if" not in item or value in words(item["if"])):
                    found.setdefault(key, []).append(str(item.get("value", "")))
    return found


def _substitute(text: str, env: _Environment, given: str) -> str:
    """Substitute `{args:tests}`, `{matrix:django}`, `{root}`, `{env:NAME:default}`."""
    text = substitute(_ARGUMENTS, lambda found: given or (found[1] or ""), text[:4000])
    text = substitute(_MATRIX, lambda found: env.cell.get(found[1], found[2] or ""), text)
    text = re.sub(r"\{env:([\w-]+)(?::([^{}]*))?\}", lambda found: found[2] or "", text)
    text = substitute(_ENV_NAME, lambda _: env.name, text)
    return re.sub(r"\{root\}/?", "", text)[:MOST_CHARACTERS]


def _variables(env: _Environment) -> dict[str, str]:
    found = mapping(env.options.get("env-vars"))
    return {
        str(key): _substitute(str(value), env, "")
        for key, value in list(found.items())[:50]
        if key != "PATH"
    }


def _run(call: Call, start: int, named: str | None, context: ToolContext) -> ToolReading:
    """Read `hatch run [ENV:]SCRIPT ARGUMENTS` and `hatch run +py=3.11 ENV:SCRIPT`."""
    envs = _environments(context, call.folder)
    # Selections of cells, such as `+py=3.11`, come before the script.
    while start < len(call.words) and call.words[start][:1] in {"+", "-"}:
        start += 2 if call.words[start] in _VALUED else 1
    if start >= len(call.words):
        return ToolReading()
    # A script's name may contain a colon, too: `test:unit` is one if no environment is `test`.
    before, colon, after = call.words[start].partition(":")
    given = (
        after
        if colon and (before in envs or before.partition(".")[0] in envs)
        else call.words[start]
    )
    env = _resolve(
        before if given is not call.words[start] else named or "default", envs, context.python
    )
    line = " ".join((given, *call.shown[start + 1 :]))
    lines = _script(line, env, 0)
    if lines != [line]:
        context.log.replaced(
            call.line(), f"the commands of `{given}` in the hatch environment {env.name} are run"
        )
    environment = {**call.environment, **_variables(env)}
    reading = ToolReading(wanted=_wanted(env, call.folder, context), python=_python(env))
    return reading.plus(context.scripts(lines, call.folder, environment))


def _python(env: _Environment) -> str | None:
    found = env.cell.get("python", env.cell.get("py")) or env.options.get("python")
    return found if isinstance(found, str) and re.fullmatch(r"3\.\d{1,2}", found) else None


def _script(line: str, env: _Environment, depth: int, budget: list[int] | None = None) -> list[str]:
    """Return the commands of a line that may start with a script's name.

    Args:
        line: The line.
        env: The environment with the scripts.
        depth: How many scripts name each other so far.
        budget: The number of lines that may still be read, shared by all calls.
    """
    budget = [_MOST_LINES] if budget is None else budget
    budget[0] -= 1
    first, _, given = line.strip().partition(" ")
    scripts = mapping(env.options.get("scripts"))
    if budget[0] < 0:
        return []
    if first not in scripts or depth >= _DEEPEST:
        return [_substitute(line, env, "")]
    found = scripts[first]
    lines: list[str] = []
    for text in ([found] if isinstance(found, str) else words(found))[:10]:
        plain = re.sub(r"^-\s+", "", text)
        # `- coverage combine`: its failure does not count, and coverage is not measured here.
        if plain != text and re.match(r"coverage\b", plain):
            continue
        lines += (
            _script(_substitute(plain, env, given), env, depth + 1, budget)
            if plain.split(" ")[0] != first
            else [_substitute(plain, env, given)]
        )
        if len(lines) > 60:  # noqa: PLR2004 (scripts that name each other)
            break
    return lines


def _test(call: Call, start: int, context: ToolContext) -> ToolReading:
    """Read `hatch test`: pytest with hatch's default plugins, unless the project overrides them."""
    options = read_options(call.words[start:], _TEST_VALUED)
    env = _resolve(
        "hatch-test",
        _environments(context, call.folder),
        next(iter(options.values("-py", "--python")), context.python),
    )
    usual = [
        "pytest",
        "pytest-mock",
        "pytest-randomly",
        "pytest-rerunfailures",
        "pytest-xdist[psutil]",
        "coverage",
    ]
    wanted = _wanted(env, call.folder, context)
    # An own list replaces hatch's defaults; `extra-dependencies` adds to them.
    if "dependencies" not in env.options:
        wanted = wanted.plus(
            Requirements(
                lines=tuple(
                    line
                    for line in usual
                    if line != "pytest-randomly" or options.has("-r", "--randomize")
                )
            )
        )
    given = " ".join((*options.positional, *options.rest)) or " ".join(
        words(env.options.get("default-args")) or ["tests"]
    )
    scripts = mapping(env.options.get("scripts"))
    name = "run-cov" if options.has("-c", "--cover") and "run-cov" in scripts else "run"
    lines = _script(f"{name} {given}", env, 0) if name in scripts else [f"pytest {given}"]
    context.log.replaced(call.line(), f"run as `{lines[0]}`")
    return ToolReading(wanted=wanted, python=_python(env)).plus(
        context.scripts(
            [re.sub(r"\$\{?\w+\}?", "", line) for line in lines],
            call.folder,
            {**call.environment, **_variables(env)},
        )
    )
