"""Things that were looked at, and what to do about them."""

from collections.abc import Iterable
from typing import Literal

from sandbox.gate import clean
from sandbox.types import Frozen

_MARKS = {"ok": "ok     ", "missing": "MISSING", "note": "note   "}


class Finding(Frozen):
    """One thing that was looked at."""

    subject: str
    state: Literal["ok", "missing", "note"]
    message: str
    advice: str = ""


def render(findings: Iterable[Finding]) -> str:
    """One line per finding, advice beneath what is missing."""
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.state]}  {finding.subject:<16} {finding.message}")
        if finding.advice and finding.state != "ok":
            lines.append(f"{'':27}{finding.advice}")
    return clean("\n".join(lines))
