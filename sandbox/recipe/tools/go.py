"""Read calls of Go and of programs that start it."""

from sandbox.recipe.command import check_only, classify_command
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, checked_command, plain_command
from sandbox.types import StepKind

_FETCHES = frozenset({"get", "mod", "work"})
_SHOWS = frozenset({"bug", "clean", "doc", "env", "help", "telemetry", "version"})
PROGRAMS = ("go", "gofmt", "gotestsum")


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of Go, `gofmt`, or `gotestsum`, which starts `go test`."""
    if call.program == "gotestsum":
        context.log.replaced(call.line(), "its tests are run with `go test`")
        shown = call.shown[call.words.index("--") + 1 :] if "--" in call.words else ("./...",)
        return context.script(" ".join(("go test", *shown)), call.folder, call.environment)
    asks = next((word for word in call.words[1:] if not word.startswith("-")), "")
    if call.program == "go" and asks in _SHOWS:
        return ToolReading()
    if call.program == "go" and (asks in _FETCHES or _installs_other(asks, call)):
        context.log.replaced(call.line(), "the set-up downloads the modules of `go.mod`")
        return ToolReading()
    if call.program == "gofmt" and "-w" not in call.words:
        # Alone it is green although it lists files; the script around it is red.
        line = check_only(call.line()) or call.line()
        words = (line,)
        return plain_command(call.with_(words=words, shown=words, whole=True, tolerated=False))
    is_check = classify_command(call.line()) is not StepKind.OTHER
    return checked_command(call, context) if is_check else plain_command(call)


def _installs_other(asks: str, call: Call) -> bool:
    """Return True for `go install example.org/tool@latest`."""
    return asks == "install" and any("@" in word for word in call.words)
