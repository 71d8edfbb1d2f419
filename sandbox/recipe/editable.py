"""Make the checkout count as an editable install, without running its set-up code."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from sandbox.recipe.declared import read_tables
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, mapping, tables, words
from sandbox.recipe.layout import read_layout
from sandbox.recipe.requirements import normal_name
from sandbox.types import USUAL, Recipe

CHECKOUT = "METAAGENT_CHECKOUT"
"""Environment variable with the path of the checkout, if it differs from WORKDIR."""

WORKDIR = USUAL.workdir
_ROOT = re.compile(r"[A-Za-z0-9._/+@ -]+")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+]{0,60}")
_ENTRY = re.compile(r"([A-Za-z_][\w.]{0,200})(?::([A-Za-z_][\w.]{0,200}))?")
_MOST = 100


def project_folders(recipe: Recipe) -> tuple[str, ...]:
    """Return the folders of the checkout whose projects count as installed."""
    python = recipe.python
    return python.projects or ((recipe.working_directory,) if python.install_project else ())


def source_roots(
    recipe: Recipe, names: Collection[str], contents: Mapping[str, bytes] | None = None
) -> tuple[str, ...]:
    """Return the folders that an installation would put on the import path."""
    files = CheckoutFiles(contents or {}, names, FidelityLog())
    # the src layout takes precedence over the flat one, as in an installation
    found = [
        root for folder in project_folders(recipe) for root in read_layout(files, folder).roots
    ]
    return tuple(root for root in dict.fromkeys(found) if _ROOT.fullmatch(root))[:_MOST]


def editable_files(
    recipe: Recipe, names: Collection[str], contents: Mapping[str, bytes]
) -> dict[str, str]:
    """Return the files that make the checkout count as installed: `site/...` and `bin/...`.

    They depend only on the repository's declarations, and are part of the environment's key.
    """
    roots = source_roots(recipe, names, contents)
    if not roots:
        return {}
    # Without the variable, the usual path may be a link to the checkout.
    top = f'os.path.realpath(os.environ.get("{CHECKOUT}", "{WORKDIR}"))'
    paths = ", ".join(top if root == "." else f'{top} + "/{root}"' for root in roots)
    # A line of a path file that starts with `import` is run (site module): the path depends on a
    # variable.
    made = {"site/checkout.pth": f"import os, sys; sys.path.extend([{paths}])\n"}
    files = CheckoutFiles(contents, names, FidelityLog())
    for folder in project_folders(recipe):
        made |= _metadata(folder, files)
    return made


def _metadata(folder: str, files: CheckoutFiles) -> dict[str, str]:
    """Return an installed project's files: its metadata, entry points and commands."""
    project = read_tables(files.contents, folder, FidelityLog())
    name, version = project.get("name"), read_layout(files, folder).version
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return {}
    known = version if _VERSION.fullmatch(version) else "0.0.0"
    info = f"site/{normal_name(name).replace('-', '_')}-{known}.dist-info"
    made = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: "
        f"{known}\n{_metadata_fields(project)}",
        f"{info}/INSTALLER": "metaagent\n",
        f"{info}/RECORD": "",
    }
    made[f"{info}/entry_points.txt"], commands = _entry_points(project)
    for command, (module, function) in commands.items():
        # A script for both sh and Python that starts the interpreter beside it, wherever the
        # environment is.
        made[f"bin/{command}"] = (
            f"#!/bin/sh\n'''exec' \"$(dirname \"$0\")/python\" \"$0\" \"$@\"\n' '''\n"
            f"import sys\nfrom {module} import {function.split('.')[0]}\nsys.exit({function}())\n"
        )
    return made


def _metadata_fields(project: Mapping[str, Any]) -> str:
    """Return the metadata that packages read at run time: summary, authors, addresses."""
    fields: list[tuple[str, object]] = [
        ("Summary", project.get("description")),
        ("Keywords", ",".join(words(project.get("keywords")))),
        ("Home-page", project.get("homepage", project.get("url"))),
        ("Author", project.get("author")),
        ("Author-email", project.get("author_email")),
        ("License", project.get("license")),
        ("Requires-Python", project.get("requires-python")),
    ]
    for author in tables(project.get("authors")):
        name, email = author.get("name"), author.get("email")
        fields.append(
            ("Author-email", f"{name} <{email}>" if name and email else email)
            if email
            else ("Author", name)
        )
    fields += [("Author-email", author) for author in words(project.get("authors"))]
    fields += [
        ("Project-URL", f"{label}, {url}")
        for label, url in list(mapping(project.get("urls")).items())[:_MOST]
    ]
    fields += [("Classifier", line) for line in words(project.get("classifiers"))[:_MOST]]
    return "".join(
        f"{field}: {_one_line(value)}\n"
        for field, value in fields
        if isinstance(value, str) and value
    )


def _one_line(value: str) -> str:
    return " ".join(
        "".join(character if character.isprintable() else " " for character in value[:500]).split()
    )


def _entry_points(project: Mapping[str, Any]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the declared entry points as a file, and the commands among them."""
    groups = {"console_scripts": _entries(project.get("scripts"))}
    if "gui-scripts" in project:
        groups["gui_scripts"] = _entries(project["gui-scripts"])
    declared = project.get("entry-points")
    for group, table in list(declared.items())[:_MOST] if isinstance(declared, dict) else []:
        if re.fullmatch(r"[\w.-]{1,100}", group):
            groups[group] = _entries(table)
    text = ""
    for group, entries in groups.items():
        lines = [f"{name} = {value}\n" for name, value in entries.items()]
        text += f"[{group}]\n{''.join(lines)}" if lines else ""
    commands = {}
    for name, value in groups["console_scripts"].items():
        module, _, function = value.partition(":")
        if function and name not in {
            "python",
            "python3",
            "pip",
            "pytest",
            "ruff",
            "uv",
            "activate",
        }:
            commands[name] = (module, function)
    return text, commands


def _entries(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        return {}
    return {
        name: value
        for name, value in list(table.items())[:_MOST]
        if _NAME.fullmatch(name) and isinstance(value, str) and _ENTRY.fullmatch(value)
    }
