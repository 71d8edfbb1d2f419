"""Names that a recipe's plan and the set-up of Node.js share."""

import re
from typing import Literal

Manager = Literal["npm", "pnpm", "yarn", "bun"]

USUAL_MAJOR = 22
"""The Node.js of projects that request none: a release with long-term support."""

LOCKS = ("npm-shrinkwrap.json", "package-lock.json")
"""Lock files, in npm's order of precedence."""

LOCK_FILES: dict[Manager, tuple[str, ...]] = {
    "npm": LOCKS,
    "pnpm": ("pnpm-lock.yaml",),
    "yarn": ("yarn.lock",),
    "bun": ("bun.lock",),
}
"""Lock files of each package manager."""

NODE_FILES = "node/"
"""Prefix of the checkout's files for npm among all files of a set-up."""

NODE_TOOLS = "node/tools"
"""Folder of the environment with packages apart from the project, laid out like npm's prefix."""

TOOL_PACKAGE = re.compile(
    r"(?P<name>(?:@[a-z0-9][\w.-]{0,60}/)?[a-z0-9][\w.-]{0,80})(?:@[\w.^~*+-]{1,60})?", re.ASCII
)
"""A package of the registry, with or without a version. An address or a path is none."""

ADDED_PACKAGE = re.compile(
    r"(?:@[\w~-][\w.~-]{0,100}/)?[\w~][\w.~-]{0,200}(?:@[\w.^~<>=*|+][\w.^~<>=*|+ -]{0,60})?",
    re.ASCII,
)
"""A package that a job adds: also with a range, and by any name that the registry ever took."""

NODE_LINKS = "node/links"
"""Folder of the environment with the links that each workspace gets."""
