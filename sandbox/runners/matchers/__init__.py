"""Problem matchers: one table for each tool, and the selection for a command."""

from sandbox.guest.pytest_command import split_words
from sandbox.runners.findings import PrintedFinding
from sandbox.runners.matchers import compilers, hooks, javascript, python, texts
from sandbox.runners.matchers.engine import Matcher, match_lines, plain_lines
from sandbox.runners.matchers.structured import structured_findings
from sandbox.types.launchers import (
    NODE_LAUNCHERS,
    PYTHON_LAUNCHERS,
    listing_command,
    without_selector,
)

__all__ = [
    "EVERY",
    "Matcher",
    "find_program",
    "is_build",
    "matchers_for",
    "plain_lines",
    "read_findings",
]

EVERY: tuple[Matcher, ...] = (
    *texts.ALL, *python.ALL, *javascript.ALL, *compilers.ALL,
)  # fmt: skip
"""Every matcher, the most specific first, for scripts and logs of unknown tools."""

_LISTED = texts.FOR_KNOWN_TOOLS
_FORMAT = (python.UNFORMATTED, python.BLACK, python.RUFF_FULL, python.UNPARSED, texts.DIFF)
_REWRITES = (compilers.PRE_COMMIT,)
_RUST = (compilers.RUST, compilers.RUST_SHORT, compilers.RUSTFMT)
_RUSTFMT = (compilers.RUSTFMT, texts.LISTED)
_GO = (compilers.GO, texts.DIFF)
_ESLINT = (javascript.ESLINT_STYLISH, javascript.ESLINT_UNIX, javascript.ESLINT_COMPACT)
_TSC = (javascript.TSC, javascript.TSC_PRETTY)
_C = (compilers.GCC, compilers.LINKER, compilers.MAKE)
_JAVA = (compilers.JAVAC, compilers.MAVEN)

TOOLS: tuple[tuple[tuple[str, ...], tuple[Matcher, ...]], ...] = (
    (("ruff", "format"), _FORMAT),
    (("ruff",), python.LINTERS),
    (("flake8",), python.LINTERS),
    (("pycodestyle",), python.LINTERS),
    (("pydocstyle",), python.LINTERS),
    (("pylint",), (python.PYLINT,)),
    (("black",), _FORMAT),
    (("isort",), (python.ISORT, texts.DIFF)),
    (("autoflake",), (texts.AUTOFLAKE, texts.DIFF)),
    (("autopep8",), _LISTED),
    (("yapf",), _LISTED),
    (("docformatter",), _LISTED),
    (("pyupgrade",), _REWRITES),
    (("add-trailing-comma",), _REWRITES),
    *(((hook,), hooks.REWRITES) for hook in hooks.REWRITING_HOOKS),
    *(((hook,), hooks.CHECKS) for hook in hooks.CHECKING_HOOKS),
    (("pretty-format-json",), (texts.DIFF,)),
    (("mypy",), python.TYPES),
    (("dmypy",), python.TYPES),
    (("pyright",), (python.PYRIGHT,)),
    (("basedpyright",), (python.PYRIGHT,)),
    (("ty",), (python.TY, python.TY_FULL)),
    (("codespell",), (python.CODESPELL,)),
    (("typos",), (texts.TYPOS,)),
    (("compileall",), (compilers.PYTHON_SYNTAX,)),
    (("py_compile",), (compilers.PYTHON_SYNTAX,)),
    (("tsc",), _TSC),
    (("vue-tsc",), _TSC),
    (("svelte-check",), (javascript.SVELTE_CHECK,)),
    (("astro", "check"), (javascript.ASTRO,)),
    (("cspell",), (javascript.CSPELL,)),
    (("knip",), (texts.KNIP, texts.KNIP_FILES)),
    (("eslint",), _ESLINT),
    (("stylelint",), _ESLINT),
    (("standard",), (javascript.STANDARD,)),
    (("oxlint",), (javascript.OXLINT, javascript.ESLINT_UNIX)),
    (("biome",), (javascript.BIOME,)),
    (("yamllint",), (*_ESLINT, texts.YAMLLINT)),
    (("prettier",), (javascript.PRETTIER, javascript.PRETTIER_SYNTAX, texts.LISTED)),
    (("oxfmt",), _LISTED),
    (("dprint", "check"), (texts.DPRINT, texts.LISTED)),
    (("markdownlint",), (texts.MARKDOWNLINT,)),
    (("markdownlint-cli2",), (texts.MARKDOWNLINT,)),
    (("mdformat",), (texts.MDFORMAT,)),
    (("rumdl",), (texts.RUMDL,)),
    (("taplo", "fmt"), (texts.TAPLO, texts.DIFF)),
    (("terraform", "fmt"), (texts.LISTED,)),
    (("shfmt",), _LISTED),
    (("hadolint",), (texts.HADOLINT,)),
    (("gofmt",), _LISTED),
    (("goimports",), _LISTED),
    (("gofumpt",), _LISTED),
    (("go", "vet"), _GO),
    (("go", "fix"), _GO),
    (("go", "build"), (compilers.GO,)),
    (("golangci-lint",), (compilers.GO,)),
    (("staticcheck",), (compilers.GO,)),
    (("cargo", "build"), _RUST),
    (("cargo", "check"), _RUST),
    (("cargo", "clippy"), _RUST),
    (("cargo", "fmt"), _RUSTFMT),
    (("rustc",), _RUST),
    (("rustfmt",), _RUSTFMT),
    (("gcc",), _C),
    (("g++",), _C),
    (("cc",), _C),
    (("clang",), _C),
    (("clang++",), _C),
    (("clang-tidy",), _C),
    (("clang-format",), _C),
    (("cl",), (compilers.MSVC,)),
    (("msbuild",), (compilers.MSVC,)),
    (("dotnet", "build"), (compilers.MSVC,)),
    (("javac",), _JAVA),
    (("shellcheck",), (compilers.GCC, compilers.SHELLCHECK)),
    (("actionlint",), (compilers.ACTIONLINT,)),
)
"""Start of a command, and its matchers; the first match counts."""

_BUILDERS = frozenset(
    {
        "go",
        "cargo",
        "rustc",
        "gcc",
        "g++",
        "cc",
        "clang",
        "clang++",
        "cl",
        "msbuild",
        "dotnet",
        "javac",
    }
)


def matchers_for(command: str) -> tuple[Matcher, ...] | None:
    """Return the matchers of a plain command; None if the tool is unknown or it needs a shell."""
    words = find_program(listing_command(command) or command)
    if not words:
        return None
    return next(
        (matchers for start, matchers in TOOLS if tuple(words[: len(start)]) == start), None
    )


def is_build(command: str) -> bool:
    """Return True if a tool builds.

    It can fail without a place, and that is a failure all the same.
    """
    words = find_program(command)
    return bool(words) and words[0] in _BUILDERS


def read_findings(matchers: tuple[Matcher, ...], text: str) -> list[PrintedFinding]:
    """Return the findings of a text: JSON or workflow commands if present, else line by line."""
    return structured_findings(text) or list(match_lines(matchers, plain_lines(text)))


def find_program(command: str) -> list[str]:
    """Return the words of a command from the tool's name on."""
    words = split_words(command) or []
    while words and "=" in words[0] and words[0].split("=", 1)[0].isidentifier():
        words = words[1:]
    words = without_selector(words)
    for launcher in (*PYTHON_LAUNCHERS, *NODE_LAUNCHERS):
        if tuple(words[: len(launcher)]) == launcher:
            words = words[len(launcher) :]
            while words and words[0].startswith("-"):
                words = words[1:]
            break
    if words[1:2] and words[1].startswith("+"):
        words = [words[0], *words[2:]]  # `cargo +nightly fmt`
    if words[1:2] == ["-m"] and words[0].rsplit("/", 1)[-1].startswith("python"):
        words = words[2:]
    return [words[0].rsplit("/", 1)[-1].removesuffix(".exe"), *words[1:]] if words else []
