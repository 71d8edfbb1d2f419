"""The workbench of one climb: asks within the limits, reads answers, tries each change once, and keeps count."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot.domain.account import ModelLimits
from bot.domain.model import Finish, ModelCall, ModelTrouble, Question, Written, total
from bot.domain.model_error import ModelError
from bot.domain.patch import FixBudget
from bot.fixers.rung2_model.edits import EditFormat, EditRules, EditsRead, SentFile, read_edits
from bot.fixers.rung2_model.request_more import proposal_in, wanted_in
from bot.fixers.rung2_model.sources import Source, changed_functions
from bot.fixers.rung2_model.works import Answer, Work, distance, identity, joined
from bot.fixers.trials import Failure, Proposed, Trials, Tried, best_first
from bot.llm.protocol.messages import Wanted
from bot.ports import Mind
from sandbox.errors import ChangeRejected
from sandbox.types import FileChange

SPARE_S, SPARE_SHARE = 1.0, 0.03
"""Kept of the time for reporting what was found, at least: what takes longer than it may must not lose that."""
LEAST_S = 1.0
"""With less than this left nothing more is begun."""
TRIAL_S = 60.0
SEARCH_S = 45.0
"""How long a search from a model's change may take, and never more than half of what is left."""
FORMAT_FAILURES = 2
"""After so many in a row a model is asked for whole functions."""
_CALLS_PER_SAMPLE = 3
"""A repair turn and a wish for more are calls, too."""
_TITLE = 120
_EXPLANATION = 2_000
_ANOTHER_SAMPLE = frozenset({ModelTrouble.REFUSAL, ModelTrouble.BAD_RESPONSE, ModelTrouble.UNREADABLE})
"""Troubles of one answer: the next one may be better."""


_FUNCTIONS = frozenset({EditFormat.FUNCTION, EditFormat.WHOLE_FILE})
"""What says nothing of how well a model writes blocks."""


class Stopped(Exception):
    """Nothing more is asked; says why."""


class TooLarge(Exception):
    """The prompt does not fit into the model."""


def _anything(_: str) -> bool:
    return True


@dataclass
class Bench:
    """One climb.

    Args:
        mind: Answers.
        trials: Tries.
        failure: What is to be mended.
        budget: Of the climb.
        limits: Of every climb.
        format_failures: Per model, in a row; outlives the climb.
    """

    mind: Mind
    trials: Trials
    failure: Failure
    budget: FixBudget
    limits: ModelLimits
    format_failures: dict[str, int]
    files: frozenset[str]
    """Of the checkout."""
    layout: bool = False
    """A change of layout and comments alone is one: a linter is red."""
    may_touch: Callable[[str], bool] = _anything
    """What the repository's policy says of a file."""
    calls: list[ModelCall] = field(default_factory=list)
    works: dict[str, Work] = field(default_factory=dict)
    """By the key of the change, in the order they were thought of."""
    starts: set[str] = field(default_factory=set)
    """Changes that the search went on from."""
    refused: int = 0
    """Answers that came to no change."""
    started_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """Seconds that may still be spent."""
        limit_s = self.budget.time_limit_s
        return limit_s - max(SPARE_S, limit_s * SPARE_SHARE) - (time.monotonic() - self.started_s)

    @property
    def tried(self) -> int:
        """How many different changes were thought of."""
        return len(self.works)

    @property
    def passing(self) -> tuple[Work, ...]:
        """Changes with which everything passes, best first."""
        ranked = [work.tried for work in self.works.values() if work.passes]
        by_id = {work.proposed.id: work for work in self.works.values()}
        return tuple(by_id[tried.proposed.id] for tried in best_first(ranked))

    @property
    def is_done(self) -> bool:
        """Whether a model's own change passes that a person need not look at first, or a completed one that is sure."""
        return any(not work.flags and (work.is_sure or not work.searched) for work in self.passing)

    @property
    def best(self) -> Work | None:
        """Of those that do not pass: what mends most and breaks least, in the fewest lines."""
        failing = [work for work in self.works.values() if not (work.passes or work.untold)]
        return min(failing, key=distance, default=None)

    def weak_at_format(self, model: str) -> bool:
        """Whether a model should be asked for whole functions."""
        return self.format_failures.get(model, 0) >= FORMAT_FAILURES

    @property
    def weak_at_format_everywhere(self) -> bool:
        """Whether every model that ever answered is."""
        return bool(self.format_failures) and all(map(self.weak_at_format, self.format_failures))

    async def ask(self, question: Question) -> Written | None:
        """An answer; None when this one is of no use and another sample may be.

        Args:
            question: Of the fix role.

        Raises:
            Stopped: time, money or calls are spent, or no model can be reached.
            TooLarge: the prompt is.
        """
        self._check()
        try:
            async with asyncio.timeout(self.left_s):
                written = await self.mind.write(question)
        except TimeoutError as error:
            raise Stopped("the time was spent while a model was asked") from error
        except ModelError as error:
            self.calls += error.calls
            if error.trouble is ModelTrouble.TOO_LARGE:
                raise TooLarge from error
            if error.trouble in _ANOTHER_SAMPLE:
                self.refused += 1
                return None
            raise Stopped(error.message) from error
        self.calls += (*written.failed, written.call)
        return written

    async def consider(self, written: Written, sent: tuple[SentFile, ...], base: tuple[FileChange, ...] = ()) -> Answer:
        """Read an answer, and try what it comes to unless that was tried before.

        Args:
            written: The answer.
            sent: The files it may edit.
            base: Changes of the failing tree that the sent files have in them already.
        """
        rules = EditRules(files=self.files, layout=self.layout)
        sent = tuple(file.with_(editable=file.editable and self.may_touch(file.path)) for file in sent)
        read = read_edits(written.text, sent, rules, truncated=written.finish is Finish.LENGTH)
        model = written.call.model
        if not read.changes:
            self.refused += 1
            if read.format_failed and wanted_in(written.text) == Wanted():
                self.format_failures[model] = self.format_failures.get(model, 0) + 1
            return Answer(written.text, read)
        if read.format not in _FUNCTIONS:
            self.format_failures[model] = 0
        changes = joined(base, read.changes)
        key = read.key if len(changes) == len(read.changes) else f"{read.key}+{identity(base)}"
        known = self.works.get(key)
        if known is not None:
            proposed = known.proposed.with_(votes=known.proposed.votes + 1)
            self.works[key] = replace(known, proposed=proposed)
            return Answer(written.text, read, self.works[key])
        proposed = await self._proposed(written, read, changes)
        tried = await self.try_one(proposed)
        self.works[key] = Work(proposed, tried, read.flags)
        return Answer(written.text, read, self.works[key])

    async def try_one(self, proposed: Proposed) -> Tried:
        """What a trial of a change shows.

        Args:
            proposed: Of the failing tree.
        """
        left_s = self.left_s
        if left_s < LEAST_S:
            return Tried(proposed=proposed, passes=False, output="there was no time to try it")
        try:
            (tried,) = await self.trials.try_changes(self.failure, [proposed], time_limit_s=min(TRIAL_S, left_s))
        except ChangeRejected as error:
            await self.failure.workspace.revert()
            return Tried(proposed=proposed, passes=False, output=error.message)
        return tried

    async def search_from(self, work: Work) -> None:
        """Let the search go on from a change that does not pass: half of a fix may need another half.

        Args:
            work: The start.
        """
        limit = min(SEARCH_S, self.left_s / 2)
        if limit < LEAST_S:
            return
        count = self.budget.max_candidates
        try:
            found = await self.trials.search_from(self.failure, work.proposed, time_limit_s=limit, max_candidates=count)
        except ChangeRejected:
            await self.failure.workspace.revert()
            return
        for one in found:
            name = f"{work.proposed.id}+{one.proposed.id}" if one.proposed.id == work.proposed.id else one.proposed.id
            proposed = one.proposed.with_(id=name, votes=work.proposed.votes)
            self.works[name] = Work(proposed, one.with_(proposed=proposed), work.flags, searched=True)

    def _check(self) -> None:
        """Raises when the limits allow nothing more."""
        if self.left_s < LEAST_S:
            raise Stopped("the time was spent")
        if len(self.calls) >= self.limits.samples * self.limits.rounds * _CALLS_PER_SAMPLE:
            raise Stopped(f"a model was asked {len(self.calls)} times")
        if self.tried >= self.budget.max_candidates:
            raise Stopped("the candidates were spent")
        if 0.0 < self.budget.money_usd <= total(tuple(self.calls)).cost_usd:
            raise Stopped("the money for this climb was spent")

    async def _proposed(self, written: Written, read: EditsRead, changes: tuple[FileChange, ...]) -> Proposed:
        """A change of the failing tree, with what its author says about it."""
        said = proposal_in(written.text)
        title = (said.title if said else "") or await self._title(changes)
        return Proposed(
            id=f"model-{len(self.works) + 1}-{read.key[:12]}",
            title=" ".join(title.split())[:_TITLE],
            explanation=said.explanation[:_EXPLANATION] if said else "",
            changes=changes,
            changed_lines=read.changed_lines,
        )

    async def _title(self, changes: tuple[FileChange, ...]) -> str:
        """What a change is about, where its author does not say."""
        pieces = []
        for change in changes:
            before = Source(change.path, await self.failure.workspace.read_file(change.path) or "")
            names = ", ".join(changed_functions(before, Source(change.path, change.content or "")))
            pieces.append(f"change {names} in {change.path}" if names else f"change {change.path}")
        return "; ".join(pieces)
