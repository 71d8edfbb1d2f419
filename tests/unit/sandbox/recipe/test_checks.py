"""A program that is not known runs beside a known check: it may be what failed."""

import pytest

from sandbox.recipe.assemble import rebuild
from tests.unit.sandbox.recipe.test_assemble import context, job
from tests.unit.sandbox.recipe.tools.test_node_scripts import plan_job

KEPT = {
    "pytest\nmy-check src": "python -m pytest && my-check src",
    "my-check src\npytest": "my-check src && python -m pytest",
    "pytest\npython scripts/x.py": "python -m pytest && python scripts/x.py",
    "poetry run my-check\npytest": "my-check && python -m pytest",
    ".venv/bin/my-check && pytest": "my-check && python -m pytest",
    "my-check || exit 1\npytest": "my-check && python -m pytest",
    "status=0\nmy-check || status=1\npytest || status=1": "my-check && python -m pytest",
    "pytest\nmy-tool deploy --prod": "python -m pytest",
    "pytest\n./upload.py all": "python -m pytest",
    "pytest\nnotify-team": "python -m pytest",
    "pytest\nmy-tool --version": "python -m pytest",
    "pytest\ngit status": "python -m pytest",
    "pytest\ncp a b": "python -m pytest",
    "pytest\n$(find-tool) x": "python -m pytest",
    "my-check || true\npytest": "python -m pytest",
}


@pytest.mark.parametrize("script", KEPT)
def test_a_program_that_is_not_known_is_run(script: str) -> None:
    assert rebuild(job(script), context()).command == KEPT[script]


SCRIPTS = {
    "mocha && attw --pack": "npx mocha && npx attw --pack",
    "eslint . && foo-lint src && mocha": "npx eslint . && npx foo-lint src && npx mocha",
    "mocha && jake extra": "npx mocha && npx jake extra",
    "mocha && npm run build": "npx mocha && npm run build",
    "A=1 my-tool && mocha": "A=1 npx my-tool && npx mocha",
    "mocha && ./check.sh": "npx mocha && ./check.sh",
    "mocha && npm pack && gh-pages -d dist && semantic-release": "npx mocha",
    "husky install && mocha": "npx mocha",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_program_of_a_package_is_run_by_its_name(script: str) -> None:
    recipe = plan_job(["npm ci", "npm test"], test=script, more={"package-lock.json": "{}"})
    assert (recipe.command, recipe.obstacles) == (SCRIPTS[script], ())


def test_a_step_that_only_sends_something_is_refused() -> None:
    (obstacle,) = rebuild(job("my-tool deploy --prod"), context()).obstacles
    assert obstacle == "`my-tool deploy --prod` checks nothing, and nothing is sent here"
    assert rebuild(job("my-tool deploy", "pytest"), context()).obstacles == ()
