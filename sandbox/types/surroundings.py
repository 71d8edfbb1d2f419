"""Surroundings: properties of a sandbox that no correct result depends on."""

import posixpath
import re

from sandbox.types.frozen import Frozen

# The names of repositories on GitHub. Test runners take files below folders of installed packages
# for code that is not under test, so these names are left out.
_FOLDER_NAME = re.compile(
    r"(?!\.{1,2}$|.*\.git$|.*(?:site|dist)-packages|\.?venv$|\.tox$|node_modules$)"
    r"[A-Za-z0-9._-]{1,100}"
)


class Surroundings(Frozen):
    """A set of surroundings.

    A backend applies as many as it can; docs/explanation/sandbox.md lists them.
    """

    workdir: str
    """Absolute path of the checkout."""
    user: str
    uid: int
    """Id of the user and of its group."""
    home: str
    hostname: str
    locale: str
    timezone: str
    is_ci: bool
    """True if `CI` is set, as in continuous integration services."""
    reversed_folders: bool
    """True if the checkout's folders list their entries in the opposite order."""

    @property
    def top(self) -> str:
        """Return the first folder of the checkout's path, which is its own file system."""
        return "/" + self.workdir.split("/")[1]

    def named(self, name: str) -> "Surroundings":
        """Return the same with a checkout folder of this name, if it is fit for one.

        Args:
            name: Untrusted, and empty if it is unknown.
        """
        if not _FOLDER_NAME.fullmatch(name):
            return self
        return self.with_(workdir=f"{posixpath.dirname(self.workdir)}/{name}")

    def folder_moves(self, other: "Surroundings") -> dict[str, str]:
        """Map the folders of another set to the folders of this one."""
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
"""The surroundings of every run, except for the second verifying one.

A checkout with a known name is in a folder of that name instead. Recipes and environments name this
one, so that they are the same under every name.
"""

CHANGED = Surroundings(
    workdir="/build/7f/checkout",
    user="builder",
    # Of another magnitude: an edit may compare with the usual id.
    uid=4_207,
    home="/home/builder",
    hostname="node-41c7",
    # The same language: few images have others. Python also uses UTF-8 with this locale (PEP 540).
    locale="C",
    # A zone without daylight saving time: its changes would fail tests on two days a year.
    timezone="Asia/Kathmandu",
    is_ci=False,
    reversed_folders=True,
)
"""The surroundings of the second verifying sandbox. Each value differs from the usual one."""


def beside(workdir: str, name: str) -> str:
    """Return the path of a file of ours beside the checkout.

    No checkout can have its name: `named` accepts no `@`.
    """
    return f"{posixpath.dirname(workdir)}/@{name}"
