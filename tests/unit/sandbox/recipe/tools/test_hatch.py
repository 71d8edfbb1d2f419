"""hatch: environments, scripts and matrices."""

import pytest

from tests.tool_reading import Read

TOML = """
[project]
name = "m"
[project.optional-dependencies]
f = ["six"]
[dependency-groups]
g = ["attrs"]
[tool.hatch.envs.default]
dependencies = ["pytest"]
env-vars = {MODE = "fast"}
[tool.hatch.envs.default.scripts]
test = "pytest {args:tests}"
cov = ["test --cov=m", "- coverage combine", "coverage report"]
loop = ["loop a", "b"]
[tool.hatch.envs.unit]
extra-dependencies = ["coverage", "django~={matrix:django}.0"]
features = ["f"]
dependency-groups = ["g"]
[tool.hatch.envs.unit.scripts]
run = "python -m pytest -k {matrix:django} {args}"
[[tool.hatch.envs.unit.matrix]]
python = ["3.10", "3.11"]
django = ["3", "4"]
[tool.hatch.envs.unit.overrides]
matrix.django.dependencies = [{value = "old", if = ["3"]}, {value = "new", if = ["4"]}]
[tool.hatch.envs.style]
detached = true
dependencies = ["ruff", "black==24.1"]
[tool.hatch.envs.style.scripts]
check = ["ruff check {args:.}", "black --check {args:.}"]
[tool.hatch.envs.types]
template = "style"
extra-dependencies = ["mypy"]
[tool.hatch.envs.types.scripts]
check = "mypy {root}/src"
"""
FILES = {"pyproject.toml": TOML}

CALLS = {
    "hatch run test": ["pytest tests"],
    "hatch run test -x -k 'a b'": ["pytest -x -k 'a b'"],
    "hatch run default:test": ["pytest tests"],
    "hatch run cov": ["pytest --cov=m"],
    "hatch -v run cov": ["pytest --cov=m"],
    "hatch -e unit run run": ["python -m pytest -k 3"],
    "hatch run unit:run -q": ["python -m pytest -k 3 -q"],
    "hatch run unit.py3.11-4:run": ["python -m pytest -k 4"],
    "hatch run +py=3.11 unit:run": ["python -m pytest -k 3"],
    "hatch run style:check": ["ruff check .", "black --check ."],
    "hatch run types:check": ["mypy src"],
    "hatch run pytest tests/a": ["pytest tests/a"],
    "hatch run python -m pytest": ["python -m pytest"],
    "hatch run loop": ["loop a", "b"],
    "hatch fmt --check": ["ruff check .", "ruff format --check ."],
    "hatch fmt -l": ["ruff check ."],
    "hatch test": ["pytest tests"],
    "hatch test -- -x": ["pytest -x"],
    "hatch test --cover --python 3.11 tests/a": ["pytest tests/a"],
    "hatch env create": [],
    "hatch --version": [],
    "python -m hatch run test": ["pytest tests"],
    "uvx hatch run test": ["pytest tests"],
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_runs(call: str) -> None:
    assert Read(call, FILES).commands == CALLS[call]


def test_what_an_environment_installs() -> None:
    read = Read("hatch run unit:run", FILES)
    assert read.lines == ["pytest", "old", "coverage", "django~=3.0", "attrs"]
    assert read.projects == [".[f]"]
    assert read.reading.commands[0].environment == {"MODE": "fast"}
    assert read.reading.python == "3.11"


def test_a_detached_environment_is_without_the_project() -> None:
    read = Read("hatch run types:check", FILES)
    assert (read.lines, read.projects) == (["ruff", "black==24.1", "mypy"], [])


def test_hatch_toml_wins() -> None:
    files = {**FILES, "hatch.toml": '[envs.default.scripts]\ntest = "python -m unittest"\n'}
    assert Read("hatch run test", files).commands == ["python -m unittest"]


def test_scripts_and_templates_in_a_circle_end() -> None:
    text = '[tool.hatch.envs.a]\ntemplate="b"\n[tool.hatch.envs.a.scripts]\nx=["y","y"]\ny=["x","x"]\n[tool.hatch.envs.b]\ntemplate="a"\n'
    assert len(Read("hatch run a:x", {"pyproject.toml": text}).commands) < 200
