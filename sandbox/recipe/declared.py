"""What a Python project declares about itself: its dependencies, extras, scripts and pytest options, read as data."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import Files, beside, inside, listed, mapping, section, tables, words
from sandbox.recipe.poetry_table import poetry_extras, poetry_lines, poetry_paths
from sandbox.recipe.requirements import Local, Wanted, clean_lines, name_of, normal_name, read_requirement_file
from sandbox.recipe.setup_script import read_setup_call
from sandbox.types import Frozen

_PYTEST_FILES = (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
_DESCRIBING = ("name", "version", "description", "author", "author_email", "url", "license")
_TEST_GROUPS = ("test", "tests", "testing", "tests-require", "dev", "develop", "development")


class Project(Frozen):
    """A project's own words about itself."""

    name: str | None = None
    folder: str = "."
    wanted: Wanted = Wanted()
    """Its dependencies."""
    extras: dict[str, Wanted]
    """Its optional dependencies and dependency groups, by name."""
    elsewhere: dict[str, str] = Field(default_factory=dict)
    """Dependencies that are not from an index: their name, and their folder in the checkout or an address."""
    default_groups: tuple[str, ...] = ()
    """Groups that uv, poetry and pdm install without being asked."""
    pytest_options: str = ""
    configures_pytest: bool = False
    python: str | None = None

    def with_extras(self, asked: Iterable[str]) -> Wanted:
        """The dependencies with these extras; an extra may ask for others of the same project."""
        return self.wanted.plus(self.only_extras(asked))

    def only_extras(self, asked: Iterable[str]) -> Wanted:
        """What extras and groups ask for, without the project's own dependencies."""
        wanted, done, left = Wanted(), set[str](), [normal_name(name) for name in asked]
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
            lines = tuple(line for line in found.lines if line not in own)
            wanted = wanted.plus(found.with_(lines=lines, extras=(), itself=False))
        return wanted

    def test_extras(self) -> tuple[str, ...]:
        """The extras that by their names hold what the tests need."""
        return tuple(name for name in _TEST_GROUPS if name in self.extras)

    def found_elsewhere(self, wanted: Wanted) -> Wanted:
        """The same with dependencies that are not from an index taken from where they lie, or named as missing."""
        asked = [name for line in wanted.lines if (name := name_of(line)) in self.elsewhere]
        if not asked:
            return wanted
        lines = tuple(line for line in wanted.lines if name_of(line) not in self.elsewhere)
        folders = tuple(Local(folder=place) for name in asked if "+" not in (place := self.elsewhere[name]))
        missing = tuple(
            f"the requirement {name}: it comes from an address, and only indexes are asked"
            for name in asked
            if "+" in self.elsewhere[name]
        )
        return wanted.with_(lines=lines).plus(Wanted(local=folders, missing=missing))


def project_in(files: Files, folder: str) -> Project:
    """The project in a folder of the checkout, from pyproject.toml, setup.cfg, setup.py, tox.ini, pytest.ini."""
    toml, setup = files.toml(beside(folder, "pyproject.toml")), files.ini(beside(folder, "setup.cfg"))
    calls = read_setup_call(files, folder)
    project, poetry, flit = section(toml, "project"), section(toml, "tool", "poetry"), section(toml, "tool", "flit")
    metadata = section(flit, "metadata")
    plain, named = _references(listed(setup, "options", "install_requires"))
    lines = words(project.get("dependencies")) + poetry_lines(section(poetry, "dependencies"))
    lines += plain + words(metadata.get("requires")) + words(calls.get("install_requires"))
    wanted = clean_lines(lines, f"{folder}: dependencies", files.log)
    for name in (*named, *words(calls.get("requirement_files")), *_dynamic(toml, "dependencies")):
        wanted = wanted.plus(_file(files, folder, name))
    names = (
        project.get("name"),
        poetry.get("name"),
        calls.get("name"),
        metadata.get("dist-name"),
        metadata.get("module"),
    )
    table = _pytest_table(toml)
    return Project(
        name=next((n for n in names if isinstance(n, str)), None)
        or next(iter(listed(setup, "metadata", "name")), None),
        folder=folder,
        wanted=wanted,
        extras=_extras(files, folder, toml, calls),
        elsewhere=_elsewhere(files, folder, toml),
        default_groups=_default_groups(toml),
        pytest_options=_pytest_options(files, folder, table),
        configures_pytest=bool(
            table
            or files.is_file(beside(folder, "pytest.ini"))
            or setup.has_section("tool:pytest")
            or files.ini(beside(folder, "tox.ini")).has_section("pytest")
        ),
    )


def read_tables(contents: Mapping[str, bytes], folder: str, log: FidelityLog) -> dict[str, Any]:
    """Name, version, scripts and entry points of a project as pyproject.toml, else setup.cfg or setup.py give them."""
    files = Files(contents, None, log)
    toml = files.toml(beside(folder, "pyproject.toml"))
    project, poetry = section(toml, "project"), section(toml, "tool", "poetry")
    if project.get("name") or poetry:
        plugins = {"entry-points": {**section(poetry, "plugins")}} if "plugins" in poetry else {}
        return {**plugins, **poetry, **project}
    setup, calls = files.ini(beside(folder, "setup.cfg")), read_setup_call(files, folder)
    groups = {
        group: dict(_split_entry(line) for line in listed(setup, "options.entry_points", group) if "=" in line)
        for group in (setup.options("options.entry_points")[:50] if setup.has_section("options.entry_points") else ())
    }
    for group, entries in mapping(calls.get("entry_points")).items():
        groups.setdefault(str(group), {}).update(dict(_split_entry(line) for line in words(entries) if "=" in line))
    plain = {key: setup.get("metadata", key, fallback=None) for key in _DESCRIBING}
    scripts = groups.pop("console_scripts", {})
    known = {key: value for key, value in plain.items() if value}
    literal = {key: calls[key] for key in _DESCRIBING if isinstance(calls.get(key), str)}
    return {**known, **literal, "scripts": scripts, "entry-points": groups}


def _split_entry(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.partition("[")[0].strip()


def _pytest_table(toml: Mapping[str, Any]) -> Mapping[str, Any]:
    """`[tool.pytest.ini_options]`, or `[tool.pytest]` of newer pytests."""
    table = section(toml, "tool", "pytest")
    return section(table, "ini_options") or {key: value for key, value in table.items() if key != "ini_options"}


def _pytest_options(files: Files, folder: str, table: Mapping[str, Any]) -> str:
    options = [
        line
        for name, part in _PYTEST_FILES
        for option in ("addopts", "required_plugins")
        for line in listed(files.ini(beside(folder, name)), part, option)
    ]
    for option in ("addopts", "required_plugins"):
        given = table.get(option, "")
        options += words(given) if isinstance(given, list) else [str(given)[:2000]]
    names = {*table, *(n for name, part in _PYTEST_FILES for n in _options(files, beside(folder, name), part))}
    named = sorted(names & {"asyncio_mode", "DJANGO_SETTINGS_MODULE", "django_settings_module"})
    return " ".join(part for part in (*options, *named) if part)


def _options(files: Files, path: str, part: str) -> list[str]:
    parser = files.ini(path)
    return parser.options(part)[:200] if parser.has_section(part) else []


def _references(lines: list[str]) -> tuple[list[str], list[str]]:
    """Requirement lines, and the files that `file: requirements.txt` names."""
    plain = [line for line in lines if not line.startswith("file:")]
    named = [name.strip() for line in lines if line.startswith("file:") for name in line[5:].split(",")]
    return plain, named[:10]


def _dynamic(toml: Mapping[str, Any], field: str) -> list[str]:
    """The requirement files a build backend takes a project's dependencies from."""
    given = section(toml, "tool", "setuptools", "dynamic").get(field)
    named = mapping(given).get("file")
    found = [named] if isinstance(named, str) else words(named)
    if field == "dependencies":
        found += words(section(toml, "tool", "hatch", "metadata", "hooks", "requirements_txt").get("files"))
    return found[:10]


def _file(files: Files, folder: str, name: str) -> Wanted:
    path = inside(folder, name)
    return read_requirement_file(path, files.contents, files.log, folder=folder) if path is not None else Wanted()


def _extras(files: Files, folder: str, toml: Mapping[str, Any], calls: Mapping[str, Any]) -> dict[str, Wanted]:
    lists: dict[str, list[str]] = {}
    poetry = section(toml, "tool", "poetry")
    setup = files.ini(beside(folder, "setup.cfg"))
    sources: list[Mapping[str, Any]] = [
        section(toml, "project", "optional-dependencies"),
        mapping(calls.get("extras_require")),
        section(toml, "tool", "flit", "metadata", "requires-extra"),
        section(toml, "tool", "pdm", "dev-dependencies"),
        poetry_extras(poetry),
        {"tests-require": calls.get("tests_require")},
    ]
    for source in sources:
        for name, lines in list(source.items())[:50]:
            lists.setdefault(normal_name(str(name)), []).extend(
                words(lines) or ([lines] if isinstance(lines, str) else [])
            )
    found: dict[str, Wanted] = {}
    for name in setup.options("options.extras_require")[:50] if setup.has_section("options.extras_require") else ():
        plain, named = _references(listed(setup, "options.extras_require", name))
        lists.setdefault(normal_name(name), []).extend(plain)
        for file in named:
            found[normal_name(name)] = found.get(normal_name(name), Wanted()).plus(_file(files, folder, file))
    lists.setdefault("tests-require", []).extend(listed(setup, "options", "tests_require"))
    for name, group in list(section(poetry, "group").items())[:50]:
        lists.setdefault(normal_name(name), []).extend(poetry_lines(section(mapping(group), "dependencies")))
    lists.setdefault("dev", []).extend(poetry_lines(section(poetry, "dev-dependencies")))
    lists["dev"] += words(section(toml, "tool", "uv").get("dev-dependencies"))
    for name, lines in lists.items():
        if lines:
            found[name] = found.get(name, Wanted()).plus(clean_lines(lines, f"extra {name}", files.log))
    for name in list(mapping(section(toml, "tool", "setuptools", "dynamic").get("optional-dependencies")))[:50]:
        table = section(toml, "tool", "setuptools", "dynamic", "optional-dependencies")
        for file in _dynamic({"tool": {"setuptools": {"dynamic": table}}}, name):
            found[normal_name(name)] = found.get(normal_name(name), Wanted()).plus(_file(files, folder, file))
    return _with_groups(found, toml, files.log)


def _with_groups(found: dict[str, Wanted], toml: Mapping[str, Any], log: FidelityLog) -> dict[str, Wanted]:
    for name, lines in list(section(toml, "dependency-groups").items())[:50]:
        included = tuple(str(item["include-group"]) for item in tables(lines) if "include-group" in item)
        group = clean_lines(words(lines), f"group {name}", log).plus(Wanted(extras=included))
        found[normal_name(name)] = found.get(normal_name(name), Wanted()).plus(group)
    return found


def _default_groups(toml: Mapping[str, Any]) -> tuple[str, ...]:
    uv = section(toml, "tool", "uv").get("default-groups")
    if uv == "all":
        return tuple(normal_name(name) for name in list(section(toml, "dependency-groups"))[:50])
    return tuple(normal_name(name) for name in words(uv)) or ("dev",)


def _elsewhere(files: Files, folder: str, toml: Mapping[str, Any]) -> dict[str, str]:
    """Dependencies of uv and poetry that lie in the checkout or at an address."""
    found: dict[str, str] = {}
    for name, source in list(section(toml, "tool", "uv", "sources").items())[:200]:
        for details in tables(source) if isinstance(source, list) else [mapping(source)]:
            path = details.get("path")
            if isinstance(path, str) and (place := inside(folder, path)) is not None:
                found[normal_name(name)] = place
            elif "git" in details or "url" in details:
                found[normal_name(name)] = f"address+{details.get('git', details.get('url'))}"
            elif details.get("workspace") is True and (member := _members(files).get(normal_name(name))):
                found[normal_name(name)] = member
    return found


def _members(files: Files) -> dict[str, str]:
    """The projects of a workspace, by name."""
    found: dict[str, str] = {}
    for path in sorted(name for name in files.contents if name.endswith("pyproject.toml"))[:100]:
        name = section(files.toml(path), "project").get("name")
        if isinstance(name, str):
            found[normal_name(name)] = path.rpartition("/")[0] or "."
    return found


def local_dependencies(files: Files, folder: str) -> tuple[str, ...]:
    """The folders of the checkout that a project's own tables name as dependencies (`{path = "../core"}`)."""
    poetry = section(files.toml(beside(folder, "pyproject.toml")), "tool", "poetry")
    groups = [section(mapping(group), "dependencies") for group in list(section(poetry, "group").values())[:50]]
    found: list[str] = []
    for table in (section(poetry, "dependencies"), section(poetry, "dev-dependencies"), *groups):
        found += [place for path in poetry_paths(table) if (place := inside(folder, path)) is not None]
    return tuple(dict.fromkeys(found))
