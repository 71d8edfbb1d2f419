"""The checkout counts as installed, without running its set-up code."""

import configparser
import os
from pathlib import Path
from types import SimpleNamespace

from sandbox.recipe.editable import editable_files, source_roots
from sandbox.types import PythonPart, Recipe

RECIPE = Recipe(command="pytest", parts=(PythonPart(install_project=True),))


def files(pyproject: str, *names: str) -> dict[str, str]:
    return editable_files(RECIPE, names, {"pyproject.toml": pyproject.encode()})


def test_the_src_layout_goes_before_the_top(tmp_path: Path) -> None:
    (line,) = files("", "src/m/__init__.py").values()
    places = {"sys": SimpleNamespace(path=[]), "os": SimpleNamespace(environ={}, path=os.path)}
    exec(line.partition("; ")[2], places)  # noqa: S102 (a line of ours, run as Python's start-up runs it)
    (tmp_path / "link").symlink_to(tmp_path)
    places["os"].environ["METAAGENT_CHECKOUT"] = str(tmp_path / "link")
    exec(line.partition("; ")[2], places)  # noqa: S102
    there = os.path.realpath(tmp_path)
    assert places["sys"].path == ["/work/repo/src", "/work/repo", f"{there}/src", there]
    assert source_roots(RECIPE.with_(working_directory="a"), {"a/src/m.py"}) == ("a/src", "a")


def test_a_project_that_is_not_installed_gets_nothing() -> None:
    assert editable_files(RECIPE.with_(parts=()), {"src/m.py"}, {}) == {}


def test_metadata_and_entry_points_are_written_from_what_is_declared() -> None:
    made = files(
        '[project]\nname="My.Pkg"\nversion="1.2"\n[project.scripts]\nmine="m.cli:main"\n[project.entry-points.pytest11]\np="m.plugin"\n'
    )
    assert "Name: My.Pkg\nVersion: 1.2\n" in made["site/my_pkg-1.2.dist-info/METADATA"]
    parser = configparser.ConfigParser()
    parser.read_string(made["site/my_pkg-1.2.dist-info/entry_points.txt"])
    assert parser["pytest11"]["p"] == "m.plugin"
    assert "from m.cli import main" in made["bin/mine"]


def test_hostile_names_are_left_out() -> None:
    made = files(
        '[project]\nname="m"\nversion="../../x"\n[project.scripts]\n"../../bin/sh"="m:x"\npython="m:x"\npytest="m:x"\nok="m:x;import os"\n'
    )
    assert sorted(made) == [
        "site/checkout.pth",
        *(
            f"site/m-0.0.0.dist-info/{name}"
            for name in ("INSTALLER", "METADATA", "RECORD", "entry_points.txt")
        ),
    ]
    assert list(files('[project]\nname="../x"\n')) == ["site/checkout.pth"]


def test_setup_cfg_tells_its_commands() -> None:
    made = editable_files(
        RECIPE,
        set(),
        {
            "setup.cfg": b"[metadata]\nname = m\n[options.entry_points]\nconsole_scripts =\n  mine = m:main\n"
        },
    )
    assert "bin/mine" in made


def test_several_projects_of_a_checkout_count_as_installed() -> None:
    recipe = Recipe(
        command="pytest",
        parts=(PythonPart(projects=("libs/core", ".")),),
        working_directory="tests",
    )
    made = editable_files(
        recipe,
        {"libs/core/src/core/x.py", "m.py"},
        {
            "pyproject.toml": b'[project]\nname="app"\nversion="2"\n[project.entry-points.pytest11]\napp="m"\n',
            "libs/core/pyproject.toml": b'[project]\nname="core"\ndynamic=["version"]\n[project.gui-scripts]\ng="core.x:run"\n',
        },
    )
    assert {"site/app-2.dist-info/METADATA", "site/core-0.0.0.dist-info/METADATA"} <= set(made)
    places = {"sys": SimpleNamespace(path=[]), "os": SimpleNamespace(environ={}, path=os.path)}
    exec(made["site/checkout.pth"].partition("; ")[2], places)  # noqa: S102
    assert [path.removeprefix("/work/repo") for path in places["sys"].path] == [
        "/libs/core/src",
        "/libs/core",
        "",
    ]
    assert "[pytest11]\napp = m\n" in made["site/app-2.dist-info/entry_points.txt"]
    assert "[gui_scripts]" in made["site/core-0.0.0.dist-info/entry_points.txt"]


def test_entry_points_of_setup_py_and_poetry_are_read() -> None:
    setup = b"from setuptools import setup\nsetup(name='m', version='1', entry_points={'pytest11': ['m = m.plugin'], 'console_scripts': ['mine = m:main']})\n"
    made = editable_files(RECIPE, set(), {"setup.py": setup})
    assert "[pytest11]\nm = m.plugin\n" in made["site/m-1.dist-info/entry_points.txt"]
    assert "bin/mine" in made
    poetry = b'[tool.poetry]\nname="p"\nversion="1"\n[tool.poetry.scripts]\nmine="p:main"\n[tool.poetry.plugins.pytest11]\np="p.x"\n'
    made = editable_files(RECIPE, set(), {"pyproject.toml": poetry})
    assert "[pytest11]\np = p.x\n" in made["site/p-1.dist-info/entry_points.txt"]
    assert "bin/mine" in made


def test_what_packages_read_about_themselves_is_written_on_one_line_each() -> None:
    (text,) = (
        text
        for name, text in files(
            '[project]\nname="m"\nversion="1"\ndescription="One\\nEvil: header"\nrequires-python=">=3.9"\n'
            'authors=[{name="A",email="a@example.org"},{name="B"}]\n[project.urls]\nHome="https://example.org"\n'
        ).items()
        if name.endswith("METADATA")
    )
    lines = text.splitlines()[3:]
    assert lines == [
        "Summary: One Evil: header",
        "Requires-Python: >=3.9",
        "Author-email: A <a@example.org>",
        "Author: B",
        "Project-URL: Home, https://example.org",
    ]
