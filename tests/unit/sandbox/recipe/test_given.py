"""A recipe that somebody else wrote keeps the rules of a planned one, or is refused."""

import pytest

from sandbox.errors import SetupFailed
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.given import check_given
from sandbox.types import AddedPackage, JobHints, NodePart, PythonPart, Recipe
from tests.builders import a_recipe


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": (PythonPart(requirements=("--index-url https://evil.example/simple",)),)},
        {"parts": (PythonPart(requirements=("-e .",)),)},
        {"parts": (PythonPart(requirements=("requests", "git+https://evil.example/x")),)},
        {"parts": (PythonPart(requirements=("../outside",)),)},
        {"parts": (PythonPart(constraints=("-r /etc/passwd",)),)},
        {"working_directory": "../.."},
        {"working_directory": "/etc"},
        {"working_directory": "a/../.."},
        {"parts": (PythonPart(version="--help"),)},
        {"parts": (PythonPart(version="/usr/bin/python3"),)},
        {"parts": (NodePart(version="22 --help"),)},
        {"parts": (NodePart(manager_version="latest"),)},
        {"parts": (NodePart(folders=("../..",)),)},
        {"parts": (NodePart(tools=("prettier", "--registry=https://evil.example")),)},
        {"parts": (NodePart(tools=("git+https://evil.example/x.git",)),)},
        {"parts": (NodePart(tools=("owner/repository",)),)},
        {"parts": (NodePart(added=(AddedPackage(package="--ignore-scripts=false"),)),)},
        {"parts": (NodePart(added=(AddedPackage(package="--no-ignore-scripts"),)),)},
        {"parts": (NodePart(added=(AddedPackage(package="git+https://evil.example/x.git"),)),)},
        {"parts": (NodePart(folders=("/etc",)),)},
        {"command": "true\0"},
        {"setup": ("true\0",)},
        {"environment": {"A=B": "c"}},
        {"environment": {"A": "b\0"}},
    ],
)
def test_what_no_plan_comes_to_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SetupFailed) as caught:
        check_given(a_recipe(**changes))
    assert caught.value.advice


def test_a_planned_recipe_is_its_own_proof() -> None:
    contents = {
        "requirements.txt": b"requests[socks]>=2,<3 ; python_version > '3.8'\nattrs==23.1.0 --hash=sha256:"
        + b"0" * 64,
        "pyproject.toml": b"[project]\nname='x'\ndependencies=['httpx ~= 0.28 ; sys_platform == \"linux\"', 'rich (>=1)']",
        "test_x.py": b"",
    }
    recipe: Recipe = plan_recipe(JobHints(python="3.11"), contents.keys(), contents)
    assert recipe.python.requirements
    assert check_given(recipe) == recipe
