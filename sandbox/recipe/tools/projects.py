"""Common parts of the project installers uv, poetry, pdm and pipenv."""

from collections.abc import Iterable
from posixpath import dirname

from sandbox.recipe.declared import Project, project_in
from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.lockfiles import read_lock
from sandbox.recipe.requirements import Local, Requirements, normal_name
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options, ToolContext


def project_folder(
    context: ToolContext, folder: str, options: Options, *names: str, marker: str = "pyproject.toml"
) -> str:
    """Return the folder of a command's project: from an option, else the nearest one upwards."""
    for value in options.values(*names):
        folder = inside(folder, value) or folder
    here = folder
    while here != "." and not context.files.is_file(f"{here}/{marker}"):
        here = dirname(here) or "."
    return here if context.files.is_file(marker if here == "." else f"{here}/{marker}") else folder


def whole_project(
    context: ToolContext,
    folder: str,
    groups: Iterable[str],
    lock: str,
    *,
    itself: bool = True,
    only: bool = False,
) -> Requirements:
    """Return a project's requirements with groups and extras, constrained by its lock file.

    Args:
        context: The files of the checkout.
        folder: The project's folder.
        groups: Names of extras and groups.
        lock: Name of the lock file.
        itself: Also count the project as installed.
        only: Only the groups.
    """
    project = project_in(context.files, folder)
    names = tuple(dict.fromkeys(normal_name(name) for name in groups))
    pins = _lock_above(context, folder, lock)
    if itself and not only:
        return Requirements(local=(Local(folder=folder, extras=names),), constraints=pins)
    wanted = project.only_extras(names) if only else project.with_extras(names)
    return project.resolve_elsewhere(wanted).plus(Requirements(constraints=pins))


def _lock_above(context: ToolContext, folder: str, lock: str) -> tuple[str, ...]:
    """Return the pins of the lock file in the folder or above it.

    A workspace has one at its top.
    """
    while True:
        pins = read_lock(context.files, folder, lock)
        if pins or folder == ".":
            return pins
        folder = dirname(folder) or "."


def selected_groups(
    options: Options, project: Project, *, extras: tuple[str, ...], groups: tuple[str, ...]
) -> list[str]:
    """Return the extras and groups in options."""
    found = [*options.split(*extras), *options.split(*groups)]
    if options.has("--all-extras", "--all-groups", "-G:all"):
        found += project.extras
    return found


def read_inner(call: Call, start: int, context: ToolContext) -> ToolReading:
    """Read the command after `run`."""
    if start >= len(call.words):
        return ToolReading()
    return context.script(" ".join(call.shown[start:]), call.folder, call.environment)
