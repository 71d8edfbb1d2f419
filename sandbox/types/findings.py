"""What the host and the mending of findings inside the sandbox tell each other."""

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.spans import SpanEdit


class ToolFinding(Frozen):
    """What a linter or type checker says of a place in the checkout."""

    path: str
    line: int = Field(ge=1)
    column: int = Field(default=0, ge=0)
    """From 1; 0 when it is not known."""
    code: str
    message: str = ""


class ProposalRequest(Frozen):
    """Asks the sandbox for edits that may make findings go away; nothing is run for it but a parser."""

    findings: tuple[ToolFinding, ...] = Field(max_length=200)
    protected: tuple[str, ...] = ()
    """Path patterns that may not be edited."""
    most: int = Field(default=16, ge=1, le=200)
    """Proposals per finding."""
    time_limit_s: float = 30.0


class EditProposal(Frozen):
    """One edit that may make a finding go away. Nobody has tried it yet."""

    finding: int = Field(ge=0)
    """Which finding of the request."""
    template: str
    cost: float = Field(ge=0.0, le=1000.0)
    """Lower is more natural."""
    edits: tuple[SpanEdit, ...]
    description: str = ""
