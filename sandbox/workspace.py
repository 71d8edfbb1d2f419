"""Workspace: one checkout in one sandbox; opened by its first use, closed with its context."""

import asyncio
import posixpath
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sandbox.archive import take_archive
from sandbox.backends.base import Backend, Guest
from sandbox.changes import apply_changes, read_file_context
from sandbox.checkout import CommitSource, Source, take_folder
from sandbox.diffs import write_diff
from sandbox.errors import ChangeRejected, SandboxError
from sandbox.importer import Importer
from sandbox.judge import run_tests
from sandbox.recipe.detect import plan_recipe, relevant_files
from sandbox.recipe.editable import CHECKOUT, WORKDIR, editable_files
from sandbox.recipe.given import check_given
from sandbox.snapshot import Environment, Origin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.trials import search
from sandbox.types import (
    ArchiveSource,
    Checkout,
    CommandResult,
    Fidelity,
    FileChange,
    FileContext,
    FileEdit,
    GitSource,
    Recipe,
    SearchRequest,
    TestOrder,
    TestReport,
    TrialEvent,
    WorkspaceFacts,
)

_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class _Parts:
    """What all workspaces share."""

    backend: Backend
    spec: SandboxSpec
    importer: Importer
    snapshotter: Snapshotter


@dataclass(frozen=True)
class _Opened:
    """A workspace that has been opened."""

    guest: Guest
    source: Source
    recipe: Recipe
    facts: WorkspaceFacts


class Sandboxes:
    """The public door: opens workspaces.

    Args:
        spec: Every limit.
        backend: Where they run.
        folder: Where imports are kept between workspaces; nothing else may write there.
    """

    def __init__(self, spec: SandboxSpec, backend: Backend, folder: Path) -> None:
        importer = Importer(folder / "imports", spec)
        self._parts = _Parts(backend=backend, spec=spec, importer=importer, snapshotter=Snapshotter(backend, spec))

    @asynccontextmanager
    async def open_workspace(self, checkout: Checkout) -> AsyncIterator["SandboxWorkspace"]:
        """A workspace on a checkout. Nothing is fetched or started before its first use."""
        async with AsyncExitStack() as stack:
            yield SandboxWorkspace(checkout, self._parts, stack)

    async def close(self) -> None:
        """Give back what is held ready; more can be opened afterwards."""
        await self._parts.backend.close()


class SandboxWorkspace:
    """One checkout in one sandbox.

    Args:
        checkout: What to open.
        parts: What all workspaces share.
        stack: Closes what this one opens.
    """

    def __init__(self, checkout: Checkout, parts: _Parts, stack: AsyncExitStack) -> None:
        self._checkout = checkout
        self._parts = parts
        self._stack = stack
        self._lock = asyncio.Lock()
        self._state: _Opened | None = None

    async def facts(self) -> WorkspaceFacts:
        """What it stands on."""
        return (await self._opened()).facts

    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        """A shell command line in the recipe's working directory, the environment's programs first in PATH."""
        opened = await self._opened()
        return await opened.guest.run(
            ("/bin/sh", "-c", command),
            limits=RunLimits(wall_s=timeout_s or self._parts.spec.command_wall_s),
            cwd=posixpath.normpath(f"{opened.guest.workdir}/{opened.recipe.working_directory}"),
            env=_environment(opened),
        )

    async def run_tests(
        self,
        command: str | None = None,
        *,
        targets: tuple[str, ...] = (),
        order: TestOrder = "given",
        seed: int = 0,
        maxfail: int | None = None,
    ) -> TestReport:
        """The recipe's command (or another), read into structured failures.

        Args:
            command: Instead of the recipe's.
            targets: Test names that replace the command's own selection.
            order: `random` shuffles by the seed.
            seed: Also seeds Python's hashing, so that two runs with one seed are alike.
            maxfail: Stop after so many failures.
        """
        opened = await self._opened()
        return await run_tests(
            opened.guest,
            command or opened.recipe.command,
            limits=RunLimits(wall_s=self._parts.spec.test_wall_s),
            targets=targets,
            order=order,
            seed=seed,
            maxfail=maxfail,
            working_directory=opened.recipe.working_directory,
            environment=_environment(opened),
        )

    async def read_file(self, path: str) -> str | None:
        """A text file of the checkout, bounded; None when there is none."""
        opened = await self._opened()
        content = await opened.guest.read(path, max_bytes=_READ_BYTES)
        return None if content is None else content.decode("utf-8", "replace")

    async def read_file_context(self, path: str, line: int, *, around: int = 6) -> FileContext:
        """Source around a line."""
        return await read_file_context((await self._opened()).guest, path, line, around=around)

    async def list_files(self) -> tuple[str, ...]:
        """The checkout's files."""
        return await (await self._opened()).guest.list_files()

    async def archive(self) -> bytes:
        """The checked-out commit as a tar archive of regular files; needs no sandbox."""
        async with self._lock:
            source = await self._source() if self._state is None else self._state.source
        return await source.archive()

    async def apply_changes(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Edit the checkout; all or nothing.

        Raises:
            ChangeRejected: an edit breaks a rule.
        """
        return await apply_changes((await self._opened()).guest, changes)

    async def changes(self) -> tuple[FileEdit, ...]:
        """What differs from the checked-out commit."""
        return await (await self._opened()).guest.export()

    async def diff(self) -> str:
        """The same as a unified diff that `git apply` accepts."""
        opened = await self._opened()
        edits = await opened.guest.export()
        return write_diff(edits, await opened.source.originals(edit.path for edit in edits))

    async def revert(self) -> None:
        """Back to the checked-out commit, byte for byte; nothing to do before the first use."""
        if self._state is None:
            return
        guest, source = self._state.guest, self._state.source
        try:
            await source.restore(guest)
            if not await guest.export():
                return
        except ChangeRejected:
            pass  # more was changed than an export may hold
        except SandboxError as error:
            if type(error) is not SandboxError:  # the sandbox is gone: nothing can be placed in it
                raise
        # Repository code owns the work tree and its .git, and can make git do nothing: then everything is placed anew.
        await source.place(guest)
        if await guest.export():
            raise SandboxError("The work tree could not be restored.")

    async def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        """Search-based repair inside the sandbox; the last event is TrialDone."""
        opened = await self._opened()
        events = search(
            opened.guest,
            request,
            working_directory=opened.recipe.working_directory,
            environment=_environment(opened),
        )
        async with aclosing(
            cast(AsyncGenerator[TrialEvent], events)
        ):  # who stops listening early also stops the search
            async for event in events:
                yield event

    async def _opened(self) -> _Opened:
        async with self._lock:
            if self._state is None:
                self._state = await self._open()
            return self._state

    async def _open(self) -> _Opened:
        started = time.perf_counter()
        parts = self._parts
        source = await self._source()
        names = source.names()
        contents = await source.read(relevant_files(names))
        given = self._checkout.recipe
        recipe = check_given(given) if given is not None else plan_recipe(self._checkout.hints, names, contents)
        environment = await parts.snapshotter.ensure(
            recipe,
            Origin(repository_id=self._checkout.source.repository_id, tier=self._checkout.tier),
            files=editable_files(recipe, names, contents),
            place=source.place,
        )
        guest = await self._stack.enter_async_context(parts.backend.open(environment.image))
        await source.place(guest)
        files = await guest.snap()
        facts = await self._facts(guest, source, recipe, environment)
        seconds = time.perf_counter() - started - environment.setup_s
        return _Opened(guest=guest, source=source, recipe=facts.recipe, facts=facts.with_(files=files, open_s=seconds))

    async def _source(self) -> Source:
        source = self._checkout.source
        if isinstance(source, GitSource):
            return CommitSource(await self._parts.importer.fetch(source), self._checkout.revision)
        if isinstance(source, ArchiveSource):
            return await take_archive(source.content, self._parts.spec)
        return await take_folder(source.path, self._parts.spec)

    async def _facts(self, guest: Guest, source: Source, recipe: Recipe, environment: Environment) -> WorkspaceFacts:
        version = await guest.run((guest.python, "-I", "-S", "-V"), limits=RunLimits(wall_s=30.0))
        interpreter = version.stdout.strip()[:100]
        notes = environment.notes
        if recipe.python is not None and not f"{interpreter}.".startswith(f"Python {recipe.python}."):
            reason = f"the image has no such Python; {interpreter} is used"
            notes = (*notes, Fidelity(step=f"Python {recipe.python}", treatment="replaced", reason=reason))
        return WorkspaceFacts(
            backend=self._parts.backend.name,
            image=environment.image,
            image_digest=await self._parts.backend.digest(environment.image),
            environment_key=environment.key,
            interpreter=interpreter,
            head_sha=source.head_sha,
            base_sha=source.base_sha,
            recipe=recipe.with_(fidelity=(*recipe.fidelity, *notes)),
            red_diff=source.red_diff,
            setup_s=environment.setup_s,
            warm=environment.warm,
        )


def _environment(opened: _Opened) -> dict[str, str]:
    """The recipe's variables, and the environment's programs first in PATH."""
    folder, workdir = posixpath.dirname(opened.guest.python), opened.guest.workdir
    elsewhere = {} if workdir == WORKDIR else {CHECKOUT: workdir}
    return {**opened.recipe.environment, **elsewhere, "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"}
