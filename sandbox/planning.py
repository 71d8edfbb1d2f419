"""The door to recipes: how a folder's failing job would be rebuilt, without starting or running anything."""

from sandbox.checkout import check_folder, take_folder
from sandbox.recipe.detect import plan_recipe, relevant_files
from sandbox.recipe.workflow import ListedJob, is_runners_own, knows_job, list_jobs
from sandbox.spec import SandboxSpec
from sandbox.types import JobHints, Recipe

__all__ = ["Folder", "ListedJob", "check_folder", "is_runners_own", "read_folder"]


class Folder:
    """A folder whose CI files have been read.

    Args:
        names: Every regular file.
        contents: Those that say how it is tested.
    """

    def __init__(self, names: frozenset[str], contents: dict[str, bytes]) -> None:
        self._names = names
        self._contents = contents

    @property
    def workflows(self) -> tuple[str, ...]:
        """Paths of its workflow files, those that cannot be read too."""
        return tuple(sorted(name for name in self._contents if name.startswith(".github/workflows/")))

    @property
    def jobs(self) -> tuple[ListedJob, ...]:
        """Every job of its workflows, cell by cell."""
        return list_jobs(self._contents)

    def knows_job(self, name: str, workflow: str | None = None) -> bool:
        """Whether a job may be meant by a name, as its check or its key is written.

        Args:
            name: The name.
            workflow: Only the jobs of this file; None takes all.
        """
        return knows_job(name, self._contents, workflow)

    def plus(self, name: str, content: bytes) -> "Folder":
        """The same with one more file that says how it is tested.

        Args:
            name: Its path in the folder, as if it were there.
            content: The file.
        """
        return Folder(self._names | {name}, {**self._contents, name: content})

    def recipe(self, hints: JobHints) -> Recipe:
        """How to rebuild its failing job.

        Raises:
            SetupFailed: there is nothing to run.
        """
        return plan_recipe(hints, self._names, self._contents)


async def read_folder(path: str, spec: SandboxSpec) -> Folder:
    """Read what a folder says of its CI: regular files only, no link followed, nothing run.

    Args:
        path: The folder.
        spec: Limits of its size.

    Raises:
        ImportRejected: it is not a folder, or over a limit.
    """
    source = await take_folder(path, spec)
    names = frozenset(source.names())
    return Folder(names, await source.read(relevant_files(names)))
