"""Which runs of which tools repair a failing command."""

import pytest

from bot.fixers.rung0_tools import TOOLS
from bot.fixers.rung0_tools.calls import find_failing, read_calls
from bot.fixers.rung0_tools.tool import select_options
from tests.builders import a_lint_report

CHECK = "ruff check --fix --no-unsafe-fixes --no-cache"
CLIPPY = "cargo clippy --fix --allow-dirty --allow-staged --allow-no-vcs"
FORMAT = "ruff format --no-cache"


def fixes(command: str) -> list[str]:
    return [call.in_folder(call.fix_command) for call in read_calls(command, TOOLS)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ruff check .", [f"{CHECK} --"]),
        ("ruff check", [f"{CHECK} --"]),
        ("ruff format --check .", [f"{FORMAT} --"]),
        ("ruff format --diff src", [f"{FORMAT} --"]),
        ("ruff check . && ruff format --check .", [f"{CHECK} --", f"{FORMAT} --"]),
        ("ruff check .; ruff format --check .", [f"{CHECK} --", f"{FORMAT} --"]),
        ("ruff check src\nruff check tests", [f"{CHECK} --", f"{CHECK} --"]),
        ("python -m ruff check src", [f"python -m {CHECK} --"]),
        ("python3.12 -m black --check src", ["python -m black --"]),
        ("uv run ruff check", [f"{CHECK} --"]),
        ("uv run --frozen black --check .", ["black --"]),
        ("uvx ruff check", [f"{CHECK} --"]),
        ("poetry run ruff format --check src tests", [f"{FORMAT} --"]),
        (".venv/bin/ruff check .", [f"{CHECK} --"]),
        ("time ruff check . 2>&1 | tee log", [f"{CHECK} --"]),
        (
            "ruff check --select E,F --ignore=E501 --output-format github .",
            [f"{CHECK} --select E,F --ignore=E501 --"],
        ),
        (
            "ruff check --config ci/ruff.toml --preview src",
            [f"{CHECK} --config ci/ruff.toml --preview --"],
        ),
        ("ruff check --unsafe-fixes --fix-only .", [f"{CHECK} --"]),
        (
            "ruff check --line-length 'a b; rm -rf /' .",
            [f"{CHECK} --line-length 'a b; rm -rf /' --"],
        ),
        ("black -l100 -S --check --diff .", ["black -l100 -S --"]),
        ("isort -c --profile black src", ["isort --profile black --"]),
        (
            "autoflake -r --check --remove-all-unused-imports .",
            ["autoflake --in-place --remove-all-unused-imports --"],
        ),
        ("pyupgrade --py39-plus a.py b.py", ["pyupgrade --py39-plus --"]),
        ("npx prettier --check .", ["npx prettier --write --"]),
        ("cd web && npx --no-install eslint .", ["cd web && npx --no-install eslint --fix --"]),
        ("pnpm exec biome ci --error-on-warnings src", ["pnpm exec biome check --write --"]),
        ("node_modules/.bin/stylelint '**/*.css'", ["node_modules/.bin/stylelint --fix --"]),
        (
            "markdownlint --disable MD013 MD033 -c .mdl.json docs",
            ["markdownlint --fix --disable MD013 MD033 -c .mdl.json --"],
        ),
        ("shfmt -d -i 2 -ci scripts", ["shfmt --write -i 2 -ci --"]),
        ("gofmt -s -l .", ["gofmt -w -s --"]),
        ('test -z "$(gofmt -s -l .)"', ["gofmt -w -s --"]),
        (
            "hook_files '--files=^src/' --types=text -- prettier --check --ignore-unknown",
            ["prettier --write --ignore-unknown --"],
        ),
        ("CI=1 hook_files --types=text -- end-of-file-fixer", ["CI=1 end-of-file-fixer --"]),
        ("hook_files -- mixed-line-ending --fix=lf", ["mixed-line-ending --fix=lf --"]),
        (
            "hook_files -- pretty-format-json --indent=2",
            ["pretty-format-json --autofix --indent=2 --"],
        ),
        ('[ -z "$(gofmt -l .)" ]', ["gofmt -w --"]),
        ("GOFLAGS=-mod=mod go vet ./...", ["GOFLAGS=-mod=mod go vet -fix ./..."]),
        ("cargo +nightly fmt --all -- --check", ["cargo +nightly fmt --all --"]),
        (
            "cargo clippy --all-targets -- -D warnings",
            [f"{CLIPPY} --all-targets -- -D warnings"],
        ),
        ("terraform fmt -check -recursive", ["terraform fmt -list=false --"]),
        ("typos --config .typos.toml", ["typos --write-changes --config .typos.toml --"]),
        ("codespell -L crate,ot src", ["codespell --write-changes -L crate,ot --"]),
    ],
)
def test_a_failing_command_is_repaired_by(command: str, expected: list[str]) -> None:
    assert fixes(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        *("pytest -q", "", "ruff --version", "flake8 .", "echo ruff check", "ruff check 'unclosed"),
        *("scruff check .", "ruff format .", "black .", "prettier --write .", "isort src"),
        *(
            'test -z "$(gofmt -l \'a)"',
            "cargo test",
            "go test ./...",
            "npm run lint",
            "terraform plan",
            "dprint fmt",
        ),
    ],
)
def test_other_commands_are_left_alone(command: str) -> None:
    assert fixes(command) == []


def test_the_version_is_asked_of_the_same_program() -> None:
    (call,) = read_calls("python3 -m ruff check .", TOOLS)
    assert call.version_command == "python -m ruff --version"


def test_the_call_with_which_a_line_ended_is_found() -> None:
    calls = read_calls("black --check a\nisort -c a > log\nblack --check b", TOOLS)

    def found(ended_at: str) -> int | None:
        call = find_failing(calls, a_lint_report(ended_at=ended_at))
        return calls.index(call) if call is not None else None

    assert [found(end) for end in ("black --check a", "isort -c a", "black --check b")] == [0, 1, 2]
    assert found("mypy a") is None
    assert found("'unclosed") is None


def test_the_hook_with_which_a_line_ended_is_found() -> None:
    first = "hook_files '--exclude=^(a|b);$' --types=text -- end-of-file-fixer"
    second = "hook_files --types-or=css,yaml -- prettier --check --ignore-unknown"
    calls = read_calls(f"{first} && {second}", TOOLS)
    assert [call.line for call in calls] == [first, second]
    found = find_failing(calls, a_lint_report(ended_at=second))
    assert found is not None
    assert found.fix_command == "prettier --write --ignore-unknown --"


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ("-l 100 x", "-l 100"),
        ("-l100 x", "-l100"),
        ("--line=3 x", "--line=3"),
        ("--many a b -q x", "--many a b"),
        ("--flag x --other y", "--flag"),
        ("--flag=x", "--flag=x"),
    ],
)
def test_options_are_kept_with_their_values(arguments: str, kept: str) -> None:
    assert select_options(arguments.split(), "-l= --line= --many... --flag") == kept.split()


def test_names_of_tools_are_unique() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
