"""Linters, formatters, type checkers and compilers: what they print becomes file, line, rule and message."""

from sandbox.runners.any_command import ending_of, printed, printed_failures, why_not_run
from sandbox.runners.base import GuestPlaces, Invocation, Reading, RunRequest, shell_invocation
from sandbox.runners.findings import Checkout, as_results
from sandbox.runners.matchers import EVERY, is_build, matchers_for, read_findings
from sandbox.types import CommandResult, TestResult, TestStatus


class Diagnostics:
    """Recognises the tools of `matchers.TOOLS` when they stand in a plain command."""

    @property
    def name(self) -> str:
        """`diagnostics`."""
        return "diagnostics"

    def recognises(self, command: str) -> bool:
        """Whether this runner reads the command."""
        return matchers_for(command) is not None

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """What to start."""
        return shell_invocation(request, places)

    def read(self, request: RunRequest, invocation: Invocation, result: CommandResult, /) -> Reading:
        """What the run left."""
        missing = why_not_run(result)
        if missing:
            return Reading(inconclusive=missing, weak=True)
        name = request.command.strip()[:200]
        if result.ok:
            return Reading(results=(TestResult(name=name, status=TestStatus.PASS),), weak=True)
        text = printed(result)
        place = Checkout(root=invocation.checkout, folder=invocation.folder)
        findings = as_results(read_findings(matchers_for(request.command) or EVERY, text), place)
        if findings:
            return Reading(results=findings, weak=True)
        if is_build(request.command):
            return Reading(results=printed_failures(name, text, place, ending_of(result)), weak=True)
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        return Reading(inconclusive=f"{name} failed without naming a place: {last.strip()[:300]}", weak=True)
