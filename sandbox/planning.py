"""The door to recipes: how a folder's failing job would be rebuilt, without starting or running anything."""

from sandbox.checkout import take_folder
from sandbox.recipe.detect import plan_recipe, relevant_files
from sandbox.recipe.workflow import ListedJob, list_jobs
from sandbox.spec import SandboxSpec
from sandbox.types import Frozen, JobHints, Recipe


class FolderPlan(Frozen):
    """What a folder says of its CI."""

    jobs: tuple[ListedJob, ...] = ()
    """Every job of its workflows, cell by cell."""
    workflows: tuple[str, ...] = ()
    """Paths of its workflow files, those that cannot be read too."""
    policy: bytes | None = None
    """Its `.github/metaagent.yml`, unread."""


class Folder:
    """A folder whose CI files have been read.

    Args:
        names: Every regular file.
        contents: Those that say how it is tested.
    """

    def __init__(self, names: frozenset[str], contents: dict[str, bytes]) -> None:
        self._names = names
        self._contents = contents

    def plan(self, policy_path: str) -> FolderPlan:
        """Its workflows with their jobs, and the policy file if it has one."""
        workflows = sorted(name for name in self._contents if name.startswith(".github/workflows/"))
        return FolderPlan(
            jobs=list_jobs(self._contents), workflows=tuple(workflows), policy=self._contents.get(policy_path)
        )

    def recipe(self, hints: JobHints) -> Recipe:
        """How to rebuild its failing job.

        Raises:
            SetupFailed: there is nothing to run.
        """
        return plan_recipe(hints, self._names, self._contents)


async def read_folder(path: str, spec: SandboxSpec, more: tuple[str, ...] = ()) -> Folder:
    """Read what a folder says of its CI: regular files only, no link followed, nothing run.

    Args:
        path: The folder.
        spec: Limits of its size.
        more: Further files to read, relative paths.

    Raises:
        ImportRejected: it is not a folder, or over a limit.
    """
    source = await take_folder(path, spec)
    names = frozenset(source.names())
    wanted = {*relevant_files(names), *(name for name in more if name in names)}
    return Folder(names, await source.read(sorted(wanted)))
