"""Ask for edits in rounds: one greedy answer, then varied ones; a later round sees what the best change still fails."""

from collections.abc import Iterable

from bot.domain.model import Passage, Question, Role
from bot.fixers.rung2_model import feedback
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.context import Brief, Gaps
from bot.fixers.rung2_model.request_more import GRANTED, granted, wanted_in
from bot.fixers.rung2_model.works import Work

STAGE = "fix"
VARIED = 0.8
"""The temperature of every sample but the first."""
_TURNS = 4
"""Of one sample: wishes for more, and one repair of an answer that could not be applied."""


class BlockRounds:
    """Edits as search and replace blocks.

    Args:
        bench: Asks, reads and tries.
        brief: What the model is shown.
    """

    def __init__(self, bench: Bench, brief: Brief) -> None:
        self._bench = bench
        self._brief = brief
        self._granted = 0
        self._model = ""

    @property
    def failed_at_format(self) -> bool:
        """Whether the model should be asked for whole functions instead."""
        return self._bench.limits.edit_format == "auto" and self._bench.weak_at_format(self._model)

    async def run(self) -> None:
        """Until a change passes, or rounds, time or money are spent.

        Raises:
            Stopped: a limit was reached.
            TooLarge: the prompt has to become smaller.
        """
        for number in range(self._bench.limits.rounds):
            told = await still_fails(self._bench, self._brief) if number else ()
            if number and not told:
                return
            await self._round(number, told)
            if self._bench.passing or self.failed_at_format:
                return
            await search_on(self._bench)
            if self._bench.is_done:
                return

    async def _round(self, number: int, told: tuple[Passage, ...]) -> None:
        for sample in range(samples_in(number, self._bench.limits.samples)):
            await self._sample(sample, told)
            if self._bench.is_done or self.failed_at_format:
                return

    async def _sample(self, sample: int, told: tuple[Passage, ...]) -> None:
        """One answer, after what it asks to see, and after one repair of what could not be applied."""
        bench, repair = self._bench, tuple[Passage, ...]()
        for _ in range(_TURNS):
            question = asked("fix", self._brief.gaps((*told, *repair)), sample, bench.limits.answer_tokens)
            written = await bench.ask(question)
            if written is None:
                return
            self._model = written.call.model
            answer = await bench.consider(written, self._brief.sent)
            if answer.work is not None:
                return
            if await self._grant(answer.text):
                continue
            if repair or self.failed_at_format:
                return
            repair = feedback.rejected(answer.read.rejections, self._brief.tokens)

    async def _grant(self, text: str) -> bool:
        """Whether the model asked for something that is shown from now on."""
        if self._granted >= GRANTED:
            return False
        wider = await granted(wanted_in(text), self._brief)
        if wider is None:
            return False
        self._granted += 1
        self._brief = wider
        return True


def asked(prompt: str, gaps: Gaps, sample: int, answer_tokens: int) -> Question:
    """A question of the fix role.

    Args:
        prompt: Name of the prompt file.
        gaps: Fill it.
        sample: From 0; the first is greedy.
        answer_tokens: At most.
    """
    temperature = VARIED if sample else 0.0
    return Question(
        stage=STAGE,
        prompt=prompt,
        gaps=gaps,
        role=Role.FIX,
        max_tokens=answer_tokens,
        temperature=temperature,
        sample=sample,
    )


def samples_in(number: int, samples: int) -> int:
    """How many answers a round asks for: a greedy one and others; later rounds, which build on feedback, one less.

    Args:
        number: Of the round, from 0.
        samples: Of the first one.
    """
    return max(1, samples - 1) if number else samples


async def still_fails(bench: Bench, brief: Brief) -> tuple[Passage, ...]:
    """What is told about the best change so far; nothing when there is none.

    Args:
        bench: Knows it.
        brief: What the model is shown.
    """
    best = bench.best
    if best is None:
        return ()
    originals = await originals_of([best], brief)
    return feedback.failed(best.tried, originals, brief.tokens)


async def originals_of(works: Iterable[Work], brief: Brief) -> dict[str, str]:
    """Path to text before, of every file some changes touch."""
    paths = {change.path for work in works for change in work.proposed.changes}
    sources = {path: await brief.files.source(path) for path in sorted(paths)}
    return {path: source.text for path, source in sources.items() if source is not None}


async def search_on(bench: Bench) -> None:
    """Let the search go on from the best change, once from each.

    Args:
        bench: Knows it, and remembers what was begun.
    """
    best = bench.best
    if best is not None and best.proposed.id not in bench.starts:
        bench.starts.add(best.proposed.id)
        await bench.search_from(best)
