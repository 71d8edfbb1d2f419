"""CheckedWorkspace: files on this host, checked there by a linter or type checker that only reads them."""

import subprocess
import sys
from pathlib import Path

from typing_extensions import override

from sandbox.guest.files import write
from sandbox.guest.search.findings import propose
from sandbox.guest.search.findings.model import SourceFinding
from sandbox.judge import judge
from sandbox.runners.base import GuestPlaces, RunRequest
from sandbox.runners.diagnostics import Diagnostics
from sandbox.types import (
    CommandResult,
    EditProposal,
    ProposalRequest,
    SpanEdit,
    TestOrder,
    TestReport,
)
from tests.builders import a_lint_recipe, facts
from tests.fakes.fake_workspace import FakeWorkspace, Files


def proposed(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
    """What the guest proposes, made in this process: text in, edits out."""
    found = []
    for number, each in enumerate(request.findings):
        finding = SourceFinding(each.path, each.line, each.column, each.code, each.message)
        for proposal in list(propose(files.get(each.path, "").encode(), finding))[: request.most]:
            edits = tuple(
                SpanEdit(path=each.path, start=e.start, end=e.end, text=e.text)
                for e in proposal.edits
            )
            found.append(
                EditProposal(
                    finding=number,
                    template=proposal.template,
                    cost=proposal.cost,
                    edits=edits,
                    description=proposal.description,
                )
            )
    return tuple(found)


class CheckedWorkspace(FakeWorkspace):
    """A workspace whose check really runs; never for foreign code, and never a command that runs the files.

    Args:
        folder: Where the files are put.
        files: The checkout.
        command: ruff or mypy of the development environment.
    """

    def __init__(self, folder: Path, files: dict[str, str], command: str) -> None:
        super().__init__(files, facts=facts(recipe=a_lint_recipe(command)), proposer=proposed)
        self._command = command
        self._folder = folder
        self._written: dict[str, bytes] = {}

    @override
    async def run_tests(
        self,
        command: str | None = None,
        *,
        targets: tuple[str, ...] = (),
        order: TestOrder = "given",
        seed: int = 0,
        maxfail: int | None = None,
        confirm: bool = False,
    ) -> TestReport:
        if command is not None:
            return await super().run_tests(command, targets=targets)
        self.commands.append(self._command)
        for path, content in self._tree.items():
            if self._written.get(path) != content:
                write(str(self._folder), path, "100644", content)
                self._written[path] = content
        done = subprocess.run(  # noqa: ASYNC221, S602 - a test's own command on a test's own files
            self._command,
            shell=True,
            cwd=self._folder,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        result = CommandResult(
            argv=("/bin/sh", "-c", self._command),
            exit_code=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
        )
        places = GuestPlaces(
            python="python", guest_dir="/", checkout=str(self._folder), cwd=str(self._folder)
        )
        request, reader = RunRequest(command=self._command), Diagnostics()
        reading = reader.read(request, reader.prepare(request, places), result)
        return judge(request, reader, reading, result)
