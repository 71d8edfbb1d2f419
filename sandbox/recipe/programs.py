"""Runtimes that no set-up installs: a command runs if the sandbox has it, else it is named."""

from typing import NamedTuple

from sandbox.types import Recipe


class Runtime(NamedTuple):
    """A runtime and the program that shows whether a sandbox has it."""

    name: str
    program: str
    packages: tuple[str, ...] = ()
    """Debian packages that have it, for an image that is built here."""
    remedy: str = ""
    """Advice for the operator, at the end of the obstacle."""

    @property
    def runs(self) -> str:
        """Return the reason in the fidelity log for a step that needs it."""
        return f"it needs {self.name}"

    @property
    def needs(self) -> str:
        """Return the end of an obstacle of a command that needs it."""
        return f"needs {self.name}"

    def obstacle(self, line: str) -> str:
        """Return the obstacle of a command."""
        return f"`{line[:100]}` {self.needs}"

    def is_needed(self, recipe: Recipe) -> bool:
        """Return True if a step of the job needs it, and no set-up installs it."""
        reasons = (entry.reason for entry in recipe.fidelity)
        found = any(reason.startswith(self.runs) for reason in reasons)
        return found or any(text.endswith(self.needs) for text in recipe.obstacles)


def debian_packages(recipe: Recipe) -> tuple[str, ...]:
    """Return the Debian packages with the runtimes that a recipe needs and no set-up installs."""
    needed = (runtime for runtime in RUNTIMES if runtime.is_needed(recipe))
    return tuple(package for runtime in needed for package in runtime.packages)


NODE = Runtime("Node.js", "node")
_IMAGE = "; set sandbox.image to an image that has it"
RUST = Runtime("Rust", "cargo", packages=("cargo", "rust-clippy", "rustfmt"), remedy=_IMAGE)
IMAGE_PROGRAMS = {
    program: Runtime(program, program, remedy=_IMAGE)
    for program in (
        *("actionlint", "goimports", "gofumpt", "golangci-lint", "govulncheck", "revive"),
        *("staticcheck", "terraform"),
    )
}
"""Programs that only an operator's image can have, by name."""
RUNTIMES = (NODE, RUST, *IMAGE_PROGRAMS.values())


def settle(recipe: Recipe, runtime: Runtime, *, present: bool) -> Recipe:
    """Complete the recipe for a sandbox whose programs are known.

    With the runtime a command runs. Without it, log and obstacles name it.

    Args:
        recipe: The recipe, planned from the files alone.
        runtime: The runtime.
        present: Whether the sandbox has it.
    """
    runs, needs = runtime.runs, runtime.needs
    if present:
        kept = tuple(entry for entry in recipe.fidelity if not entry.reason.startswith(runs))
        left = tuple(text for text in recipe.obstacles if not text.endswith(needs))
        return recipe.with_(fidelity=kept, obstacles=left)
    fidelity = tuple(
        entry.with_(reason=f"the sandbox has no {runtime.name}{entry.reason.removeprefix(runs)}")
        if entry.reason.startswith(runs)
        else entry
        for entry in recipe.fidelity
    )
    obstacles = tuple(
        f"{text}, which the sandbox does not have{runtime.remedy}" if text.endswith(needs) else text
        for text in recipe.obstacles
    )
    return recipe.with_(fidelity=fidelity, obstacles=obstacles)
