"""Proposals for linter findings: request edits from the sandbox and validate the replies."""

import json
import posixpath
from collections.abc import Mapping

from pydantic import ValidationError

from sandbox.backends.base import Guest
from sandbox.changes import protected_class
from sandbox.changes.proposed import is_template, is_valid_proposal, one_line
from sandbox.languages import TYPESCRIPT
from sandbox.runners.matchers import find_program
from sandbox.runners.steps import CommandStep, split_steps
from sandbox.spec import MIB, RunLimits
from sandbox.types import RUNNER_TRAITS, EditProposal, Frozen, ProposalRequest

GRACE_S = 3.0
MAX_LINE_BYTES = MIB
MAX_TEXT = 200
MAX_EDITS = 400
"""Limit for one proposal. A moved block counts one edit for each line."""
LIMITS = RunLimits(results_bytes=32 * MIB)


class _Proposer(Frozen):
    """A guest program that proposes edits for some of the findings."""

    argv: tuple[str, ...]
    numbers: tuple[int, ...]
    """Indices of its findings in the request."""
    cwd: str
    environment: dict[str, str]
    order: dict[str, object]
    is_typescript: bool = False


async def propose_edits(
    guest: Guest,
    request: ProposalRequest,
    *,
    working_directory: str = ".",
    environment: Mapping[str, str] | None = None,
) -> tuple[EditProposal, ...]:
    """Return edits for findings, ordered by finding and then by cost. Nothing is changed.

    Args:
        guest: The sandbox with the current state of the checkout.
        request: The findings.
        working_directory: The folder of the command, relative to the checkout.
        environment: Additional environment variables.
    """
    found: dict[int, list[EditProposal]] = {}
    for proposer in _proposers(guest, request, working_directory):
        result = await guest.run(
            proposer.argv,
            limits=LIMITS.with_(wall_s=request.time_limit_s + GRACE_S),
            cwd=proposer.cwd,
            # A fixed seed makes the proposals reproducible.
            env={**(environment or {}), **proposer.environment, "PYTHONHASHSEED": "0"},
            stdin=json.dumps(proposer.order).encode(),
        )
        for line in result.results.splitlines():
            proposal = _parse_proposal(line)
            if proposal is None or proposal.finding >= len(proposer.numbers):
                continue
            proposal = proposal.with_(finding=proposer.numbers[proposal.finding])
            known = found.setdefault(proposal.finding, [])
            if _is_sound(proposal, request, proposer) and len(known) < request.most:
                known.append(proposal.with_(description=one_line(proposal.description, MAX_TEXT)))
    return tuple(
        proposal
        for number in sorted(found)
        for proposal in sorted(found[number], key=lambda one: one.cost)
    )


def _proposers(guest: Guest, request: ProposalRequest, folder: str) -> list[_Proposer]:
    """Return the programs to start: one for Python and one for TypeScript."""
    typed: list[int] = []
    others: list[int] = []
    for number, finding in enumerate(request.findings):
        (typed if finding.path.endswith(TYPESCRIPT.suffixes) else others).append(number)
    started = []
    if others:
        place = RUNNER_TRAITS["diagnostics"].searched_by
        started.append(
            _Proposer(
                argv=(guest.python, f"{guest.guest_dir}/{place}/server.py"),
                numbers=tuple(others),
                cwd=guest.workdir,
                environment={},
                order=_order(guest, request, others),
            )
        )
    step = _tsc_step(request)
    if typed and step is not None:
        args = find_program(step.command)[1:]
        started.append(
            _Proposer(
                argv=("node", f"{guest.guest_dir}/node/typescript/server.cjs"),
                numbers=tuple(typed),
                cwd=posixpath.normpath(f"{guest.workdir}/{folder}/{step.folder}"),
                environment=step.environment,
                order={**_order(guest, request, typed), "args": args},
                is_typescript=True,
            )
        )
    return started


def _order(guest: Guest, request: ProposalRequest, numbers: list[int]) -> dict[str, object]:
    chosen = request.with_(findings=tuple(request.findings[number] for number in numbers))
    return chosen.model_dump(mode="json") | {"root": guest.workdir}


def _tsc_step(request: ProposalRequest) -> CommandStep | None:
    """Return the command that failed if it is tsc."""
    steps = split_steps(request.command) or (CommandStep(command=request.command),)
    step = steps[min(request.step, len(steps)) - 1]
    return step if find_program(step.command)[:1] == ["tsc"] else None


def _parse_proposal(line: bytes) -> EditProposal | None:
    try:
        return EditProposal.model_validate_json(line) if len(line) <= MAX_LINE_BYTES else None
    except ValidationError:
        return None


def _is_sound(proposal: EditProposal, request: ProposalRequest, proposer: _Proposer) -> bool:
    """Return True if a proposal edits what its kind of finding may change.

    An error of Python is repaired in its file. The cause of an error of TypeScript may be a
    declaration in another file, but not in a protected one.
    """
    edits = proposal.edits
    if not edits or not is_template(proposal.template):
        return False
    path = edits[0].path if proposer.is_typescript else request.findings[proposal.finding].path
    if not is_valid_proposal(path, edits, protected=request.protected, most=MAX_EDITS, stubs=True):
        return False
    if not proposer.is_typescript:
        return all(edit.path == path for edit in edits)
    return all(
        edit.path.endswith(TYPESCRIPT.suffixes)
        and protected_class(edit.path) is None
        and "node_modules" not in edit.path.split("/")
        for edit in edits
    )
