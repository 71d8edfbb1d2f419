"""Surroundings: the properties of a sandbox that code can ask for and that no right answer depends on."""

from sandbox.types.frozen import Frozen


class Surroundings(Frozen):
    """One set of them. A backend gives as many as it can; docs/explanation/sandbox.md says which."""

    workdir: str
    """Absolute path of the checkout."""
    user: str
    uid: int
    """Of the user and of its group."""
    home: str
    hostname: str
    locale: str
    timezone: str
    is_ci: bool
    """Whether `CI` is set, as services for continuous integration do."""
    reversed_folders: bool
    """Whether the checkout's folders list their entries in the opposite order."""

    @property
    def top(self) -> str:
        """The first folder of the checkout's path: a file system of its own."""
        return "/" + self.workdir.split("/")[1]

    def moved(self, other: "Surroundings") -> dict[str, str]:
        """The folders that another set has under these names, and where they are in this one."""
        pairs = ((other.workdir, self.workdir), (other.home, self.home))
        return {theirs: ours for theirs, ours in pairs if theirs != ours}


USUAL = Surroundings(
    workdir="/work/repo",
    user="sandbox",
    uid=65_532,
    home="/home/sandbox",
    hostname="sandbox",
    locale="C.UTF-8",
    timezone="UTC",
    is_ci=True,
    reversed_folders=False,
)
"""Those in which everything runs that is not run twice."""

CHANGED = Surroundings(
    workdir="/build/7f/checkout",
    user="builder",
    # Of another magnitude: an edit may ask for a number above or below the usual one.
    uid=4_207,
    home="/home/builder",
    hostname="node-41c7",
    # Not another language: few images have one. Python reads and writes UTF-8 in this one too (PEP 540).
    locale="C",
    # No zone with daylight saving time: its jumps would fail tests on two days a year.
    timezone="Asia/Kathmandu",
    is_ci=False,
    reversed_folders=True,
)
"""Those of the second verifying sandbox: nothing of the usual ones is the same."""
