"""Packages of Node.js that a job installs apart from the project: `npm install -g prettier`."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sandbox.recipe.node_checks import NODE_CHECKS
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options
from sandbox.setup.node.layout import TOOL_PACKAGE

_CHECKS = frozenset(NODE_CHECKS) | {"markdownlint-cli", "typescript", "@biomejs/biome"}
_PLUGIN = re.compile(
    r"(?:@[\w.-]+/)?(?:eslint-(?:plugin|config|formatter)|prettier-plugin|stylelint-config)(?:-.*)?"
    r"|@(?:eslint|typescript-eslint|commitlint|prettier)/.*"
)
_GLOBAL = ("-g", "--global", "--location=global")
_INSTALLING = frozenset({"install", "i", "add"})
_MOST = 20


class NamedTools(NamedTuple):
    """The packages of one installation."""

    packages: tuple[str, ...]
    """Those that check something, and their plug-ins."""
    others: tuple[str, ...]


def read_tools(call: Call, options: Options) -> NamedTools | None:
    """Return the packages of `npm install -g`, `yarn global add`; None for any other call."""
    words = [*options.positional, *options.rest]
    if call.program.startswith("yarn") and words[:1] == ["global"]:
        words = words[1:]
    elif not {*call.words} & {*_GLOBAL}:
        return None
    if words[:1] and words[0] not in _INSTALLING:
        return None
    return sort_packages(word.strip("'\"") for word in words[1:] if not word.startswith("-"))


def sort_packages(names: Iterable[str]) -> NamedTools:
    """Sort packages into those that check something and others."""
    packages: list[str] = []
    others: list[str] = []
    for name in names:
        found = TOOL_PACKAGE.fullmatch(name)
        is_check = found and (found["name"] in _CHECKS or _PLUGIN.fullmatch(found["name"]))
        (packages if is_check else others).append(name)
    return NamedTools(tuple(dict.fromkeys(packages))[:_MOST], tuple(others)[:_MOST])
