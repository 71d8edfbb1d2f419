"""Read calls of Go and of programs that start it."""

import re
import shlex

from sandbox.recipe.command import check_only, classify_command
from sandbox.recipe.job import Absent, ToolReading
from sandbox.recipe.programs import IMAGE_PROGRAMS
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import (
    ToolContext,
    checked_command,
    plain_command,
    read_options,
)
from sandbox.types import StepKind

_VERSION = re.compile(r"(?:/v\d{1,4})?@.*|/\.\.\.", re.DOTALL)
_FETCHES = frozenset({"get", "mod", "work"})
_SHOWS = frozenset({"bug", "clean", "doc", "env", "help", "telemetry", "version"})
_GOTESTSUM_VALUED = frozenset({"-f", "--format", "--junitfile", "--jsonfile", "--packages"}
    | {"--junitfile-project-name", "--junitfile-testsuite-name", "--junitfile-testcase-classname"}
    | {"--hide-summary", "--no-summary", "--post-run-command", "--max-fails", "--format-icons"}
    | {"--jsonfile-timing-events", "--rerun-fails-max-failures", "--rerun-fails-report"}
)  # fmt: skip
PROGRAMS = ("go", "gofmt", "gotestsum", "richgo")


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of Go, `gofmt`, or `gotestsum` and `richgo`, which start `go test`."""
    if call.program in {"gotestsum", "richgo"}:
        context.log.replaced(call.line(), "its tests are run with `go test`")
        return context.script(" ".join(("go", *_arguments(call))), call.folder, call.environment)
    asks = next((word for word in call.words[1:] if not word.startswith("-")), "")
    if call.program == "go" and asks in _SHOWS:
        return ToolReading()
    if call.program == "go" and (asks in _FETCHES or _installs_other(asks, call)):
        context.log.replaced(call.line(), "the set-up downloads the modules of `go.mod`")
        return ToolReading(absent=_missing_tools(call) if asks == "install" else ())
    if call.program == "gofmt" and "-w" not in call.words:
        # Alone it is green although it lists files; the script around it is red.
        line = check_only(call.line()) or call.line()
        words = (line,)
        return plain_command(call.with_(words=words, shown=words, whole=True, tolerated=False))
    is_check = classify_command(call.line()) is not StepKind.OTHER
    return checked_command(call, context) if is_check else plain_command(call)


def _arguments(call: Call) -> list[str]:
    """Return the arguments of `go` in a call of `richgo` or `gotestsum`."""
    if call.program == "richgo":
        return list(call.shown[1:])
    options = read_options(call.words[1:], _GOTESTSUM_VALUED, stop=True)
    given = list(call.shown[len(call.shown) - len(options.rest) :])
    packages = [shlex.quote(name) for name in options.split("--packages")]
    if not given:
        return ["test", *(packages or ["./..."])]
    # Words from `-args` on are the tests' own.
    end = given.index("-args") if "-args" in given else len(given)
    return ["test", *given[:end], *packages, *given[end:]]


def _missing_tools(call: Call) -> tuple[Absent, ...]:
    """Return the programs of other modules that a call would install.

    An operator's image may have the known ones.
    """
    paths = (_VERSION.sub("", word) for word in call.words[2:] if "@" in word)
    names = dict.fromkeys(path.rpartition("/")[2] for path in paths)
    return tuple(
        Absent(place=name, reason=f"needs {name}, which `go install` would fetch", kind="program")
        for name in names
        if name and name not in IMAGE_PROGRAMS
    )


def _installs_other(asks: str, call: Call) -> bool:
    """Return True for `go install example.org/tool@latest`."""
    return asks == "install" and any("@" in word for word in call.words)
