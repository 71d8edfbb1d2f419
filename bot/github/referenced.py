"""The reusable workflows in GitHub's record of a run."""

from pydantic import ValidationError

from bot.github.events import Slim
from sandbox.types import CalledWorkflow

MOST_REFERENCED = 50
"""Reusable workflows that GitHub allows in one run."""


class ReferencedWorkflow(Slim):
    """A reusable workflow of a run, at the commit that GitHub resolved."""

    path: str = ""
    """`owner/name/.github/workflows/file.yml@ref`."""
    sha: str = ""

    def called(self) -> CalledWorkflow | None:
        """Return it as a domain value; None if a part is no valid name."""
        place, _, ref = self.path.partition("@")
        repository, folder, file = place.partition("/.github/workflows/")
        try:
            return CalledWorkflow(
                repository=repository, path=f"{folder}{file}"[1:], ref=ref, sha=self.sha
            )
        except ValidationError:
            return None
