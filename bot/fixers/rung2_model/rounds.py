"""Ask for edit blocks in rounds: one greedy answer, then varied ones.

Later rounds see the failures that remain with the best change.
"""

from collections.abc import Awaitable, Callable, Iterable

from bot.domain.model import Passage, Question, Role
from bot.fixers.rung2_model import feedback
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.context import Brief, Gaps
from bot.fixers.rung2_model.request_more import GRANTED, grant_request, parse_wanted
from bot.fixers.rung2_model.tried_changes import TriedChange
from bot.llm.protocol.messages import Wanted

STAGE = "fix"
VARIED = 0.8
"""Temperature of every sample but the first."""
AGREEING = 2
"""Further answers that are asked for when a change passes and is not certain."""
ROUNDS_BEFORE_STEPS = 2
"""With `auto`, the model works in steps after so many rounds of which none passes."""
_EARLIER = 3
"""Number of earlier changes in the prompt of a later sample."""


class BlockRounds:
    """Rounds that ask for SEARCH/REPLACE blocks.

    Args:
        bench: Asks, reads and tries.
        brief: Context shown to the model.
    """

    def __init__(self, bench: Bench, brief: Brief) -> None:
        self._bench = bench
        self._brief = brief
        self._granted = 0
        self._asks_beyond = False
        """True after a request beyond the granted number."""
        self._model = ""

    @property
    def failed_at_format(self) -> bool:
        """Return True if the model should be asked for whole functions instead."""
        return self._bench.limits.edit_format == "auto" and self._bench.weak_at_format(self._model)

    @property
    def _is_auto(self) -> bool:
        return self._bench.limits.fix == "auto"

    @property
    def misses_files(self) -> bool:
        """Return True if a model that may also work in steps should look for files itself."""
        return self._is_auto and (self._asks_beyond or self._brief.lacks)

    async def run(self) -> None:
        """Run rounds until a change passes or a limit is reached.

        Raises:
            Stopped: A limit was reached.
            TooLarge: The prompt must become smaller.
        """
        rounds = self._bench.limits.rounds
        for number in range(min(rounds, ROUNDS_BEFORE_STEPS) if self._is_auto else rounds):
            earlier = await failure_feedback(self._bench, self._brief) if number else ()
            # Without feedback, a later round would repeat the first one.
            if number and not earlier:
                return
            await self._round(number, earlier)
            if self._bench.passing or self.failed_at_format or self.misses_files:
                return
            await continue_search(self._bench)
            if self._bench.is_done:
                return

    async def _round(self, number: int, earlier: tuple[Passage, ...]) -> None:
        for sample in range(samples_in(number, self._bench.limits.samples)):
            await self._sample(sample, earlier)
            await seek_agreement(self._bench, lambda n: self._sample(n, earlier), sample + 1)
            if self.failed_at_format or self.misses_files or self._bench.is_done:
                return

    async def agree(self) -> None:
        """Ask for answers that agree with a change that another way of working has found.

        Raises:
            Stopped: A limit was reached.
            TooLarge: The prompt must become smaller.
        """
        await seek_agreement(self._bench, lambda number: self._sample(number, ()), 1)

    async def _sample(self, sample: int, earlier: tuple[Passage, ...]) -> None:
        """Get one answer, after its requests for files and after one repair if it was rejected."""
        bench, repair = self._bench, tuple[Passage, ...]()
        while True:
            # An answer that agrees says more if it has not seen the one that passes.
            agrees = sample > 0 and bench.seeks_agreement
            shows_earlier = sample and not agrees
            before = await self._samples_so_far() if shows_earlier else ()
            question = build_question(
                "fix",
                self._brief.gaps((*earlier, *before, *repair)),
                sample,
                bench.answer_tokens,
            )
            # Facts in another order make an answer less dependent on the one that passes.
            written = await bench.ask(question.with_(order=sample if agrees else 0))
            if written is None:
                return
            self._model = written.call.model
            answer = await bench.consider(written, self._brief.sent)
            if answer.work is not None:
                return
            if await self._grant(answer.text) and not self.misses_files:
                continue
            if self.misses_files or repair or self.failed_at_format:
                return
            repair = feedback.rejected(answer.read.rejections, self._brief.tokens)

    async def _grant(self, text: str) -> bool:
        """Return True if a request for more context was answered, also if it was refused."""
        wanted = parse_wanted(text)
        self._asks_beyond = self._granted >= GRANTED and wanted != Wanted()
        if self._asks_beyond or wanted == Wanted():
            return False
        self._brief = await grant_request(wanted, self._brief)
        self._granted += 1
        return True

    async def _samples_so_far(self) -> tuple[Passage, ...]:
        """Return what became of the earlier answers of this climb, in short."""
        works = list(self._bench.works.values())[-_EARLIER:]
        originals = await read_originals(works, self._brief)
        return feedback.summarize(works, originals, self._brief.tokens)


def build_question(prompt: str, gaps: Gaps, sample: int, answer_tokens: int) -> Question:
    """Build a question of the fix role.

    Args:
        prompt: Name of the prompt file.
        gaps: Values of its gaps.
        sample: From 0; the first is greedy.
        answer_tokens: Maximum length of the answer.
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
    """Return the number of answers in a round; later rounds use feedback and need one less.

    Args:
        number: Number of the round, from 0.
        samples: Number of answers in the first round.
    """
    return max(1, samples - 1) if number else samples


async def seek_agreement(bench: Bench, ask: Callable[[int], Awaitable[object]], first: int) -> None:
    """Ask for further independent answers while a change passes and is not certain.

    They cost less than the person who would be asked instead.

    Args:
        bench: State of the climb.
        ask: Asks once; its argument is the number of the sample.
        first: Number of the first sample.
    """
    for number in range(first, first + AGREEING):
        if not bench.seeks_agreement:
            return
        await ask(number)


async def failure_feedback(bench: Bench, brief: Brief) -> tuple[Passage, ...]:
    """Return feedback on the best failing change; empty if there is none.

    Args:
        bench: State of the climb.
        brief: Context shown to the model.
    """
    best = bench.best
    if best is None:
        return ()
    originals = await read_originals([best], brief)
    return feedback.failed(best.tried, originals, brief.tokens)


async def read_originals(works: Iterable[TriedChange], brief: Brief) -> dict[str, str]:
    """Return the original text of every file that the changes edit, by path."""
    paths = {change.path for work in works for change in work.proposed.changes}
    sources = {path: await brief.files.source(path) for path in sorted(paths)}
    return {path: source.text for path, source in sources.items() if source is not None}


async def continue_search(bench: Bench) -> None:
    """Continue with a search from the best failing change, once for each change.

    Args:
        bench: State of the climb; records the searches.
    """
    best = bench.best
    if best is not None and best.proposed.id not in bench.starts:
        bench.starts.add(best.proposed.id)
        await bench.search_from(best)
