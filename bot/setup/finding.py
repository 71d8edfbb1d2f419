"""Results of checks, with advice."""

from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import Field

from sandbox.gate import clean
from sandbox.types import Frozen

Face = Literal["terminal", "action", "service"]
"""A way to use MetaAgent: the command line, the Action, or the service behind a GitHub App."""

ALL_FACES: tuple[Face, ...] = get_args(Face)

_MARKS = {"ok": "ok     ", "missing": "MISSING", "note": "note   "}


class SetupFinding(Frozen):
    """The result of one check."""

    subject: str
    state: Literal["ok", "missing", "note"]
    message: str
    advice: str = ""
    faces: tuple[Face, ...] = Field(default=ALL_FACES, exclude=True)
    """The faces that need it."""


def render(findings: Iterable[SetupFinding]) -> str:
    """Return a line for each finding, with advice below problems."""
    lines = []
    for finding in findings:
        some = finding.state == "missing" and finding.faces != ALL_FACES
        needed = f" (for the {' and the '.join(finding.faces)} only)" if some else ""
        lines.append(f"{_MARKS[finding.state]}  {finding.subject:<16} {finding.message}{needed}")
        if finding.advice and finding.state != "ok":
            lines.append(f"{'':27}{finding.advice}")
    return clean("\n".join(lines))
