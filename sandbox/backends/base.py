"""Backend: the protocol every place of execution fulfils, and Guest, one running sandbox in it."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sandbox.spec import RunLimits
from sandbox.types import USUAL, CommandResult, Door, Egress, FileEdit, Frozen, Surroundings

TREE_NOTE = "tree"
"""The note of an environment that serves one tree only, because code of it ran in the set-up: its digest."""


class Kept(Frozen):
    """What a backend keeps for the next time, after a clean-up or without one."""

    count: int = 0
    size: int = 0
    """Bytes, as far as the backend can tell what each alone takes."""
    removed: int = 0
    removed_bytes: int = 0


class Guest(Protocol):
    """One running sandbox. Commands run one at a time; after each, everything it started is killed.

    Every method raises SandboxDied when the sandbox went away.
    """

    @property
    def workdir(self) -> str:
        """Absolute path, inside, of the folder the checkout stands in (`/work/repo`)."""
        ...

    @property
    def guest_dir(self) -> str:
        """Absolute path, inside, of the guest programs (`/opt/metaagent/guest`), not writable by what runs."""
        ...

    @property
    def python(self) -> str:
        """Absolute path, inside, of the interpreter of the repository's environment."""
        ...

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        """Run one command to its end or its limit. `env` is added to the fixed allow-list of names.

        File descriptor 3 is the results channel: what is written there comes back as `results`.
        """
        ...

    def stream(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> AsyncIterator[bytes | CommandResult]:
        """Like `run`, but yields the results channel line by line (without newline) while the command runs.

        The last item is the CommandResult. Closing the iterator early kills the command.
        """
        ...

    async def unpack(self, tar: bytes, folder: str) -> None:
        """Unpack a tar archive made by us below an absolute folder inside."""
        ...

    async def write(self, edits: Iterable[FileEdit]) -> None:
        """Write or delete files below `workdir`, never through a symbolic link."""
        ...

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        """A regular file below `workdir`, without following links; None when there is none.

        Raises:
            ChangeRejected: the path leaves the folder, or the file is larger than `max_bytes`.
        """
        ...

    async def list_files(self) -> tuple[str, ...]:
        """Regular files below `workdir`, relative, sorted; `.git` and caches left out; bounded."""
        ...

    async def snap(self) -> int:
        """Remember the present state of `workdir` as the one `export` compares with; returns the file count."""
        ...

    async def export(self) -> tuple[FileEdit, ...]:
        """What differs from the last `snap`: regular files only, bounded in number and size."""
        ...


class Backend(Protocol):
    """A place where untrusted code may run."""

    @property
    def name(self) -> str:
        """`docker` or `local`."""
        ...

    async def ensure_toolchain(self) -> str:
        """The toolchain image (or an equivalent) is there; returns its reference.

        Raises:
            SandboxUnavailable: no daemon answers, or the image can neither be pulled nor built.
        """
        ...

    async def find_environment(self, key: str) -> str | None:
        """The image reference of an environment that was set up before, or None."""
        ...

    def open_setup(self, image: str) -> AbstractAsyncContextManager[Guest]:
        """A sandbox with a writable root and the egress proxy as its only way out, for installing; holds no secret."""
        ...

    async def allow_hosts(self, setup: Guest, hosts: tuple[str, ...]) -> None:
        """Let a set-up sandbox reach further hosts that our own tools named before anything else ran.

        A host is `name:port`; a whole address (`https://...`) stands for its host and those it redirects to.
        Private and link-local addresses stay refused, but for hosts of the operator's settings.
        """
        ...

    async def end_egress(self, setup: Guest) -> Egress:
        """Cut a set-up sandbox off from everything outside, for good; says what it reached. Twice is fine."""
        ...

    async def keep_environment(self, setup: Guest, key: str, *, notes: Mapping[str, str] | None = None) -> str:
        """Keep what a set-up sandbox installed as an environment; returns its image reference.

        Args:
            setup: An open set-up sandbox of this backend.
            key: Under which it is found again.
            notes: Short texts kept with it.
        """
        ...

    async def environment_notes(self, image: str) -> dict[str, str]:
        """The short texts kept with an environment; empty when there are none."""
        ...

    def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AbstractAsyncContextManager[Guest]:
        """A hardened sandbox without network for running repository code.

        Args:
            image: The environment.
            door: Answers what leaves by one socket, where anything may; a sandbox with a door is made anew.
            surroundings: What commands find out about the place they run in.
        """
        ...

    async def digest(self, image: str) -> str:
        """The content digest of an image reference, for the evidence."""
        ...

    async def prune(self, *, only_count: bool = False) -> Kept:
        """Remove what was kept and is over the limits of age or size, never what is in use or not ours.

        Args:
            only_count: Say what is kept, and remove nothing.
        """
        ...

    async def close(self) -> None:
        """Give back what is held ready for the next opening; the backend can still be used."""
        ...
