"""Substitutes for a project's build: version modules and extension modules."""

import posixpath
import shlex

from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.layout import Layout, read_layout
from sandbox.recipe.requirements import Requirements, clean_lines
from sandbox.types import Frozen

_VERSION_MODULE = (
    "__version__ = version = '0.0.0'",
    "__version_tuple__ = version_tuple = (0, 0, 0)",
    "__commit_id__ = commit_id = None",
)


class Built(Frozen):
    """The steps that replace a build."""

    prepare: tuple[str, ...] = ()
    """Commands, relative to the recipe's folder."""
    wanted: Requirements = Requirements()
    obstacles: tuple[str, ...] = ()


def build_in_place(wanted: Requirements, files: CheckoutFiles, folder: str) -> Built:
    """Return what local projects need before they can be imported.

    Args:
        wanted: The requirements with the projects.
        files: The checkout.
        folder: The recipe's folder.
    """
    prepare: list[str] = []
    needs, obstacles = Requirements(), list[str]()
    for local in wanted.local:
        layout = read_layout(files, local.folder)
        if layout.version_file is not None:
            prepare.append(_version_module(layout.version_file, folder))
            files.log.replaced(
                layout.version_file, "written with version 0.0.0: the tags are not read"
            )
        if layout.compiler:
            where = "" if local.folder == "." else f" in {local.folder}"
            obstacles.append(
                f"the project{where} is built with {layout.compiler}, which the toolchain image "
                f"does not have"
            )
        elif layout.extensions and files.is_file(_in(local.folder, "setup.py")):
            prepare.append(_extensions(local.folder, folder))
            needs = needs.plus(_needed(layout, files, local.folder))
            files.log.replaced(
                _in(local.folder, "setup.py"), "its extension modules are built in place"
            )
    return Built(prepare=tuple(prepare), wanted=needs, obstacles=tuple(obstacles))


def _in(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _version_module(path: str, folder: str) -> str:
    target = shlex.quote(posixpath.relpath(path, folder))
    lines = " ".join(shlex.quote(line) for line in _VERSION_MODULE)
    return f"[ -e {target} ] || printf '%s\\n' {lines} > {target}"


def _extensions(project: str, folder: str) -> str:
    """Build extensions in place.

    A failure is ignored, because most extensions are optional accelerators.
    """
    there = posixpath.relpath(project, folder)
    moved = "" if there == "." else f"cd {shlex.quote(there)} && "
    return f"{moved}python setup.py -q build_ext --inplace || true"


def _needed(layout: Layout, files: CheckoutFiles, folder: str) -> Requirements:
    prefix = "" if folder == "." else f"{folder}/"
    usual = [
        "setuptools",
        *(
            ["cython"]
            if any(n.startswith(prefix) and n.endswith(".pyx") for n in files.names)
            else []
        ),
    ]
    return clean_lines(list(layout.build_requires) or usual, f"{folder}: build", files.log)
