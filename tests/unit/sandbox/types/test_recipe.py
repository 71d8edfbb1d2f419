"""A recipe has one part for each toolchain, and recipes stored before there were parts are read."""

import pytest
from pydantic import ValidationError

from sandbox.types import PythonPart, Recipe

OLDER = {
    "command": "python -m pytest",
    "working_directory": "libs/core",
    "python": "3.11",
    "requirements": ["attrs>=23"],
    "requirement_files": ["requirements.txt"],
    "install_project": True,
    "extras": ["test"],
    "projects": ["libs/core"],
    "constraints": ["attrs<24"],
    "setup": ["make data"],
}


def test_a_recipe_without_parts_keeps_all_it_says() -> None:
    recipe = Recipe.model_validate(OLDER)
    assert recipe == Recipe(
        command="python -m pytest",
        working_directory="libs/core",
        setup=("make data",),
        parts=(
            PythonPart(
                version="3.11",
                requirements=("attrs>=23",),
                requirement_files=("requirements.txt",),
                install_project=True,
                extras=("test",),
                projects=("libs/core",),
                constraints=("attrs<24",),
            ),
        ),
    )
    assert Recipe.model_validate_json(recipe.model_dump_json()) == recipe


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "x", "parts": [], "python": "3.11"},
        {"command": "x", "requirements": "attrs"},
        {"command": "x", "parts": [{"toolchain": "python"}, {"toolchain": "python"}]},
        {"command": "x", "parts": [{"toolchain": "perl"}]},
        {"command": "x", "odd": 1},
    ],
)
def test_a_recipe_of_no_known_form_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Recipe.model_validate(fields)


def test_a_part_takes_the_place_of_the_one_before() -> None:
    recipe = Recipe(command="x", parts=(PythonPart(version="3.9"),))
    assert recipe.with_part(PythonPart(version="3.12")).parts == (PythonPart(version="3.12"),)
    assert Recipe(command="x").python == PythonPart()
