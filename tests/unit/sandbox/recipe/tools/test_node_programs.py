"""Scripts that run unchanged, and how programs of packages are started."""

import pytest

from sandbox.errors import SetupFailed
from sandbox.runners.builds import is_build_script
from tests.unit.sandbox.recipe.tools.test_node_scripts import plan_job


@pytest.mark.parametrize(
    ("scripts", "expected"),
    [
        ({"test": "tsc && my-runner"}, "npm test"),
        ({"pretest": "tsc -p .", "test": "my-runner"}, "npm test"),
        ({"test": "npm run unit && npm run x", "unit": "my-runner", "x": "eslint ."}, "npm test"),
        ({"test": "my-tool && npm run unit", "unit": "mocha"}, "npx my-tool && npx mocha"),
        ({"test": "tsc && eslint ."}, "npx tsc && npx eslint ."),
        ({"test": "mocha && ts-node a.ts"}, "npx mocha && npx ts-node a.ts"),
        ({"test": "echo 'x y' | sha256sum -c && mocha"}, "npx mocha"),
        ({"test": "rm -rf dist && tsc"}, "npx tsc"),
        ({"test": "c8 mocha && c8 report --reporter=lcov"}, "npx mocha"),
        ({"test": "nyc --silent mocha && nyc check-coverage --lines 90"}, "npx mocha"),
        ({"test": "concurrently -n a,b 'npm:t-*' \"eslint .\"", "t-a": "mocha a", "t-b": "jest"},
         "npx mocha a && npx jest && npx eslint ."),
        ({"test": "concurrently --names a pnpm:unit", "unit": "vitest run"}, "npx vitest run"),
    ],
)  # fmt: skip
def test_a_script_without_the_check_of_its_name_runs_unchanged(
    scripts: dict[str, str], expected: str
) -> None:
    more = {"package-lock.json": "{}", "a.ts": ""}
    recipe = plan_job(["npm ci", "npm test"], own=scripts, more=more)
    prepared = " && ".join((*recipe.prepare, recipe.command))
    assert (prepared, recipe.obstacles) == (expected, ())


def test_a_script_that_runs_unchanged_leaves_no_entry_of_its_parts() -> None:
    recipe = plan_job(["npm test"], test="npm run lint && my-runner", lint="eslint .")
    assert recipe.command == "npm test"
    assert [entry.step for entry in recipe.fidelity] == ["npm test"]


@pytest.mark.parametrize(
    ("script", "missing"),
    [
        ("node bin/fix.js cross-env A=1 karma start", "karma"),
        ("start-server-and-test dev http://localhost:3000 'cypress run'", "cypress"),
        ("vscode-test", "vscode-test"),
        ("c8 report --check-coverage", "coverage"),
        ("nyc --cwd . report", "coverage"),
        ("node karma.js", ""),
    ],
)
def test_what_an_unknown_script_lacks_is_named(script: str, missing: str) -> None:
    obstacles = plan_job(["npm ci", "npm run e2e"], e2e=script).obstacles
    assert bool(obstacles) == bool(missing)
    assert all(missing in one for one in obstacles)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("bun pkg-tool publish --compact", "npx pkg-tool publish --compact"),
        ("pnpm exec my-check .", "npx my-check ."),
        ("yarn exec bash ./x", "bash ./x"),
        ("bun scripts/check.ts --all", "bun scripts/check.ts --all"),
        ("bun run scripts/check.ts", "bun run scripts/check.ts"),
        ("./node_modules/.bin/eslint .", "./node_modules/.bin/eslint ."),
    ],
)
def test_programs_are_found_where_they_are(step: str, expected: str) -> None:
    more = {"bun.lock": "", "scripts/check.ts": ""}
    assert plan_job(["bun i", step], more=more).command == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("protos:generate", True), ("wasm:build", True), ("build:lib", True), ("css:compile", True),
        ("docs:build", False), ("test:build", False), ("tests:compile", False), ("lint:x", False),
    ],
)  # fmt: skip
def test_scripts_that_build_are_known_by_either_end(*, name: str, expected: bool) -> None:
    assert is_build_script(name) is expected


@pytest.mark.parametrize(
    ("scripts", "expected"),
    [
        ({"x": "node a.js && npm run build:types"}, ("npm run x",)),
        ({"x": "pnpm generate:types"}, ("npm run x",)),
        ({"x": "tsup --dts && node fix.js"}, ("npm run x",)),
        ({"x": "node a.js"}, ()),
        ({"x": "my-tool deploy"}, ()),
    ],
)
def test_a_script_that_builds_in_one_part_builds(
    scripts: dict[str, str], expected: tuple[str, ...]
) -> None:
    recipe = plan_job(["npm ci", "npm run x", "npm test"], test="mocha", own=scripts)
    assert (recipe.command, recipe.prepare) == ("npx mocha", expected)
    named = {"release": next(iter(scripts.values())), "test": "mocha"}
    assert plan_job(["npm run release", "npm test"], own=named).prepare == ()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("mocha && node check.js --all", "npx mocha && node check.js --all"),
        ("eslint . && node gen.mjs && mocha", "npx eslint . && node gen.mjs && npx mocha"),
        ("node gen.mjs && mocha", "node gen.mjs && npx mocha"),
        ("mocha && node missing.js", "npx mocha && node missing.js"),
    ],
)
def test_a_script_of_the_repository_behind_a_check_counts(script: str, expected: str) -> None:
    more = {"package-lock.json": "{}", "check.js": "", "gen.mjs": ""}
    assert plan_job(["npm test"], more=more, test=script).command == expected


def test_removing_files_is_no_build() -> None:
    own = {"x": "rimraf dist", "y": "rimraf dist && tsup", "test": "mocha"}
    recipe = plan_job(["npm run x", "npm run y", "npm test"], own=own)
    assert recipe.prepare == ("npm run y",)


@pytest.mark.parametrize(
    ("check", "expected"),
    [("npx attw a.tgz", ("cd dist && npm pack", "npm pack")), ("npx attw --pack .", ())],
)
def test_a_package_is_packed_for_a_step_that_takes_one(
    check: str, expected: tuple[str, ...]
) -> None:
    steps = ["npm run pack", "npm pack", "npm pack --dry-run", check]
    assert plan_job(steps, own={"pack": "cd dist && npm pack"}).prepare == expected


def test_an_archive_is_no_part_of_tests() -> None:
    recipe = plan_job(["npm test"], test="eslint . && npm pack && mocha")
    assert (recipe.prepare, recipe.command) == ((), "npx eslint . && npx mocha")


def test_a_build_of_a_workspace_runs_in_its_packages() -> None:
    package = '{"name": "%s", "scripts": {"build:test": "tsup"}}'
    more = {"yarn.lock": "", "a/package.json": package % "a", "b/package.json": package % "b"}
    own = {"build:test": "lerna run build:test", "test": "mocha"}
    recipe = plan_job(["yarn build:test", "yarn test"], more=more, own=own)
    assert recipe.prepare == ("cd a && npm run build:test", "cd b && npm run build:test")


def test_linters_of_a_package_get_the_packages_of_all_folders() -> None:
    needs = '{"devDependencies": {"eslint": "*"}}'
    more = {"package-lock.json": "{}", "web/package.json": needs, "web/package-lock.json": "{}"}
    node = plan_job(["npm ci", "cd web && npm ci", "npx eslint ."], more=more).node
    assert node is not None
    assert node.folders == (".", "web")
    assert plan_job(["npm ci", "flake8"], more=more).node is None


def test_a_project_that_only_github_knows_is_named() -> None:
    with pytest.raises(SetupFailed, match="PACKAGE"):
        plan_job(["npm ci", 'npx nx test "$PACKAGE"'])


def test_a_step_needs_what_it_fetches() -> None:
    script = "git clone https://code.example/a/b\nrm b/x\ncat b/* > all"
    (obstacle,) = plan_job([script]).obstacles
    assert obstacle.startswith("needs what `git clone")
    (obstacle,) = plan_job(["curl https://x.example/b > b\nrm b\ncp b c"]).obstacles
    assert obstacle.startswith("the failed step needs what `curl")


REGISTER = "--require @babel/register"


@pytest.mark.parametrize(
    ("files", "script", "options"),
    [
        ({".nycrc": '{"require": ["@babel/register"]}'}, "nyc mocha", REGISTER),
        ({".nycrc.json": '{"require": "@babel/register"}'}, "nyc mocha", REGISTER),
        ({".nycrc.yml": "require: [ '@babel/register' ]"}, "nyc mocha", REGISTER),
        ({}, "nyc --require @babel/register -i ./b.js mocha", f"{REGISTER} --require ./b.js"),
        (
            {".nycrc": '{"require": ["@babel/register"]}'},
            "cross-env NODE_OPTIONS=--trace-warnings nyc mocha",
            f"--trace-warnings {REGISTER}",
        ),
        ({".nycrc": '{"require": ["--eval=x", "a b", 3]}'}, "nyc mocha", None),
        ({".nycrc": '{"require": ["@babel/register"]}'}, "c8 mocha", None),
        ({}, "nyc mocha", None),
    ],
)
def test_modules_that_only_nyc_loads_are_loaded(
    files: dict[str, str], script: str, options: str | None
) -> None:
    recipe = plan_job(["npm ci", "npm test"], more={"package-lock.json": "{}"} | files, test=script)
    assert recipe.command == "npx mocha"
    assert recipe.environment.get("NODE_OPTIONS") == options


def test_modules_of_nyc_may_stand_in_the_package() -> None:
    package = '{"scripts": {"test": "nyc mocha"}, "nyc": {"require": ["ts-node/register"]}}'
    more = {"package-lock.json": "{}", "package.json": package}
    recipe = plan_job(["npm ci", "npm test"], more=more)
    assert recipe.environment["NODE_OPTIONS"] == "--require ts-node/register"
