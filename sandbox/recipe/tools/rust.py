"""Read calls of cargo and rustc, which only run in an image that has them."""

import re

from sandbox.recipe.command import classify_command
from sandbox.recipe.files import beside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.programs import RUST
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, checked_command, plain_command
from sandbox.types import StepKind

PROGRAMS = ("cargo", "cross", "rustc", "rustfmt", "rustup")
_FETCHES = frozenset({"fetch", "install", "binstall", "update", "vendor", "publish", "login"}
    | {"generate-lockfile"})  # fmt: skip
_FILES = ("rust-toolchain.toml", "rust-toolchain")
_CHANNEL = re.compile(
    r"^[ \t]*channel\s*=\s*[\"']([\w.-]{1,60})[\"']|^([\w.-]{1,60})\s*$", re.MULTILINE
)


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call."""
    asks = next((word for word in call.words[1:] if word[:1] not in {"-", "+"}), "")
    if call.program == "rustup":
        context.log.dropped(call.line(), "the image's own Rust is used")
        return ToolReading()
    if call.program == "cross":
        reason = "`cross` starts a container, and none is started inside the sandbox"
        context.log.dropped(call.line(), reason)
        return plain_command(call).with_(obstacles=(reason,))
    # The project itself is built from the checkout.
    is_local = asks == "install" and "--path" in call.words
    if call.program == "cargo" and (asks in _FETCHES or not asks) and not is_local:
        context.log.dropped(call.line(), "nothing is fetched or sent while a recipe runs")
        return ToolReading()
    _note_channel(call.folder, context)
    call = _without_channel(call, context)
    context.log.dropped(call.line(), RUST.runs)
    is_check = classify_command(call.line()) is not StepKind.OTHER
    reading = checked_command(call, context) if is_check else plain_command(call)
    return reading.with_(obstacles=(RUST.obstacle(call.line()),))


def _without_channel(call: Call, context: ToolContext) -> Call:
    """Return the call without a toolchain such as `+stable`, which only rustup knows."""
    if call.program != "cargo" or not "".join(call.words[1:2]).startswith("+"):
        return call
    context.log.replaced(f"cargo {call.words[1]}", "the image's own Rust is used")
    words, shown = ((row[0], *row[2:]) for row in (call.words, call.shown))
    return call.with_(words=words, shown=shown)


def _note_channel(folder: str, context: ToolContext) -> None:
    """Note the Rust that the project requests."""
    for path in (beside(place, name) for place in (folder, ".") for name in _FILES):
        if found := _CHANNEL.search(context.files.text(path)):
            reason = f"Rust {found[1] or found[2]} is requested; the image's own is used"
            context.log.replaced(path, reason)
            return
