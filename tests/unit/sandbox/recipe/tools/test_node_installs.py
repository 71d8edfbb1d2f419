"""Where a job's package manager installs, which one it is, and what it takes for locked."""

import json

import pytest

from sandbox.recipe.node_packages import UNLOCKED, UNREAD, node_files
from tests.unit.sandbox.recipe.tools.test_node_scripts import plan_job

NEEDS = json.dumps({"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "*"}})
MEMBERS = json.dumps({"workspaces": ["packages/*"], "devDependencies": {"mocha": "*"}})
LOCKED = {"package.json": NEEDS, "package-lock.json": "{}"}


@pytest.mark.parametrize(
    ("files", "step", "folders"),
    [
        (LOCKED | {"docs/package.json": NEEDS}, "cd docs && npm install", (".", "docs")),
        (LOCKED | {"docs/package.json": "{}"}, "cd docs && npm install", (".",)),
        (LOCKED | {"docs/x.md": ""}, "cd docs && npm install", (".",)),
        ({"package.json": NEEDS, "a/package.json": NEEDS}, "cd a && npm i", ("a", ".")),
        ({"package.json": MEMBERS, "packages/a/package.json": NEEDS}, "cd packages/a && npm i",
         (".",)),
        (LOCKED | {"package.json": MEMBERS, "docs/package.json": NEEDS}, "npm i --prefix docs",
         (".", "docs")),
        ({"package.json": NEEDS, "pnpm-lock.yaml": "", "a/package.json": NEEDS}, "cd a && npm i",
         (".",)),
        ({"package.json": MEMBERS, "yarn.lock": "", "docs/package.json": NEEDS,
          "docs/yarn.lock": ""}, "cd docs && yarn", ("docs", ".")),
        ({"pnpm-workspace.yaml": "packages: [a]", "pnpm-lock.yaml": "", "package.json": NEEDS,
          "b/package.json": NEEDS}, "cd b && pnpm i", (".",)),
    ],
)  # fmt: skip
def test_packages_are_installed_in_the_folder_of_the_call(
    files: dict[str, str], step: str, folders: tuple[str, ...]
) -> None:
    node = plan_job([step, "npx mocha"], more={"package.json": "{}", **files}).node
    assert node is not None
    assert node.folders == folders


@pytest.mark.parametrize(
    ("step", "package", "expected"),
    [
        ("pnpm install", {}, ("pnpm", False, False)),
        ("yarn", {}, ("yarn", False, False)),
        ("bun i", {}, ("bun", False, False)),
        ("npm i", {}, ("npm", False, False)),
        ("npm i", {"packageManager": "pnpm@9.1.0"}, ("npm", False, False)),
        ("true", {"packageManager": "pnpm@9.1.0"}, ("pnpm", False, False)),
        ("true", {}, ("npm", False, True)),
    ],
)
def test_without_a_lock_file_the_manager_of_the_job_installs(
    step: str, package: dict[str, str], expected: tuple[str, bool, bool]
) -> None:
    text = json.dumps(json.loads(NEEDS) | package)
    recipe = plan_job([step, "npx mocha"], more={"package.json": text})
    assert recipe.node is not None
    assert (recipe.node.manager, recipe.node.locked, recipe.node.frozen) == expected
    assert recipe.fidelity[-1].reason == UNLOCKED


def test_settings_of_pnpm_count_without_a_lock_file() -> None:
    more = {"package.json": NEEDS, "pnpm-workspace.yaml": "catalog: {mocha: '11'}"}
    recipe = plan_job(["pnpm i", "pnpm test"], more=more)
    contents = {name: text.encode() for name, text in more.items()}
    files = node_files(recipe, contents.keys(), contents)
    assert json.loads(files["node/pnpm-workspace.yaml"]) == {"catalog": {"mocha": "11"}}


@pytest.mark.parametrize(
    ("step", "locked"),
    [
        ("npm install --no-package-lock", False),
        ("npm i --package-lock=false", False),
        ("npm install", True),
    ],
)
def test_a_job_may_ignore_its_lock_file(*, step: str, locked: bool) -> None:
    recipe = plan_job([step, "npx mocha"], more=LOCKED)
    assert recipe.node is not None
    assert recipe.node.locked is locked
    assert any(entry.reason == UNLOCKED for entry in recipe.fidelity) is not locked


def test_a_lock_file_that_is_not_read_is_no_missing_one() -> None:
    recipe = plan_job(["npm ci", "npx mocha"], more=LOCKED, unread=("package-lock.json",))
    assert recipe.node is not None
    assert not recipe.node.locked
    assert recipe.fidelity[-1].reason == UNREAD
