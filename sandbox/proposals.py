"""Proposals for linter findings: request edits from the sandbox and validate the replies."""

import json
import logging
import posixpath
import re
import shlex
from collections.abc import Mapping

from pydantic import ValidationError

from sandbox.backends.base import Guest
from sandbox.changes import protected_class
from sandbox.changes.proposed import is_template, is_valid_proposal, one_line
from sandbox.languages import JAVASCRIPT, PYTHON, TYPESCRIPT
from sandbox.runners.matchers import find_program
from sandbox.runners.steps import CommandStep, split_steps
from sandbox.spec import MIB, RunLimits
from sandbox.types import RUNNER_TRAITS, EditProposal, Frozen, ProposalRequest

log = logging.getLogger(__name__)
GRACE_S = 3.0
_SHELL = re.compile(r"[$`|&;<>()!~#\n]")
"""Characters that a shell interprets, except those of file patterns."""
MAX_LINE_BYTES = MIB
MAX_TEXT = 200
MAX_EDITS = 400
"""Limit for one proposal. A moved block counts one edit for each line."""
LIMITS = RunLimits(results_bytes=32 * MIB)


class _Program(Frozen):
    """A guest program that proposes edits for the findings of one tool, or of any."""

    suffixes: tuple[str, ...]
    """Of the files whose findings it knows."""
    script: str
    """Its path below the guest's folder."""
    tool: str = ""
    """The tool that must have failed. The program gets its arguments, in the command's folder."""
    edits_others: bool = False
    """It may edit other files than that of the finding."""


_PROGRAMS = (
    _Program(
        suffixes=(*PYTHON.suffixes, *PYTHON.stub_suffixes),
        script=f"{RUNNER_TRAITS['diagnostics'].searched_by}/server.py",
    ),
    _Program(
        suffixes=TYPESCRIPT.suffixes,
        script="node/typescript/server.cjs",
        tool="tsc",
        edits_others=True,
    ),
    _Program(
        suffixes=(*JAVASCRIPT.suffixes, *TYPESCRIPT.suffixes),
        script="node/eslint.cjs",
        tool="eslint",
    ),
)


class _Proposer(Frozen):
    """A program to start for some of the findings."""

    program: _Program
    argv: tuple[str, ...]
    numbers: tuple[int, ...]
    """Indices of its findings in the request."""
    cwd: str
    environment: dict[str, str]
    order: dict[str, object]


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
        if not result.results:
            reason = one_line(result.stderr.strip().rpartition("\n")[2], MAX_TEXT)
            log.info(
                "no edit proposed: program=%s exit=%s reason=%r",
                proposer.program.script, result.exit_code, reason,
            )  # fmt: skip
        for line in result.results.splitlines():
            proposal = _parse_proposal(line)
            if proposal is None or proposal.finding >= len(proposer.numbers):
                continue
            proposal = proposal.with_(finding=proposer.numbers[proposal.finding])
            known = found.setdefault(proposal.finding, [])
            if _is_sound(proposal, request, proposer.program) and len(known) < request.most:
                known.append(proposal.with_(description=one_line(proposal.description, MAX_TEXT)))
    return tuple(
        proposal
        for number in sorted(found)
        for proposal in sorted(found[number], key=lambda one: one.cost)
    )


def _proposers(guest: Guest, request: ProposalRequest, folder: str) -> list[_Proposer]:
    """Return the programs to start."""
    steps = split_steps(request.command) or (CommandStep(command=request.command),)
    step = steps[min(request.step, len(steps)) - 1]
    name, *args = _read_program(step.command)
    environment = {**step.environment, **_read_assignments(step.command)}
    cwd = posixpath.normpath(f"{guest.workdir}/{folder}/{step.folder}")
    started = []
    for program in _PROGRAMS:
        numbers = tuple(
            number
            for number, finding in enumerate(request.findings)
            if finding.path.endswith(program.suffixes) and program.tool in {"", name}
        )
        if not numbers:
            continue
        runtime = guest.python if program.script.endswith(".py") else "node"
        started.append(
            _Proposer(
                program=program,
                argv=(runtime, f"{guest.guest_dir}/{program.script}"),
                numbers=numbers,
                cwd=cwd if program.tool else guest.workdir,
                environment=environment if program.tool else {},
                order=_order(guest, request, numbers) | ({"args": args} if program.tool else {}),
            )
        )
    return started


def _read_program(command: str) -> list[str]:
    """Return the name of the program of a plain command, and its arguments.

    A pattern of files stays as it is: ESLint reads patterns, too.
    """
    words = find_program(command)
    if not words and not _SHELL.search(command):
        words = find_program(shlex.join(_split(command)))
    return words or [""]


def _read_assignments(command: str) -> dict[str, str]:
    """Return the variables that a command sets for its program."""
    found: dict[str, str] = {}
    for word in _split(command):
        name, sign, value = word.partition("=")
        if not sign or not name.isidentifier():
            break
        found[name] = value
    return found


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an unclosed quote
        return []


def _order(guest: Guest, request: ProposalRequest, numbers: tuple[int, ...]) -> dict[str, object]:
    chosen = request.with_(findings=tuple(request.findings[number] for number in numbers))
    return chosen.model_dump(mode="json") | {"root": guest.workdir}


def _parse_proposal(line: bytes) -> EditProposal | None:
    try:
        return EditProposal.model_validate_json(line) if len(line) <= MAX_LINE_BYTES else None
    except ValidationError:
        return None


def _is_sound(proposal: EditProposal, request: ProposalRequest, program: _Program) -> bool:
    """Return True if a proposal edits what its kind of finding may change.

    A linter's finding is repaired in its file. The cause of an error of tsc may be a declaration
    in another file, but not in a protected one.
    """
    edits = proposal.edits
    if not edits or not is_template(proposal.template):
        return False
    path = edits[0].path if program.edits_others else request.findings[proposal.finding].path
    if not is_valid_proposal(path, edits, protected=request.protected, most=MAX_EDITS, stubs=True):
        return False
    if not program.edits_others:
        return all(edit.path == path for edit in edits)
    return all(
        edit.path.endswith(program.suffixes)
        and protected_class(edit.path) is None
        and "node_modules" not in edit.path.split("/")
        for edit in edits
    )
