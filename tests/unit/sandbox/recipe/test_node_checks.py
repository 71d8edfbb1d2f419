"""Calls of package managers, and the kinds of steps by the names that people give them."""

import json

import pytest

from sandbox.recipe.command import classify_command
from sandbox.recipe.detect import plan_recipe
from sandbox.types import JobHints


@pytest.mark.parametrize(
    ("command", "step", "expected"),
    [
        ("pnpm test", None, "test"),
        ("pnpm run test:unit --coverage", None, "test"),
        ("pnpm --filter @x/a -r test", None, "test"),
        ("pnpm -C lint run check", None, "other"),
        ("yarn workspace lint test", None, "test"),
        ("yarn workspaces foreach -A run test", None, "test"),
        ("yarn vitest run", None, "test"),
        ("bun run typecheck", None, "types"),
        ("yarn eslint .", None, "lint"),
        ("npm eslint", None, "other"),
        ("npm run unit", "Run tests", "test"),
        ("npm run build:lib", "Build and test", "other"),
        ("npm ci", "Install for tests", "other"),
        ("npm run typedoc", None, "other"),
        ("./run.sh", "Install the latest version", "other"),
        ("./run.sh", "Print information", "other"),
        ("./run.sh", "Check formatting", "format"),
        ("./run.sh", "unittest", "test"),
        ("sed -i s/a/b/ tests/x.ts", "Patch for tests", "other"),
        ("grep -r x tests", "Test for leftovers", "test"),
        ("npx tsc --version", "Run npx tsc --version", "other"),
        ("npx attw ./package.tgz --format table", "Are the types wrong", "other"),
        ("npx borp --coverage", None, "test"),
        ("npx gts lint", None, "lint"),
        ("npx gts clean", None, "other"),
    ],
)
def test_a_command_has_the_kind_of_what_it_runs(
    command: str, step: str | None, expected: str
) -> None:
    assert classify_command(command, step) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["npm ci", "npm test", "npm run lint", "npm run notify"], "Run npm test"),
        (["pnpm i", "pnpm test", "pnpm test:types", "pnpm size"], "Run pnpm test"),
        (["yarn", "yarn lint", "yarn coverage"], "Run yarn lint"),
        (["yarn add -D typescript@5", "yarn check:x"], "Run yarn check:x"),
        (["bun i", "bun run test:node", "bun run size"], "Run bun run test:node"),
    ],
)
def test_the_step_that_tests_is_found_without_a_name(steps: list[str], expected: str) -> None:
    job = {"runs-on": "ubuntu-latest", "steps": [{"run": one} for one in steps]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}}).encode()
    package = json.dumps({"scripts": dict.fromkeys(("test", "lint", "size"), "mocha")}).encode()
    contents = {"package.json": package, ".github/workflows/ci.yml": workflow}
    assert plan_recipe(JobHints(job_name="check"), contents.keys(), contents).step == expected
