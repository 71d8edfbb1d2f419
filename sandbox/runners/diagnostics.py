"""The runner for linters, formatters, type checkers and compilers."""

import re

from sandbox.runners.any_command import (
    combined_output,
    describe_exit,
    find_start_error,
    printed_failures,
)
from sandbox.runners.base import (
    GuestPlaces,
    Invocation,
    RunnerReading,
    RunRequest,
    shell_invocation,
)
from sandbox.runners.findings import CheckoutPaths, as_results
from sandbox.runners.matchers import (
    EVERY,
    is_build,
    matchers_for,
    read_findings,
)
from sandbox.runners.matchers.python import TYPES
from sandbox.types import CommandResult, TestResult, TestStatus
from sandbox.types.launchers import listing_command

_MYPY = re.compile(r"(?<!\S)(?:\S*[^-\w.=\s])?mypy(?=\s|$)")
_MYPY_ASKED = " --show-column-numbers --show-error-codes"
"""Without columns a finding names a line, and every name on it could be meant."""


class Diagnostics:
    """Recognises the tools of `matchers.TOOLS` in a plain command."""

    @property
    def name(self) -> str:
        """Return `diagnostics`."""
        return "diagnostics"

    def recognises(self, command: str) -> bool:
        """Return True if this runner reads the command."""
        return matchers_for(command) is not None

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """Return what to start.

        Mypy is asked for columns and codes, which it prints on request. A list of files that the
        command only counts is printed.
        """
        command = request.command
        if listing := listing_command(command):
            command = f'found=$({listing}) && [ -z "$found" ] || {{ echo "$found"; exit 1; }}'
        if matchers_for(command) == TYPES:
            command = _MYPY.sub(lambda found: found[0] + _MYPY_ASKED, command, count=1)
        return shell_invocation(request.with_(command=command), places)

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult, /
    ) -> RunnerReading:
        """Read the result of a run."""
        missing = find_start_error(result)
        if missing:
            return RunnerReading(inconclusive=missing, weak=True)
        name = request.command.strip()[:200]
        if result.ok:
            return RunnerReading(
                results=(TestResult(name=name, status=TestStatus.PASS),), weak=True
            )
        text = combined_output(result)
        place = CheckoutPaths(root=invocation.checkout, folder=invocation.folder)
        findings = as_results(read_findings(matchers_for(request.command) or EVERY, text), place)
        if findings:
            return RunnerReading(results=findings, weak=True)
        if is_build(request.command):
            return RunnerReading(
                results=printed_failures(name, text, place, describe_exit(result)), weak=True
            )
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        return RunnerReading(
            inconclusive=f"{name} failed without naming a place: {last.strip()[:300]}", weak=True
        )
