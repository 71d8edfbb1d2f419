"""The layout of a project: its import roots, built modules, and declared version."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from sandbox.recipe.files import (
    CheckoutFiles,
    beside,
    inside,
    mapping,
    option_lines,
    section,
    tables,
    words,
)
from sandbox.recipe.setup_script import read_setup_call
from sandbox.types import Frozen

_PLACE = re.compile(r"[\w][\w./+-]{0,200}")
_MODULE = re.compile(r"(?:[\w-]+/){0,6}[\w-]+\.py")
_VERSION = re.compile(
    r"""^__version__\s*(?::\s*\w+\s*)?=\s*["']([0-9][A-Za-z0-9.!+]{0,60})["']""", re.MULTILINE
)
_BACKENDS = {
    "maturin": "Rust",
    "mesonpy": "Meson and a compiler",
    "scikit_build_core": "CMake and a compiler",
    "scikit_build_core.build": "CMake and a compiler",
    "setuptools_rust": "Rust",
    "sipbuild.api": "SIP and a compiler",
    "pyo3_pack": "Rust",
}


class Layout(Frozen):
    """The build properties of a project, from its files."""

    roots: tuple[str, ...] = ()
    """Folders that an installation would put on the import path, in order."""
    version: str = ""
    """The declared version, if it is literal."""
    version_file: str | None = None
    """A module that the build writes from the tags, and that is not in the checkout."""
    extensions: bool = False
    """setup.py builds extension modules."""
    compiler: str = ""
    """Requirements of its build backend besides Python."""
    build_requires: tuple[str, ...] = ()


def read_layout(files: CheckoutFiles, folder: str) -> Layout:
    """Read the layout of the project in a folder."""
    toml = files.toml(beside(folder, "pyproject.toml"))
    calls = read_setup_call(files, folder)
    build = section(toml, "build-system")
    backend = str(build.get("build-backend", ""))[:100]
    named = [
        place
        for path in _configured_roots(files, folder, toml, calls)
        if (place := _place(folder, path)) is not None
    ]
    # Many projects rely on the build backend to find these folders.
    usual = [
        beside(folder, name)
        for name in ("src", "lib")
        if _holds_code(f"{beside(folder, name)}/", files.names)
    ]
    extensions = any(calls.get(key) for key in ("ext_modules", "rust_extensions", "cffi_modules"))
    extensions = extensions or bool(tables(section(toml, "tool", "setuptools").get("ext-modules")))
    return Layout(
        # The project's folder comes last, because its other folders would not be installed.
        roots=tuple(dict.fromkeys((*named, *usual, folder))),
        version=_version(files, folder, toml, calls),
        version_file=_version_file(files, folder, toml),
        extensions=extensions,
        compiler=_BACKENDS.get(backend, "Rust" if calls.get("rust_extensions") else ""),
        build_requires=tuple(words(build.get("requires"))[:20]),
    )


def _place(folder: str, path: str) -> str | None:
    place = inside(folder, path) if _PLACE.fullmatch(path) or path == "." else None
    return place if place is not None and (place == "." or _PLACE.fullmatch(place)) else None


def _configured_roots(
    files: CheckoutFiles, folder: str, toml: Mapping[str, Any], calls: Mapping[str, Any]
) -> list[str]:
    """Return the folders in the build backends' settings."""
    setuptools, setup = section(toml, "tool", "setuptools"), files.ini(beside(folder, "setup.cfg"))
    found = words(section(setuptools, "packages", "find").get("where"))
    found += [str(section(setuptools, "package-dir").get("", ""))]
    found += option_lines(setup, "options.packages.find", "where")
    found += [
        value.strip()
        for line in option_lines(setup, "options", "package_dir")
        for key, _, value in [line.partition("=")]
        if not key.strip()
    ]
    found += [str(mapping(calls.get("package_dir")).get("", "")), str(calls.get("where") or "")]
    for table in tables(section(toml, "tool", "poetry").get("packages")):
        found += [str(table["from"])] if "from" in table else []
    wheel = section(toml, "tool", "hatch", "build", "targets", "wheel")
    found += [path.rpartition("/")[0] for path in words(wheel.get("packages")) if "/" in path]
    found += words(wheel.get("sources")) + list(mapping(wheel.get("sources")))[:10]
    found += [str(section(toml, "tool", "pdm", "build").get("package-dir", ""))]
    found += [str(section(toml, "tool", "uv", "build-backend").get("module-root", ""))]
    found += [str(section(toml, "tool", "maturin").get("python-source", ""))]
    return [
        path.strip("/").removeprefix("./")
        for path in found
        if path and path[0] != "/" and len(path) < 200  # noqa: PLR2004
    ][:10]


def _holds_code(prefix: str, names: Collection[str]) -> bool:
    return any(name.startswith(prefix) and name.endswith(".py") for name in names)


def _version(
    files: CheckoutFiles, folder: str, toml: Mapping[str, Any], calls: Mapping[str, Any]
) -> str:
    """Return a literal version: from the project's table, or from a module."""
    plain = (
        section(toml, "project").get("version"),
        section(toml, "tool", "poetry").get("version"),
        files.ini(beside(folder, "setup.cfg")).get("metadata", "version", fallback=None),
        calls.get("version"),
    )
    for version in plain:
        # Others are references, such as `attr:` and `file:` of setup.cfg.
        if isinstance(version, str) and version[:1].isdigit():
            return version
    for path in _version_sources(files, folder, toml):
        place = inside(folder, path)
        text = files.text(place) if place is not None else ""
        if (found := _VERSION.search(text[:65_536])) is not None:
            return found[1]
        if (
            text
            and not (place or "").endswith(".py")
            and re.fullmatch(r"[0-9][A-Za-z0-9.!+]{0,60}", text.strip())
        ):
            return text.strip()
    return ""


def _version_sources(files: CheckoutFiles, folder: str, toml: Mapping[str, Any]) -> list[str]:
    """Return the files that may contain a dynamic version."""
    hatch = section(toml, "tool", "hatch", "version").get("path")
    dynamic = mapping(section(toml, "tool", "setuptools", "dynamic").get("version"))
    declared = (
        files.ini(beside(folder, "setup.cfg")).get("metadata", "version", fallback="") or ""
    ).strip()
    found = [hatch] if isinstance(hatch, str) else []
    attribute = dynamic.get("attr") or (
        declared.partition("attr:")[2].strip() if declared.startswith("attr:") else ""
    )
    if isinstance(attribute, str) and attribute:
        module = attribute.rpartition(".")[0].replace(".", "/")
        found += [
            f"{root}{module}{end}"
            for root in ("", "src/", "lib/")
            for end in (".py", "/__init__.py")
        ]
    file = dynamic.get("file") or (
        declared.partition("file:")[2].strip() if declared.startswith("file:") else ""
    )
    found += [file] if isinstance(file, str) and file else words(file)
    name = section(toml, "tool", "flit", "module").get("name") or section(toml, "project").get(
        "name"
    )
    if isinstance(name, str) and re.fullmatch(r"[\w.-]{1,100}", name):
        module = name.replace("-", "_")
        found += [
            f"{root}{module}{end}"
            for root in ("src/", "")
            for end in ("/__init__.py", ".py", "/__about__.py", "/_version.py")
        ]
    return found[:20]


def _version_file(files: CheckoutFiles, folder: str, toml: Mapping[str, Any]) -> str | None:
    """Return the module that setuptools-scm, hatch-vcs or pdm writes during the build."""
    scm = section(toml, "tool", "setuptools_scm")
    candidates = (
        scm.get("version_file"),
        scm.get("write_to"),
        section(toml, "tool", "hatch", "build", "hooks", "vcs").get("version-file"),
        section(toml, "tool", "pdm", "version").get("write_to"),
        section(toml, "tool", "pdm", "build").get("write_to"),
    )
    for path in candidates:
        if isinstance(path, str) and _MODULE.fullmatch(path):
            place = inside(folder, path)
            # A version file in the checkout needs no replacement.
            if place is not None and not files.is_file(place):
                return place
    return None
