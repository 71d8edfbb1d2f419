"""Unwrap programs that only start another one: `env`, `timeout 60`, `xvfb-run -a`, `bash -c`."""

import re

from sandbox.guest.pytest_command import COVERAGE_VALUES
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, read_options

_MOST_LAYERS = 12
_OPTIONS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-C", "-p"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n"}),
    "time": frozenset({"-f", "-o"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "gtimeout": frozenset({"-s", "-k"}),
    "xvfb-run": frozenset(
        {"-n", "-s", "-e", "-f", "-w", "--server-args", "--server-num", "--error-file"}
    ),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "unbuffer": frozenset(),
    "exec": frozenset({"-a"}),
    "nohup": frozenset(),
    # The sandbox has no network anyway.
    "unshare": frozenset({"-S", "--setuid", "-G", "--setgid", "-R", "--root", "-w", "--wd"}),
    "catchsegv": frozenset(),
    "dbus-run-session": frozenset({"--config-file"}),
    "chronic": frozenset(),
    "setarch": frozenset(),
    "eval": frozenset(),
    "op": frozenset({"--env-file"}),
    "dotenv": frozenset({"-f", "--file"}),
}
_PYTHON = re.compile(r"python(?:3(?:\.\d{1,2})?)?|py")
_PYTHON_VALUED = frozenset({"-W", "-X"})
_FLAGS_WITH_MODULE = re.compile(r"-([bBdEiIOPqsSuvx]+)m")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,99})=(.*)", re.DOTALL)


def unwrap(call: Call, context: ToolContext) -> Call:
    """Return the wrapped call after all layers."""
    for _ in range(_MOST_LAYERS):
        call = _separate_module(call)
        inner = _one_layer(call)
        if inner is None or not inner.words:
            return call
        if _coverage_start(call.words) is not None:
            context.log.replaced(call.line(), "coverage is not measured")
        call = inner
    return call


def _one_layer(call: Call) -> Call | None:
    """Return the call without its outermost wrapper; None if there is none."""
    program, rest = call.program, call.words[1:]
    if program == "env":
        return _env(call)
    if program in _OPTIONS and rest:
        options = read_options(rest, _OPTIONS[program], stop=True)
        start = len(call.words) - len(options.rest)
        start += program in {"timeout", "gtimeout", "setarch"}
        start += program in {"op", "dotenv"} and options.rest[:1] == ("run",)
        start += call.words[start : start + 1] == ("--",)
        return call.from_(start) if start < len(call.words) else None
    behind = _coverage_start(call.words)
    return _unwrap_coverage(call, behind) if behind is not None else None


def skip_python_options(words: tuple[str, ...]) -> int:
    """Return the index behind the interpreter's options: of `-m`, `-c` or a file."""
    index = 1
    while (
        index < len(words)
        and words[index].startswith("-")
        and words[index] not in {"-m", "-c", "-"}
        and not _FLAGS_WITH_MODULE.fullmatch(words[index])
    ):
        index += 2 if words[index] in _PYTHON_VALUED else 1
    return index


def _separate_module(call: Call) -> Call:
    """Convert `python -Im pytest` to `python -I -m pytest`."""
    if not _PYTHON.fullmatch(call.program):
        return call
    at = skip_python_options(call.words)
    found = _FLAGS_WITH_MODULE.fullmatch(call.words[at]) if at < len(call.words) else None
    if found is None:
        return call
    apart = (f"-{found[1]}", "-m")
    return call.with_(
        words=(*call.words[:at], *apart, *call.words[at + 1 :]),
        shown=(*call.shown[:at], *apart, *call.shown[at + 1 :]),
    )


def _coverage_start(words: tuple[str, ...]) -> int | None:
    """Return the index of the options of `coverage run`."""
    if _PYTHON.fullmatch(words[0].rpartition("/")[2]):
        index = skip_python_options(words)
        return index + 3 if words[index : index + 3] == ("-m", "coverage", "run") else None
    return 2 if (words[0].rpartition("/")[2], *words[1:2]) == ("coverage", "run") else None


def _unwrap_coverage(call: Call, start: int) -> Call | None:
    """Return the program of `coverage run` as a call of Python, with the interpreter's options."""
    is_python = _PYTHON.fullmatch(call.program) is not None
    end = skip_python_options(call.words) if is_python else 1
    before = ("python", *call.words[1:end]), ("python", *call.shown[1:end])
    index = start
    while index < len(call.words) and call.words[index].startswith("-"):
        if call.words[index] in {"-m", "--module"}:
            before = (*before[0], "-m"), (*before[1], "-m")
            index += 1
            break
        index += 2 if call.words[index] in COVERAGE_VALUES else 1
    if index >= len(call.words):
        return None
    words, shown = (*before[0], *call.words[index:]), (*before[1], *call.shown[index:])
    return call.with_(words=words, shown=shown)


def _env(call: Call) -> Call | None:
    """Unwrap `env A=1 -u B tool`."""
    own: dict[str, str] = {}
    unset = set[str]()
    index = 1
    while index < len(call.words):
        word = call.words[index]
        if (found := _ASSIGNMENT.fullmatch(word)) is not None:
            own[found[1]] = found[2]
        elif word in {"-u", "--unset", "-C", "-S"}:
            index += 1
            unset.update(call.words[index : index + 1])
        elif not word.startswith("-"):
            break
        index += 1
    inner = call.from_(index)
    kept = {name: value for name, value in call.environment.items() if name not in unset}
    return inner.with_(environment={**kept, **own}) if inner.words else None


def shell_script(call: Call) -> str | None:
    """Return the script of `bash -c SCRIPT`; None for anything else."""
    if call.program not in _SHELLS:
        return None
    for index, word in enumerate(call.words[1:8], start=1):
        if word.startswith("-") and word.endswith("c") and index + 1 < len(call.words):
            return call.words[index + 1]
    return None


def script_file(call: Call, context: ToolContext) -> tuple[str, str] | None:
    """Return path and text of a called shell script of the checkout; None for anything else."""
    words = call.words
    if call.program in _SHELLS:
        words = tuple(word for word in words[1:] if not word.startswith("-"))
    if not words or ("/" not in words[0] and call.program not in _SHELLS):
        return None
    path = re.sub(r"^\./", "", words[0])
    path = path if call.folder == "." else f"{call.folder}/{path}"
    text = context.files.text(path)
    first = text.partition("\n")[0]
    is_shell = path.endswith((".sh", ".bash")) or call.program in _SHELLS
    if not text or not (is_shell or re.search(r"^#!.*\b(?:ba|z|da)?sh\b", first[:200])):
        return None
    return path, text
