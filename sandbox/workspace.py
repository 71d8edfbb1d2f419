"""One checkout in one sandbox, opened by its first use and closed with its context."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

from sandbox.backends.base import Backend, Guest
from sandbox.changes import apply_changes, read_file_context
from sandbox.diffs import write_diff
from sandbox.drifted_lock import report_refusal
from sandbox.errands import run_errand
from sandbox.errors import ChangeRejected
from sandbox.housekeeping import Housekeeping
from sandbox.importer import Importer
from sandbox.judge import run_tests
from sandbox.opening import OpenCheckout, Parts, open_checkout, take_source
from sandbox.proposals import propose_edits
from sandbox.recipe.preparing import repeated_lines
from sandbox.snapshot import Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.trials import search
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
    Returned,
    SearchRequest,
    StepKind,
    TestOrder,
    TestReport,
    TrialEvent,
    WorkspaceFacts,
)

_READ_BYTES = 1 << 20


class Sandboxes:
    """Public entry point of the sandbox: opens workspaces.

    Args:
        spec: All limits.
        backend: Where they run.
        folder: Cache of imports; nothing else may write there.
    """

    def __init__(self, spec: SandboxSpec, backend: Backend, folder: Path) -> None:
        self._parts = Parts(
            backend=backend,
            spec=spec,
            importer=Importer(folder / "imports", spec),
            snapshotter=Snapshotter(backend, spec),
            housekeeping=Housekeeping(backend),
        )

    @asynccontextmanager
    async def open_workspace(self, checkout: Checkout) -> AsyncIterator["SandboxWorkspace"]:
        """Open a workspace on a checkout. Nothing is fetched or started before its first use."""
        async with AsyncExitStack() as stack:
            yield SandboxWorkspace(checkout, self._parts, stack)

    async def close(self) -> None:
        """Release sandboxes that were started in advance. Workspaces can still be opened."""
        await self._parts.housekeeping.end()
        await self._parts.backend.close()


class SandboxWorkspace:
    """One checkout in one sandbox.

    Args:
        checkout: The checkout to open.
        parts: Objects that all workspaces share.
        stack: The stack that closes what this workspace opens.
    """

    def __init__(self, checkout: Checkout, parts: Parts, stack: AsyncExitStack) -> None:
        self._checkout = checkout
        self._parts = parts
        self._stack = stack
        self._lock = asyncio.Lock()
        self._state: OpenCheckout | None = None
        self._edited = False

    async def facts(self) -> WorkspaceFacts:
        """Return the facts about the workspace."""
        return (await self._open()).facts

    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        """Run a shell command in the recipe's folder, with the environment's programs first."""
        opened = await self._open()
        self._edited = True
        return await opened.guest.run(
            ("/bin/sh", "-c", command),
            limits=RunLimits(wall_s=timeout_s or self._parts.spec.command_wall_s),
            cwd=opened.baseline.working_directory,
            env=opened.baseline.variables,
        )

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
        """Run the recipe's command, or another, and read it into structured failures.

        Args:
            command: Instead of the recipe's.
            targets: Test names that replace the command's own selection.
            order: `random` shuffles by the seed.
            seed: Also seeds Python's hashing, so that two runs with one seed are alike.
            maxfail: Stop after so many failures.
            confirm: Run known-answer copies of passed tests: of all targets, or of a sample.
        """
        opened = await self._open()
        line = command or opened.recipe.command
        lock = opened.refused_lock
        if lock is not None and (red := await report_refusal(lock, opened.guest, line)):
            return red
        if (red := await self._build_again(opened)) is not None:
            return red.with_(target=line, ended_at=red.target)
        return await run_tests(
            opened.guest,
            line,
            limits=self._test_limits,
            targets=targets,
            order=order,
            seed=seed,
            maxfail=maxfail,
            confirm=confirm,
            working_directory=opened.recipe.working_directory,
            environment=opened.baseline.variables,
        )

    async def _build_again(self, opened: OpenCheckout) -> TestReport | None:
        """Repeat the preparing commands whose input was edited. Return the report of a red one."""
        prepare = opened.recipe.prepare
        if not self._edited or opened.recipe.kind in {StepKind.LINT, StepKind.FORMAT}:
            return None
        for line in repeated_lines(prepare, await _edited_paths(opened.guest)) if prepare else ():
            report = await run_tests(
                opened.guest,
                line,
                limits=self._test_limits,
                confirm=False,
                working_directory=opened.recipe.working_directory,
                environment=opened.baseline.variables,
            )
            if not report.success:
                return report
        self._edited = False
        return None

    @property
    def _test_limits(self) -> RunLimits:
        return RunLimits(
            wall_s=self._parts.spec.test_wall_s, test_cpu_s=self._parts.spec.test_cpu_s
        )

    async def read_file(self, path: str) -> str | None:
        """Read a text file of the checkout up to a size limit; return None if there is none."""
        opened = await self._open()
        content = await opened.guest.read(path, max_bytes=_READ_BYTES)
        return None if content is None else content.decode("utf-8", "replace")

    async def read_file_context(self, path: str, line: int, *, around: int = 6) -> FileContext:
        """Return the source around a line."""
        return await read_file_context((await self._open()).guest, path, line, around=around)

    async def list_files(self) -> tuple[str, ...]:
        """Return the files of the checkout."""
        return await (await self._open()).guest.list_files()

    async def archive(self) -> bytes:
        """Return the checked-out commit as a tar archive of regular files; needs no sandbox."""
        async with self._lock:
            source = (
                await take_source(self._checkout, self._parts)
                if self._state is None
                else self._state.source
            )
        return await source.archive()

    async def apply_changes(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Edit the checkout, all or nothing.

        Raises:
            ChangeRejected: An edit breaks a rule.
        """
        self._edited = True
        return await apply_changes((await self._open()).guest, changes)

    async def changes(self) -> tuple[FileEdit, ...]:
        """Return the changes against the checked-out commit."""
        return await (await self._open()).guest.export()

    async def diff(self) -> str:
        """Return the changes as a unified diff for `git apply`."""
        opened = await self._open()
        edits = await opened.guest.export()
        return write_diff(edits, await opened.source.originals(edit.path for edit in edits))

    async def revert(self) -> None:
        """Restore the prepared commit, byte for byte. Do nothing before the first use."""
        if self._state is not None:
            await self._state.baseline.restore()
            self._edited = False

    async def proposals(self, request: ProposalRequest) -> tuple[EditProposal, ...]:
        """Return untested edits that may fix findings of a linter or type checker."""
        opened = await self._open()
        return await propose_edits(
            opened.guest,
            request,
            working_directory=opened.recipe.working_directory,
            environment=opened.baseline.variables,
        )

    async def send(self, errand: Errand, door: Door) -> Returned:
        """Run a program in another sandbox on the same checkout, with an outbound door."""
        return await run_errand(errand, door, await self._open(), self._parts)

    async def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        """Run search-based repair inside the sandbox; the last event is TrialDone."""
        opened = await self._open()
        events = search(
            opened.guest,
            request,
            working_directory=opened.recipe.working_directory,
            environment=opened.baseline.variables,
        )
        async with aclosing(
            cast(AsyncGenerator[TrialEvent], events)
        ):  # a consumer that stops early also stops the search
            async for event in events:
                yield event

    async def _open(self) -> OpenCheckout:
        async with self._lock:
            if self._state is None:
                async with AsyncExitStack() as stack:
                    self._state = await open_checkout(self._checkout, self._parts, stack)
                    # Transfer the resources last, so that a failed opening releases its sandbox at
                    # once.
                    await self._stack.enter_async_context(stack.pop_all())
            return self._state


async def _edited_paths(guest: Guest) -> list[str] | None:
    """Return the paths that differ from the prepared commit; None if there are too many."""
    try:
        return [edit.path for edit in await guest.export()]
    except ChangeRejected:
        return None
