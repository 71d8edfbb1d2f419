"""What a shell command line does: which kind of step it is, and how it is put so that the sandbox can judge it."""

import re
import shlex

from sandbox.types import StepKind

_RUNNERS = (
    "uv run",
    "poetry run",
    "pipenv run",
    "pdm run",
    "rye run",
    "hatch run",
    "python -m",
    "python3 -m",
    "coverage run -m",
    "xvfb-run -a",
    "time",
    "uvx",
    "uv tool run",
    "pipx run",
)
_STARTER_OPTION = re.compile(
    r"(?:(?:--(?:with|from|python|extra|group|only-group|package|directory|project|spec|index-url|with-requirements)"
    r"|-[pwC])[ =]\S+|--?[\w-]+(?:=\S+)?)\s+"
)
_PYTHON_OPTIONS = re.compile(r"^(?:\S*/)?python(?:3(?:\.\d{1,2})?)?(?:\s+(?:-[WX]\s?\S+|-[bBdEiIOPqsSuvx]+))*\s+-m\s+")
_TESTS = (
    *("pytest", "py.test", "unittest", "doctest", "nose2", "nosetests", "trial", "behave", "stestr", "ward"),
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
)
_LINTS = (
    "flake8", "pylint", "pyflakes", "pycodestyle", "pydocstyle", "codespell", "bandit", "vulture", "yamllint", "djlint",
    "interrogate", "refurb", "pyupgrade", "autoflake", "deptry", "lint-imports", "slotscheck", "prospector", "typos",
    "check-manifest", "validate-pyproject", "zizmor", "pyroma", "rstcheck", "doc8", "xenon", "radon", "pylama", "rumdl",
    "pre-commit", "prek",
)  # fmt: skip
_TYPES = ("mypy", "dmypy", "pyright", "basedpyright", "ty", "pytype", "pyre", "pyrefly", "stubtest")
_KINDS = {
    **dict.fromkeys(_TESTS, StepKind.TEST),
    **dict.fromkeys(_FORMATS, StepKind.FORMAT),
    **dict.fromkeys(_LINTS, StepKind.LINT),
    **dict.fromkeys(_TYPES, StepKind.TYPES),
}
_GUESSES = {"lint": StepKind.LINT, "format": StepKind.FORMAT, "type": StepKind.TYPES, "test": StepKind.TEST}
_DISTRIBUTIONS = {
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
    "towncrier": "towncrier",
    "pybabel": "babel",
    "jupytext": "jupytext",
    "coverage": "coverage",
    "nox": "nox",
}
"""Distributions whose name differs from the command, and commands that check nothing but come from one."""
_WRAPPERS = frozenset({"tox", "nox", "make", "hatch", "just", "invoke", "inv", "pre-commit", "task", "doit"})
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
    (r"--github-actions-annotate|--exclude-warning-annotations", "pytest-github-actions-annotate-failures"),
    (r"--random-order\b", "pytest-random-order"),
    (r"--count[ =]\d", "pytest-repeat"),
)
_SHELL = re.compile(r"[|&;<>`$(){}\n\\]")
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d{1,2})?)?")


def words_of(command: str) -> list[str]:
    """The words of a command line; of a line no shell would take, its parts between blanks."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def bare_command(command: str) -> str:
    """The command without what starts it: `uv run python -m pytest -q` is `pytest -q`."""
    text = re.sub(r"^(?:[A-Za-z_]\w*=\S*\s+)+", "", " ".join(command.split()))
    while True:
        starter = next((runner for runner in _RUNNERS if text.startswith(f"{runner} ")), None)
        if starter is None:
            return text
        text = text[len(starter) :].lstrip()
        while starter.endswith(("run", "uvx")) and (option := _STARTER_OPTION.match(text)) is not None:
            text = text[option.end() :]  # `uv run --frozen pytest`


def kind_of(command: str, step_name: str | None = None) -> StepKind:
    """What a step does, from its command, else from its name."""
    bare = _PYTHON_OPTIONS.sub("", bare_command(command))
    words = words_of(bare)
    tool = words[0].rsplit("/", 1)[-1] if words else ""
    if tool == "ruff":
        return StepKind.FORMAT if words[1:2] == ["format"] else StepKind.LINT
    if tool in _KINDS:
        return _KINDS[tool]
    if _is_django_test(words):
        return StepKind.TEST
    if re.match(r"(?:pipenv|pdm|rye|hatch|poetry|uv) run\s", command.lstrip()):  # a script of the project, by its name
        named = next((word for word in words if word[:1] not in {"+", "-"}), "")
        name = named.lower() if "/" not in named else ""
        if found := next((kind for word, kind in _GUESSES.items() if word in name), None):
            return found
    name = f"{step_name or ''} {bare}".lower()
    if tool in _WRAPPERS or step_name:
        return next((kind for word, kind in _GUESSES.items() if word in name), StepKind.OTHER)
    return StepKind.OTHER


def _is_django_test(words: list[str]) -> bool:
    """`python manage.py test`, `./manage.py test`, `django-admin test`, `python runtests.py`."""
    words = words[1:] if words and _PYTHON.fullmatch(words[0]) else words
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in {"-W", "-X"} else words[1:]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    asks = next((word for word in words[1:] if not word.startswith("-")), "")
    return program in {"runtests.py", "run_tests.py", "runtests"} or (
        program in {"manage.py", "django-admin"} and asks == "test"
    )


def is_wrapper(command: str) -> bool:
    """Whether another tool's configuration decides what runs (tox, nox, make)."""
    words = words_of(bare_command(command))
    return bool(words) and words[0] in _WRAPPERS


def is_pytest(command: str) -> bool:
    """Whether the command runs pytest and nothing else."""
    words = words_of(bare_command(command))
    return bool(words) and words[0].rsplit("/", 1)[-1] in {"pytest", "py.test"}


def plain_pytest(command: str) -> str:
    """A pytest command without what starts it, as `python -m pytest`; anything else as it is."""
    if not is_pytest(command) or _SHELL.search(command):
        return command
    return re.sub(r"^\S+", "python -m pytest", bare_command(command), count=1)


def tools_for(command: str, options: str = "") -> tuple[str, ...]:
    """The distributions a command needs besides the project's own, also for pytest's `addopts`."""
    bare = _PYTHON_OPTIONS.sub("", bare_command(command))
    tool = next(iter(words_of(bare)), "").rsplit("/", 1)[-1]
    if tool in {"pytest", "py.test"}:
        asked = f"{bare} {options}"[:8000]
        return ("pytest", *(name for pattern, name in _PLUGINS if re.search(pattern, asked)))
    if tool in _DISTRIBUTIONS:
        return (_DISTRIBUTIONS[tool],)
    return (tool,) if tool in _KINDS and tool not in {"unittest", "doctest"} else ()
