"""Public interface for recipes: plan how to rebuild a failing job without running anything."""

from sandbox.checkout import take_folder
from sandbox.recipe.detect import describe_recipe, plan_recipe
from sandbox.recipe.relevant import relevant_files
from sandbox.recipe.workflow import ListedJob, is_runners_own, knows_job, list_jobs
from sandbox.spec import SandboxSpec
from sandbox.types import JobHints, Recipe

__all__ = ["Folder", "ListedJob", "is_runners_own", "read_folder"]


class Folder:
    """A folder whose CI files have been read.

    Args:
        names: Paths of all regular files.
        contents: The files that describe how the project is tested.
    """

    def __init__(self, names: frozenset[str], contents: dict[str, bytes]) -> None:
        self._names = names
        self._contents = contents

    @property
    def workflows(self) -> tuple[str, ...]:
        """Return the paths of the workflow files, unreadable ones included."""
        return tuple(
            sorted(name for name in self._contents if name.startswith(".github/workflows/"))
        )

    @property
    def jobs(self) -> tuple[ListedJob, ...]:
        """Return every job of the workflows, one entry for each matrix cell."""
        return list_jobs(self._contents)

    def knows_job(self, name: str, workflow: str | None = None) -> bool:
        """Return True if a name may mean one of the jobs.

        Args:
            name: The name of a check or the key of a job.
            workflow: Only search this workflow file; None searches all.
        """
        return knows_job(name, self._contents, workflow)

    def plus(self, name: str, content: bytes) -> "Folder":
        """Return a copy with one more file that describes the tests.

        Args:
            name: The path of the file in the folder; it need not exist there.
            content: The content of the file.
        """
        return Folder(self._names | {name}, {**self._contents, name: content})

    def recipe(self, hints: JobHints) -> Recipe:
        """Return the recipe that rebuilds the failing job.

        Raises:
            SetupFailed: There is nothing to run.
        """
        return plan_recipe(hints, self._names, self._contents)

    def describe(self, hints: JobHints) -> Recipe:
        """Return the recipe, or one with an empty command and the obstacles of the job.

        Raises:
            SetupFailed: There is nothing to run, and no job says why.
        """
        recipe = describe_recipe(hints, self._names, self._contents)
        return recipe if recipe.job is not None else self.recipe(hints)


async def read_folder(path: str, spec: SandboxSpec) -> Folder:
    """Read the CI files of a folder: regular files only, without following links or running code.

    Args:
        path: The folder.
        spec: The size limits.

    Raises:
        ImportRejected: The path is not a folder, or a limit is exceeded.
    """
    source = await take_folder(path, spec)
    names = frozenset(source.names())
    return Folder(names, await source.read(relevant_files(names)))
