"""What a project declares, read without running it."""

import pytest

from sandbox.recipe.declared import Project, project_in
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles


def read(**contents: str) -> tuple[Project, FidelityLog]:
    log = FidelityLog()
    files = {name.replace("__", "."): text.encode() for name, text in contents.items()}
    return project_in(CheckoutFiles(files, None, log), "."), log


def test_pyproject_tells_dependencies_extras_and_groups() -> None:
    project, _ = read(
        pyproject__toml="""
[project]
name = "Mine"
dependencies = ["attrs>=1", "x @ https://example.org/x.whl"]
[project.optional-dependencies]
test = ["pytest", "mine[fast]"]
fast = ["numpy"]
[dependency-groups]
dev = ["coverage", {include-group = "test"}]
[tool.pytest.ini_options]
addopts = "--cov=mine"
"""
    )
    assert project.name == "Mine"
    assert project.wanted.lines == ("attrs>=1",)
    assert project.with_extras(["dev"]).lines == ("attrs>=1", "coverage", "pytest", "numpy")
    assert project.test_extras() == ("test", "dev")
    assert project.configures_pytest
    assert project.pytest_options == "--cov=mine"


def test_extras_that_ask_for_each_other_end() -> None:
    project, _ = read(
        pyproject__toml='[project]\nname="m"\n[project.optional-dependencies]\na=["m[b]","x"]\nb=["m[a]","y"]\n'
    )
    assert project.with_extras(["a"]).lines == ("x", "y")


def test_poetry_bounds_become_plain_ones() -> None:
    project, _ = read(
        pyproject__toml="""
[tool.poetry]
name = "m"
[tool.poetry.dependencies]
python = "^3.9"
a = "^1.2.3"
b = "^0.2.3"
c = "~1.2"
d = "*"
e = {version = ">=1,<2", extras = ["x"]}
f = {git = "https://example.org/f"}
g = "1.0"
h = {version = "^1", optional = true}
[tool.poetry.group.dev.dependencies]
pytest = "^8"
"""
    )
    assert project.wanted.lines == (
        "a>=1.2.3,<2",
        "b>=0.2.3,<0.3",
        "c>=1.2,<1.3",
        "d",
        "e[x]>=1,<2",
        "g==1.0",
    )
    assert project.with_extras(["dev"]).lines[-1] == "pytest>=8,<9"


def test_setup_cfg_and_setup_py_are_read_as_data() -> None:
    project, log = read(
        setup__cfg="[metadata]\nname = m\n[options]\ninstall_requires =\n  attrs\n  # no\n[options.extras_require]\ntest = pytest\n",
        setup__py="from setuptools import setup\nREQ=['six']\nsetup(install_requires=REQ, extras_require=make())\n",
    )
    assert project.name == "m"
    assert project.wanted.lines == ("attrs", "six")
    assert project.test_extras() == ("test",)
    assert [entry.step for entry in log.entries()] == ["setup.py: extras_require"]


@pytest.mark.parametrize(
    "name", ["pyproject__toml", "setup__cfg", "setup__py", "pytest__ini", "tox__ini"]
)
@pytest.mark.parametrize(
    "text",
    ["[[[", "\0", "x" * 1000, "project = 1\ntool = []", "[project]\nname = 1\ndependencies = 'x'"],
)
def test_a_malformed_file_never_raises(name: str, text: str) -> None:
    project, _ = read(**{name: text})
    assert project.wanted.lines == ()


DYNAMIC = {
    '[project]\nname="m"\ndynamic=["dependencies"]\n[tool.setuptools.dynamic]\ndependencies={file=["requirements.txt"]}\n': "pyproject__toml",
    '[project]\nname="m"\n[tool.hatch.metadata.hooks.requirements_txt]\nfiles=["requirements.txt"]\n': "pyproject__toml",
    "[metadata]\nname=m\n[options]\ninstall_requires = file: requirements.txt\n": "setup__cfg",
    "from setuptools import setup\nsetup(name='m', install_requires=open('requirements.txt').read().split())\n": "setup__py",
    "from setuptools import setup\nBASE=['six']\nsetup(name='m', install_requires=[*BASE] + [])\n": "setup__py",
    '[build-system]\nbuild-backend="flit"\n[tool.flit.metadata]\nmodule="m"\nrequires=["six"]\n': "pyproject__toml",
}


@pytest.mark.parametrize("text", DYNAMIC)
def test_dependencies_in_other_places_are_found(text: str) -> None:
    project, _ = read(**{DYNAMIC[text]: text, "requirements__txt": "six\n"})
    assert project.wanted.lines == ("six",)


def test_extras_in_other_places_are_found() -> None:
    project, _ = read(
        pyproject__toml='[tool.poetry]\nname="m"\n[tool.poetry.dependencies]\na={version="^1",optional=true}\nb=[{version="1",python="<3.9"},{version="2",python=">=3.9"}]\n[tool.poetry.extras]\nx=["a"]\n[tool.pdm.dev-dependencies]\ny=["c"]\n',
        setup__py="from setuptools import setup\nsetup(tests_require=['pytest'], extras_require={'z': 'd'})\n",
    )
    assert project.with_extras(["x", "y", "z"]).lines == (
        "b==1 ; python_version < '3.9'",
        "b==2 ; python_version >= '3.9'",
        "a>=1,<2",
        "c",
        "d",
    )
    assert project.test_extras() == ("tests-require",)


def test_dependencies_that_lie_elsewhere_are_never_asked_of_an_index() -> None:
    log = FidelityLog()
    files = {
        "app/pyproject.toml": b'[project]\nname="app"\ndependencies=["core","far","ws","six"]\n[tool.uv.sources]\ncore={path="../core"}\nfar={git="https://example.org"}\nws={workspace=true}\n',
        "ws/pyproject.toml": b'[project]\nname="ws"\n',
    }
    project = project_in(CheckoutFiles(files, None, log), "app")
    found = project.resolve_elsewhere(project.wanted)
    assert found.lines == ("six",)
    assert [local.folder for local in found.local] == ["core", "ws"]
    assert "far" in found.missing[0]
