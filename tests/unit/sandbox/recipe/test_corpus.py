"""Workflows in the styles people write: the recipe of each is what a good engineer would expect."""

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.relevant import relevant_files
from sandbox.recipe.workflow import find_job
from sandbox.types import Recipe
from tests.workflow_corpus import Example, examples

EXAMPLES = examples()
SAME = ("command", "kind", "working_directory", "matrix", "container", "workflow")
LISTS = ("services", "prepare")


def recipe_of(example: Example) -> Recipe:
    files = example.files()
    return plan_recipe(
        example.hints, files.keys(), {name: files[name] for name in relevant_files(files.keys())}
    )


def test_the_corpus_is_large_enough() -> None:
    assert len(EXAMPLES) >= 28
    assert sum(example.feasible for example in EXAMPLES) >= 25


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_recipe_is_what_is_expected(example: Example) -> None:
    recipe, expected = recipe_of(example), example.expected
    found = {key: getattr(recipe, key) for key in SAME if key in expected}
    found |= {key: list(getattr(recipe, key)) for key in LISTS if key in expected}
    node = recipe.node
    found |= {"node": node.version if node else None} if "node" in expected else {}
    found |= {"python": recipe.python.version} if "python" in expected else {}
    found |= {"constraints": list(recipe.python.constraints)} if "constraints" in expected else {}
    assert {key: value for key, value in expected.items() if key in found} == found
    assert expected.get("environment", {}).items() <= recipe.environment.items()
    assert not set(expected.get("requirements_without", ())) & set(recipe.python.requirements)
    assert recipe.origin == "workflow"
    assert recipe.job is not None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_obstacle_names_the_missing_part_and_only_what_is_missing_is_one(
    example: Example,
) -> None:
    recipe = recipe_of(example)
    wanted = example.expected.get("obstacles", [])
    assert (not recipe.obstacles) is example.feasible
    said = [obstacle.lower() for obstacle in recipe.obstacles]
    assert [
        words for words in wanted if not any(words.lower() in obstacle for obstacle in said)
    ] == []
    assert [
        obstacle for obstacle in said if not any(words.lower() in obstacle for words in wanted)
    ] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_line_of_the_account_says_what_became_of_a_step(example: Example) -> None:
    for entry in recipe_of(example).fidelity:
        assert entry.step
        assert entry.treatment == "replayed" or entry.reason


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_step_up_to_the_failed_one_is_in_the_account(example: Example) -> None:
    files = example.files()
    job = find_job(example.hints, files, FidelityLog())
    assert job is not None
    account = _unquoted(
        "\n".join(f"{entry.step} {entry.reason}" for entry in recipe_of(example).fidelity)
    )
    for step in job.steps:
        # a line is shown without what starts it: `python -m pip install tox` as `pip install tox`
        ends = [
            _unquoted(" ".join(line.removesuffix("\\").split()[-2:]))
            for line in step.script.splitlines()
        ]
        assert any(
            words and words in account for words in (_unquoted(step.name), step.uses, *ends)
        ), step.name


def _unquoted(text: str) -> str:
    return text.replace('"', "").replace("'", "")
