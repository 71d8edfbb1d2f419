"""Every tool's true output, read with its own matchers and with all of them."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.runners.findings import CheckoutPaths, PrintedFinding, as_results
from sandbox.runners.matchers import EVERY, TOOLS, matchers_for, plain_lines, read_findings
from sandbox.runners.matchers.engine import match_lines
from sandbox.runners.matchers.hooks import CHECKS, REWRITES
from sandbox.runners.matchers.structured import structured_findings
from sandbox.runners.matchers.texts import FOR_KNOWN_TOOLS
from sandbox.types import TestStatus

SAMPLES = Path(__file__).resolve().parents[4] / "data" / "tool_output"
"""Printed by the tools themselves, with the paths of a sandbox."""
PLACE = CheckoutPaths("/work/repo")
LINUX, MAC = "home", "Users"
"""Where systems keep their people, and hosted runners their checkouts."""
RUFF = {"pkg/bad.py:1:invalid-syntax", "pkg/bad.py:1:invalid-syntax#2", "pkg/m.py:1:I001", "pkg/m.py:1:F401", "pkg/m.py:1:F401#2", "pkg/m.py:2:F401", "pkg/m.py:5:F841", "pkg/m.py:5:F821"}  # fmt: skip
MYPY = {
    "pkg/m.py:5:name-defined",
    "pkg/m.py:6:return-value",
    "pkg/m.py:10:return-value",
    "pkg/m.py:10:arg-type",
}
TY = {"pkg/m.py:5:unresolved-reference", "pkg/m.py:6:invalid-explicit-return", "pkg/m.py:10:invalid-explicit-return", "pkg/m.py:10:invalid-argument-type", "pkg/m.py:12:invalid-argument-type", "pkg/m.py:12:unknown-argument"}  # fmt: skip
TSC = {"web/a.ts:1:TS2322", "web/a.ts:2:TS2322", "web/a.ts:3:TS2554", "web/a.ts:4:TS2322"}
ESLINT = {"web/b.js:1:no-var", "web/b.js:1:no-unused-vars", "web/b.js:2:no-cond-assign", "web/b.js:2:no-constant-condition", "web/b.js:2:no-undef", "web/b.js:2:no-undef#2", "web/b.js:3:no-undef", "web/b.js:3:no-extra-semi"}  # fmt: skip
MARKDOWN = {
    *("docs/a.md:1:MD022", "docs/a.md:2:MD009", "docs/a.md:3:MD032", "docs/a.md:4:MD032"),
    *("docs/a.md:5:MD022", "docs/a.md:5:MD022#2", "docs/a.md:6:MD018", "docs/a.md:7:MD034"),
    *("docs/a.md:9:MD012", "docs/a.md:10:MD010"),
}
CASES: dict[str, tuple[str, set[str]]] = {
    "ruff_full": ("ruff check pkg", RUFF),
    "ruff_concise": ("ruff check pkg --output-format concise", RUFF),
    "ruff_github": ("ruff check pkg --output-format github", RUFF),
    "ruff_json": ("ruff check pkg --output-format json", RUFF),
    "ruff_pylint": ("ruff check pkg --output-format pylint", RUFF),
    "ruff_format": (
        "ruff format --check pkg",
        {"pkg/bad.py:1:invalid-syntax", "pkg/m.py:2:format"},
    ),
    "flake8": (
        "flake8 pkg",
        {
            *(
                "pkg/bad.py:1:E999",
                "pkg/m.py:1:F401",
                "pkg/m.py:1:F401#2",
                "pkg/m.py:1:E401",
                "pkg/m.py:2:F401",
            ),
            *(
                "pkg/m.py:2:E271",
                "pkg/m.py:3:E302",
                "pkg/m.py:5:F841",
                "pkg/m.py:5:F821",
                "pkg/m.py:9:E501",
            ),
            *("pkg/m.py:11:E302", "pkg/m.py:11:E271", "pkg/m.py:11:E201", "pkg/m.py:11:E203"),
        },
    ),
    "pylint": (
        "python -m pylint pkg",
        {
            *(
                "pkg/bad.py:1:E0001",
                "pkg/m.py:9:C0301",
                "pkg/m.py:1:C0114",
                "pkg/m.py:1:C0410",
                "pkg/m.py:5:E0602",
            ),
            *(
                "pkg/m.py:5:W0612",
                "pkg/m.py:9:C0116",
                "pkg/m.py:9:W0613",
                "pkg/m.py:9:W0613#2",
                "pkg/m.py:11:C0116",
            ),
            *("pkg/m.py:12:E1123", "pkg/m.py:1:W0611", "pkg/m.py:1:W0611#2", "pkg/m.py:2:W0611"),
        },
    ),
    "mypy": ("mypy pkg", MYPY),
    "mypy_pretty": (
        "uv run mypy --strict --pretty --show-column-numbers pkg",
        {*MYPY, "pkg/m.py:11:no-untyped-def", "pkg/m.py:12:call-arg", "pkg/m.py:12:arg-type"},
    ),
    "mypy_json": ("mypy -O json pkg", MYPY),
    "ty_full": ("ty check pkg", TY),
    "ty_concise": ("uvx ty check --output-format concise pkg", TY),
    "pyright": (
        "npx pyright pkg",
        {
            *(
                "pkg/m.py:5:reportUndefinedVariable",
                "pkg/m.py:6:reportReturnType",
                "pkg/m.py:10:reportReturnType",
            ),
            *("pkg/m.py:10:reportArgumentType", "pkg/m.py:12:reportCallIssue"),
        },
    ),
    "black": ("black --check pkg", {"pkg/m.py:format"}),
    "black_syntax": ("black --check pkg", {"pkg/m.py:format", "pkg/bad.py:1:syntax"}),
    "isort": ("isort --check pkg", {"pkg/m.py:imports"}),
    "codespell": ("codespell pkg", {"pkg/m.py:4:spelling"}),
    "tsc": ("npx tsc --noEmit", TSC),
    "tsc_pretty": ("yarn tsc --noEmit --pretty", TSC),
    "eslint_stylish": ("npx eslint .", ESLINT),
    "eslint_unix": ("eslint -f unix .", ESLINT),
    "eslint_compact": ("eslint -f compact .", ESLINT),
    "eslint_json": ("eslint -f json .", ESLINT),
    "prettier": ("npx prettier --check .", {"web/a.ts:format", "web/b.js:format"}),
    "gcc": ("gcc -c c.c", {"c.c:1:error"}),
    "gxx": (
        "g++ -Wall -Wextra -Werror -c d.cpp",
        {
            *(
                "d.cpp:3:-fpermissive",
                "d.cpp:3:-Werror=sign-compare",
                "d.cpp:4:error",
                "d.cpp:5:-Werror=return-type",
            ),
            *("d.cpp:5:-Werror=unused-variable", "d.cpp:5:-Werror=unused-parameter"),
        },
    ),
    "make": ("make", {"d.cpp:3:-fpermissive", "d.cpp:4:error"}),
    "javac": ("javac A.java", {"A.java:1:error", "A.java:1:error#2"}),
    "shellcheck_tty": ("shellcheck x.sh", {"x.sh:2:SC2045"}),
    "shellcheck_gcc": ("shellcheck -f gcc x.sh", {"x.sh:2:SC2045"}),
    "cargo_build": ("cargo build --locked", {"src/lib.rs:11:E0308"}),
    "cargo_short": ("cargo check --message-format short", {"src/lib.rs:11:E0308"}),
    "cargo_json": ("cargo build --message-format json", {"src/lib.rs:11:E0308"}),
    "cargo_clippy": ("cargo clippy -- -D warnings", {"src/lib.rs:1:error"}),
    "cargo_clippy_lints": (
        "cargo clippy -- -D warnings",
        {
            "src/lib.rs:1:clippy/needless_return",
            "src/lib.rs:1:clippy/ptr_arg",
            "src/lib.rs:4:clippy/needless_return",
        },
    ),
    "cargo_fmt": (
        "cargo fmt --check",
        {"rs/src/lib.rs:1:format", "rs/src/lib.rs:5:format", "rs/src/lib.rs:11:format"},
    ),
    "isort_diff": ("isort --check --diff py", {"py/m.py:imports", "py/m.py:1:format"}),
    "autoflake": ("autoflake --check -r py", {"py/m.py:unused"}),
    "yapf": ("yapf --diff -r py", {"py/m.py:1:format"}),
    "autopep8": ("autopep8 --diff --exit-code -r py", {"py/m.py:1:format"}),
    "docformatter": ("docformatter --check -r py", {"py/m.py:format"}),
    "pyupgrade": ("pyupgrade --py39-plus py/m.py", {"py/m.py:fixed"}),
    "quote_fixer": ("double-quote-string-fixer py/m.py", {"py/m.py:fixed"}),
    "typos": ("typos py docs", {"docs/a.md:5:spelling", "py/m.py:5:spelling"}),
    "shfmt_diff": ("shfmt -d sh", {"sh/a.sh:1:format"}),
    "shfmt_list": ("shfmt -l sh", {"sh/a.sh:format"}),
    "mdformat": ("mdformat --check docs", {"docs/a.md:format"}),
    "taplo": ("taplo fmt --check web/d.toml", {"web/d.toml:format"}),
    "rumdl": ("rumdl check docs", {*MARKDOWN, "docs/a.md:2:MD064"}),
    "prettier_list": (
        "npx prettier -l web",
        {"web/.stylelintrc.json:format", "web/a.css:format", "web/a.js:format"},
    ),
    "biome": (
        "npx biome check web/a.js",
        {
            *("web/a.js:2:lint/suspicious/noDoubleEquals", "web/a.js:4:lint/suspicious/noDebugger"),
            "web/a.js:format",
        },
    ),
    "biome_format": ("biome format web/a.js", {"web/a.js:format"}),
    "biome_ci": ("pnpm exec biome ci web", {"web/b.js:2:assist/source/organizeImports"}),
    "oxlint": ("npx oxlint web", {"web/a.js:3:no-unused-vars", "web/a.js:4:no-debugger"}),
    "oxlint_unix": ("oxlint -f unix web", {"web/a.js:3:no-unused-vars", "web/a.js:4:no-debugger"}),
    "oxfmt": (
        "oxfmt --check web",
        {
            *("web/.stylelintrc.json:format", "web/a.css:format", "web/a.js:format"),
            "web/d.toml:format",
        },
    ),
    "stylelint": (
        "npx stylelint web/a.css",
        {
            *("web/a.css:1:color-hex-length", "web/a.css:2:length-zero-no-unit"),
            "web/a.css:2:declaration-block-single-line-max-declarations",
            "web/a.css:2:no-duplicate-selectors",
            "web/a.css:3:shorthand-property-no-redundant-values",
        },
    ),
    "markdownlint": ("markdownlint docs", MARKDOWN),
    "markdownlint_cli2": ("markdownlint-cli2 docs/a.md", MARKDOWN),
    "standard": (
        "npx standard web/a.js",
        {
            *("web/a.js:2:eqeqeq", "web/a.js:2:quotes", "web/a.js:2:space-in-parens"),
            *("web/a.js:2:space-in-parens#2", "web/a.js:3:no-unused-vars", "web/a.js:3:semi"),
            *("web/a.js:3:prefer-const", "web/a.js:4:no-debugger", "web/a.js:4:semi"),
            "web/a.js:5:semi",
        },
    ),
    "gofmt_list": ("gofmt -l go", {"go/a.go:format"}),
    "gofmt_diff": ("gofmt -d go", {"go/a.go:1:format"}),
    "go_vet": ("go vet ./...", {"a.go:4:go"}),
    "go_fix": ("go fix -diff ./...", {"go/a.go:1:format"}),
    "actionlint": (
        "actionlint",
        {
            ".github/workflows/ci.yml:4:runner-label",
            ".github/workflows/ci.yml:6:expression",
            ".github/workflows/ci.yml:7:action",
        },
    ),
    "hadolint": (
        "hadolint docker/Dockerfile",
        {
            *("docker/Dockerfile:1:DL3006", "docker/Dockerfile:2:DL3014"),
            *("docker/Dockerfile:2:DL3008", "docker/Dockerfile:2:DL3015"),
            *("docker/Dockerfile:2:DL3009", "docker/Dockerfile:3:DL3003"),
            *("docker/Dockerfile:3:DL4006", "docker/Dockerfile:4:DL4000"),
        },
    ),
    "yamllint": ("yamllint docs", {"docs/a.yml:1:colons", "docs/a.yml:2:commas"}),
    "yamllint_parsable": (
        "yamllint -f parsable docs",
        {"docs/a.yml:1:colons", "docs/a.yml:2:commas"},
    ),
    "yamllint_github": ("yamllint -f github docs", {"docs/a.yml:1:error", "docs/a.yml:2:error"}),
    "cargo_fmt_list": ("cargo +nightly fmt -- --check -l", {"rs/src/lib.rs:format"}),
    "dprint": ("npx dprint check", {"web/a.js:format"}),
    "terraform_fmt": ("terraform fmt -check", {"main.tf:format"}),
    "clang_format": ("clang-format --dry-run -Werror c.c", {"c.c:1:-Wclang-format-violations"}),
}
CASES |= {
    "svelte_check": ("npx svelte-check --tsconfig tsconfig.json", {"src/App.svelte:2:ts"}),
    "cspell": ("npx cspell lint .", {"README.md:1:spelling", "README.md:1:spelling#2"}),
    "knip": (
        "npx knip",
        {
            *("src/never.js:unused", "package.json:unused", "package.json:unused#2"),
            "src/a.js:2:unused",
        },
    ),
}
LISTS = frozenset(
    (
        *("isort_diff", "yapf", "autopep8", "docformatter", "shfmt_diff", "shfmt_list"),
        *("prettier_list", "oxfmt", "gofmt_list", "gofmt_diff", "go_fix", "cargo_fmt_list"),
        *("terraform_fmt", "knip"),
    )
)
"""Names of files and diffs, which only the known command explains."""
WRITTEN: dict[str, tuple[str, str]] = {
    "astro check": ("src/pages/index.astro:5:3 - error ts(2304): Cannot find name 'foo'.\n", "src/pages/index.astro:5:2304"),
    "go vet ./...": ("# example.org/m\nvet: ./a.go:5:2: undefined: x\n", "a.go:5:go"),
    "go build ./...": ("# example.org/m\n./pkg/a.go:12:9: cannot use x (variable of type int)\n", "pkg/a.go:12:go"),
    "golangci-lint run": ("pkg/a.go:3:1: exported func F should have comment (revive)\n", "pkg/a.go:3:revive"),
    "msbuild": ("C:\\\\a\\\\r\\\\r\\\\src\\\\a.cpp(89,3): error C2143: syntax error [x]\n".replace("\\\\", "\\"), "src/a.cpp:89:C2143"),
    "dotnet build": ("Program.cs(3,5): error CS1002: ; expected [/work/repo/app.csproj]\n", "Program.cs:3:CS1002"),
    "actionlint": ('.github/workflows/ci.yml:4:14: label "x" is unknown [runner-label]\n', ".github/workflows/ci.yml:4:runner-label"),
    "clang -c a.c": ("a.c:1:1: error: unknown type name 'foo'\n", "a.c:1:error"),
    "python -m compileall -q .": ('*** Error compiling \'./a.py\'...\n  File "./a.py", line 1\n    def (:\n        ^\nSyntaxError: invalid syntax\n', "a.py:1:SyntaxError"),
    "javac -Xlint A.java": ("src/A.java:7: warning: [unchecked] unchecked call\n", "src/A.java:7:unchecked"),
    "gcc a.o b.o": ("/usr/bin/ld: a.c:(.text+0x5): undefined reference to `foo'\ncollect2: error: ld returned 1 exit status\n", "a.c:link"),
    "rustfmt --check a.rs": ("Diff in /work/repo/a.rs at line 3:\n", "a.rs:3:format"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_true_output_is_read_to_the_last_finding(name: str) -> None:
    command, expected = CASES[name]
    text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    results = as_results(read_findings(matchers_for(command) or EVERY, text), PLACE)
    assert {result.name for result in results} == expected
    assert all(result.error_message and result.status is TestStatus.FAIL for result in results)


@pytest.mark.parametrize("name", sorted(CASES.keys() - LISTS))
def test_all_matchers_together_say_the_same(name: str) -> None:
    text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    assert {result.name for result in as_results(read_findings(EVERY, text), PLACE)} == CASES[name][
        1
    ]


def test_a_finding_keeps_its_column_where_the_tool_tells_one() -> None:
    (with_column,) = as_results(
        read_findings(EVERY, "pkg/a.py:3:7: E711 Comparison to `None`\n"), PLACE
    )
    (without,) = as_results(read_findings(EVERY, "pkg/a.py:3: error: Nonsense  [misc]\n"), PLACE)
    assert (with_column.column, without.column) == (7, None)


def test_no_sample_is_left_out() -> None:
    assert {path.stem for path in SAMPLES.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("command", WRITTEN)
def test_tools_that_are_not_here_are_read_by_their_known_shape(command: str) -> None:
    text, expected = WRITTEN[command]
    matchers = matchers_for(command) or ()
    assert matchers is not None
    for chosen in (matchers, EVERY):
        assert [result.name for result in as_results(read_findings(chosen, text), PLACE)] == [
            expected
        ]


def test_every_matcher_says_where_its_shape_comes_from() -> None:
    tables = {matcher for _, matchers in TOOLS for matcher in matchers}
    assert all(
        matcher.source and matcher.tool and matcher.patterns for matcher in {*tables, *EVERY}
    )
    assert tables - {*FOR_KNOWN_TOOLS, *REWRITES, *CHECKS} <= set(EVERY)


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("end-of-file-fixer a", "Fixing my file", "my file:fixed"),
        ("requirements-txt-fixer", "Sorting dev-requirements.txt", "dev-requirements.txt:fixed"),
        ("mixed-line-ending a.txt", "a.txt: fixed mixed line endings", "a.txt:fixed"),
        ("mixed-line-ending --fix=no", "a.txt: mixed line endings", "a.txt:fixed"),
        ("fix-byte-order-marker", "a.txt: removed byte-order marker", "a.txt:fixed"),
        ("pretty-format-json", "--- j.json\n+++ j.json\n@@ -1 +1,4 @@\n-{}", "j.json:1:format"),
        ("check-toml a.toml", "a.toml: Invalid value (at line 3, column 5)", "a.toml:3:hook"),
        (
            "check-json a.json",
            "a.json: Failed to json decode (Expecting value: line 2 column 7 (char 9))",
            "a.json:2:hook",
        ),
        (
            "check-yaml",
            'while parsing a flow node\nexpected the node content\n  in "b.yml", line 2, column 1',
            "b.yml:2:hook",
        ),
        (
            "check-xml a.xml",
            "a.xml: Failed to xml parse (a.xml:1:3: no element found)",
            "a.xml:1:hook",
        ),
        ("debug-statement-hook a.py", "a.py:1:0: pdb imported", "a.py:1:hook"),
        ("check-merge-conflict", "a.md:7: Merge conflict string '<<<<<<<' found", "a.md:7:hook"),
        ("detect-private-key k", "Private key found: k", "k:hook"),
        ("reorder-python-imports", "Reordering imports in a.py", "a.py:fixed"),
        ("blacken-docs a.md", "a.md: Rewriting...", "a.md:fixed"),
        (
            "check-executables-have-shebangs",
            "a: marked executable but has no (or invalid) shebang!\n  If it isn't",
            "a:hook",
        ),
        (
            "python -m pre_commit.languages.pygrep '`x`'",
            "docs/a.rst:3:see `x`",
            "docs/a.rst:3:hook",
        ),
        ("name-tests-test", 'tests/a.py does not match pattern ".*_test.py"', "tests/a.py:hook"),
    ],
)
def test_hooks_of_pre_commit_name_files(command: str, text: str, expected: str) -> None:
    for line in (command, f"hook_files --types=text '--files=^a' -- {command}"):
        matchers = matchers_for(line)
        assert matchers is not None
        assert [one.name for one in as_results(read_findings(matchers, text), PLACE)] == [expected]


def test_a_lint_in_json_has_the_name_of_the_text() -> None:
    place = {"file_name": "src/lib.rs", "line_start": 1}
    message = {"message": "m", "code": {"code": "clippy::ptr_arg"}, "level": "error"}
    entry = {"reason": "compiler-message", "message": {**message, "spans": [place]}}
    (result,) = as_results(read_findings(EVERY, json.dumps(entry)), PLACE)
    assert (result.name, result.error) == ("src/lib.rs:1:clippy/ptr_arg", "clippy::ptr_arg")


def test_what_hooks_rewrite_is_named() -> None:
    text = "trim trailing whitespace....Failed\n- hook id: trailing-whitespace\n- exit code: 1\n\nFixing pkg/$a.py\n"
    assert [result.name for result in as_results(read_findings(EVERY, text), PLACE)] == [
        "pkg/$a.py:fixed"
    ]


@pytest.mark.parametrize("place", ["(3,5): error", ":3:5 - error"])
@pytest.mark.parametrize("file", ["app/(shop)/[id]/page.tsx", "(a)/b.ts", "routes/$id.tsx"])
def test_files_of_a_route_are_named_in_whole(file: str, place: str) -> None:
    text = f"{file}{place} TS2304: Cannot find name 'f'.\n"
    (result,) = as_results(read_findings(EVERY, text), PLACE)
    assert (result.file, result.line, result.error) == (file, 3, "TS2304")


@pytest.mark.parametrize(
    ("command", "text", "name"),
    [
        ("eslint -f unix .", "{}:3:5: 'x' is not defined. [Error/no-undef]", "3:no-undef"),
        ("eslint -f compact .", "{}: line 3, col 5, Error - No x. (no-undef)", "3:no-undef"),
        ("svelte-check", "{}:3:5\nError: Type 'x' is wrong. (ts)", "3:ts"),
        ("cspell .", "{}:3:5 - Unknown word (qwx)", "3:spelling"),
    ],
)
def test_linters_name_files_of_routes(command: str, text: str, name: str) -> None:
    path = "src/routes/(app)/[id]/my page.svelte"
    matchers = matchers_for(command) or ()
    (found,) = as_results(read_findings(matchers, text.format(path)), CheckoutPaths())
    assert found.name == f"{path}:{name}"


def test_notes_belong_to_what_they_explain() -> None:
    text = 'm.py:3: error: Argument 1 has incompatible type  [arg-type]\nm.py:3: note: "f" defined here\n'
    (result,) = as_results(read_findings(EVERY, text))
    assert result.error_message == 'Argument 1 has incompatible type; "f" defined here'


def test_warnings_count_only_where_nothing_is_worse() -> None:
    warned = "a.c:1:2: warning: unused variable [-Wunused-variable]\n"
    assert [result.name for result in as_results(read_findings(EVERY, warned))] == [
        "a.c:1:-Wunused-variable"
    ]
    both = warned + "a.c:2:2: error: no x\n"
    assert [result.name for result in as_results(read_findings(EVERY, both))] == ["a.c:2:error"]


@pytest.mark.parametrize(
    ("printed", "folder", "path"),
    [
        ("./m.py", ".", "m.py"),
        ("m.py", "sub/dir", "sub/dir/m.py"),
        ("../m.py", "sub", "m.py"),
        ("../../m.py", "sub", "../../m.py"),
        ("/work/repo/m.py", "sub", "m.py"),
        (f"/{LINUX}/runner/work/app/app/src/m.py", ".", "src/m.py"),
        (f"/{LINUX}/runner/work/app/other/m.py", ".", f"/{LINUX}/runner/work/app/other/m.py"),
        (f"/{MAC}/runner/work/app/app/m.py", ".", "m.py"),
        ("/__w/app/app/m.py", ".", "m.py"),
        ("/github/workspace/m.py", ".", "m.py"),
        ("D:\\a\\app\\app\\src\\m.cs", ".", "src/m.cs"),
        ("C:\\actions-runner\\_work\\app\\app\\m.cs", ".", "m.cs"),
        ("/usr/include/stdio.h", ".", "/usr/include/stdio.h"),
        ("file:///work/repo/m.py", ".", "m.py"),
    ],
)
def test_paths_are_told_from_the_checkout(printed: str, folder: str, path: str) -> None:
    assert CheckoutPaths("/work/repo", folder).relative(printed) == path


@pytest.mark.parametrize(
    "command",
    [
        "make lint",
        "npm run lint",
        "ruff check . | tee x",
        "echo ruff",
        "python lint.py",
        "cargo test",
        "go test",
        "",
    ],
)
def test_other_commands_are_not_taken_for_a_tool(command: str) -> None:
    assert matchers_for(command) is None


HOSTILE = (
    "a:" * 50_000,
    ("m.py:1: error: " + "x" * 3000 + "\n") * 50,
    "m.py:1: error: x\n" * 30_000,
    "[" * 100_000,
    '[{"filename":' * 20_000,
    "::error " + "file=," * 30_000 + "::x",
    ("/a.js\n" + "  1:1  error  x\n") * 10_000,
    "In a line 3:\n\n" + " ^-- SC2045: x\n" * 10_000,
    " " * 200_000,
    "\x1b[" * 60_000,
)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_output_is_read_in_time_and_within_bounds(text: str) -> None:
    started = time.process_time()
    assert len(as_results(read_findings(EVERY, text))) <= 2000
    assert time.process_time() - started < 3


@given(st.text(alphabet='ab.py:/\\()[]{}"=,1 \n-> error warning note E501', max_size=400))
def test_nothing_breaks_the_readers(text: str) -> None:
    for finding in (*match_lines(EVERY, plain_lines(text)), *structured_findings(text)):
        assert isinstance(finding, PrintedFinding)
    as_results(read_findings(EVERY, text), CheckoutPaths("/r", "s"))


@pytest.mark.parametrize(
    "line",
    [
        "12:30:45 HTTP404 not found",
        "  12:30:45: connection refused (retry)",
        "12:30:45: [error] upstream timed out",
        "from the following list:",
        "-- done ━━━━━━━━━━━━ 12.3/12.3 MB",
        "requirements.txt",
        "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@",
    ],
)
def test_other_lines_of_a_log_are_no_findings(line: str) -> None:
    assert read_findings(EVERY, line) == []
