"""Scripts of a package.json, read like a Makefile."""

import json

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.types import JobHints, Recipe

SCRIPTS = {
    "pretest": "npm run lint",
    "test": "cross-env TZ=UTC NODE_ENV=test vitest run",
    "lint": "eslint . && prettier --check .",
    "test:unit": "mocha 'test/**/*.js'",
    "test:types": "tsc --noEmit",
    "all": "run-s lint test:*",
    "build": "tsc -p .",
    "both": "npm run build && mocha",
    "between": "eslint . && npm run build && mocha",
    "loop": "npm run loop",
    "odd": "my-own-runner",
    "covered": "c8 --reporter=text -x dist pnpm test:unit",
    "browser": "playwright test",
    "par": "concurrently 'npm:x' 'eslint .'",
}
PACKAGE = {"name": "top", "scripts": SCRIPTS, "devDependencies": {"vitest": "3"}}
WORKSPACE = {
    "packages/a/package.json": json.dumps({"name": "@x/a", "scripts": {"test": "jest"}}),
    "packages/b/package.json": json.dumps({"name": "@x/b", "scripts": {"test": "mocha"}}),
    "packages/c/package.json": json.dumps({"name": "@x/c"}),
}
FILES = {"package.json": json.dumps(PACKAGE), "package-lock.json": "{}", **WORKSPACE}


def plan(command: str, files: dict[str, str] = FILES) -> Recipe:
    contents = {name: text.encode() for name, text in files.items()}
    return plan_recipe(JobHints(command=command), contents.keys(), contents)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "npm test",
            "TZ=UTC NODE_ENV=test npx vitest run",
        ),
        ("npm run lint", "npx eslint . && npx prettier --check ."),
        ("yarn lint", "npx eslint . && npx prettier --check ."),
        ("npm run test:unit -- --bail", "npx mocha 'test/**/*.js' --bail"),
        ("pnpm test:types", "npx tsc --noEmit"),
        ("pnpm run /^test:/", "npx mocha 'test/**/*.js' && npx tsc --noEmit"),
        ("bun run test:types", "npx tsc --noEmit"),
        ("npm run odd", "npm run odd"),
        ("npm run covered", "npx mocha 'test/**/*.js'"),
        ("yarn odd", "npm run odd"),
        ("npm run loop", "npm run loop"),
        ("pnpm vitest run", "npx vitest run"),
        ("yarn workspace @x/a test", "cd packages/a && npx jest"),
        ("npm test --workspaces", "cd packages/a && npx jest && cd ../b && npx mocha"),
        ("npm test -w packages/b", "cd packages/b && npx mocha"),
        ("pnpm --filter @x/a test", "cd packages/a && npx jest"),
        ("pnpm -r test", "cd packages/a && npx jest && cd ../b && npx mocha"),
    ],
)
def test_a_script_becomes_its_commands(command: str, expected: str) -> None:
    recipe = plan(command)
    prefix = "npx eslint . && npx prettier --check . && " if command == "npm test" else ""
    got = recipe.command
    if recipe.working_directory != ".":
        got = f"cd {recipe.working_directory} && {got}"
    assert got == prefix + expected
    assert recipe.obstacles == ()


def test_a_build_runs_before_and_is_no_check() -> None:
    recipe = plan("npm run both")
    assert (recipe.command, recipe.prepare) == ("npx mocha", ("npm run build",))


def test_a_build_between_two_checks_runs_before_them() -> None:
    recipe = plan("npm run between")
    assert (recipe.command, recipe.prepare) == ("npx eslint . && npx mocha", ("npm run build",))


def test_browsers_are_an_obstacle() -> None:
    contents = {name: text.encode() for name, text in FILES.items()}
    job = {"runs-on": "ubuntu-latest", "steps": [{"run": "npm run browser"}]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}}).encode()
    contents[".github/workflows/ci.yml"] = workflow
    recipe = plan_recipe(JobHints(job_name="check"), contents.keys(), contents)
    assert any("playwright" in obstacle for obstacle in recipe.obstacles)
