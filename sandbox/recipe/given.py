"""Validate a recipe from an evidence bundle against the rules of planned recipes."""

import re
from posixpath import normpath

from sandbox.errors import SetupFailed
from sandbox.recipe.requirements import clean_line
from sandbox.setup.node.layout import ADDED_PACKAGE, TOOL_PACKAGE
from sandbox.types import Recipe

_PYTHON = re.compile(r"3\.\d{1,2}")
_RELEASE = re.compile(r"\d{1,3}(?:\.\d{1,4}){0,2}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADVICE = (
    "The recipe was changed after it was written; copy the bundle again from the mission's host."
)


def check_given(recipe: Recipe) -> Recipe:
    """Return the recipe if it could have been planned.

    Raises:
        SetupFailed: It contains something that no planned recipe does: an option or address in the
            requirements, a folder outside the checkout, an unsupported Python.
    """
    python = recipe.python
    for line in (*python.requirements, *python.constraints):
        if clean_line(line) is None:
            raise SetupFailed(
                f"The recipe's requirement {ascii(line)[:120]} is not a name with a version.",
                _ADVICE,
            )
    node = recipe.node
    folders = (*(node.folders if node else ()), *(recipe.go.modules if recipe.go else ()))
    for folder in (recipe.working_directory, *folders):
        if folder.startswith("/") or "\0" in folder or normpath(folder).split("/")[0] == "..":
            raise SetupFailed("A folder of the recipe is outside the checkout.", _ADVICE)
    tools = node.tools if node else ()
    added = [one.package for one in node.added] if node else []
    if not all(map(TOOL_PACKAGE.fullmatch, tools)) or not all(map(ADDED_PACKAGE.fullmatch, added)):
        raise SetupFailed("A package of the recipe is not a name with a version.", _ADVICE)
    go = recipe.go
    if go is not None and go.version is not None and not _RELEASE.fullmatch(go.version):
        raise SetupFailed("The recipe's Go is not a version.", _ADVICE)
    versions = (node.version, node.manager_version) if node is not None else ()
    if not all(version is None or _RELEASE.fullmatch(version) for version in versions):
        raise SetupFailed("The recipe's Node.js or npm is not a version.", _ADVICE)
    if python.version is not None and not _PYTHON.fullmatch(python.version):
        raise SetupFailed(
            f"The recipe's Python {ascii(python.version)[:40]} is not a version.", _ADVICE
        )
    texts = (recipe.command, *recipe.setup, *recipe.prepare, *recipe.environment.values())
    if any("\0" in text for text in texts) or not all(
        _VARIABLE.fullmatch(name) for name in recipe.environment
    ):
        raise SetupFailed("The recipe contains a malformed command or variable.", _ADVICE)
    return recipe
