"""Which package manager installs, in which version, and what it gets of the repository."""

import json

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.node_packages import node_files
from sandbox.recipe.relevant import relevant_files
from sandbox.types import JobHints, NodePart

NEEDS = '{"devDependencies": {"vitest": "3"}}'
BERRY = '# comment\n\n__metadata:\n  version: 8\n  cacheKey: 10c0\n\n"a@npm:1":\n'
CLASSIC = "# yarn lockfile v1\n\na@1:\n"


def part(files: dict[str, str]) -> NodePart:
    contents = {name: text.encode() for name, text in files.items()}
    assert set(relevant_files(contents)) == set(contents)
    found = plan_recipe(JobHints(command="npx vitest"), contents.keys(), contents).node
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("files", "manager", "version"),
    [
        ({"package-lock.json": "{}"}, "npm", None),
        ({"pnpm-lock.yaml": "lockfileVersion: '9.0'\n"}, "pnpm", "10"),
        ({"pnpm-lock.yaml": "lockfileVersion: '6.1'\n"}, "pnpm", "8"),
        ({"pnpm-lock.yaml": "lockfileVersion: 5.4\n"}, "pnpm", "7"),
        ({"yarn.lock": CLASSIC}, "yarn", "1"),
        ({"yarn.lock": BERRY}, "yarn", "4"),
        ({"yarn.lock": BERRY.replace("8", "6")}, "yarn", "3"),
        (
            {"yarn.lock": BERRY, ".yarnrc.yml": "yarnPath: .yarn/releases/yarn-3.2.1.cjs\n"},
            "yarn",
            "3.2.1",
        ),
        ({"bun.lock": "{}"}, "bun", None),
        (
            {"package.json": '{"packageManager": "pnpm@9.1.0+sha512.ab"}', "pnpm-lock.yaml": ""},
            "pnpm",
            "9.1.0",
        ),
        (
            {"package.json": '{"packageManager": "bun@1.4.3"}', "bun.lock": "{}", "yarn.lock": ""},
            "bun",
            "1.4.3",
        ),
        ({"package.json": '{"volta": {"npm": "9.6.7"}}', "package-lock.json": ""}, "npm", "9.6.7"),
        ({"package.json": '{"packageManager": "pnpm@latest"}', "yarn.lock": ""}, "yarn", "1"),
    ],
)
def test_the_manager_is_that_of_the_lock_file(
    files: dict[str, str], manager: str, version: str | None
) -> None:
    node = part({"package.json": NEEDS} | files)
    assert (node.manager, node.manager_version, node.locked) == (manager, version, True)


@pytest.mark.parametrize(
    ("asked", "named", "version"),
    [
        ("9", "", "9"),
        ("9.1.2", "", "9.1.2"),
        ("^8.6.0", "", "8"),
        ("9.x", "", "9"),
        ("latest", "", "10"),
        ("9", '"packageManager": "pnpm@10.2.0", ', "10.2.0"),
    ],
)
def test_pnpm_is_that_of_the_project_or_else_of_the_job(
    asked: str, named: str, version: str
) -> None:
    steps = f"[{{uses: pnpm/action-setup@v4, with: {{version: '{asked}'}}}}, {{run: pnpm vitest}}]"
    files = {
        "package.json": f'{{{named}"devDependencies": {{"vitest": "3"}}}}',
        "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
        ".github/workflows/ci.yml": f"on: push\njobs: {{t: {{runs-on: ubuntu, steps: {steps}}}}}\n",
    }
    contents = {name: text.encode() for name, text in files.items()}
    node = plan_recipe(JobHints(job_name="t"), contents.keys(), contents).node
    assert node is not None
    assert (node.manager, node.manager_version) == ("pnpm", version)


def test_without_a_lock_file_npm_installs_the_versions_of_today() -> None:
    node = part({"package.json": NEEDS})
    assert (node.manager, node.locked, node.folders) == ("npm", False, (".",))


def test_only_settings_that_name_no_address_and_no_program_are_kept() -> None:
    files = {
        "package.json": '{"name": "x", "scripts": {"postinstall": "evil"},'
        ' "pnpm": {"overrides": {"a": "2"}, "configDependencies": {"pnpm-plugin-evil": "1"}}}',
        "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
        "pnpm-workspace.yaml": "packages:\n  - packages/*\nregistry: https://evil.example\n"
        "pnpmfile: ./evil.cjs\ncatalog: {a: 1.0.0}\n",
        ".npmrc": "shamefully-hoist=true\n//evil.example/:_authToken=x\nscript-shell=./evil\n"
        "node-linker=hoisted\nhttps-proxy=http://evil\nhoist-pattern[]=*x*\n",
        "patches/a@1.0.0.patch": "--- a\n",
    }
    contents = {name: text.encode() for name, text in files.items()}
    recipe = plan_recipe(JobHints(command="npx vitest"), contents.keys(), contents)
    found = node_files(recipe, contents.keys(), contents)
    assert found["node/.npmrc"] == (
        "shamefully-hoist=true\nnode-linker=hoisted\nhoist-pattern[]=*x*\n"
    )
    assert json.loads(found["node/pnpm-workspace.yaml"]) == {
        "packages": ["packages/*"],
        "catalog": {"a": "1.0.0"},
    }
    assert found["node/patches/a@1.0.0.patch"] == "--- a\n"
    assert json.loads(found["node/package.json"])["pnpm"] == {"overrides": {"a": "2"}}
    assert "evil" not in "".join(found.values())


def test_settings_of_yarn_name_no_program() -> None:
    files = {
        "package.json": NEEDS,
        "yarn.lock": BERRY,
        ".yarnrc.yml": "compressionLevel: 0\nyarnPath: ./evil.cjs\nplugins: [./evil.cjs]\n"
        "npmRegistryServer: https://evil.example\nnmHoistingLimits: workspaces\n",
    }
    contents = {name: text.encode() for name, text in files.items()}
    recipe = plan_recipe(JobHints(command="npx vitest"), contents.keys(), contents)
    found = node_files(recipe, contents.keys(), contents)
    assert json.loads(found["node/.yarnrc.yml"]) == {
        "compressionLevel": 0,
        "nmHoistingLimits": "workspaces",
    }
