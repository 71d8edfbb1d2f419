"""Messages between the host and the fixing of findings inside the sandbox."""

from enum import StrEnum

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.spans import SpanEdit


class ToolFinding(Frozen):
    """A linter's or type checker's finding at a place in the checkout."""

    path: str
    line: int = Field(ge=1)
    column: int = Field(default=0, ge=0)
    """Column from 1; 0 if it is unknown."""
    code: str
    message: str = ""


class ProposalRequest(Frozen):
    """Request for edits that may fix findings. No file of the repository is run for it."""

    findings: tuple[ToolFinding, ...] = Field(max_length=200)
    command: str = ""
    """The failing command line; the options of tsc and eslint name what is read."""
    step: int = Field(default=1, ge=1)
    """Number of the command that failed, if the line has several."""
    protected: tuple[str, ...] = ()
    """Path patterns that must not be edited."""
    most: int = Field(default=16, ge=1, le=200)
    """Limit of proposals for each finding."""
    only_clear: bool = False
    """Try no edit that is dearer than a clear one, which saves half of the time; tsc only."""
    time_limit_s: float = 30.0


class EditDoubt(StrEnum):
    """Reason why a person has to confirm an edit that a linter offers."""

    ALTERNATIVES = "alternatives"
    """The linter offers several edits and recommends none."""
    COMMENT = "comment"
    """It only adds, changes or removes comments."""
    REMOVAL = "removal"
    """It removes code that may have an effect."""
    UNSURE = "unsure"
    """The linter itself says that the edit may be wrong."""


class EditProposal(Frozen):
    """One edit that may fix a finding. It is not tested yet."""

    finding: int = Field(ge=0)
    """Index of the finding in the request."""
    template: str
    cost: float = Field(ge=0.0, le=1000.0)
    """Lower is more natural."""
    is_clear: bool = False
    """It, or a cheaper one, removes all findings; dearer edits were not tried as requested."""
    doubt: EditDoubt | None = None
    edits: tuple[SpanEdit, ...]
    description: str = ""
