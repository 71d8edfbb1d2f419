"""Read messages of Node.js about parts of the environment that are missing. Pure."""

import re
from collections.abc import Collection

from bot.mission.failures.parts import compile_signs, describe_part

_PACKAGE = re.compile(
    r"(?:Cannot find (?:module|package)|Failed to resolve import|Could not resolve) "
    r"['\"]((?:@[a-z0-9~][\w.~-]{0,100}/)?[a-z0-9~][\w.~-]{0,100})(?:/[^'\"\s]{0,200})?['\"]"
)
_PARTS = {
    "a compiled package was built for another Node.js": (
        r"was compiled against a different Node\.js version|NODE_MODULE_VERSION \d+"
        r"|Could not locate the bindings file|\.node: (?:undefined symbol|invalid ELF header)"
    ),
    "the compiled part of `{0}` is not installed": (
        r"Cannot find module ['\"]?(@(?:rollup|esbuild|swc|parcel|oxc-[\w-]+|unrs|napi-rs|img)"
        r"/[\w.-]{1,80}-linux-[\w-]{1,40})"
    ),
    "the browser `{0}` is not installed": (
        r"Executable doesn't exist at \S{0,200}?(chrom|firefox|webkit)"
        r"|Could not find (Chrome|Chromium|Firefox)\b|Cannot find (Chrome|Chromium) binary"
    ),
    "it needs another Node.js: {0}": (
        r"Unsupported engine[^\n]{0,100}?wanted: ?(\{?[^\n}]{1,80})"
        r"|The engine \"node\" is incompatible[^\n]{0,100}?Expected version \"([^\"\n]{1,60})\""
    ),
}
_SIGNS = compile_signs(_PARTS)


def missing_package(text: str) -> str | None:
    """Return the package that a message says cannot be found; None for a file of the project."""
    found = _PACKAGE.search(text)
    return found[1] if found else None


def missing_node_part(text: str) -> str | None:
    """Describe what of Node.js a message misses; None if it names nothing that is known."""
    return describe_part(text, _SIGNS)


def is_own_package(package: str, files: Collection[str]) -> bool:
    """Return True if the checkout has a folder of the package's name: then it is a bug."""
    name = package.rpartition("/")[2]
    return any(name in path.split("/")[:-1] for path in files)
