"""LockFixer: propose the lock file that the repository's package manager wrote itself."""

from collections.abc import AsyncIterator

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.ports import Workspace
from sandbox.types import LOCK_RUNNER, ChangeAction, FileChange, LockRepair, TestReport

_NEVER = "the policy `dependencies: never` leaves lock files to people"
WHICH_LOCK = (
    "The lock file does not fit `package.json`, so that no job can install the packages. Which "
    "versions are right? Run the project's package manager and commit the lock file that it writes."
)


class LockFixer:
    """The fixer of lock files that do not fit the declared packages."""

    @property
    def name(self) -> str:
        """Return the fixer's name."""
        return "locks"

    @property
    def rung(self) -> Rung:
        """Return the cheapest rung."""
        return Rung.TOOLS

    def applies(self, report: TestReport) -> bool:
        """Return True if the job ended at an installation that refused its lock file."""
        return not report.success and report.runner == LOCK_RUNNER

    async def propose(
        self,
        context: MissionContext,
        diagnosis: Diagnosis,  # noqa: ARG002 - required by the port
        workspace: Workspace,
        budget: FixBudget,  # noqa: ARG002 - required by the port
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield the lock file that the environment was installed from."""
        report = context.test_results
        repair = (await workspace.facts()).lock_repair
        if report is None or repair is None or not self.applies(report):
            yield RungNote(reason="the installation refuses no lock file")
        elif context.policy.dependencies == "never":
            yield RungNote(reason=_NEVER, question=WHICH_LOCK)
        else:
            yield _candidate(repair)


def _candidate(repair: LockRepair) -> Candidate:
    return Candidate(
        id="lock-file",
        rung=Rung.TOOLS,
        fixer=repair.program,
        template="lock_drift",
        title=f"write {repair.path} again with {repair.program}",
        explanation=describe_packages(repair),
        changes=(
            FileChange(action=ChangeAction.REPLACE, path=repair.path, content=repair.content),
        ),
        candidates_tried=1,
        score=0.9,
        # Whether the versions are right is asked by policy, not by doubt.
        confident=True,
    )


def describe_packages(repair: LockRepair) -> str:
    """Return which packages differ in a repaired lock file, and how it was written."""
    how = f"`{repair.command}` without scripts wrote it from `package.json`"
    if not repair.packages:
        return f"{how}. The versions of all packages stay as they are."
    more = f" and {repair.more} more" if repair.more else ""
    return f"{how}: {', '.join(repair.packages)}{more}."
