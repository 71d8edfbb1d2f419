"""What actions of others amount to."""

import pytest

from sandbox.recipe.actions.places import resolve_folder
from sandbox.recipe.actions.shells import choose_shell
from sandbox.recipe.actions.uses import (
    Use,
    find_artifact,
    parse_image_python,
    read_python,
    read_setup_node,
    resolve_effect,
    resolve_outputs,
)
from sandbox.recipe.actions.values import Unknown
from sandbox.recipe.actions.variables import is_passed_on

FILES = {
    ".python-version": b"3.12.1\n3.9\n",
    ".tool-versions": b"nodejs 20\npython 3.10.4\n",
    "pyproject.toml": b'[project]\nrequires-python = ">=3.12"\n',
    "Pipfile": b'[requires]\npython_version = "3.9"\n',
}


@pytest.mark.parametrize(
    ("uses", "inputs", "python"),
    [
        ("actions/setup-python@v5", {"python-version": "3.11"}, "3.11"),
        ("actions/setup-python@v5", {"python-version": "3.8\n3.9\n3.10\n"}, "3.10"),
        ("actions/setup-python@v5", {"python-version": "pypy3.9"}, "3.9"),
        ("actions/setup-python@v5", {"python-version-file": ".tool-versions"}, "3.10"),
        ("actions/setup-python@v5", {"python-version-file": "./pyproject.toml"}, "3.12"),
        ("actions/setup-python@v5", {"python-version-file": "Pipfile"}, "3.9"),
        ("actions/setup-python@v5", {"python-version-file": "nothing"}, None),
        ("actions/setup-python@v5", {}, "3.12"),
        ("astral-sh/setup-uv@v5", {"python-version": "3.13"}, "3.13"),
        ("wntrblm/nox@2024", {"python-versions": "3.9, 3.11"}, "3.11"),
        ("actions/setup-node@v4", {"python-version": "3.11"}, None),
    ],
)
def test_the_python_a_step_sets_up(uses: str, inputs: dict[str, str], python: str | None) -> None:
    assert read_python(Use(uses=uses, inputs=inputs), FILES) == python


@pytest.mark.parametrize(
    ("uses", "inputs", "node", "script"),
    [
        ("pnpm/setup@v2", {"version": "11", "runtime": "node@24"}, "24", "pnpm install"),
        ("pnpm/setup@v2", {"runtime": "node@lts", "install": "false"}, "24", ""),
        ("pnpm/setup@v2", {"runtime": "bun@1"}, None, "pnpm install"),
        ("pnpm/setup@v2", {}, None, "pnpm install"),
        ("pnpm/action-setup@v6", {"version": "10"}, None, ""),
        ("pnpm/action-setup@v6", {"run_install": "true"}, None, "pnpm install"),
        ("pnpm/action-setup@v6", {"run_install": "false"}, None, ""),
        ("actions/setup-node@v6", {"node-version": "22.x"}, "22", ""),
    ],
)
def test_the_node_and_the_packages_a_step_sets_up(
    uses: str, inputs: dict[str, str], node: str | None, script: str
) -> None:
    use = Use(uses=uses, inputs=inputs)
    assert read_setup_node(use, FILES) == node
    assert resolve_effect(use, FILES).script == script


@pytest.mark.parametrize(
    ("uses", "inputs", "treatment", "words"),
    [
        ("actions/checkout@v4", {}, "replayed", "the commit is checked out"),
        ("actions/checkout@v4", {"repository": "a/b"}, "dropped", "a/b"),
        ("actions/checkout@v4", {"ref": "main", "fetch-depth": "0"}, "replaced", "without history"),
        (
            "actions/setup-python@v5",
            {"python-version": "pypy3.9"},
            "replaced",
            "CPython 3.9 stands for pypy3.9",
        ),
        ("actions/setup-python@v5", {"python-version": "3.13t"}, "replaced", "CPython 3.13"),
        (
            "actions/setup-python@v5",
            {"python-version": "3.x", "cache": "pip"},
            "replayed",
            "the usual one",
        ),
        ("Actions/Cache@v4", {}, "dropped", "no cache"),
        ("actions/cache/restore@v4", {}, "dropped", "no cache"),
        ("actions/upload-artifact@v4", {}, "dropped", "it only reports"),
        ("snok/install-poetry@v1", {}, "replaced", "with uv"),
        ("dtolnay/rust-toolchain@stable", {}, "replaced", "the image's own Rust"),
        ("golangci/golangci-lint-action@v8", {}, "replaced", "`golangci-lint run`"),
        ("docker://alpine:3", {}, "dropped", "no container"),
        ("docker/build-push-action@v5", {}, "dropped", "no container"),
        ("awalsh128/cache-apt-pkgs-action@v1", {"packages": "libpq-dev"}, "dropped", "libpq-dev"),
        ("who/knows@v1", {}, "dropped", "unknown"),
    ],
)
def test_every_action_is_replayed_replaced_or_dropped_with_a_reason(
    uses: str, inputs: dict[str, str], treatment: str, words: str
) -> None:
    effect = resolve_effect(Use(uses=uses, inputs=inputs), FILES)
    assert effect.treatment == treatment
    assert words in effect.reason


@pytest.mark.parametrize(
    ("uses", "inputs", "script"),
    [
        ("psf/black@stable", {}, "black --check --diff ."),
        ("psf/black@stable", {"options": "--check", "src": "x", "version": "24.1.0"}, "pip install black==24.1.0\nblack --check x"),
        ("chartboost/ruff-action@v1", {}, "ruff check ."),
        ("astral-sh/ruff-action@v3", {"args": "--select E"}, "ruff check --select E ."),
        ("isort/isort-action@v1", {}, "isort --check-only --diff ."),
        ("pre-commit/action@v3", {"extra_args": "ruff"}, "pre-commit run --show-diff-on-failure --color=always ruff"),
        ("jakebailey/pyright-action@v2", {}, "pyright"),
        ("jakebailey/pyright-action@v2", {"python-version": "3.11", "project": "p.json", "warnings": "true"}, "pyright --project p.json --pythonversion 3.11 --warnings"),
        ("psf/black@stable", {"version": "~= 22.0"}, "pip install 'black~=22.0'\nblack --check --diff ."),
        ("psf/black@stable", {"version": "22; rm -rf /"}, "black --check --diff ."),
        ("py-actions/flake8@v2", {"max-line-length": "100"}, "flake8 --max-line-length=100 ."),
        (
            "py-actions/flake8@v2",
            {"args": "--count", "exclude": "none", "flake8-version": "6.1.0", "plugins": "pep8-naming a;b"},
            "pip install pep8-naming 'a;b'\npip install flake8==6.1.0\nflake8 --count .",
        ),
        (
            "codespell-project/actions-codespell@v2",
            {"ignore_words_file": ".words", "check_hidden": "true", "path": "src docs"},
            "codespell --ignore-words=.words --check-hidden src docs",
        ),
        ("codespell-project/actions-codespell@v2", {"skip": "*.svg"}, "codespell '--skip=*.svg' .".replace("'--skip=*.svg'", "--skip='*.svg'")),
        ("nick-fields/retry@v3", {"command": "pip install x\npytest -q", "max_attempts": "3"}, "pip install x\npytest -q"),
        ("tox-dev/action-pre-commit-uv@v1", {}, "pre-commit run --show-diff-on-failure --color=always --all-files"),
        ("py-actions/py-dependency-install@v4", {}, "pip install -r requirements.txt"),
        ("actions/setup-python@v5", {"pip-install": "-e .[dev]"}, "pip install -e .[dev]"),
    ],
)  # fmt: skip
def test_actions_that_wrap_a_command_are_that_command(
    uses: str, inputs: dict[str, str], script: str
) -> None:
    assert resolve_effect(Use(uses=uses, inputs=inputs), FILES).script == script


@pytest.mark.parametrize(
    ("uses", "inputs", "words"),
    [
        ("actions/setup-python@v5", {"python-version": "2.7"}, "needs Python 2.7"),
        ("supercharge/redis-github-action@1", {}, "needs the service redis"),
        (
            "conda-incubator/setup-miniconda@v3",
            {"environment-file": "env.yml"},
            "conda environment env.yml",
        ),
        ("re-actors/alls-green@release/v1", {}, "sums up other jobs"),
    ],
)
def test_what_cannot_be_had_is_named(uses: str, inputs: dict[str, str], words: str) -> None:
    assert words in resolve_effect(Use(uses=uses, inputs=inputs), FILES).obstacle


def test_a_version_only_github_knows_is_said() -> None:
    use = Use(uses="actions/setup-python@v5", missing={"python-version": "vars.PY"})
    assert resolve_effect(use, {}).reason == "only GitHub knows vars.PY; the usual Python is used"


def test_outputs_of_caches_and_of_setup_python_are_known() -> None:
    assert resolve_outputs(Use(uses="actions/cache@v4"), {})["outputs"]["cache-hit"] == ""  # type: ignore[index,call-overload]
    setup = resolve_outputs(
        Use(uses="actions/setup-python@v5", inputs={"python-version": "3.9"}), {}
    )
    assert setup["outputs"]["python-version"] == "3.9"  # type: ignore[index,call-overload]
    assert isinstance(resolve_outputs(Use(uses="a/b@v1"), {})["outputs"], Unknown)  # type: ignore[index,call-overload]


def test_an_artifact_is_where_it_lands() -> None:
    assert (
        find_artifact(Use(uses="actions/download-artifact@v4", inputs={"name": "n", "path": "p"}))
        == "p"
    )
    assert find_artifact(Use(uses="actions/download-artifact@v4")) == "all artifacts"
    assert find_artifact(Use(uses="actions/checkout@v4")) is None


def test_an_image_may_name_its_python() -> None:
    assert parse_image_python("images.example.org/library/python:3.9.1-alpine") == "3.9"
    assert parse_image_python("ubuntu:22.04") is None


@pytest.mark.parametrize(
    ("written", "at", "folder"),
    [
        *(
            ("pkg", ".", "pkg"),
            ("./pkg/", ".", "pkg"),
            ("", ".", "."),
            ("/work/repo/x", ".", "x"),
            ("/work/repo", ".", "."),
        ),
        *(
            ("$GITHUB_WORKSPACE/x", ".", "x"),
            ("../x", ".", None),
            ("/etc", ".", None),
            ("a;b", ".", None),
        ),
        *(
            ("src", "src", "."),
            ("src/x", "src", "x"),
            ("other", "src", "other"),
            ("a/../../b", ".", None),
        ),
    ],
)
def test_a_folder_stays_in_the_checkout(written: str, at: str, folder: str | None) -> None:
    assert resolve_folder(written, at) == folder


@pytest.mark.parametrize(
    ("named", "windows", "script", "shell"),
    [
        *(
            ("", False, "$env:X", "bash"),
            ("", True, "pytest", "bash"),
            ("", True, "$env:X = 1", "pwsh"),
        ),
        *(
            ("bash -l {0}", True, "", "bash"),
            ("powershell", False, "", "pwsh"),
            ("python3 {0}", False, "", "python"),
        ),
        *(
            ("cmd", True, "", "cmd"),
            ("perl {0}", False, "", "other"),
            ("/bin/sh -e {0}", False, "", "sh"),
        ),
    ],
)
def test_a_shell_is_known_by_its_first_word(
    named: str,
    windows: bool,  # noqa: FBT001
    script: str,
    shell: str,
) -> None:
    assert choose_shell(named, windows, script) == shell


def test_variables_that_change_how_programs_start_are_not_passed_on() -> None:
    assert [
        name
        for name in ("A_1", "PATH", "LD_PRELOAD", "GITHUB_TOKEN", "A-B", "1A", "")
        if is_passed_on(name)
    ] == ["A_1"]
