"""Proposals for findings: asks the sandbox for edits, and reads every answer as hostile data."""

import json
from collections.abc import Mapping

from pydantic import ValidationError

from sandbox.backends.base import Guest
from sandbox.changes.proposed import is_template, may_propose, one_line
from sandbox.spec import MIB, RunLimits
from sandbox.types import EditProposal, ProposalRequest

GRACE_S = 3.0
MAX_LINE_BYTES = MIB
MAX_TEXT = 200
MAX_EDITS = 400
"""Of one proposal: a block that moves is one edit a line."""
SUFFIXES = (".py", ".pyi")
LIMITS = RunLimits(results_bytes=32 * MIB)


async def propose_edits(
    guest: Guest, request: ProposalRequest, *, environment: Mapping[str, str] | None = None
) -> tuple[EditProposal, ...]:
    """Edits for findings, in the order of the findings and cheapest first for each; nothing is changed or run.

    Args:
        guest: The sandbox; the checkout stands in it as it is now.
        request: The findings.
        environment: Added to the sandbox's own few names.
    """
    order = request.model_dump(mode="json") | {"root": guest.workdir}
    result = await guest.run(
        (guest.python, f"{guest.guest_dir}/search/findings/server.py"),
        limits=LIMITS.with_(wall_s=request.time_limit_s + GRACE_S),
        env={**(environment or {}), "PYTHONHASHSEED": "0"},
        stdin=json.dumps(order).encode(),
    )
    found: dict[int, list[EditProposal]] = {}
    for line in result.results.splitlines():
        proposal = _parsed(line)
        if proposal is not None and _is_sound(proposal, request):
            known = found.setdefault(proposal.finding, [])
            if len(known) < request.most:
                known.append(proposal.with_(description=one_line(proposal.description, MAX_TEXT)))
    return tuple(proposal for number in sorted(found) for proposal in sorted(found[number], key=lambda one: one.cost))


def _parsed(line: bytes) -> EditProposal | None:
    try:
        return EditProposal.model_validate_json(line) if len(line) <= MAX_LINE_BYTES else None
    except ValidationError:
        return None


def _is_sound(proposal: EditProposal, request: ProposalRequest) -> bool:
    """Whether it is about a finding that was asked for, and edits that finding's file alone."""
    if proposal.finding >= len(request.findings) or not is_template(proposal.template):
        return False
    path, edits = request.findings[proposal.finding].path, proposal.edits
    fits = may_propose(path, edits, protected=request.protected, most=MAX_EDITS, suffixes=SUFFIXES)
    return fits and all(edit.path == path for edit in edits)
