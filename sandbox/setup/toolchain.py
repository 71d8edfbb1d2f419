"""The protocol of a toolchain's set-up."""

from collections.abc import Mapping
from typing import Protocol

from sandbox.setup.shell import Shell
from sandbox.types import Recipe


class Toolchain(Protocol):
    """The set-up of one toolchain's part of a recipe.

    All toolchains fetch, then the network is cut, then all build. Code of packages and of the
    checkout may therefore run in `build` only.
    """

    def expect(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the runtime that an environment will probably get."""
        ...

    def runtime(self, recipe: Recipe) -> Recipe | None:
        """Return a recipe of the requested runtime alone; None if the image's own is taken.

        It names an environment of its own, on which all others with this runtime are based.
        """
        ...

    async def provide(self, shell: Shell, recipe: Recipe) -> Recipe:
        """Fetch the runtime, with egress. Return the recipe with the runtime that is there.

        Raises:
            SetupFailed: There is none.
        """
        ...

    async def fetch(
        self, shell: Shell, recipe: Recipe, files: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Fetch and unpack packages, with egress. No code of others runs.

        Args:
            shell: The set-up sandbox.
            recipe: The recipe.
            files: Files that are made from the checkout's declarations.

        Returns:
            The packages whose code `build` will run, each with its version.

        Raises:
            SetupFailed: A package cannot be fetched.
        """
        ...

    async def build(
        self, shell: Shell, recipe: Recipe, files: Mapping[str, str], fetched: tuple[str, ...]
    ) -> None:
        """Complete the installation without network.

        Raises:
            SetupFailed: A package cannot be built.
        """
        ...

    async def lock_hash(self, shell: Shell) -> str:
        """Return the SHA-256 over the installed packages without running them; empty if none."""
        ...

    def key(self, recipe: Recipe) -> dict[str, object]:
        """Return everything of the recipe that the installation depends on, for its cache key."""
        ...
