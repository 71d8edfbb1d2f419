"""FakeWorkspace: a checkout in memory that keeps the contract of Workspace; what commands do is scripted."""

import io
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from sandbox.changes import apply, check_path, focus
from sandbox.diffs import Original, write_diff
from sandbox.errors import ChangeRejected, SandboxError
from sandbox.types import (
    Checkout,
    CommandResult,
    Door,
    EditProposal,
    Errand,
    FileChange,
    FileContext,
    FileEdit,
    ProposalRequest,
    Recipe,
    Returned,
    RunVerdict,
    SearchRequest,
    TestOrder,
    TestReport,
    TrialDone,
    TrialEvent,
    WorkspaceFacts,
)

Files = Mapping[str, str]
Judge = Callable[[Files, str], TestReport]
"""From the files as they are and the command to a report."""
Shell = Callable[[Files, str], CommandResult]
"""From the files as they are and the command to how it ended."""


Proposer = Callable[[Files, ProposalRequest], tuple[EditProposal, ...]]
"""From the files as they are and findings to proposals."""


def silent(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
    """Nothing is proposed."""
    return ()


def green(files: Files, command: str) -> TestReport:
    """Every command passes."""
    return TestReport(
        success=True,
        failed=False,
        exit_code=0,
        target=command,
        summary="passed",
        failure_count=0,
        verdict=RunVerdict.PASS,
    )


Agent = Callable[[Errand, Door, Files], Awaitable[Returned]]
"""From an errand, its door and the files to what comes back."""


async def idle(errand: Errand, door: Door, files: Files) -> Returned:
    """Whoever is sent does nothing."""
    return Returned(result=quiet(files, errand.command), edits=())


def quiet(files: Files, command: str) -> CommandResult:
    """Every command ends well and says nothing."""
    return CommandResult(argv=("/bin/sh", "-c", command), exit_code=0)


class FakeWorkspace:
    """A Workspace in memory.

    Args:
        files: The checked-out commit.
        judge: What a test run says.
        shell: What a command does.
        events: What the search tells; a TrialDone is added when the last is none.
        facts: What it stands on.
        broken: Raised by every method, as a sandbox that cannot be had.
        proposer: What is proposed for findings.
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes],
        *,
        judge: Judge = green,
        shell: Shell = quiet,
        events: Sequence[TrialEvent] = (),
        facts: WorkspaceFacts | None = None,
        broken: SandboxError | None = None,
        proposer: Proposer = silent,
    ) -> None:
        self._commit = {name: _bytes(content) for name, content in files.items()}
        self._tree = dict(self._commit)
        self._judge = judge
        self._shell = shell
        self._events = tuple(events)
        self._facts = facts or WorkspaceFacts(
            backend="fake", recipe=Recipe(command="python -m pytest"), files=len(files)
        )
        self._broken = broken
        self._proposer = proposer
        self.agent: Agent = idle
        """What a program does that is sent out."""
        self.asked: list[ProposalRequest] = []
        """Every request for proposals."""
        self.commands: list[str] = []
        """Every command that was run."""
        self.targets: list[tuple[str, ...]] = []
        """The targets of every test run."""
        self.orders: list[str] = []
        """The order of every test run."""
        self.searches: list[SearchRequest] = []
        """Every search that was asked for."""

    async def facts(self) -> WorkspaceFacts:
        self._check()
        return self._facts

    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        self._check()
        self.commands.append(command)
        return self._shell(self.texts(), command)

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
        self._check()
        self.commands.append(command or self._facts.recipe.command)
        self.targets.append(targets)
        self.orders.append(order)
        report = self._judge(self.texts(), self.commands[-1])
        if not targets:
            return report
        kept = {name: status for name, status in report.outcomes.items() if name in targets}
        return report.with_(
            outcomes=kept, failures=tuple(f for f in report.failures if f.name in targets)
        )

    async def read_file(self, path: str) -> str | None:
        self._check()
        content = self._tree.get(check_path(path))
        if content is not None and len(content) > 1 << 20:
            raise ChangeRejected(f"{path} is too large to be read")
        return None if content is None else content.decode("utf-8", "replace")

    async def read_file_context(self, path: str, line: int, *, around: int = 6) -> FileContext:
        self._check()
        content = await self.read_file(path)
        return (
            FileContext(success=False, file=path, focus_line=line)
            if content is None
            else focus(content, path, line, around=around)
        )

    async def list_files(self) -> tuple[str, ...]:
        self._check()
        return tuple(sorted(self._tree))

    async def archive(self) -> bytes:
        self._check()
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as archive:
            for name, content in sorted(self._commit.items()):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return raw.getvalue()

    async def apply_changes(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        self._check()
        edits = apply(changes, self._tree.get)
        for edit in edits:
            if edit.mode == "deleted":
                self._tree.pop(edit.path, None)
            else:
                self._tree[edit.path] = edit.content
        return tuple(edit.path for edit in edits)

    async def changes(self) -> tuple[FileEdit, ...]:
        self._check()
        edits = []
        for name in sorted(self._tree.keys() | self._commit.keys()):
            if name not in self._tree:
                edits.append(FileEdit(path=name, mode="deleted"))
            elif self._tree[name] != self._commit.get(name):
                edits.append(FileEdit(path=name, mode="100644", content=self._tree[name]))
        return tuple(edits)

    async def diff(self) -> str:
        originals = {name: Original(content=content) for name, content in self._commit.items()}
        return write_diff(await self.changes(), originals)

    async def revert(self) -> None:
        self._tree = dict(self._commit)

    async def proposals(self, request: ProposalRequest) -> tuple[EditProposal, ...]:
        self._check()
        self.asked.append(request)
        return self._proposer(self.texts(), request)

    async def send(self, errand: Errand, door: Door) -> Returned:
        self._check()
        return await self.agent(errand, door, self.texts())

    async def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        self._check()
        self.searches.append(request)
        for event in self._events:
            yield event
        if not self._events or not isinstance(self._events[-1], TrialDone):
            yield TrialDone(reason="exhausted")

    def texts(self) -> dict[str, str]:
        """The files as they are, as text."""
        return {name: content.decode("utf-8", "replace") for name, content in self._tree.items()}

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken


class FakeSandboxes:
    """Opens FakeWorkspaces, a fresh one each time.

    Args:
        make: A workspace for a checkout.
    """

    def __init__(self, make: Callable[[Checkout], FakeWorkspace]) -> None:
        self._make = make
        self.opened: list[tuple[Checkout, FakeWorkspace]] = []
        """Every workspace that was opened, with what it was opened on."""
        self.open_now = 0
        """How many are open at this moment."""

    @asynccontextmanager
    async def open_workspace(self, checkout: Checkout) -> AsyncIterator[FakeWorkspace]:
        """A workspace on a checkout."""
        workspace = self._make(checkout)
        self.opened.append((checkout, workspace))
        self.open_now += 1
        try:
            yield workspace
        finally:
            self.open_now -= 1


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
