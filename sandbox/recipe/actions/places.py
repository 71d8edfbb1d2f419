"""Where a step runs: a folder of the checkout, however the workflow writes it."""

import re
from posixpath import normpath

from sandbox.recipe.editable import WORKDIR

_PLAIN = re.compile(r"[\w./ +@-]+")


def folder_of(written: str, checked_out_at: str) -> str | None:
    """A relative folder that stays in the checkout; None for one outside.

    Args:
        written: `pkg`, `./pkg`, `/home/.../pkg` with the workspace put in, `$GITHUB_WORKSPACE/pkg`.
        checked_out_at: The `path` of actions/checkout, `.` as a rule.
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
