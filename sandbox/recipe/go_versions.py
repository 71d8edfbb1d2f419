"""Read which Go a project requests: `1.24`, `1.24.x`, `^1.22`, `>=1.21`, `stable`, a file."""

import re
from collections.abc import Mapping

from sandbox.recipe.files import CheckoutFiles, beside, file_text, named_version
from sandbox.setup.go.directives import read_entries

NEWEST = "1"
"""The newest release of Go 1."""
_PLAIN = re.compile(
    r"[~=v\s]*(?:go)?(\d{1,3})(?:\.(\d{1,4}|x|\*))?(?:\.(\d{1,4}|x|\*))?(?:[-r]\S*)?"
)
_OPEN = re.compile(r"stable|oldstable|latest|[\^<>].*")
"""A range, of which `setup-go` takes the newest release."""
_RELEASE = re.compile(r"(?:go)?(\d{1,3}\.\d{1,4}(?:\.\d{1,4})?)")
_LONGEST = 200
_UNKNOWN = 10**6
"""A part of a version that is not named: the newest one."""


def read_go(words: str) -> str | None:
    """Return the requested version as `1.24` or `1.24.3`; None for an unknown one."""
    text = words.strip().strip("'\"").lower()[:_LONGEST]
    if _OPEN.fullmatch(text):
        return NEWEST
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    # A tilde leaves the last part open.
    parts = found.groups()[: 2 if text.startswith("~") else 3]
    exact = [part for part in parts if part is not None and part.isdecimal()]
    return ".".join(exact)


def go_in_file(path: str, contents: Mapping[str, bytes]) -> str | None:
    """Return the version in `go.mod`, `go.work`, `.go-version` or `.tool-versions`."""
    if path.rsplit("/", 1)[-1] not in {"go.mod", "go.work"}:
        return read_go(named_version(path, contents, "go(?:lang)?"))
    text = file_text(path, contents)
    named = (*read_entries(text, "toolchain"), *read_entries(text, "go"))
    return next((found[1] for entry in named if (found := _RELEASE.match(entry))), None)


def go_of_project(files: CheckoutFiles, folder: str, asked: str | None) -> str | None:
    """Return the Go of a project.

    As with Go itself, a `go.mod` or `go.work` that needs a newer one than the job's takes
    precedence.

    Args:
        files: The checkout.
        folder: The folder of the module.
        asked: The job's version; None if it names none.
    """
    places = dict.fromkeys((folder, "."))
    paths = [beside(place, name) for place in places for name in ("go.mod", "go.work")]
    needed = [found for path in paths if (found := go_in_file(path, files.contents))]
    least = max(needed, key=lambda one: _numbers(one, 0), default=None)
    if asked is None:
        others = [
            beside(place, name) for place in places for name in (".go-version", ".tool-versions")
        ]
        named = (go_in_file(path, files.contents) for path in others)
        asked = next(filter(None, named), None)
    if asked is None or least is None:
        return asked or least
    return asked if _numbers(asked, _UNKNOWN) >= _numbers(least, 0) else least


def _numbers(version: str, missing: int) -> tuple[int, ...]:
    """Return three numbers to compare."""
    parts = [int(part) for part in version.split(".")]
    return (*parts, *[missing] * (3 - len(parts)))
