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
)
_KINDS = {
    "pytest": StepKind.TEST,
    "py.test": StepKind.TEST,
    "unittest": StepKind.TEST,
    "black": StepKind.FORMAT,
    "isort": StepKind.FORMAT,
    "flake8": StepKind.LINT,
    "pylint": StepKind.LINT,
    "pyflakes": StepKind.LINT,
    "pycodestyle": StepKind.LINT,
    "mypy": StepKind.TYPES,
    "pyright": StepKind.TYPES,
    "ty": StepKind.TYPES,
}
_WRAPPERS = frozenset({"tox", "nox", "make", "hatch", "just", "invoke", "inv", "pre-commit"})
_PLUGINS = (
    (r"--cov\b|--cov[-=]|--no-cov", "pytest-cov"),
    (r"(?:^|\s)-n[ =]?(?:\d+|auto|logical)\b|--numprocesses|--dist[ =]", "pytest-xdist"),
    (r"--timeout[ =]|--timeout-method", "pytest-timeout"),
    (r"--asyncio-mode|asyncio_mode", "pytest-asyncio"),
    (r"--randomly|-p no:randomly", "pytest-randomly"),
    (r"--reruns", "pytest-rerunfailures"),
    (r"--benchmark", "pytest-benchmark"),
)
_SHELL = re.compile(r"[|&;<>`$(){}\n\\]")


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
        if starter.endswith("run"):  # `uv run --frozen pytest`: options of the starter
            text = re.sub(r"^(?:--?[\w-]+(?:=\S+)?\s+)+(?=[a-z])", "", text)


def kind_of(command: str, step_name: str | None = None) -> StepKind:
    """What a step does, from its command, else from its name."""
    bare = bare_command(command)
    words = words_of(bare)
    tool = words[0].rsplit("/", 1)[-1] if words else ""
    if tool == "ruff":
        return StepKind.FORMAT if words[1:2] == ["format"] else StepKind.LINT
    if tool in _KINDS:
        return _KINDS[tool]
    name = f"{step_name or ''} {bare}".lower()
    guesses = {"lint": StepKind.LINT, "format": StepKind.FORMAT, "type": StepKind.TYPES, "test": StepKind.TEST}
    if tool in _WRAPPERS or step_name:
        return next((kind for word, kind in guesses.items() if word in name), StepKind.OTHER)
    return StepKind.OTHER


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
    bare = bare_command(command)
    tool = next(iter(words_of(bare)), "").rsplit("/", 1)[-1]
    if tool in {"pytest", "py.test"}:
        asked = f"{bare} {options}"
        return ("pytest", *(name for pattern, name in _PLUGINS if re.search(pattern, asked)))
    return (tool,) if tool in _KINDS and tool != "unittest" else ()
