"""Find the reusable workflows of other repositories among those that were read for the run."""

from collections.abc import Sequence
from posixpath import normpath
from typing import Any

from sandbox.recipe.document import Documents
from sandbox.types import CalledWorkflow

_OWN = ("./", "$/")
_NEVER_READ = "it is in another repository, which is read only for a run on GitHub, with a token"
_NOT_NAMED = "it is in another repository, and GitHub's record of the run does not name it"


class Workflows:
    """The workflows that a job can call: files of the checkout, and those of the run.

    Args:
        files: The checkout's files.
        called: The reusable workflows that the run used, with their texts.
    """

    def __init__(self, files: Documents, called: Sequence[CalledWorkflow]) -> None:
        self._files = files
        self._called = called

    def find(
        self, uses: str, caller: CalledWorkflow | None
    ) -> tuple[CalledWorkflow | None, dict[str, Any], str]:
        """Return a called workflow, its document, and why it cannot be read.

        Args:
            uses: The value of the job's `uses`.
            caller: The workflow with the job; None for one of the checkout.
        """
        if uses.startswith(_OWN):
            path = normpath(uses[2:])
            if caller is None:
                return (None, *self._files.read(path))
            found = self._beside(caller, path)
        else:
            found = self._named(uses)
        if found is None:
            return None, {}, _NOT_NAMED if self._called else _NEVER_READ
        if found.problem:
            return found, {}, found.problem
        # No normalised path of the checkout has this form.
        key = f"//{found.repository.lower()}/{found.path}@{found.sha}"
        return (found, *self._files.parse(key, found.text.encode()))

    def _beside(self, caller: CalledWorkflow, path: str) -> CalledWorkflow | None:
        """Return a workflow of the caller's own repository, at the same commit as on GitHub."""
        wanted = (caller.repository.lower(), path, caller.sha)
        return next(
            (one for one in self._called if (one.repository.lower(), one.path, one.sha) == wanted),
            None,
        )

    def _named(self, uses: str) -> CalledWorkflow | None:
        place, _, ref = uses.partition("@")
        owner, _, rest = place.partition("/")
        name, _, path = rest.partition("/")
        for one in self._called:
            # Names of repositories ignore case, paths do not.
            here = one.repository.lower() == f"{owner}/{name}".lower() and one.path == path
            if here and ref in {one.ref, _short(one.ref), one.sha}:
                return one
        return None


def _short(ref: str) -> str:
    """Return a branch or tag as a workflow writes it."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
