"""What the installers of whole projects (uv, poetry, pdm, pipenv) have in common."""

from collections.abc import Iterable
from posixpath import dirname

from sandbox.recipe.declared import Project, project_in
from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.lockfiles import read_lock
from sandbox.recipe.requirements import Local, Wanted, normal_name
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Desk, Options


def project_folder(desk: Desk, folder: str, options: Options, *names: str, marker: str = "pyproject.toml") -> str:
    """The folder of the project a command means: the one an option names, else the nearest one upwards."""
    for value in options.values(*names):
        folder = inside(folder, value) or folder
    here = folder
    while here != "." and not desk.files.is_file(f"{here}/{marker}"):
        here = dirname(here) or "."
    return here if desk.files.is_file(marker if here == "." else f"{here}/{marker}") else folder


def whole_project(
    desk: Desk, folder: str, groups: Iterable[str], lock: str, *, itself: bool = True, only: bool = False
) -> Wanted:
    """A project with groups and extras, at the versions of its lock file.

    Args:
        desk: The files of the checkout.
        folder: The project's.
        groups: Names of extras and groups.
        lock: Name of the lock file.
        itself: The project counts as installed, too.
        only: Nothing but the groups.
    """
    project = project_in(desk.files, folder)
    names = tuple(dict.fromkeys(normal_name(name) for name in groups))
    pins = _lock_above(desk, folder, lock)
    if itself and not only:
        return Wanted(local=(Local(folder=folder, extras=names),), constraints=pins)
    wanted = project.only_extras(names) if only else project.with_extras(names)
    return project.found_elsewhere(wanted).plus(Wanted(constraints=pins))


def _lock_above(desk: Desk, folder: str, lock: str) -> tuple[str, ...]:
    """The pins of the lock file in the folder or above it (a workspace has one, at its top)."""
    while True:
        pins = read_lock(desk.files, folder, lock)
        if pins or folder == ".":
            return pins
        folder = dirname(folder) or "."


def asked_groups(options: Options, project: Project, *, extras: tuple[str, ...], groups: tuple[str, ...]) -> list[str]:
    """The extras and groups that options name."""
    found = [*options.split(*extras), *options.split(*groups)]
    if options.has("--all-extras", "--all-groups", "-G:all"):
        found += project.extras
    return found


def inner(call: Call, start: int, desk: Desk) -> ToolReading:
    """The command that stands behind `run`."""
    if start >= len(call.words):
        return ToolReading()
    return desk.script(" ".join(call.shown[start:]), call.folder, call.environment)
