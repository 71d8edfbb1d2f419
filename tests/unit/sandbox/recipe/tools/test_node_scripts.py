"""Scripts of a package.json, read like a Makefile."""

import json

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.node_checks import NODE_CHECKS
from sandbox.recipe.relevant import relevant_files
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
    "x": "eslint .",
    "covered": "c8 --reporter=text -x dist pnpm test:unit",
    "browser": "playwright test",
    "par": "concurrently 'npm:x' 'eslint .'",
}
PACKAGE = {"name": "top", "scripts": SCRIPTS, "devDependencies": {"vitest": "3"}}
WORKSPACE = {
    "packages/a/package.json": json.dumps({"name": "@x/a", "scripts": {"test": "jest"}}),
    "packages/b/package.json": json.dumps({"name": "@x/b", "scripts": {"test": "mocha"}}),
    "packages/c/package.json": json.dumps({"name": "@x/c", "dependencies": {"@x/a": "*"}}),
}
BOTH = "npx jest && cd ../b && npx mocha"
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
        ("pnpm -r test", f"cd packages/a && {BOTH}"),
        ("npm run x", "npx eslint ."),
        ("pnpm -w odd", "npm run odd"),
        ("pnpm -w test:types", "npx tsc --noEmit"),
        ("npm run test:types -w top", "npx tsc --noEmit"),
        ("npm test -ws", f"cd packages/a && {BOTH}"),
        ("npm test -ws --if-present", f"cd packages/a && {BOTH}"),
        ("pnpm -r --workspace-concurrency 1 test", f"cd packages/a && {BOTH}"),
        ("pnpm test -r", f"cd packages/a && {BOTH}"),
        (
            "pnpm -r exec eslint .",
            "cd packages/a && npx eslint . && cd ../b && npx eslint . && cd ../c && npx eslint .",
        ),
        ("yarn workspaces foreach -A run test", f"cd packages/a && {BOTH}"),
        ("yarn workspaces foreach -j 4 run test", f"cd packages/a && {BOTH}"),
        ("yarn workspaces foreach --include '@x/*' run test", f"cd packages/a && {BOTH}"),
        ("yarn workspaces foreach --exclude @x/b run test", "cd packages/a && npx jest"),
        ("yarn workspaces run test", f"cd packages/a && {BOTH}"),
        ("pnpm --filter=!@x/b test", "cd packages/a && npx jest"),
        ('pnpm --filter "...[origin/main]" test', f"cd packages/a && {BOTH}"),
        ("pnpm --filter ./packages/b test", "cd packages/b && npx mocha"),
        ("pnpm --filter './packages/**' test", f"cd packages/a && {BOTH}"),
        ("pnpm --filter b test", "cd packages/b && npx mocha"),
        ("pnpm --filter c... test", "cd packages/a && npx jest"),
        ("corepack pnpm test:types", "npx tsc --noEmit"),
        ("npm run test:unit src/foo", "npx mocha 'test/**/*.js' src/foo"),
        ("pnpm test:unit -w", "npx mocha 'test/**/*.js' -w"),
        ("pnpm turbo run test --filter=@x/b", "cd packages/b && npx mocha"),
        ("npx turbo run test --concurrency 2", f"cd packages/a && {BOTH}"),
        ("npx nx run-many -t test -p @x/a,@x/b", f"cd packages/a && {BOTH}"),
        ("pnpm tsx --test 'test/*.ts'", "node --import tsx --test 'test/*.ts'"),
        ("npx nx test @x/b", "cd packages/b && npx mocha"),
        ("npx nx run @x/b:test", "cd packages/b && npx mocha"),
        ("npm cit --silent", "TZ=UTC NODE_ENV=test npx vitest run"),
    ],
)
def test_a_script_becomes_its_commands(command: str, expected: str) -> None:
    recipe = plan(command)
    is_test = command in {"npm test", "npm cit --silent"}
    prefix = "npx eslint . && npx prettier --check . && " if is_test else ""
    got = recipe.command
    if recipe.working_directory != ".":
        got = f"cd {recipe.working_directory} && {got}"
    assert got == prefix + expected
    assert recipe.obstacles == ()


@pytest.mark.parametrize("check", NODE_CHECKS)
def test_every_known_check_of_a_package_is_found_by_its_name(check: str) -> None:
    # Coverage is not measured: what these two start is run alone.
    line = f"{check} ." if check not in {"c8", "nyc"} else f"{check} mocha ."
    recipe = plan_job(["npm run check"], check=line)
    assert recipe.command == f"npx {line}".replace(f"{check} mocha", "mocha")
    assert recipe.kind is NODE_CHECKS[check]
    assert recipe.obstacles == ()


def test_checks_apart_from_the_project_are_installed() -> None:
    steps = ["npm install -g markdownlint-cli@0.45.0 vercel ../x a/b", "markdownlint README.md"]
    recipe = plan_job(steps, more={"package.json": "", "README.md": ""})
    assert recipe.node is not None
    assert (recipe.command, recipe.obstacles) == ("npx markdownlint README.md", ())
    assert (recipe.node.folders, recipe.node.tools) == ((), ("markdownlint-cli@0.45.0",))
    others = [entry.step for entry in recipe.fidelity if "apart from" in entry.reason]
    assert others == ["npm: vercel", "npm: ../x", "npm: a/b"]
    for line in (
        "yarn global add prettier",
        "pnpm add -g prettier",
        "npm i --location=global prettier",
    ):
        recipe = plan_job([line, "prettier --check ."], more={"package.json": ""})
        assert recipe.node is not None
        assert recipe.node.tools == ("prettier",)
    recipe = plan_job(["npm install -g prettier", "flake8"], more={"package.json": ""})
    assert recipe.node is None


def test_messages_of_commits_are_not_in_the_sandbox() -> None:
    recipe = plan_job(["npm run check"], check="commitlint --from HEAD~1")
    assert recipe.command == "npx commitlint --from HEAD~1"
    assert recipe.obstacles == (
        "`commitlint` reads messages of commits, and the sandbox has no history",
    )


def plan_job(
    steps: list[str],
    *,
    env: dict[str, str] | None = None,
    more: dict[str, str] | None = None,
    own: dict[str, str] | None = None,
    unread: tuple[str, ...] = (),
    **scripts: str,
) -> Recipe:
    package = json.dumps({"name": "top", "scripts": scripts | (own or {})})
    job = {"runs-on": "ubuntu-latest", "env": env or {}, "steps": [{"run": one} for one in steps]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}})
    files = {"package.json": package, ".github/workflows/ci.yml": workflow}
    files |= {"package-lock.json": "{}"} if more is None else more
    contents = {name: text.encode() for name, text in files.items()}
    hints = JobHints(job_name="check", step_name=f"Run {steps[-1]}")
    read = {name: content for name, content in contents.items() if name not in unread}
    return plan_recipe(hints, contents.keys(), read)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("npm run build && mocha", "npm run build && npx mocha"),
        ("eslint . && npm run build && mocha", "npx eslint . && npm run build && npx mocha"),
        ("tsup && vitest run", "npx tsup && npx vitest run"),
        ("babel src -d lib && mocha lib/test", "npx babel src -d lib && npx mocha lib/test"),
        ("vite build && vitest run", "npx vite build && npx vitest run"),
        ("tsc && mocha dist", "npx tsc && npx mocha dist"),
        ("vite --version && mocha", "npx mocha"),
        (
            "rimraf dist && tsc && cp -r src/data dist && mocha dist",
            "npx rimraf dist && npx tsc && cp -r src/data dist && npx mocha dist",
        ),
    ],
)
def test_a_build_of_the_failing_step_belongs_to_its_tests(script: str, expected: str) -> None:
    recipe = plan_job(["npm ci", "npm test"], test=script, build="tsc -p .")
    assert (recipe.command, recipe.prepare, recipe.kind) == (expected, (), "test")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("tsc -p . && rollup -c && tsc -p dts", "npx tsc -p . && npx rollup -c && npx tsc -p dts"),
        ("eslint . && tsup && prettier --check .",
         "npx eslint . && npx tsup && npx prettier --check ."),
    ],
)  # fmt: skip
def test_a_build_between_two_checks_stays_there(script: str, expected: str) -> None:
    recipe = plan_job(["npm ci", "npm run check"], check=script)
    assert (recipe.command, recipe.prepare) == (expected, ())


@pytest.mark.parametrize(("mode", "expected"), [("1", "npx mocha"), ("0", "npx vitest run")])
def test_scripts_see_the_variables_of_the_step(mode: str, expected: str) -> None:
    script = 'if test "$MODE" = "1"; then mocha; else vitest run; fi'
    assert plan_job(["npm test"], env={"MODE": mode}, test=script).command == expected


def test_a_pretest_script_builds() -> None:
    assert plan_job(["npm test"], pretest="rollup -c", test="mocha").command == (
        "npx rollup -c && npx mocha"
    )


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("npm run build:lib", ("npx tsc -p lib",)),
        ("npm run build-all", ("npm run build-all",)),
        ("npm run dev:prepare", ("npm run dev:prepare",)),
        ("npx nuxi prepare", ("npx nuxi prepare",)),
        ("npx nuxi dev", ()),
        ("npx tsc", ("npx tsc",)),
        ("npx --yes -p typescript tsc -b", ("npx tsc -b",)),
        ("yarn tsup", ("npx tsup",)),
        ("node scripts/build.mjs", ("node scripts/build.mjs",)),
        ("npx tsc --noEmit", ()),
        ("npm run build:docs", ()),
        ("npm run deploy", ()),
    ],
)
def test_a_build_of_an_earlier_step_runs_before(step: str, expected: tuple[str, ...]) -> None:
    scripts = {"build:lib": "tsc -p lib", "build-all": "rollup -c", "deploy": "rollup -c --deploy"}
    scripts |= {"build:docs": "docusaurus build", "dev:prepare": "unknown-tool stub"}
    recipe = plan_job(["npm ci", step, "npm test"], test="mocha", own=scripts)
    assert (recipe.command, recipe.prepare) == ("npx mocha", expected)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("node test.js", "node --test test.js"),
        ("node --conditions development test.js", "node --conditions development --test test.js"),
        ("c8 node test/index.js", "node --test test/index.js"),
        ("node --test test.js", "node --test test.js"),
        ("node test.js fast", "npm test"),
        ("node index.js test.js", "npm test"),
        ("node test/tape.js", "npm test"),
    ],
)
def test_a_test_file_of_node_itself_reports_its_tests(script: str, expected: str) -> None:
    files = {
        "package.json": json.dumps({"scripts": {"test": script}, "devDependencies": {"c8": "*"}}),
        "test.js": "import test from 'node:test'",
        "test/index.js": 'const {test} = require("node:test")',
        "test/tape.js": "import test from 'tape'",
        "index.js": "",
    }
    assert (
        plan("npm test", {name: files[name] for name in relevant_files(files)}).command == expected
    )


def test_only_builds_of_earlier_steps_may_fail() -> None:
    made = plan_job(
        ["npx next build", "cp a b", "npm run all && npm test"], all="tsup", test="jest"
    )
    expected = ("npx next build", "cp a b", "npm run all")
    assert (made.prepare, made.may_fail) == (expected, ("npx next build",))
    given = plan_job(["npm run lint"], lint="npm run build && eslint .", build="tsc")
    assert (given.prepare, given.may_fail) == (("npm run build",), ())


def test_browsers_are_an_obstacle() -> None:
    contents = {name: text.encode() for name, text in FILES.items()}
    job = {"runs-on": "ubuntu-latest", "steps": [{"run": "npm run browser"}]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}}).encode()
    contents[".github/workflows/ci.yml"] = workflow
    recipe = plan_recipe(JobHints(job_name="check"), contents.keys(), contents)
    assert any("playwright" in obstacle for obstacle in recipe.obstacles)


@pytest.mark.parametrize(
    "listed",
    [
        {"package.json": '{"workspaces": ["packages/*", "!packages/c"]}'},
        {"package.json": '{"workspaces": {"packages": ["./packages/{a,b}/"]}}'},
        {"package.json": "{}", "lerna.json": '{"packages": ["packages/[ab]"]}'},
        {
            "package.json": "{}",
            "pnpm-workspace.yaml": "packages:\n  # ours\n  - 'packages/*' # all\n"
            "  - '!packages/c'\n\ncatalog:\n  - examples/*\n",
        },
        {"package.json": "{}", "pnpm-workspace.yaml": "packages: [\n 'packages/*', '!**/c'\n]"},
        {"package.json": json.dumps({"workspaces": ["packages/[ab]", "/".join(["**"] * 3000)]})},
    ],
)
def test_only_packages_of_the_workspace_are_tested(listed: dict[str, str]) -> None:
    test = json.dumps({"name": "x", "scripts": {"test": "ava"}})
    foreign = {f"{place}/package.json": test for place in ("examples/e", "template", "packages/c")}
    files = {"package-lock.json": "{}", **WORKSPACE, **foreign, **listed}
    assert plan("pnpm -r test", files).command == f"cd packages/a && {BOTH}"


def test_a_type_check_is_no_build() -> None:
    settings = {"package-lock.json": "{}", "tsconfig.json": '{\n // ours\n "noEmit": true,\n}'}
    steps = ["npx tsc", "npx tsc -b", "npx tsc -p other.json", "npx tsc -p .", "npm test"]
    recipe = plan_job(steps, more=settings, test="mocha")
    assert recipe.prepare == ("npx tsc -b", "npx tsc -p other.json")


@pytest.mark.parametrize(
    ("install", "scripts", "expected"),
    [
        ("npm ci", {"prepare": "husky && npm run build"}, ("npm run build || true",)),
        ("npm ci", {"postinstall": "tsc -p lib"}, ("npx tsc -p lib || true",)),
        ("npm ci", {"prepare": "svelte-kit sync || echo ''"}, ("npx svelte-kit sync || true",)),
        ("npm ci --ignore-scripts", {"prepare": "tsc"}, ()),
        ("npm ci", {"prepare": "husky install", "postinstall": "patch-package"}, ()),
    ],
)
def test_the_projects_own_install_scripts_build(
    install: str, scripts: dict[str, str], expected: tuple[str, ...]
) -> None:
    for steps in ([install, "npm test"], [f"{install}\nnpm test"]):
        recipe = plan_job(steps, test="mocha", build="tsup", own=scripts)
        assert (recipe.command, recipe.prepare) == ("npx mocha", expected)


def test_an_installation_that_fails_is_no_test() -> None:
    recipe = plan_job(["npm ci"], test="mocha", prepare="tsc")
    assert recipe.command == "npx mocha"
    assert recipe.obstacles


PNPM = {"pnpm-lock.yaml": "lockfileVersion: '9.0'\n"}
CLASSIC = {"yarn.lock": "# yarn lockfile v1\n"}
BERRY = {"yarn.lock": "__metadata:\n  version: 8\n"}


@pytest.mark.parametrize(
    ("install", "env", "lock", "expected"),
    [
        ("npm ci", {}, None, (True, False, False)),
        ("npm ci --legacy-peer-deps", {}, None, (True, True, False)),
        ("npm ci --force", {}, None, (True, False, True)),
        ("npm ci", {"npm_config_legacy_peer_deps": "true"}, None, (True, True, False)),
        ("npm ci", {"NPM_CONFIG_FORCE": "1"}, None, (True, False, True)),
        ("npm config set legacy-peer-deps true && npm ci", {}, None, (True, True, False)),
        ("npm sit", {}, None, (True, False, False)),
        ("npm install", {}, None, (False, False, False)),
        ("npm i -f", {}, None, (False, False, True)),
        ("pnpm install", {}, PNPM, (True, False, False)),
        ("pnpm i --no-frozen-lockfile", {}, PNPM, (False, False, False)),
        ("pnpm i --frozen-lockfile=false", {}, PNPM, (False, False, False)),
        ("yarn", {}, CLASSIC, (False, False, False)),
        ("yarn install --frozen-lockfile", {}, CLASSIC, (True, False, False)),
        ("yarn", {}, BERRY, (True, False, False)),
        ("yarn install --no-immutable", {}, BERRY, (False, False, False)),
        ("yarn", {"YARN_ENABLE_IMMUTABLE_INSTALLS": "false"}, BERRY, (False, False, False)),
        ("true", {}, None, (True, False, False)),
    ],
)
def test_packages_are_installed_as_the_job_does(
    install: str,
    env: dict[str, str],
    lock: dict[str, str] | None,
    expected: tuple[bool, bool, bool],
) -> None:
    node = plan_job([install, "npm test"], env=env, more=lock, test="mocha").node
    assert node is not None
    assert (node.frozen, node.legacy_peers, node.force) == expected


def test_packages_are_built_in_the_order_of_their_dependencies() -> None:
    files = {"package.json": "{}", "package-lock.json": "{}"}
    files["turbo.json"] = '{"tasks": {"test": {"dependsOn": ["^build", "lint"]}}}'
    for name, needs in (("a", "c"), ("b", "a"), ("c", "d"), ("d", "c")):
        package = {"name": name, "scripts": {"test": "mocha", "build": "tsup"}}
        files[f"packages/{name}/package.json"] = json.dumps(
            {**package, "dependencies": {needs: "*"}}
        )
    recipe = plan("pnpm turbo run test --filter=b", files)
    assert recipe.command == (
        "cd packages/d && npm run build && cd ../c && npm run build && cd ../a && npm run build "
        "&& cd ../b && npm run build && npx mocha"
    )


def test_many_packages_are_all_tested() -> None:
    package = json.dumps({"name": "x", "scripts": {"test": "mocha"}})
    files = {f"packages/p{number:02}/package.json": package for number in range(40)}
    files |= {"package.json": "{}", "package-lock.json": "{}"}
    assert plan("npm test -ws", files).command.count("npx mocha") == 40
