"""Read npm, yarn, pnpm and similar tools: their scripts are reported.

Only the sandbox knows whether Node.js exists.
"""

from sandbox.recipe.command import classify_command
from sandbox.recipe.files import beside, inside, mapping
from sandbox.recipe.job import ToolReading
from sandbox.recipe.node_packages import INSTALLED, node_folder
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import (
    Options,
    ToolContext,
    checked_command,
    plain_command,
    read_options,
)
from sandbox.types import Recipe, StepKind

PROGRAMS = (
    "npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "node", "corepack", "tsc", "eslint",
    "prettier", "jest",
    "vitest", "mocha", "ava", "tap", "biome", "turbo", "nx", "lerna", "deno", "playwright",
    "cypress", "vite",
)  # fmt: skip
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "corepack"})
_OTHERS = frozenset(
    {"yarn", "pnpm", "pnpx", "bun", "bunx", "corepack", "deno", "playwright", "cypress"}
)
"""Programs whose packages or browsers no set-up here installs."""
_INSTALLS = frozenset(
    {"ci", "install", "i", "add", "clean-install", "rebuild", "link", "enable", "prepare"}
)
_NOTHING = frozenset(
    {
        "config",
        "cache",
        "audit",
        "--version",
        "-v",
        "version",
        "pack",
        "publish",
        "ls",
        "list",
        "set",
        "why",
    }
)
_VALUED = frozenset({"--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter", "-F"})
_RUNS = "it needs Node.js"
_INSTALLS_PACKAGES = "it installs Node.js packages, which no set-up here does"
_ABSENT = "the sandbox has no Node.js"
_NEEDS = "needs Node.js"
_NEEDS_PACKAGES = "needs Node.js packages, which no set-up here installs"


def needs_node(recipe: Recipe) -> bool:
    """Return True if a step of the job needs Node.js."""
    reasons = (entry.reason for entry in recipe.fidelity)
    return any(map(_is_ours, reasons)) or any(map(_is_obstacle, recipe.obstacles))


def settle_node(recipe: Recipe, *, present: bool) -> Recipe:
    """Complete the recipe for a sandbox whose programs are known.

    With Node.js a command runs, and only missing packages remain obstacles. Without it, log and
    obstacles name it.

    Args:
        recipe: The recipe, planned from the files alone.
        present: Whether the sandbox has Node.js.
    """
    if present:
        kept = tuple(entry for entry in recipe.fidelity if not entry.reason.startswith(_RUNS))
        left = tuple(text for text in recipe.obstacles if not text.endswith(_NEEDS))
        return recipe.with_(fidelity=kept, obstacles=left)
    fidelity = tuple(
        entry.with_(
            reason=f"{_ABSENT}{entry.reason.removeprefix(_RUNS).removeprefix(_INSTALLS_PACKAGES)}"
        )
        if _is_ours(entry.reason)
        else entry
        for entry in recipe.fidelity
    )
    obstacles = tuple(
        f"{text.removesuffix(_NEEDS_PACKAGES).removesuffix(_NEEDS)}{_NEEDS}, which the sandbox "
        f"does not have"
        if _is_obstacle(text)
        else text
        for text in recipe.obstacles
    )
    return recipe.with_(fidelity=fidelity, obstacles=obstacles)


def _is_ours(reason: str) -> bool:
    return reason.startswith((_RUNS, _INSTALLS_PACKAGES))


def _is_obstacle(text: str) -> bool:
    return text.endswith((_NEEDS, _NEEDS_PACKAGES))


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of a Node.js tool."""
    options = read_options(call.words[1:], _VALUED)
    asks = next(iter(options.positional), "install" if call.program == "yarn" else "")
    if call.program in _MANAGERS and (asks in _NOTHING or not asks):
        return ToolReading()
    folder = call.folder
    for value in options.values("--prefix", "-C", "--cwd", "--dir"):
        folder = inside(folder, value) or folder
    if call.program not in _OTHERS and (found := node_folder(context.files, folder)) is not None:
        return _read_installed(call, options, found, context)
    line = f"`{call.line()[:100]}`"
    if call.program in _MANAGERS and asks in _INSTALLS:
        context.log.dropped(call.line(), _INSTALLS_PACKAGES)
        return ToolReading(obstacles=(f"{line} {_NEEDS_PACKAGES}",))
    script = _script(call, options.positional, folder, context)
    context.log.dropped(call.line(), f"{_RUNS}; it would run `{script}`" if script else _RUNS)
    return plain_command(call).with_(obstacles=(f"{line} {_NEEDS}",))


def _read_installed(
    call: Call, options: Options, folders: tuple[str, ...], context: ToolContext
) -> ToolReading:
    """Read a call for a project whose packages the set-up installs."""
    reading = ToolReading(node_folders=folders)
    if call.program == "npm" and next(iter(options.positional), "") in _INSTALLS:
        if options.positional[1:] or options.has("-g", "--global"):
            context.log.dropped(call.line(), "only locked packages are installed")
        else:
            context.log.replaced(call.line(), INSTALLED)
        return reading
    if call.program not in {"npm", "npx", "node"}:
        # a package's program, which only a script finds by its name
        call = call.with_(
            words=("npx", *call.words), shown=("npx", *call.shown), text=f"npx {call.text}"
        )
    is_check = classify_command(call.line()) is not StepKind.OTHER
    found = checked_command(call, context) if is_check else plain_command(call)
    return found.with_(node_folders=folders)


def _script(call: Call, positional: tuple[str, ...], folder: str, context: ToolContext) -> str:
    """Return the script in package.json that the call runs."""
    named = (
        positional[1:2]
        if positional[:1] in {("run",), ("run-script",), ("exec",)}
        else positional[:1]
    )
    scripts = mapping(context.files.json(beside(folder, "package.json")).get("scripts"))
    found = (
        scripts.get(next(iter(named), ""))
        if call.program in {"npm", "yarn", "pnpm", "bun"}
        else None
    )
    return found[:200] if isinstance(found, str) else ""
