"""Resolve the folder of a step to a folder of the checkout."""

import re
from posixpath import normpath

from sandbox.recipe.editable import WORKDIR

_PLAIN = re.compile(r"[\w./ +@-]+")


def resolve_folder(written: str, checked_out_at: str) -> str | None:
    """Return a relative folder inside the checkout; None for one outside.

    Args:
        written: `pkg`, `./pkg`, `/home/.../pkg` with the workspace substituted,
            `$GITHUB_WORKSPACE/pkg`.
        checked_out_at: The `path` of actions/checkout, usually `.`.
    """
    plain = written.strip()
    for workspace in ("${GITHUB_WORKSPACE}", "$GITHUB_WORKSPACE", WORKDIR):
        if plain == workspace or plain.startswith(f"{workspace}/"):
            plain = plain[len(workspace) :].lstrip("/") or "."
            break
    plain = normpath(plain.removeprefix("./") or ".")
    if checked_out_at != ".":
        if plain == checked_out_at:
            return "."
        plain = plain.removeprefix(f"{checked_out_at}/")
    return None if plain.startswith(("/", "..")) or not _PLAIN.fullmatch(plain) else plain
