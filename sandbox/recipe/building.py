"""What building a project would make, and an editable one misses: modules with the version in them, extensions."""

import posixpath
import shlex

from sandbox.recipe.files import Files
from sandbox.recipe.layout import Layout, read_layout
from sandbox.recipe.requirements import Wanted, clean_lines
from sandbox.types import Frozen

_VERSION_MODULE = (
    "__version__ = version = '0.0.0'",
    "__version_tuple__ = version_tuple = (0, 0, 0)",
    "__commit_id__ = commit_id = None",
)


class Built(Frozen):
    """What has to be done in place of a build."""

    prepare: tuple[str, ...] = ()
    """Commands, from the folder the recipe runs in."""
    wanted: Wanted = Wanted()
    obstacles: tuple[str, ...] = ()


def build_in_place(wanted: Wanted, files: Files, folder: str) -> Built:
    """What the local projects need before they can be imported.

    Args:
        wanted: Names the projects.
        files: The checkout.
        folder: Where the recipe runs.
    """
    prepare: list[str] = []
    needs, obstacles = Wanted(), list[str]()
    for local in wanted.local:
        layout = read_layout(files, local.folder)
        if layout.version_file is not None:
            prepare.append(_version_module(layout.version_file, folder))
            files.log.replaced(layout.version_file, "written with version 0.0.0: the tags are not read")
        if layout.compiler:
            where = "" if local.folder == "." else f" in {local.folder}"
            obstacles.append(
                f"the project{where} is built with {layout.compiler}, which the toolchain image does not have"
            )
        elif layout.extensions and files.is_file(_in(local.folder, "setup.py")):
            prepare.append(_extensions(local.folder, folder))
            needs = needs.plus(_needed(layout, files, local.folder))
            files.log.replaced(_in(local.folder, "setup.py"), "its extension modules are built in place")
    return Built(prepare=tuple(prepare), wanted=needs, obstacles=tuple(obstacles))


def _in(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _version_module(path: str, folder: str) -> str:
    target = shlex.quote(posixpath.relpath(path, folder))
    lines = " ".join(shlex.quote(line) for line in _VERSION_MODULE)
    return f"[ -e {target} ] || printf '%s\\n' {lines} > {target}"


def _extensions(project: str, folder: str) -> str:
    """Most extensions only make things faster, and their projects do without: a failed build is not the end."""
    there = posixpath.relpath(project, folder)
    moved = "" if there == "." else f"cd {shlex.quote(there)} && "
    return f"{moved}python setup.py -q build_ext --inplace || true"


def _needed(layout: Layout, files: Files, folder: str) -> Wanted:
    prefix = "" if folder == "." else f"{folder}/"
    usual = [
        "setuptools",
        *(["cython"] if any(n.startswith(prefix) and n.endswith(".pyx") for n in files.names) else []),
    ]
    return clean_lines(list(layout.build_requires) or usual, f"{folder}: build", files.log)
