"""Proposals for linter findings: request edits from the sandbox and validate the replies."""

import json
from collections.abc import Mapping

from pydantic import ValidationError

from sandbox.backends.base import Guest
from sandbox.changes.proposed import is_template, is_valid_proposal, one_line
from sandbox.spec import MIB, RunLimits
from sandbox.types import RUNNER_TRAITS, EditProposal, ProposalRequest

GRACE_S = 3.0
MAX_LINE_BYTES = MIB
MAX_TEXT = 200
MAX_EDITS = 400
"""Limit for one proposal. A moved block counts one edit for each line."""
LIMITS = RunLimits(results_bytes=32 * MIB)


async def propose_edits(
    guest: Guest, request: ProposalRequest, *, environment: Mapping[str, str] | None = None
) -> tuple[EditProposal, ...]:
    """Return edits for findings, ordered by finding and then by cost. Nothing is changed or run.

    Args:
        guest: The sandbox with the current state of the checkout.
        request: The findings.
        environment: Additional environment variables.
    """
    order = request.model_dump(mode="json") | {"root": guest.workdir}
    result = await guest.run(
        (guest.python, f"{guest.guest_dir}/{RUNNER_TRAITS['diagnostics'].searched_by}/server.py"),
        limits=LIMITS.with_(wall_s=request.time_limit_s + GRACE_S),
        # A fixed seed makes the proposals reproducible.
        env={**(environment or {}), "PYTHONHASHSEED": "0"},
        stdin=json.dumps(order).encode(),
    )
    found: dict[int, list[EditProposal]] = {}
    for line in result.results.splitlines():
        proposal = _parse_proposal(line)
        if proposal is not None and _is_sound(proposal, request):
            known = found.setdefault(proposal.finding, [])
            if len(known) < request.most:
                known.append(proposal.with_(description=one_line(proposal.description, MAX_TEXT)))
    return tuple(
        proposal
        for number in sorted(found)
        for proposal in sorted(found[number], key=lambda one: one.cost)
    )


def _parse_proposal(line: bytes) -> EditProposal | None:
    try:
        return EditProposal.model_validate_json(line) if len(line) <= MAX_LINE_BYTES else None
    except ValidationError:
        return None


def _is_sound(proposal: EditProposal, request: ProposalRequest) -> bool:
    """Return True if a proposal is for a requested finding and edits only the finding's file."""
    if proposal.finding >= len(request.findings) or not is_template(proposal.template):
        return False
    path, edits = request.findings[proposal.finding].path, proposal.edits
    fits = is_valid_proposal(path, edits, protected=request.protected, most=MAX_EDITS, stubs=True)
    return fits and all(edit.path == path for edit in edits)
