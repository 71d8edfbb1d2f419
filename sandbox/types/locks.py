"""A lock file that a package manager refuses, and what the manager itself would write."""

from sandbox.types.frozen import Frozen

REFUSED_LOCK = (
    r"can only install packages when your package\.json and [^\n]{1,160} are in sync"
    r"|ERR_PNPM_OUTDATED_LOCKFILE|YN0028|Your lockfile needs to be updated"
    r"|lockfile had changes, but lockfile is frozen"
)
"""Messages of package managers that refuse a lock file, because it does not fit `package.json`."""
LOCK_RUNNER = "lock file"
"""The runner in the report of a job whose installation refuses the lock file."""


class LockRepair(Frozen):
    """A lock file of the checkout as its package manager writes it from `package.json`.

    The environment is installed from this file. A command runs in a workspace only if the checkout
    has it, too; until then, the job ends at the installation, as it does in CI.
    """

    path: str
    content: str
    program: str
    """The package manager with its version: `npm 10.9.2`."""
    command: str
    """The command that wrote it: `npm install --package-lock-only`."""
    refused: str
    """The refused command: `npm ci`."""
    refusal: str
    """The manager's message about the old lock file, bounded and redacted."""
    packages: tuple[str, ...] = ()
    """The first packages that differ, each with its versions, in words."""
    more: int = 0
    """The number of further packages that differ."""
