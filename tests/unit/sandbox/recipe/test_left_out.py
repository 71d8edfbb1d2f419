"""What a set-up may leave out: requirements that only tests want, and nothing that a command needs."""

import pytest

from sandbox.errors import SetupFailed
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.left_out import without_requirement
from sandbox.types import JobHints, PythonPart, Recipe

PROJECT = """
[project]
name = "demo"
dependencies = ["attrs", "Idna>=3"]
[project.optional-dependencies]
fast = ["ujson"]
unit-tests = ["demo[fast]", "trio"]
[dependency-groups]
test = ["pytest", "pytest-mock", "rsloop; platform_python_implementation == 'CPython'", "coverage",
        "attrs>=20", "idna", "trustme", "uvloop"]
[tool.pytest.ini_options]
addopts = "-p trustme.plugin --snapshot-update"
"""


def plan(command: str, *steps: str, **contents: str) -> Recipe:
    runs = "\n".join(f"      - run: {step}" for step in (*steps, command))
    files = {
        ".github/workflows/ci.yml": f"jobs:\n  a:\n    steps:\n{runs}\n",
        "pyproject.toml": PROJECT,
        "test_x.py": "",
        **{name.replace("__", "."): text for name, text in contents.items()},
    }
    hints = JobHints(job_name="a", step_name=f"Run {command}")
    return plan_recipe(hints, files.keys(), {name: text.encode() for name, text in files.items()})


@pytest.mark.parametrize(
    "install",
    ["pip install -e . --group test", "uv sync --group test", "pip install --group test"],
)
def test_a_group_of_tests_without_what_others_need(install: str) -> None:
    recipe = plan("pytest", install)
    assert recipe.python.test_only == ("rsloop", "coverage", "uvloop")


def test_a_package_that_the_command_names_is_needed() -> None:
    recipe = plan("pytest -p uvloop.loops", "pip install -e . --group test")
    assert recipe.python.test_only == ("rsloop", "coverage")


def test_extras_and_files_of_tests_count_and_others_do_not() -> None:
    """The program itself may import what another extra brings, and go on without it."""
    recipe = plan(
        "pytest",
        "pip install -e .[fast,unit-tests] -r requirements-dev.txt",
        **{"requirements-dev__txt": "-r base.txt\nxxhash\nidna\n", "base__txt": "lxml\n"},
    )
    assert set(recipe.python.requirements) >= {"lxml", "ujson", "trio", "xxhash"}
    assert recipe.python.test_only == ("xxhash", "trio")


def test_a_line_that_is_installed_for_another_reason_too_stays() -> None:
    recipe = plan("pytest", "pip install rsloop", "pip install -e . --group test")
    assert recipe.python.test_only == ("coverage", "uvloop")


@pytest.mark.parametrize(
    ("command", "group"),
    [
        ("uv sync --group slow", "[dependency-groups]\nslow = ['xxhash']\n"),
        ("pdm install -G slow", "[tool.pdm.dev-dependencies]\nslow = ['xxhash']\n"),
        ("poetry install", "[tool.poetry.group.slow.dependencies]\nxxhash = '*'\n"),
    ],
)
def test_a_group_of_any_name_counts(command: str, group: str) -> None:
    project = f"[project]\nname = 'demo'\n{group}"
    assert plan("pytest", command, pyproject__toml=project).python.test_only == ("xxhash",)


def test_dependencies_of_tox_and_nox_count() -> None:
    tox = "[testenv]\ndeps =\n  pytest\n  xxhash\n  -rbase.txt\ncommands = pytest\n"
    recipe = plan("tox", tox__ini=tox, base__txt="lxml\n")
    assert recipe.python.test_only == ("xxhash",)
    nox = "import nox\n@nox.session\ndef tests(session):\n    session.install('-e', '.', 'xxhash')\n    session.install('-r', 'base.txt')\n    session.run('pytest')\n"
    recipe = plan("nox", noxfile__py=nox, base__txt="lxml\n")
    assert recipe.python.test_only == ("xxhash",)
    assert "lxml" in recipe.python.requirements


@pytest.mark.parametrize("command", ["mypy .", "mypy . && pytest", "ruff check ."])
def test_a_check_whose_findings_depend_on_packages_needs_all(command: str) -> None:
    assert plan(command, "pip install -e . --group test").python.test_only == ()


RECIPE = Recipe(
    command="pytest",
    obstacles=("other",),
    parts=(
        PythonPart(requirements=("attrs", "A.b>=1 ; x", "c"), test_only=("a-b", "c", "d", "e")),
    ),
)


def failed(*requested: str) -> SetupFailed:
    return SetupFailed("Set-up failed: could not install x: no wheel.", requested=requested)


def test_exactly_the_blamed_requirement_is_left_out_and_named() -> None:
    reduced = without_requirement(RECIPE, failed("a-b"), 3)
    assert reduced is not None
    python = reduced.python
    assert (python.requirements, python.test_only) == (("attrs", "c"), ("c", "d", "e"))
    assert python.left_out == ("a-b",)
    (entry,) = reduced.fidelity
    assert (entry.step, entry.treatment) == ("install a-b", "dropped")
    assert entry.reason == (
        "left out, so that tests that need it skip or fail: could not install x: no wheel"
    )
    assert reduced.obstacles[0].startswith("the requirement a-b: it could not be installed")


@pytest.mark.parametrize(
    "requested", [(), ("attrs",), ("numpy",), ("a-b", "attrs"), ("../c",)], ids=str
)
def test_nothing_else_is_left_out(requested: tuple[str, ...]) -> None:
    assert without_requirement(RECIPE, failed(*requested), 3) is None


def test_few_requirements_are_left_out() -> None:
    first = without_requirement(RECIPE, failed("c", "a-b"), 1)
    assert first is not None
    assert first.python.left_out == ("c",)
    assert without_requirement(first, failed("a-b"), 1) is None
    assert without_requirement(RECIPE, failed("c"), 0) is None
