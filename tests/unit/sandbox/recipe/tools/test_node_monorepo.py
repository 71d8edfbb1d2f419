"""All tasks and packages of a call of turbo, nx or lerna become commands."""

import json
from typing import Any

import pytest

from sandbox.recipe.command import classify_command
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.tools.node_workspaces import match_folder
from sandbox.runners.builds import is_node_build
from sandbox.types import JobHints, Recipe, StepKind
from sandbox.types.monorepo import MonorepoCall, split_monorepo
from tests.tool_reading import Read

Files = dict[str, Any]


def package(name: str, **scripts: str) -> Files:
    return {"name": name, "scripts": scripts}


WORKSPACE: Files = {
    "package.json": {"name": "top", "workspaces": ["packages/*"], "devDependencies": {"nx": "1"}},
    "package-lock.json": {},
    "packages/a/package.json": package("@x/a", test="jest", lint="eslint .", build="tsup"),
    "packages/b/package.json": package("@x/b", test="mocha", lint="eslint src"),
}
LINT = "cd packages/a && npx eslint . && cd ../b && npx eslint src"
TEST = "cd packages/a && npx jest && cd ../b && npx mocha"
BOTH = f"{LINT} && cd ../a && npx jest && cd ../b && npx mocha"
NX: Files = {
    "package.json": {"name": "top", "devDependencies": {"nx": "1"}},
    "package-lock.json": {},
    "nx.json": {
        "targetDefaults": {
            "tsgo": {"executor": "nx:run-commands", "options": {"command": "tsgo", "cwd": "{projectRoot}"}}
        }
    },
    "apps/app/project.json": {
        "name": "app",
        "targets": {
            "test": {"executor": "nx:run-commands", "options": {"command": "vitest run -r {projectRoot}"}},
            "lint": {"command": "eslint {projectRoot}/src"},
            "types": {
                "executor": "nx:run-commands",
                "options": {"commands": ["tsc --noEmit", {"command": "tsd"}], "cwd": "apps/app"},
            },
            "e2e": {"executor": "@acme/e2e:run"},
            "unit": {"executor": "nx:run-script", "options": {"script": "units"}},
            "tsgo": {},
            "style": {"command": "eslint", "options": {"args": ["{projectRoot}"], "config": "{workspaceRoot}/x.mjs"}},
        },
    },
    "apps/app/package.json": package("@x/app", units="mocha"),
    "libs/l/package.json": {**package("l"), "nx": {"targets": {"test": {"command": "jest"}}}},
}  # fmt: skip


def plan(command: str, files: Files) -> Recipe:
    contents = {name: json.dumps(text).encode() for name, text in files.items()}
    return plan_recipe(JobHints(command=command), contents.keys(), contents)


@pytest.mark.parametrize(
    ("command", "more", "expected"),
    [
        ("npx nx run-many -t lint test", {}, BOTH),
        ("npx nx run-many --target=lint,test --parallel 3", {}, BOTH),
        ("npx nx run-many -t lint -t test --all", {}, BOTH),
        ("npx nx affected -t lint test --base=origin/main --head HEAD", {}, BOTH),
        ("npx nx affected:test", {}, TEST),
        ("npx nx run-many -t lint test -p @x/b", {}, "cd packages/b && npx eslint src && npx mocha"),
        ("npx nx run-many -t test --exclude=@x/a", {}, "cd packages/b && npx mocha"),
        ("npx nx run @x/a:test:ci", {}, "cd packages/a && npx jest"),
        ("npx turbo run lint test", {}, BOTH),
        ("npx turbo lint test --affected", {}, BOTH),
        ("npx turbo run lint test --filter=@x/b", {}, "cd packages/b && npx eslint src && npx mocha"),
        ("npx turbo run @x/b#test", {}, "cd packages/b && npx mocha"),
        ("npx turbo run test --filter=@x/b -- --bail", {}, "cd packages/b && npx mocha --bail"),
        ("npx lerna run test --scope @x/a", {}, "cd packages/a && npx jest"),
        (
            "npx turbo run test",
            {"turbo.json": {"tasks": {"test": {"dependsOn": ["lint"]}}}},
            BOTH,
        ),
        (
            "npx turbo run lint",
            {
                "turbo.json": {"tasks": {"//#lint": {}}},
                "package.json": {**WORKSPACE["package.json"], "scripts": {"lint": "knip"}},
            },
            f"npx knip && {LINT}",
        ),
        (
            "npx nx affected -t test --exclude @x/b",
            {"nx.json": {"plugins": [{"plugin": "@nx/jest/plugin"}]}},
            "npx nx run-many -t test --exclude=@x/b",
        ),
        (
            "npx nx test @x/a -- --coverage",
            {"nx.json": {"plugins": ["@nx/jest/plugin"], "targetDefaults": {"test": {"dependsOn": ["build"]}}}},
            "npx nx run-many -t test -p @x/a -- --coverage",
        ),
        (
            "npx nx run-many -t unit lint",
            {"nx.json": {"plugins": [{"plugin": "@nx/vite/plugin", "options": {"testTargetName": "unit"}}]}},
            f"npx nx run-many -t unit && {LINT}",
        ),
    ],
)  # fmt: skip
def test_all_tasks_run_in_all_packages(command: str, more: Files, expected: str) -> None:
    assert plan(command, {**WORKSPACE, **more}).command == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("nx test app", "npx vitest run -r apps/app"),
        ("nx run app:lint", "npx eslint apps/app/src"),
        ("nx types app", "cd apps/app && npx tsc --noEmit && npx tsd"),
        ("nx unit app", "cd apps/app && npx mocha"),
        ("nx e2e app", "npx nx run app:e2e"),
        ("nx style app --quiet", "npx eslint apps/app --config=x.mjs --quiet"),
        ("nx tsgo app", "cd apps/app && npx tsgo"),
        ("nx test app --coverage", "npx vitest run -r apps/app --coverage"),
        ("nx run-many -t test", "npx vitest run -r apps/app && npx jest"),
        ("nx format:check", "npx nx format:check"),
    ],
)
def test_targets_of_nx_are_read(command: str, expected: str) -> None:
    assert plan(f"npx {command}", NX).command.endswith(expected)


def test_scripts_of_the_top_that_nx_includes_are_tasks() -> None:
    scripts = {"test": "nx run-many -t test", "knip": "knip", "lint": "eslint top"}
    top = {**WORKSPACE["package.json"], "scripts": scripts, "nx": {"includedScripts": ["knip"]}}
    recipe = plan("npx nx run-many -t knip lint test", {**WORKSPACE, "package.json": top})
    assert recipe.command == f"npx knip && {BOTH}"
    top["nx"] = {}
    recipe = plan("npx nx run-many -t lint test", {**WORKSPACE, "package.json": top})
    assert recipe.command == f"{LINT} && cd ../.. && npx eslint top && {TEST}"


def test_the_builds_that_a_task_needs_are_found_through_others() -> None:
    turbo = {"tasks": {"test": {"dependsOn": ["transit"]}, "transit": {"dependsOn": ["^build"]}}}
    recipe = plan("npx turbo run test -F @x/b", {**WORKSPACE, "turbo.json": turbo})
    assert recipe.command == "cd packages/a && npm run build && cd ../b && npx mocha"


def obstacles(check: str, files: Files, unread: str) -> tuple[str, ...]:
    steps = [{"run": check, "name": "check"}]
    workflow = {"on": "push", "jobs": {"check": {"runs-on": "ubuntu-latest", "steps": steps}}}
    contents = {name: json.dumps(text).encode() for name, text in files.items()}
    contents[".github/workflows/ci.yml"] = json.dumps(workflow).encode()
    return plan_recipe(JobHints(job_name="check"), {*contents, unread}, contents).obstacles


def test_a_package_that_is_not_read_may_hide_a_check() -> None:
    (obstacle,) = obstacles("npx turbo run test", WORKSPACE, "packages/c/package.json")
    assert "packages/c/package.json" in obstacle
    assert not obstacles("npx turbo run test", WORKSPACE, "other/package.json")
    assert not obstacles("npx turbo run test -F @x/b", WORKSPACE, "packages/c/package.json")
    assert obstacles("npx turbo run test -F '@x/*'", WORKSPACE, "packages/c/package.json")
    assert not obstacles("npx nx test app", NX, "libs/z/project.json")
    (obstacle,) = obstacles("npx nx run-many -t test", NX, "libs/z/project.json")
    assert "libs/z/project.json" in obstacle


def test_a_step_with_very_many_checks_is_refused() -> None:
    more = {f"packages/p{number}/package.json": package("x", test="mocha") for number in range(130)}
    (obstacle,) = obstacles("npx turbo run test", {**WORKSPACE, **more}, "other")
    assert "more than" in obstacle


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nx run-many -t a b -p x y --exclude=z -- -u", MonorepoCall(("a", "b"), ("x", "y"), ("z",), ("-u",))),
        ("nx test", MonorepoCall(("test",))),
        ("nx app:build", MonorepoCall(("build",), ("app",))),
        ("nx format:check", MonorepoCall()),
        ("nx reset", MonorepoCall()),
        ("nx affected -t a --coverage --fix=no", MonorepoCall(("a",), (), (), ("--coverage", "--fix=no"))),
        ("turbo build --filter ./a... --filter=!b", MonorepoCall(("build",), ("./a...", "!b"))),
        ("lerna exec -- eslint .", MonorepoCall((), (), (), ("eslint", "."))),
    ],
)  # fmt: skip
def test_calls_are_split(line: str, expected: MonorepoCall) -> None:
    assert split_monorepo(line.split()) == expected


def test_a_build_by_nx_makes_files() -> None:
    assert is_node_build("npx nx run-many -t build --exclude=site")
    assert not is_node_build("npx nx run-many -t build test")
    assert not is_node_build("npx nx reset")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("npx nx run-many -t build test", StepKind.TEST),
        ("npx turbo run lint", StepKind.LINT),
        ("npx nx build test-utils", StepKind.OTHER),
        ("npx nx reset", StepKind.OTHER),
    ],
)
def test_calls_are_classified_by_their_tasks(line: str, kind: StepKind) -> None:
    assert classify_command(line) is kind


@pytest.mark.parametrize(("count", "obstacle"), [(100, False), (101, True)])
def test_no_command_of_a_target_is_left_out_in_silence(count: int, *, obstacle: bool) -> None:
    options = {"commands": [f"jest {n}" for n in range(count)]}
    target = {"executor": "nx:run-commands", "options": options}
    files = {
        "package-lock.json": "{}",
        "package.json": '{"workspaces": ["a"]}',
        "nx.json": "{}",
        "a/package.json": '{"name": "a"}',
        "a/project.json": json.dumps({"name": "a", "targets": {"test": target}}),
    }
    read = Read("nx test a", files)
    assert len(read.reading.commands) == (0 if obstacle else count)
    assert bool(read.reading.obstacles) is obstacle


def test_patterns_of_folders_match_names_and_any_number_of_folders() -> None:
    places = ["a", "a/b", "a/b/c", "x/c"]
    found = {
        pattern: [place for place in places if match_folder(place.split("/"), pattern.split("/"))]
        for pattern in ("*", "a/**", "**/c", "a/**/c", "**/*/**/c", "**/**")
    }
    assert found == {
        "*": ["a"],
        "a/**": ["a", "a/b", "a/b/c"],
        "**/c": ["a/b/c", "x/c"],
        "a/**/c": ["a/b/c"],
        "**/*/**/c": ["a/b/c", "x/c"],
        "**/**": places,
    }
