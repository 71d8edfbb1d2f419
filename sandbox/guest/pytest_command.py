"""Parse a pytest or unittest command line: its arguments, environment and effect on `sys.path`.

Host and guest both use this module, so that the judge, the trial server and the search interpret
commands in the same way.
"""

import os
import re
import shlex
import sys
from typing import Dict, List, NamedTuple, Optional

_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_SHELL_ONLY = set(";|&<>`$\n(){}*?!~#")
_PYTHON = re.compile(r"^(?:.*/)?(?:python|pypy)(?:\d+(?:\.\d+)*)?$")
_PYTEST = re.compile(r"^(?:.*/)?(?:pytest|py\.test)$")
_LAUNCHERS = {("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("rye", "run")}
_LAUNCHER_VALUES = {
    "--extra", "--group", "--only-group", "--no-group", "--with", "--with-requirements",
    "--with-editable", "-p",
    "--python", "--index", "--index-url", "--extra-index-url", "--find-links", "--cache-dir", "-w",
}  # fmt: skip
_LAUNCHER_REFUSED = {"--directory", "--project", "--package", "--env-file", "-C"}
COVERAGE_VALUES = frozenset(
    {
        "--source",
        "--source-pkgs",
        "--source-dirs",
        "--omit",
        "--include",
        "--rcfile",
        "--data-file",
        "--context",
        "--concurrency",
        "--debug",
        "--save-signal",
    }
)
"""Options of `coverage run` whose value is the next word."""
# Interpreter flags that change what tests see are kept; the others only concern start-up.
_PYTHON_VALUES = {"-W", "-X"}
_PYTHON_KEPT = re.compile(r"^-(?:O+|b+|u|W.+|X.+|q|v+|d)$")
_PYTHON_IGNORED = {"-B", "-s", "-S"}
_PYTHON_NO_CWD = {"-I", "-P", "-E"}


class PytestCommand(NamedTuple):
    """A parsed command line of pytest or unittest.

    Attributes:
        args: The arguments of pytest (or unittest).
        environment: The assignments before the command.
        interpreter_options: Interpreter flags to keep (`-W error`).
        adds_cwd: Whether the working directory is added to `sys.path`, as by `python -m pytest` but
            not by `pytest`.
    """

    args: List[str]
    environment: Dict[str, str]
    interpreter_options: List[str]
    adds_cwd: bool


def split_words(command: str) -> Optional[List[str]]:
    """Split one simple command into words; return None if it needs a shell."""
    words = _unquoted_shell_free(command)
    if words is None:
        return None
    try:
        return shlex.split(words)
    except ValueError:
        return None


def _unquoted_shell_free(command: str) -> Optional[str]:
    """Return the command if no unquoted character has a meaning to a shell, else None."""
    quote = ""
    escaped = False
    for character in command.strip():
        if escaped:
            escaped = False
        elif quote == "'":
            quote = "" if character == "'" else quote
        elif quote == '"':
            if character in "$`":
                return None
            escaped = character == "\\"
            quote = "" if character == '"' else quote
        elif character in "'\"":
            quote = character
        elif character == "\\":
            escaped = True
        elif character in _SHELL_ONLY:
            return None
    return None if quote or escaped else command.strip()


def split_pytest_command(command: str) -> Optional[PytestCommand]:
    """Parse a pytest command line; return None for other commands, or if it needs a shell."""
    return _split(command, "pytest")


def split_unittest_command(command: str) -> Optional[PytestCommand]:
    """Parse a `python -m unittest` command line; return None for others, or if it needs a shell."""
    return _split(command, "unittest")


def _split(command: str, module: str) -> Optional[PytestCommand]:
    words = split_words(command)
    if not words:
        return None
    environment: Dict[str, str] = {}
    program = _skip_launcher(_take_assignments(words, environment))
    if not program:
        return None
    return _read_program(_take_assignments(program, environment), environment, module)


def _take_assignments(words: List[str], environment: Dict[str, str]) -> List[str]:
    if words and words[0] == "env":
        words = words[1:]
    index = 0
    while index < len(words) and _ASSIGNMENT.match(words[index]):
        name, value = words[index].split("=", 1)
        environment[name] = value
        index += 1
    return words[index:]


def _skip_launcher(words: List[str]) -> Optional[List[str]]:
    if tuple(words[:2]) not in _LAUNCHERS:
        return words
    index = 2
    while index < len(words) and words[index].startswith("-"):
        option = words[index]
        if option in ("-m", "--module"):
            return ["python", "-m", *words[index + 1 :]]
        if option.split("=", 1)[0] in _LAUNCHER_REFUSED:
            return None
        index += 1 if option == "--" or option not in _LAUNCHER_VALUES else 2
        if option == "--":
            break
    return words[index:]


def _read_program(
    words: List[str], environment: Dict[str, str], module: str
) -> Optional[PytestCommand]:
    if not words:
        return None
    if module == "pytest" and _PYTEST.match(words[0]):
        return PytestCommand(words[1:], environment, [], adds_cwd=False)
    if words[0] == "coverage" and words[1:2] == ["run"]:
        return _read_coverage(words[2:], environment, [], module)
    if not _PYTHON.match(words[0]):
        return None
    return _read_interpreter(words, environment, module)


def _read_interpreter(
    words: List[str], environment: Dict[str, str], module: str
) -> Optional[PytestCommand]:
    options: List[str] = []
    adds_cwd = True
    index = 1
    while index < len(words) and words[index].startswith("-") and words[index] != "-m":
        option = words[index]
        if option in _PYTHON_VALUES and index + 1 < len(words):
            options += [option, words[index + 1]]
            index += 1
        elif _PYTHON_KEPT.match(option):
            options.append(option)
        elif option in _PYTHON_NO_CWD:
            adds_cwd = adds_cwd and option == "-E"
        elif option not in _PYTHON_IGNORED:
            return None
        index += 1
    if words[index : index + 2] == ["-m", module]:
        return PytestCommand(words[index + 2 :], environment, options, adds_cwd)
    if words[index : index + 3] == ["-m", "coverage", "run"]:
        return _read_coverage(words[index + 3 :], environment, options, module)
    return None


def _read_coverage(
    words: List[str], environment: Dict[str, str], options: List[str], module: str
) -> Optional[PytestCommand]:
    """Parse `coverage run [options] -m pytest ...`; the measurement does not affect tests."""
    index = 0
    while (
        index < len(words)
        and words[index].startswith("-")
        and words[index] not in ("-m", "--module")
    ):
        index += 2 if words[index] in COVERAGE_VALUES else 1
    if words[index : index + 2] in (["-m", module], ["--module", module]):
        return PytestCommand(words[index + 2 :], environment, options, adds_cwd=True)
    return None


def extend_sys_path(python_path: str, *, adds_cwd: bool) -> None:
    """Add the working directory and PYTHONPATH to `sys.path`, in the interpreter's order."""
    entries = (
        [
            os.path.abspath(entry) if entry else os.getcwd()
            for entry in python_path.split(os.pathsep)
        ]
        if python_path
        else []
    )
    if adds_cwd:
        entries.insert(0, os.getcwd())
    sys.path[0:0] = entries
