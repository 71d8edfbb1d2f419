"""The protocols of a place of execution (Backend) and of one running sandbox (Guest)."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sandbox.spec import RunLimits
from sandbox.types import USUAL, CommandResult, Door, Egress, FileEdit, Frozen, Surroundings

TREE_NOTE = "tree"
"""Name of an environment's note with the digest of the only tree that may use it, because its code
ran in the set-up.
"""


class CacheUsage(Frozen):
    """The size of a backend's cache, and what a cleanup removed from it."""

    count: int = 0
    size: int = 0
    """Bytes, as far as the backend knows the size of each entry."""
    removed: int = 0
    removed_bytes: int = 0


class Guest(Protocol):
    """One running sandbox.

    Commands run one at a time, and all processes of a command are killed after it.

    Every method raises SandboxDied if the sandbox went away.
    """

    @property
    def workdir(self) -> str:
        """Return the absolute path of the checkout inside (`/work/repo`)."""
        ...

    @property
    def guest_dir(self) -> str:
        """Return the absolute path of the guest programs inside; commands cannot write there."""
        ...

    @property
    def python(self) -> str:
        """Return the absolute path of the interpreter of the repository's environment inside."""
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
        """Run one command until it ends or reaches a limit.

        `env` is added to a fixed list of variables.

        File descriptor 3 is the results channel: its data is returned as `results`.
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
        """Run a command like `run`, but yield the lines of the results channel while it runs.

        The last item is the CommandResult. Closing the iterator early kills the command.
        """
        ...

    async def unpack(self, tar: bytes, folder: str) -> None:
        """Unpack a tar archive of ours below an absolute folder inside."""
        ...

    async def write(self, edits: Iterable[FileEdit]) -> None:
        """Write or delete files below `workdir`, never through a symbolic link."""
        ...

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        """Read a regular file below `workdir`, following no links; return None if there is none.

        Raises:
            ChangeRejected: The path leaves the folder, or the file is larger than `max_bytes`.
        """
        ...

    async def list_files(self) -> tuple[str, ...]:
        """List regular files below `workdir`, sorted and limited, without `.git` and caches."""
        ...

    async def snap(self) -> int:
        """Save the current state of `workdir` for `export`. Return the number of files."""
        ...

    async def export(self) -> tuple[FileEdit, ...]:
        """Return the changes since the last `snap`: regular files only, limited in number."""
        ...


class Backend(Protocol):
    """A place of execution for untrusted code."""

    @property
    def name(self) -> str:
        """`docker` or `local`."""
        ...

    async def ensure_toolchain(self, packages: tuple[str, ...] = ()) -> str:
        """Ensure that the toolchain image (or an equivalent) exists, and return its reference.

        Args:
            packages: Further Debian packages, as far as the backend builds its image itself.

        Raises:
            SandboxUnavailable: No daemon responds, or the image can neither be pulled nor built.
        """
        ...

    async def find_environment(self, key: str) -> str | None:
        """Return the image reference of an existing environment, or None."""
        ...

    def open_setup(self, image: str) -> AbstractAsyncContextManager[Guest]:
        """Open a sandbox for installing.

        It has a writable root, the egress proxy as only way out, and no secrets.
        """
        ...

    async def allow_hosts(self, setup: Guest, hosts: tuple[str, ...]) -> None:
        """Allow further hosts that our own tools named before untrusted code ran.

        A host is `name:port`. A URL (`https://...`) means its host and those it redirects to.
        Private and link-local addresses stay refused, except for hosts of the operator's settings.
        """
        ...

    async def end_egress(self, setup: Guest) -> Egress:
        """Cut the network of a set-up sandbox permanently. Return what it reached. Idempotent."""
        ...

    async def keep_environment(
        self, setup: Guest, key: str, *, notes: Mapping[str, str] | None = None
    ) -> str:
        """Keep the installation of a set-up sandbox as an environment. Return its image reference.

        Args:
            setup: An open set-up sandbox of this backend.
            key: The key to find it again.
            notes: Short texts stored with it.
        """
        ...

    async def environment_notes(self, image: str) -> dict[str, str]:
        """Return the notes of an environment; empty if it has none."""
        ...

    def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AbstractAsyncContextManager[Guest]:
        """Open a hardened sandbox without network for repository code.

        Args:
            image: The environment.
            door: Handler of the only outbound socket. A sandbox with a door never comes from the
                pool.
            surroundings: The properties of the environment that commands can observe.
        """
        ...

    async def digest(self, image: str) -> str:
        """Return the content digest of an image reference, for the evidence."""
        ...

    async def prune(self, *, only_count: bool = False) -> CacheUsage:
        """Remove cached entries beyond the limits of age or size, but none in use.

        Args:
            only_count: Count the entries without removing any.
        """
        ...

    async def close(self) -> None:
        """Release sandboxes that were started in advance. The backend stays usable."""
        ...
