"""A fixer that proposes what a function of the present files says, and lessons that are always the same."""

from collections.abc import AsyncIterator, Callable, Sequence

from bot.domain.diagnosis import Diagnosis
from bot.domain.lesson import Correction, Forecast, Lesson, RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.ports import Workspace
from sandbox.types import TestReport

Proposals = Callable[[dict[str, str], MissionContext], Sequence[Candidate | RungNote]]


class ScriptedFixer:
    """Stands on one rung.

    Args:
        proposals: From the files of the tree and the context to candidates.
        rung: Where it stands.
    """

    def __init__(self, proposals: Proposals, rung: Rung = Rung.SEARCH) -> None:
        self._proposals = proposals
        self._rung = rung
        self.budgets: list[FixBudget] = []
        self.contexts: list[MissionContext] = []
        self.diagnoses: list[Diagnosis] = []

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def rung(self) -> Rung:
        return self._rung

    def applies(self, report: TestReport) -> bool:
        """A model reads anything red, every other rung needs failures by name."""
        if self._rung is Rung.MODEL:
            return not report.success
        return bool(report.failing) and report.runner != "command"

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        self.budgets.append(budget)
        self.contexts.append(context)
        self.diagnoses.append(diagnosis)
        files = {
            path: await workspace.read_file(path) or "" for path in await workspace.list_files()
        }
        for proposal in self._proposals(files, context):
            yield proposal


class KnownLessons:
    """Recalls the same lessons for every failure."""

    def __init__(self, *lessons: RecalledLesson, correction: Correction | None = None) -> None:
        self._lessons = lessons
        self._correction = correction or Correction()
        self.asked: list[tuple[str, str, str | None]] = []

    async def recall(
        self,
        *,
        repository_id: str,
        fingerprint: str,
        error: str | None,
        words: Sequence[str],
        limit: int = 5,
    ) -> tuple[RecalledLesson, ...]:
        self.asked.append((repository_id, fingerprint, error))
        return self._lessons[:limit]

    async def template_record(
        self, *, repository_id: str, error: str | None
    ) -> dict[str, tuple[float, float]]:
        return {}

    async def refused(self, *, repository_id: str) -> tuple[Lesson, ...]:
        lessons = (recalled.lesson for recalled in self._lessons)
        return tuple(one for one in lessons if one.fate in {"closed", "reverted"})

    async def accepted(
        self, *, repository_id: str, error: str | None, limit: int = 20
    ) -> tuple[Lesson, ...]:
        lessons = (recalled.lesson for recalled in self._lessons)
        return tuple(one for one in lessons if one.fix is not None and one.verdict)[:limit]

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        return ()

    async def correction(self) -> Correction:
        return self._correction
