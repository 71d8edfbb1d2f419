"""Workbench of one model climb: ask within the limits, read answers, try each change once."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bot.domain.account import ModelLimits
from bot.domain.model import LONGEST_ANSWER, Finish, ModelCall, ModelTrouble, Question, Written
from bot.domain.model_error import ModelError
from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung2_model.edits import (
    EditFormat,
    EditRules,
    EditsRead,
    Reason,
    Rejection,
    SentFile,
    read_edits,
)
from bot.fixers.rung2_model.request_more import parse_proposal, parse_wanted
from bot.fixers.rung2_model.sources import Source, changed_functions
from bot.fixers.rung2_model.tried_changes import (
    ParsedAnswer,
    TriedChange,
    distance,
    hash_changes,
    merge_changes,
)
from bot.fixers.trials import Failure, Proposed, Trials, Tried, best_first, rank_again
from bot.llm.protocol.messages import Wanted
from bot.ports import Mind
from sandbox.errors import ChangeRejected
from sandbox.types import FileChange

SPARE_S, SPARE_SHARE = 1.0, 0.03
"""Minimum part of the time budget reserved for reporting the results, in seconds and as a share."""
LEAST_S = 1.0
"""No step starts with less time than this left, in seconds."""
TRIAL_S = 60.0
SEARCH_S = 45.0
"""Maximum time for a search from a model's change, in seconds; at most half of the time left."""
FORMAT_FAILURES = 2
"""After this many in a row, a model is asked for whole functions."""
_CALLS_PER_SAMPLE = 3
"""Repair turns and requests for more files are calls, too."""
_TOO_LONG = frozenset(
    {
        ModelTrouble.BAD_REQUEST,
        ModelTrouble.TOO_LARGE,
        ModelTrouble.TIMEOUT,
        ModelTrouble.DEADLINE,
    }
)
"""Errors of a request whose answer may be longer than the model or the time allows."""
_TITLE = 120
_EXPLANATION = 2_000
_ANOTHER_SAMPLE = frozenset(
    {ModelTrouble.REFUSAL, ModelTrouble.BAD_RESPONSE, ModelTrouble.UNREADABLE}
)
"""Errors of a single answer; another sample may succeed."""
_FUNCTIONS = frozenset({EditFormat.FUNCTION, EditFormat.WHOLE_FILE})
"""Formats that say nothing about how well a model writes edit blocks."""


class Stopped(Exception):
    """No further requests are possible. The message gives the reason."""


class TooLarge(Exception):
    """The prompt does not fit the model's context."""


def _anything(_: str) -> bool:
    return True


@dataclass
class Bench:
    """State and limits of one climb.

    Args:
        mind: Answers questions.
        trials: Tries changes.
        failure: The failure to fix.
        budget: Budget of this climb.
        limits: Limits of every climb.
        format_failures: Consecutive format failures by model; shared between climbs.
    """

    mind: Mind
    trials: Trials
    failure: Failure
    budget: FixBudget
    limits: ModelLimits
    format_failures: dict[str, int]
    files: frozenset[str]
    """Paths of the checkout."""
    layout: bool = False
    """True if a change of layout and comments alone may help, as for a linter."""
    may_touch: Callable[[str], bool] = _anything
    """Returns True if the repository's policy permits edits of a path."""
    calls: list[ModelCall] = field(default_factory=list)
    works: dict[str, TriedChange] = field(default_factory=dict)
    """By the key of the change, in the order proposed."""
    starts: set[str] = field(default_factory=set)
    """Changes that the search has continued from."""
    doubted: dict[str, Candidate] = field(default_factory=dict)
    """Candidates of lower rungs that pass and are not confident, by id, as last compared."""
    refused: int = 0
    """Number of answers without a usable change."""
    answer_tokens: int = 0
    """Limit of the next answer; raised after an answer that was cut off."""
    longest_answer: int = 0
    """The highest limit that `answer_tokens` is raised to."""
    hopeless: bool = False
    """True if the last answer that was cut off had the highest limit."""
    started_s: float = field(default_factory=time.monotonic)
    place: str = ""
    """Identifies the next question of the mission by the answers before it."""

    def __post_init__(self) -> None:
        """Take over the doubted candidates of the rungs below, and the limit of answers."""
        context = self.failure.context
        red = sorted(context.test_results.failing) if context.test_results else []
        self.place = _follow(f"iteration-{len(context.iterations)}", "\n".join(red))
        self.answer_tokens = self.limits.answer_tokens
        self.longest_answer = LONGEST_ANSWER * self.answer_tokens
        self.doubted = {one.id: one for one in self.failure.context.doubted}

    @property
    def left_s(self) -> float:
        """Return the remaining time in seconds."""
        limit_s = self.budget.time_limit_s
        return limit_s - max(SPARE_S, limit_s * SPARE_SHARE) - (time.monotonic() - self.started_s)

    @property
    def tried(self) -> int:
        """Return the number of distinct changes proposed."""
        return len(self.works)

    @property
    def passing(self) -> tuple[TriedChange, ...]:
        """Return the passing changes, best first."""
        ranked = [work.tried for work in self.works.values() if work.passes]
        by_id = {work.proposed.id: work for work in self.works.values()}
        return tuple(by_id[tried.proposed.id] for tried in best_first(ranked))

    @property
    def is_done(self) -> bool:
        """Return True if an unflagged change passes, confidently if the search completed it."""
        return any(not work.flags and (work.is_sure or not work.searched) for work in self.passing)

    @property
    def seeks_agreement(self) -> bool:
        """Return True if a change passes, and other answers could still make it sure."""
        return not any(work.is_sure for work in self.passing) and any(
            work.seeks_agreement for work in self.passing
        )

    @property
    def best(self) -> TriedChange | None:
        """Return the failing change that fixes most and breaks least, in the fewest lines."""
        failing = [work for work in self.works.values() if not (work.passes or work.untold)]
        return min(failing, key=distance, default=None)

    def weak_at_format(self, model: str) -> bool:
        """Return True if a model should be asked for whole functions."""
        return self.format_failures.get(model, 0) >= FORMAT_FAILURES

    @property
    def weak_at_format_everywhere(self) -> bool:
        """Return True if every model that has answered should be asked for whole functions."""
        return bool(self.format_failures) and all(map(self.weak_at_format, self.format_failures))

    async def ask(self, question: Question) -> Written | None:
        """Ask a model; return None if the answer is unusable but another sample may help.

        When a mission runs again after a crash, its prompts may differ: in durations, in a lesson
        recalled since, in a later rival. So paid answers are found by their place after the
        earlier answers.

        Args:
            question: A question of the fix role.

        Raises:
            Stopped: Time, money or calls are spent, or no model can be reached.
            TooLarge: The prompt is too large.
        """
        self._check()
        place, self.place = self.place, _follow(self.place, "no answer")
        try:
            async with asyncio.timeout(self.left_s):
                written = await self.mind.write(question.with_(key=place))
        except TimeoutError as error:
            raise Stopped("time ran out while waiting for a model") from error
        except ModelError as error:
            self.calls += error.calls
            if error.trouble in _TOO_LONG and question.max_tokens > self.limits.answer_tokens:
                # The model or the time does not allow answers of the raised length.
                self.answer_tokens = self.longest_answer = self.limits.answer_tokens
                return None
            if error.trouble is ModelTrouble.TOO_LARGE:
                raise TooLarge from error
            if error.trouble in _ANOTHER_SAMPLE:
                self.refused += 1
                return None
            raise Stopped(error.message) from error
        self.place = _follow(place, written.text)
        self.calls += (*written.failed, written.call)
        if written.finish is Finish.LENGTH:
            self.hopeless = question.max_tokens >= self.longest_answer
            self.answer_tokens = min(2 * question.max_tokens, self.longest_answer)
        return written

    async def consider(
        self,
        written: Written,
        sent: tuple[SentFile, ...],
        base: tuple[FileChange, ...] = (),
        *,
        in_steps: bool = False,
    ) -> ParsedAnswer:
        """Read an answer, and try its change unless it was tried before.

        Args:
            written: The answer.
            sent: The files it may edit.
            base: Changes of the failing tree that the sent files already include.
            in_steps: True for an agent, whose answers do not count as format failures.
        """
        rules = EditRules(files=self.files, layout=self.layout)
        sent = tuple(
            file.with_(editable=file.editable and self.may_touch(file.path)) for file in sent
        )
        read = _read(written, sent, rules)
        model = written.call.model
        if not read.changes:
            self.refused += 1
            # A request for more files has no edits, but is no format failure.
            counts = (read.format_failed or (read.cut_off and self.hopeless)) and not in_steps
            if counts and parse_wanted(written.text) == Wanted():
                self.format_failures[model] = self.format_failures.get(model, 0) + 1
            return ParsedAnswer(written.text, read)
        if read.format not in _FUNCTIONS and not in_steps:
            self.format_failures[model] = 0
        changes = merge_changes(base, read.changes)
        key = read.key if len(changes) == len(read.changes) else f"{read.key}+{hash_changes(base)}"
        known = self.works.get(key)
        if known is not None:
            # The same program again is a vote, not a new trial.
            proposed = known.proposed.with_(votes=known.proposed.votes + 1)
            self.works[key] = replace(known, proposed=proposed)
            if known.seeks_agreement and self.left_s > LEAST_S:
                # Two answers that agree are likelier right than one.
                await self._try_beside_rivals([], min(TRIAL_S, self.left_s))
            return ParsedAnswer(written.text, read, self.works[key])
        proposed = await self._propose(written, read, changes)
        tried = await self.try_one(proposed)
        self.works[key] = TriedChange(proposed, tried, read.flags)
        return ParsedAnswer(written.text, read, self.works[key])

    async def try_one(self, proposed: Proposed) -> Tried:
        """Try a change and return the result.

        Args:
            proposed: A change of the failing tree.
        """
        left_s = self.left_s
        if left_s < LEAST_S:
            return Tried(proposed=proposed, passes=False, output="no time left to try it")
        try:
            found = await self._try_beside_rivals([proposed], min(TRIAL_S, left_s))
        except ChangeRejected as error:
            await self.failure.workspace.revert()
            return Tried(proposed=proposed, passes=False, output=error.message)
        return next(one for one in found if one.proposed.id == proposed.id)

    async def _try_beside_rivals(
        self, proposed: Sequence[Proposed], time_limit_s: float
    ) -> tuple[Tried, ...]:
        """Try changes; passing ones are compared with all that passed before, which is updated."""
        earlier = {work.proposed.id: key for key, work in self.works.items() if work.passes}
        rivals = [self.works[key].proposed for key in earlier.values()]
        rivals += map(Proposed.from_candidate, self.doubted.values())
        found = await self.trials.try_changes(
            self.failure, proposed, time_limit_s=time_limit_s, rivals=rivals
        )
        for one in found:
            name, candidate = one.proposed.id, one.candidate
            if candidate is None:
                continue
            if name in self.doubted:
                self.doubted[name] = rank_again(self.doubted[name], candidate)
            elif name in earlier:
                work = self.works[earlier[name]]
                known = work.tried.candidate
                ranked = rank_again(known, candidate) if known else candidate
                tried = work.tried.with_(candidate=ranked, score=ranked.score)
                self.works[earlier[name]] = replace(work, tried=tried)
        return found

    async def search_from(self, work: TriedChange) -> None:
        """Continue with a search from a failing change: half a fix may need another half.

        Args:
            work: The start of the search.
        """
        limit = min(SEARCH_S, self.left_s / 2)
        if limit < LEAST_S:
            return
        count = self.budget.max_candidates
        try:
            found = await self.trials.search_from(
                self.failure, work.proposed, time_limit_s=limit, max_candidates=count
            )
            self._record_hybrids(work, found)
            # The search ranked its own edits only; each whole change is compared as one.
            if any(one.passes for one in found) and self.left_s > LEAST_S:
                await self._try_beside_rivals([], min(TRIAL_S, self.left_s))
        except ChangeRejected:
            await self.failure.workspace.revert()

    def _record_hybrids(self, work: TriedChange, found: Sequence[Tried]) -> None:
        """Record what a search from a change found."""
        for one in found:
            # The search may return its start, whose entry must not be replaced.
            name = (
                f"{work.proposed.id}+{one.proposed.id}"
                if one.proposed.id == work.proposed.id
                else one.proposed.id
            )
            proposed = one.proposed.with_(id=name, votes=work.proposed.votes)
            self.works[name] = TriedChange(
                proposed, one.with_(proposed=proposed), work.flags, searched=True
            )

    def _check(self) -> None:
        """Raise `Stopped` if the limits allow no further request."""
        if self.left_s < LEAST_S:
            raise Stopped("no time left")
        steps = 0 if self.limits.fix == "prompt" else self.limits.agent_steps
        most = self.limits.samples * self.limits.rounds * _CALLS_PER_SAMPLE + steps
        if len(self.calls) >= most:
            raise Stopped(f"the limit of {len(self.calls)} model calls is reached")
        if self.tried >= self.budget.max_candidates:
            raise Stopped("the limit of candidates is reached")
        # Calls answered from the journal count, too: a repeated run has the same limit.
        spent_usd = sum(call.cost_usd or 0.0 for call in self.calls)
        if 0.0 < self.budget.money_usd <= spent_usd:
            raise Stopped("the money for this climb is spent")

    async def _propose(
        self, written: Written, read: EditsRead, changes: tuple[FileChange, ...]
    ) -> Proposed:
        """Build a change of the failing tree, with the model's title and explanation."""
        proposal = parse_proposal(written.text)
        title = (proposal.title if proposal else "") or await self._title(changes)
        return Proposed(
            id=f"model-{len(self.works) + 1}-{read.key[:12]}",
            title=" ".join(title.split())[:_TITLE],
            explanation=proposal.explanation[:_EXPLANATION] if proposal else "",
            changes=changes,
            changed_lines=read.changed_lines,
        )

    async def _title(self, changes: tuple[FileChange, ...]) -> str:
        """Derive a title from the changed functions."""
        pieces = []
        for change in changes:
            before = Source(change.path, await self.failure.workspace.read_file(change.path) or "")
            names = ", ".join(changed_functions(before, Source(change.path, change.content or "")))
            pieces.append(f"change {names} in {change.path}" if names else f"change {change.path}")
        return "; ".join(pieces)


def _follow(place: str, text: str) -> str:
    """Return the place that follows a text."""
    parts = f"{len(place)}:{place}{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(parts).hexdigest()


def _read(written: Written, sent: tuple[SentFile, ...], rules: EditRules) -> EditsRead:
    """Read an answer; one that was cut off is no format failure."""
    cut = written.finish is Finish.LENGTH
    read = read_edits(written.text, sent, rules, truncated=cut)
    if not (cut and read.format_failed):
        return read
    tokens = written.call.usage.output_tokens
    limit = f"after {tokens} tokens" if tokens else "at the limit of its length"
    message = f"the answer was cut off {limit}: think and explain less, and give the edits first"
    return EditsRead(
        format=read.format, rejections=(Rejection(reason=Reason.CUT_OFF, message=message),)
    )
