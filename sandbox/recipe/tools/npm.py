"""npm, yarn, pnpm and their like: their scripts are named, and that the toolchain has no Node.js is said."""

from sandbox.recipe.files import beside, inside, mapping
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Desk, read_options, runs

PROGRAMS = (
    "npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "node", "corepack", "tsc", "eslint", "prettier", "jest",
    "vitest", "mocha", "ava", "tap", "biome", "turbo", "nx", "lerna", "deno", "playwright", "cypress", "vite",
)  # fmt: skip
_INSTALLS = frozenset({"ci", "install", "i", "add", "clean-install", "rebuild", "link", "enable", "prepare"})
_NOTHING = frozenset(
    {"config", "cache", "audit", "--version", "-v", "version", "pack", "publish", "ls", "list", "set", "why"}
)
_VALUED = frozenset({"--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter", "-F"})


def read(call: Call, desk: Desk) -> ToolReading | None:
    """One call of a tool of Node.js."""
    options = read_options(call.words[1:], _VALUED)
    asks = next(iter(options.positional), "install" if call.program == "yarn" else "")
    if call.program in {"npm", "yarn", "pnpm", "bun", "corepack"} and (asks in _NOTHING or not asks):
        return ToolReading()
    missing = f"`{call.line()[:100]}` needs Node.js, which the toolchain image does not have"
    if call.program in {"npm", "yarn", "pnpm", "bun", "corepack"} and asks in _INSTALLS:
        desk.log.dropped(call.line(), "the sandbox has no Node.js")
        return ToolReading(obstacles=(missing,))
    folder = call.folder
    for value in options.values("--prefix", "-C", "--cwd", "--dir"):
        folder = inside(folder, value) or folder
    script = _script(call, options.positional, folder, desk)
    desk.log.dropped(call.line(), f"the sandbox has no Node.js{f'; it would run `{script}`' if script else ''}")
    return runs(call).with_(obstacles=(missing,))


def _script(call: Call, positional: tuple[str, ...], folder: str, desk: Desk) -> str:
    """What package.json says the call runs."""
    named = positional[1:2] if positional[:1] in {("run",), ("run-script",), ("exec",)} else positional[:1]
    scripts = mapping(desk.files.json(beside(folder, "package.json")).get("scripts"))
    found = scripts.get(next(iter(named), "")) if call.program in {"npm", "yarn", "pnpm", "bun"} else None
    return found[:200] if isinstance(found, str) else ""
