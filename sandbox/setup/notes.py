"""Notes on how an environment differs from what its recipe requested."""

from collections.abc import Sequence

from sandbox.types import Fidelity, Recipe


def note_packages(
    built: Sequence[str], substituted: Sequence[str], left_out: Sequence[str]
) -> list[Fidelity]:
    """Return notes on packages whose code ran, or that are others than the locked ones.

    Args:
        built: `name==version` of Python packages whose code ran, `name@version` of Node.js ones.
        substituted: `name@version for version` of those that the registry no longer has.
        left_out: Development packages of Node.js that come from git.
    """
    notes = []
    sources = [package for package in built if "==" in package]
    scripts = [package for package in built if "==" not in package]
    if sources:
        names = ", ".join(sources[:10])
        reason = f"some requirements have no wheel and were built from source: {names}"
        notes.append(Fidelity(step="install the requirements", treatment="replayed", reason=reason))
    if scripts:
        reason = f"install scripts ran without network: {', '.join(scripts[:10])}"
        notes.append(Fidelity(step="install the packages", treatment="replaced", reason=reason))
    for name in left_out:
        reason = "it comes from git, and only the registry is reached; left out"
        notes.append(Fidelity(step=f"install {name}", treatment="dropped", reason=reason))
    if substituted:
        names = ", ".join(substituted[:10])
        reason = f"the registry no longer has what the lock file names: {names}"
        notes.append(Fidelity(step="install the packages", treatment="replaced", reason=reason))
    return notes


def note_runtimes(asked: Recipe, found: Recipe) -> tuple[Fidelity, ...]:
    """Return notes on runtimes of which the environment has another version."""
    notes = []
    for name, one, other in (("Go", asked.go, found.go), ("Node.js", asked.node, found.node)):
        if one is not None and other is not None and one.version != other.version:
            wanted = f"{name} {one.version}"
            reason = f"{wanted} is not in the package index; {other.version} is used"
            notes.append(Fidelity(step=wanted, treatment="replaced", reason=reason))
    return tuple(notes)
