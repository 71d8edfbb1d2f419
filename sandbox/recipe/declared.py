"""Read a Python project's declarations: dependencies, extras, scripts and pytest options."""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import (
    CheckoutFiles,
    beside,
    inside,
    mapping,
    option_lines,
    section,
    tables,
    words,
)
from sandbox.recipe.poetry_table import poetry_extras, poetry_lines, poetry_paths
from sandbox.recipe.requirements import (
    Local,
    Requirements,
    clean_lines,
    distribution_name,
    is_named_for_tests,
    normal_name,
    read_requirement_file,
)
from sandbox.recipe.setup_script import read_setup_call
from sandbox.types import Frozen

_PYTEST_FILES = (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
_DESCRIBING = ("name", "version", "description", "author", "author_email", "url", "license")
_TEST_GROUPS = ("test", "tests", "testing", "tests-require", "dev", "develop", "development")


class Project(Frozen):
    """A project's declarations."""

    name: str | None = None
    folder: str = "."
    wanted: Requirements = Requirements()
    """Its dependencies."""
    extras: dict[str, Requirements]
    """Its optional dependencies and dependency groups, by name."""
    elsewhere: dict[str, str] = Field(default_factory=dict)
    """Dependencies outside of indexes: name to folder in the checkout or address."""
    groups: tuple[str, ...] = ()
    """Dependency groups. Only development needs them, and extras belong to the program."""
    default_groups: tuple[str, ...] = ()
    """Groups that uv, poetry and pdm install by default."""
    pytest_options: str = ""
    configures_pytest: bool = False
    python: str | None = None

    def with_extras(self, asked: Iterable[str]) -> Requirements:
        """Return the dependencies with these extras; an extra may include others."""
        return self.wanted.plus(self.only_extras(asked))

    def only_extras(self, asked: Iterable[str]) -> Requirements:
        """Return the requirements of extras and groups, without the project's own dependencies."""
        wanted, done = Requirements(), set[str]()
        left = deque(normal_name(name) for name in asked)
        while left:
            extra = left.popleft()
            # Extras may include each other in a circle.
            if extra in done:
                continue
            done.add(extra)
            found = self.extras.get(extra, Requirements())
            # An extra may name its own project: `all = ["demo[test,docs]"]`.
            own = dict.fromkeys(
                line
                for line in found.lines
                if self.name and distribution_name(line) == normal_name(self.name)
            )
            for line in own:
                left += [
                    normal_name(part)
                    for part in re.findall(r"[\w.-]+", line.partition("[")[2].partition("]")[0])
                ]
            left += [normal_name(extra) for extra in found.extras]
            lines = tuple(line for line in found.lines if line not in own)
            found = found.with_(lines=lines, extras=(), itself=False)
            is_for_tests = extra in self.groups or is_named_for_tests(extra)
            wanted = wanted.plus(found.as_for_tests() if is_for_tests else found)
        return wanted

    def test_extras(self) -> tuple[str, ...]:
        """Return the extras with names that suggest tests."""
        return tuple(name for name in _TEST_GROUPS if name in self.extras)

    def resolve_elsewhere(self, wanted: Requirements) -> Requirements:
        """Replace dependencies outside of indexes by local projects, or mark them as missing."""
        asked = [
            name for line in wanted.lines if (name := distribution_name(line)) in self.elsewhere
        ]
        if not asked:
            return wanted
        lines = tuple(
            line for line in wanted.lines if distribution_name(line) not in self.elsewhere
        )
        folders = tuple(
            Local(folder=place) for name in asked if "+" not in (place := self.elsewhere[name])
        )
        missing = tuple(
            f"the requirement {name}: it comes from an address, and only indexes are asked"
            for name in asked
            if "+" in self.elsewhere[name]
        )
        return wanted.with_(lines=lines).plus(Requirements(local=folders, missing=missing))


def project_in(files: CheckoutFiles, folder: str) -> Project:
    """Read the project in a folder from its configuration files."""
    return files.remember(("project", folder), lambda: _project_in(files, folder))


def _project_in(files: CheckoutFiles, folder: str) -> Project:
    toml, setup = (
        files.toml(beside(folder, "pyproject.toml")),
        files.ini(beside(folder, "setup.cfg")),
    )
    calls = read_setup_call(files, folder)
    project, poetry, flit = (
        section(toml, "project"),
        section(toml, "tool", "poetry"),
        section(toml, "tool", "flit"),
    )
    metadata = section(flit, "metadata")
    # The tables of all build backends are read; most projects have one of them.
    plain, named = _references(option_lines(setup, "options", "install_requires"))
    lines = words(project.get("dependencies")) + poetry_lines(section(poetry, "dependencies"))
    lines += plain + words(metadata.get("requires")) + words(calls.get("install_requires"))
    wanted = clean_lines(lines, f"{folder}: dependencies", files.log)
    # Requirements may also be in files: by `file:`, in setup.py, or as dynamic metadata.
    for name in (*named, *words(calls.get("requirement_files")), *_dynamic(toml, "dependencies")):
        wanted = wanted.plus(_file(files, folder, name))
    # The module's name is the last resort, for old flit projects.
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
        or next(iter(option_lines(setup, "metadata", "name")), None),
        folder=folder,
        wanted=wanted,
        extras=_extras(files, folder, toml, calls),
        elsewhere=_elsewhere(files, folder, toml),
        groups=_groups(toml),
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
    """Read a project's name, version, scripts and entry points.

    The source is pyproject.toml, setup.cfg or setup.py.
    """
    files = CheckoutFiles(contents, None, log)
    toml = files.toml(beside(folder, "pyproject.toml"))
    project, poetry = section(toml, "project"), section(toml, "tool", "poetry")
    if project.get("name") or poetry:
        plugins = {"entry-points": {**section(poetry, "plugins")}} if "plugins" in poetry else {}
        return {**plugins, **poetry, **project}
    setup, calls = files.ini(beside(folder, "setup.cfg")), read_setup_call(files, folder)
    # Only the old formats are left: setup.cfg first, then literal arguments in setup.py.
    groups = {
        group: dict(
            _split_entry(line)
            for line in option_lines(setup, "options.entry_points", group)
            if "=" in line
        )
        for group in (
            setup.options("options.entry_points")[:50]
            if setup.has_section("options.entry_points")
            else ()
        )
    }
    for group, entries in mapping(calls.get("entry_points")).items():
        groups.setdefault(str(group), {}).update(
            dict(_split_entry(line) for line in words(entries) if "=" in line)
        )
    plain = {key: setup.get("metadata", key, fallback=None) for key in _DESCRIBING}
    # The newer tables keep scripts apart from other entry points; so does the result.
    scripts = groups.pop("console_scripts", {})
    known = {key: value for key, value in plain.items() if value}
    literal = {key: calls[key] for key in _DESCRIBING if isinstance(calls.get(key), str)}
    return {**known, **literal, "scripts": scripts, "entry-points": groups}


def _split_entry(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.partition("[")[0].strip()


def _pytest_table(toml: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `[tool.pytest.ini_options]`, or `[tool.pytest]` of newer versions."""
    table = section(toml, "tool", "pytest")
    return section(table, "ini_options") or {
        key: value for key, value in table.items() if key != "ini_options"
    }


def _pytest_options(files: CheckoutFiles, folder: str, table: Mapping[str, Any]) -> str:
    options = [
        line
        for name, part in _PYTEST_FILES
        for option in ("addopts", "required_plugins")
        for line in option_lines(files.ini(beside(folder, name)), part, option)
    ]
    for option in ("addopts", "required_plugins"):
        given = table.get(option, "")
        options += words(given) if isinstance(given, list) else [str(given)[:2000]]
    names = {
        *table,
        *(n for name, part in _PYTEST_FILES for n in _options(files, beside(folder, name), part)),
    }
    # These settings belong to plugins, so their names tell which plugins are needed.
    named = sorted(names & {"asyncio_mode", "DJANGO_SETTINGS_MODULE", "django_settings_module"})
    return " ".join(part for part in (*options, *named) if part)


def _options(files: CheckoutFiles, path: str, part: str) -> list[str]:
    parser = files.ini(path)
    return parser.options(part)[:200] if parser.has_section(part) else []


def _references(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return requirement lines, and the files of `file: requirements.txt` entries."""
    plain = [line for line in lines if not line.startswith("file:")]
    named = [
        name.strip() for line in lines if line.startswith("file:") for name in line[5:].split(",")
    ]
    return plain, named[:10]


def _dynamic(toml: Mapping[str, Any], field: str) -> list[str]:
    """Return the requirement files from which a build backend reads dependencies."""
    given = section(toml, "tool", "setuptools", "dynamic").get(field)
    named = mapping(given).get("file")
    found = [named] if isinstance(named, str) else words(named)
    if field == "dependencies":
        found += words(
            section(toml, "tool", "hatch", "metadata", "hooks", "requirements_txt").get("files")
        )
    return found[:10]


def _file(files: CheckoutFiles, folder: str, name: str) -> Requirements:
    path = inside(folder, name)
    return read_requirement_file(path, files, folder=folder) if path is not None else Requirements()


def _extras(
    files: CheckoutFiles, folder: str, toml: Mapping[str, Any], calls: Mapping[str, Any]
) -> dict[str, Requirements]:
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
    found: dict[str, Requirements] = {}
    for name in (
        setup.options("options.extras_require")[:50]
        if setup.has_section("options.extras_require")
        else ()
    ):
        plain, named = _references(option_lines(setup, "options.extras_require", name))
        lists.setdefault(normal_name(name), []).extend(plain)
        for file in named:
            found[normal_name(name)] = found.get(normal_name(name), Requirements()).plus(
                _file(files, folder, file)
            )
    lists.setdefault("tests-require", []).extend(option_lines(setup, "options", "tests_require"))
    for name, group in list(section(poetry, "group").items())[:50]:
        lists.setdefault(normal_name(name), []).extend(
            poetry_lines(section(mapping(group), "dependencies"))
        )
    lists.setdefault("dev", []).extend(poetry_lines(section(poetry, "dev-dependencies")))
    # The older place of uv's dev group.
    lists["dev"] += words(section(toml, "tool", "uv").get("dev-dependencies"))
    for name, lines in lists.items():
        if lines:
            found[name] = found.get(name, Requirements()).plus(
                clean_lines(lines, f"extra {name}", files.log)
            )
    for name in list(
        mapping(section(toml, "tool", "setuptools", "dynamic").get("optional-dependencies"))
    )[:50]:
        table = section(toml, "tool", "setuptools", "dynamic", "optional-dependencies")
        for file in _dynamic({"tool": {"setuptools": {"dynamic": table}}}, name):
            found[normal_name(name)] = found.get(normal_name(name), Requirements()).plus(
                _file(files, folder, file)
            )
    return _with_groups(found, toml, files.log)


def _with_groups(
    found: dict[str, Requirements], toml: Mapping[str, Any], log: FidelityLog
) -> dict[str, Requirements]:
    for name, lines in list(section(toml, "dependency-groups").items())[:50]:
        included = tuple(
            str(item["include-group"]) for item in tables(lines) if "include-group" in item
        )
        group = clean_lines(words(lines), f"group {name}", log).plus(Requirements(extras=included))
        found[normal_name(name)] = found.get(normal_name(name), Requirements()).plus(group)
    return found


def _groups(toml: Mapping[str, Any]) -> tuple[str, ...]:
    declared = (
        section(toml, "dependency-groups"),
        section(toml, "tool", "poetry", "group"),
        section(toml, "tool", "pdm", "dev-dependencies"),
    )
    return tuple(normal_name(name) for table in declared for name in list(table)[:50])


def _default_groups(toml: Mapping[str, Any]) -> tuple[str, ...]:
    uv = section(toml, "tool", "uv").get("default-groups")
    # `default-groups = "all"` is the only text that uv accepts here.
    if uv == "all":
        return tuple(normal_name(name) for name in list(section(toml, "dependency-groups"))[:50])
    return tuple(normal_name(name) for name in words(uv)) or ("dev",)


def _elsewhere(files: CheckoutFiles, folder: str, toml: Mapping[str, Any]) -> dict[str, str]:
    """Return dependencies of uv and poetry that are in the checkout or at an address."""
    found: dict[str, str] = {}
    for name, source in list(section(toml, "tool", "uv", "sources").items())[:200]:
        for details in tables(source) if isinstance(source, list) else [mapping(source)]:
            path = details.get("path")
            if isinstance(path, str) and (place := inside(folder, path)) is not None:
                found[normal_name(name)] = place
            elif "git" in details or "url" in details:
                found[normal_name(name)] = f"address+{details.get('git', details.get('url'))}"
            elif details.get("workspace") is True:
                members = files.remember(("members",), lambda: _members(files))
                if normal_name(name) in members:
                    found[normal_name(name)] = members[normal_name(name)]
    return found


def _members(files: CheckoutFiles) -> dict[str, str]:
    """Return the projects of a workspace by name."""
    found: dict[str, str] = {}
    for path in sorted(name for name in files.contents if name.endswith("pyproject.toml"))[:100]:
        name = section(files.toml(path), "project").get("name")
        if isinstance(name, str):
            found[normal_name(name)] = path.rpartition("/")[0] or "."
    return found


def local_dependencies(files: CheckoutFiles, folder: str) -> tuple[str, ...]:
    """Return the folders of path dependencies in a project's own tables (`{path = "../core"}`)."""
    poetry = section(files.toml(beside(folder, "pyproject.toml")), "tool", "poetry")
    groups = [
        section(mapping(group), "dependencies")
        for group in list(section(poetry, "group").values())[:50]
    ]
    found: list[str] = []
    for table in (section(poetry, "dependencies"), section(poetry, "dev-dependencies"), *groups):
        found += [
            place for path in poetry_paths(table) if (place := inside(folder, path)) is not None
        ]
    return tuple(dict.fromkeys(found))
