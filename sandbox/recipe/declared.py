"""What a Python project declares about itself: its dependencies, extras, scripts and pytest options, read as data."""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.requirements import Wanted, clean_lines, name_of, normal_name
from sandbox.types import Frozen

_MOST_BYTES = 512 * 1024
_TEST_GROUPS = ("test", "tests", "testing", "dev", "develop", "development")
_DEEPEST = 5


class Project(Frozen):
    """A project's own words about itself."""

    name: str | None = None
    wanted: Wanted = Wanted()
    """Its dependencies."""
    extras: dict[str, Wanted]
    """Its optional dependencies and dependency groups, by name."""
    pytest_options: str = ""
    configures_pytest: bool = False
    python: str | None = None

    def with_extras(self, asked: Iterable[str]) -> Wanted:
        """The dependencies with these extras; an extra may ask for others of the same project."""
        wanted, done, left = self.wanted, set[str](), [normal_name(name) for name in asked]
        while left:
            extra = left.pop(0)
            if extra in done:
                continue
            done.add(extra)
            found = self.extras.get(extra, Wanted())
            own = [line for line in found.lines if self.name and name_of(line) == normal_name(self.name)]
            for line in own:
                left += [normal_name(part) for part in re.findall(r"[\w.-]+", line.partition("[")[2].partition("]")[0])]
            left += [normal_name(extra) for extra in found.extras]
            wanted = wanted.plus(found.with_(lines=tuple(line for line in found.lines if line not in own)))
        return wanted

    def test_extras(self) -> tuple[str, ...]:
        """The extras that by their names hold what the tests need."""
        return tuple(name for name in _TEST_GROUPS if name in self.extras)


def read_project(contents: Mapping[str, bytes], folder: str, log: FidelityLog) -> Project:
    """The project in a folder of the checkout, from pyproject.toml, setup.cfg, setup.py, tox.ini, pytest.ini."""
    prefix = "" if folder == "." else f"{folder}/"
    toml = _toml(f"{prefix}pyproject.toml", contents, log)
    setup = _ini(f"{prefix}setup.cfg", contents, log)
    calls = _setup_call(f"{prefix}setup.py", contents, log)
    project = _section(toml, "project")
    poetry = _section(toml, "tool", "poetry")
    lines = _words(project.get("dependencies")) + _poetry(_section(poetry, "dependencies"))
    lines += _listed(setup, "options", "install_requires") + _words(calls.get("install_requires"))
    name = next((n for n in (project.get("name"), poetry.get("name"), calls.get("name")) if isinstance(n, str)), None)
    options = (
        _listed(_ini(f"{prefix}pytest.ini", contents, log), "pytest", "addopts")
        + _listed(_ini(f"{prefix}tox.ini", contents, log), "pytest", "addopts")
        + _listed(setup, "tool:pytest", "addopts")
    )
    pytest_table = _section(toml, "tool", "pytest", "ini_options")
    addopts = pytest_table.get("addopts", "")
    options += _words(addopts) if isinstance(addopts, list) else [str(addopts)[:2000]]
    return Project(
        name=name or next(iter(_listed(setup, "metadata", "name")), None),
        wanted=clean_lines(lines, f"{folder}: dependencies", log),
        extras=_extras(toml, setup, calls, log),
        pytest_options=" ".join([*options, *("asyncio_mode" for _ in range("asyncio_mode" in pytest_table))]),
        configures_pytest=bool(pytest_table or f"{prefix}pytest.ini" in contents or setup.has_section("tool:pytest")),
    )


def read_tables(contents: Mapping[str, bytes], folder: str, log: FidelityLog) -> dict[str, Any]:
    """Name, version, scripts and entry points of a project as pyproject.toml, else setup.cfg or setup.py give them."""
    prefix = "" if folder == "." else f"{folder}/"
    toml = _toml(f"{prefix}pyproject.toml", contents, log)
    project = _section(toml, "project")
    poetry = _section(toml, "tool", "poetry")
    if project or poetry:
        return {**poetry, **project}
    setup = _ini(f"{prefix}setup.cfg", contents, log)
    calls = _setup_call(f"{prefix}setup.py", contents, log)
    scripts = dict(
        _split_entry(line) for line in _listed(setup, "options.entry_points", "console_scripts") if "=" in line
    )
    plain = {
        "name": setup.get("metadata", "name", fallback=None),
        "version": setup.get("metadata", "version", fallback=None),
    }
    return {**{key: value for key, value in plain.items() if value}, **calls, "scripts": scripts}


def _split_entry(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.strip()


def _extras(
    toml: Mapping[str, Any], setup: configparser.ConfigParser, calls: Mapping[str, Any], log: FidelityLog
) -> dict[str, Wanted]:
    listed: dict[str, list[str]] = {}
    for table in (_section(toml, "project", "optional-dependencies"), _as_mapping(calls.get("extras_require"))):
        for name, lines in list(table.items())[:50]:
            listed.setdefault(normal_name(str(name)), []).extend(_words(lines))
    if setup.has_section("options.extras_require"):
        for name in setup.options("options.extras_require")[:50]:
            listed.setdefault(normal_name(name), []).extend(_listed(setup, "options.extras_require", name))
    for name, group in list(_section(toml, "tool", "poetry", "group").items())[:50]:
        listed.setdefault(normal_name(name), []).extend(_poetry(_section(_as_mapping(group), "dependencies")))
    listed.setdefault("dev", []).extend(_poetry(_section(toml, "tool", "poetry", "dev-dependencies")))
    listed["dev"] += _words(_section(toml, "tool", "uv").get("dev-dependencies"))
    extras = {name: clean_lines(lines, f"extra {name}", log) for name, lines in listed.items() if lines}
    for name, lines in list(_section(toml, "dependency-groups").items())[:50]:
        found = clean_lines(_words(lines), f"group {name}", log)
        included = tuple(str(item["include-group"]) for item in _dicts(lines) if "include-group" in item)
        key = normal_name(name)
        extras[key] = extras.get(key, Wanted()).plus(found).plus(Wanted(extras=included))
    return extras


def _poetry(table: Mapping[str, Any]) -> list[str]:
    """Poetry's table as requirement lines; its carets and tildes become lower and upper bounds."""
    lines = []
    for name, value in list(table.items())[:500]:
        details = value if isinstance(value, dict) else {"version": value}
        if name.lower() == "python" or details.get("optional") is True:
            continue
        version = details.get("version")
        extras = ",".join(_words(details.get("extras")))
        bound = _poetry_bound(version) if isinstance(version, str) else " @ elsewhere"
        lines.append(f"{name}[{extras}]{bound}" if extras else f"{name}{bound}")
    return lines


def _poetry_bound(version: str) -> str:
    parts = []
    for part in version.replace(" ", "").split(","):
        found = re.fullmatch(r"([\^~]?)(\d+(?:\.\d+)*)([A-Za-z0-9.]*)", part)
        if part == "*":
            continue
        if found is None:
            parts.append(part)
            continue
        kind, numbers = found[1], [int(number[:9]) for number in found[2].split(".")]
        if not kind:
            parts.append(f"=={part}")
            continue
        # ^1.2.3 allows up to the next first non-zero number, ~1.2.3 up to the next minor
        fixed = (
            next((i for i, n in enumerate(numbers) if n), len(numbers) - 1) if kind == "^" else min(1, len(numbers) - 1)
        )
        upper = [*numbers[:fixed], numbers[fixed] + 1]
        parts.append(f">={found[2]}{found[3]},<{'.'.join(map(str, upper))}")
    return ",".join(parts)


def _setup_call(path: str, contents: Mapping[str, bytes], log: FidelityLog) -> dict[str, Any]:
    """The literal arguments of setup.py's call of `setup`, without running it."""
    raw = contents.get(path)
    if raw is None:
        return {}
    try:
        tree = ast.parse(raw) if len(raw) <= _MOST_BYTES else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        log.dropped(path, "it is not valid Python")
        return {}
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup":
            for keyword in node.keywords:
                if keyword.arg in {"name", "version", "install_requires", "extras_require"}:
                    value = keyword.value
                    value = constants.get(value.id, value) if isinstance(value, ast.Name) else value
                    try:
                        found[keyword.arg] = ast.literal_eval(value)
                    except (ValueError, TypeError, RecursionError, MemoryError):
                        log.dropped(f"{path}: {keyword.arg}", "it is computed, and setup.py is not run")
    return found


def _toml(path: str, contents: Mapping[str, bytes], log: FidelityLog) -> dict[str, Any]:
    raw = contents.get(path, b"")
    try:
        return tomllib.loads(raw.decode("utf-8")) if len(raw) <= _MOST_BYTES else {}
    except (ValueError, RecursionError):
        log.dropped(path, "it is not valid TOML")
        return {}


def _ini(path: str, contents: Mapping[str, bytes], log: FidelityLog) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    raw = contents.get(path, b"")
    try:
        parser.read_string(raw.decode("utf-8", "replace") if len(raw) <= _MOST_BYTES else "")
    except configparser.Error:
        log.dropped(path, "it is not a valid configuration file")
        return configparser.ConfigParser(interpolation=None)
    return parser


def _listed(parser: configparser.ConfigParser, section: str, option: str) -> list[str]:
    text = parser.get(section, option, fallback="")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def _section(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        table = _as_mapping(table.get(name))
    return table


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(value: object) -> list[str]:
    return [item for item in value[:2000] if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
