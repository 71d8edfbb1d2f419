"""npm, yarn, pnpm and their like: their scripts are named. Only the opened sandbox knows whether it has Node.js."""

from sandbox.recipe.files import beside, inside, mapping
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Desk, read_options, runs
from sandbox.types import Recipe

PROGRAMS = (
    "npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "node", "corepack", "tsc", "eslint", "prettier", "jest",
    "vitest", "mocha", "ava", "tap", "biome", "turbo", "nx", "lerna", "deno", "playwright", "cypress", "vite",
)  # fmt: skip
_INSTALLS = frozenset({"ci", "install", "i", "add", "clean-install", "rebuild", "link", "enable", "prepare"})
_NOTHING = frozenset(
    {"config", "cache", "audit", "--version", "-v", "version", "pack", "publish", "ls", "list", "set", "why"}
)
_VALUED = frozenset({"--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter", "-F"})
_RUNS = "it needs Node.js"
_INSTALLS_PACKAGES = "it installs packages of Node.js, which no set-up here does"
_ABSENT = "the sandbox has no Node.js"
_NEEDS = "needs Node.js"
_NEEDS_PACKAGES = "needs Node.js packages, which no set-up here installs"


def needs_node(recipe: Recipe) -> bool:
    """Return whether a step of the job needs Node.js."""
    reasons = (entry.reason for entry in recipe.fidelity)
    return any(map(_is_ours, reasons)) or any(map(_is_obstacle, recipe.obstacles))


def settle_node(recipe: Recipe, *, present: bool) -> Recipe:
    """Return the recipe for a sandbox whose programs are known.

    With Node.js a command runs, and only packages that were not installed can be missing. Without it, the account and
    the obstacles name it.

    Args:
        recipe: As planned from the files alone.
        present: Whether the sandbox has Node.js.
    """
    if present:
        kept = tuple(entry for entry in recipe.fidelity if not entry.reason.startswith(_RUNS))
        left = tuple(text for text in recipe.obstacles if not text.endswith(_NEEDS))
        return recipe.with_(fidelity=kept, obstacles=left)
    fidelity = tuple(
        entry.with_(reason=f"{_ABSENT}{entry.reason.removeprefix(_RUNS).removeprefix(_INSTALLS_PACKAGES)}")
        if _is_ours(entry.reason)
        else entry
        for entry in recipe.fidelity
    )
    obstacles = tuple(
        f"{text.removesuffix(_NEEDS_PACKAGES).removesuffix(_NEEDS)}{_NEEDS}, which the sandbox does not have"
        if _is_obstacle(text)
        else text
        for text in recipe.obstacles
    )
    return recipe.with_(fidelity=fidelity, obstacles=obstacles)


def _is_ours(reason: str) -> bool:
    return reason.startswith((_RUNS, _INSTALLS_PACKAGES))


def _is_obstacle(text: str) -> bool:
    return text.endswith((_NEEDS, _NEEDS_PACKAGES))


def read(call: Call, desk: Desk) -> ToolReading | None:
    """One call of a tool of Node.js."""
    options = read_options(call.words[1:], _VALUED)
    asks = next(iter(options.positional), "install" if call.program == "yarn" else "")
    if call.program in {"npm", "yarn", "pnpm", "bun", "corepack"} and (asks in _NOTHING or not asks):
        return ToolReading()
    line = f"`{call.line()[:100]}`"
    if call.program in {"npm", "yarn", "pnpm", "bun", "corepack"} and asks in _INSTALLS:
        desk.log.dropped(call.line(), _INSTALLS_PACKAGES)
        return ToolReading(obstacles=(f"{line} {_NEEDS_PACKAGES}",))
    folder = call.folder
    for value in options.values("--prefix", "-C", "--cwd", "--dir"):
        folder = inside(folder, value) or folder
    script = _script(call, options.positional, folder, desk)
    desk.log.dropped(call.line(), f"{_RUNS}; it would run `{script}`" if script else _RUNS)
    return runs(call).with_(obstacles=(f"{line} {_NEEDS}",))


def _script(call: Call, positional: tuple[str, ...], folder: str, desk: Desk) -> str:
    """What package.json says the call runs."""
    named = positional[1:2] if positional[:1] in {("run",), ("run-script",), ("exec",)} else positional[:1]
    scripts = mapping(desk.files.json(beside(folder, "package.json")).get("scripts"))
    found = scripts.get(next(iter(named), "")) if call.program in {"npm", "yarn", "pnpm", "bun"} else None
    return found[:200] if isinstance(found, str) else ""
