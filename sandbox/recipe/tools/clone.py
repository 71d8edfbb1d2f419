"""Read `git clone`: nothing is fetched, so that the folder which it would make is missing."""

from typing import Literal

from sandbox.recipe.files import CheckoutFiles, inside
from sandbox.recipe.job import Absent, ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import read_options

_VALUED = frozenset({"-b", "--branch", "--depth", "-o", "--origin", "-c", "-j", "--jobs"})
_MOST_SHOWN = 100


def read_clone(call: Call, files: CheckoutFiles) -> ToolReading:
    """Return the folder that a `git clone` would make; nothing for another call.

    Args:
        call: The call.
        files: The checkout, which may have the folder itself.
    """
    if call.words[:2] != ("git", "clone"):
        return ToolReading()
    named = read_options(call.words[2:], _VALUED).positional
    last = named[-1].rstrip("/").rpartition("/")[2].removesuffix(".git") if named else ""
    folder = named[1] if named[1:] else last
    path = inside(call.folder, folder)
    place = path or folder
    is_missing = bool(place) and not files.is_folder(place)
    reason = f"needs what `{call.line()[:_MOST_SHOWN]}` fetches"
    kind: Literal["path", "name"] = "name" if path is None else "path"
    absent = Absent(place=place, reason=reason, kind=kind)
    return ToolReading(absent=(absent,) if is_missing else ())
