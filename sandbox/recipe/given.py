"""A recipe from outside (an evidence bundle): held to the rules a planned one keeps by construction."""

import re
from posixpath import normpath

from sandbox.errors import SetupFailed
from sandbox.recipe.requirements import clean_line
from sandbox.types import Recipe

_PYTHON = re.compile(r"3\.\d{1,2}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADVICE = "The recipe was changed after it was written; take the bundle from where the mission ran."


def check_given(recipe: Recipe) -> Recipe:
    """The recipe itself, when it could have been planned.

    Raises:
        SetupFailed: it asks for something no planned recipe asks for: an option or address among its requirements, a
            folder outside the checkout, an odd Python.
    """
    for line in (*recipe.requirements, *recipe.constraints):
        if clean_line(line) is None:
            raise SetupFailed(f"The recipe's requirement {ascii(line)[:120]} is not a name with a version.", _ADVICE)
    folder = recipe.working_directory
    if folder.startswith("/") or "\0" in folder or normpath(folder).split("/")[0] == "..":
        raise SetupFailed("The recipe's working directory is outside the checkout.", _ADVICE)
    if recipe.python is not None and not _PYTHON.fullmatch(recipe.python):
        raise SetupFailed(f"The recipe's Python {ascii(recipe.python)[:40]} is not a version.", _ADVICE)
    texts = (recipe.command, *recipe.setup, *recipe.prepare, *recipe.environment.values())
    if any("\0" in text for text in texts) or not all(_VARIABLE.fullmatch(name) for name in recipe.environment):
        raise SetupFailed("The recipe holds what no command line can hold.", _ADVICE)
    return recipe
