"""Ask for whole functions: all suspects at once, then one at a time; improvements accumulate."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bot.domain.model import Finish, Passage, Written
from bot.fixers.rung2_model import feedback
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.budget import PromptPart, PromptSpace
from bot.fixers.rung2_model.context import Brief, Gaps
from bot.fixers.rung2_model.edits import SentFile
from bot.fixers.rung2_model.failing import first_failures, test_function
from bot.fixers.rung2_model.rounds import (
    build_question,
    continue_search,
    read_originals,
    samples_in,
    seek_agreement,
)
from bot.fixers.rung2_model.sources import Source
from bot.fixers.rung2_model.tried_changes import TriedChange
from bot.llm.prompts.order import rotate
from sandbox.languages import PYTHON, find_language
from sandbox.types import FileChange, TestReport, TestResult

PROMPT = "fix_function"
OTHER_PROMPT = "fix_definition"
"""The prompt for other languages than Python."""
_TARGETS = 6
_FAILURES = 2
_BLOCK = re.compile(r"```[\w+-]*\n(.*?)(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_TOP = re.compile(r"^(?=(?:@|def |async def |class ))", re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Target:
    """A function that may contain the fault."""

    path: str
    name: str

    @property
    def last_name(self) -> str:
        """Return the last part of the name: `total` for `Cart.total`."""
        return self.name.rpartition(".")[2]

    @property
    def language(self) -> str:
        """Return the language of its file."""
        language = find_language(self.path)
        return language.name if language is not None else ""


class FunctionRounds:
    """Rounds that ask for whole functions.

    Args:
        bench: Asks, reads and tries.
        brief: Context with the suspect places.
        report: The red run.
    """

    def __init__(self, bench: Bench, brief: Brief, report: TestReport) -> None:
        self._bench = bench
        self._brief = brief
        self._report = report
        self._base: TriedChange | None = None
        """A partial fix that later changes are based on."""

    async def run(self) -> None:
        """Run rounds until a change passes or a limit is reached.

        Raises:
            Stopped: A limit was reached.
            TooLarge: The prompt must become smaller.
        """
        for number in range(self._bench.limits.rounds):
            if await self._keep_improving(number):
                return
            await continue_search(self._bench)
            if self._bench.is_done:
                return

    async def _keep_improving(self, number: int) -> bool:
        """Continue while answers fix more tests; return True if the climb is done."""
        while await self._improve(number):
            if self._bench.is_done:
                return True
        return False

    async def _improve(self, number: int) -> bool:
        """Ask for the suspects; return True if an answer improves on the base or ends the climb."""
        targets = await self._targets()
        # In the first round, also one at a time: easier for weak models.
        groups = [targets, *((target,) for target in targets if len(targets) > 1 and not number)]
        for group in groups:
            if group and await self._ask_for(group, number):
                return True
        return False

    async def _ask_for(self, targets: tuple[Target, ...], number: int) -> bool:
        """Ask for some functions until an answer helps."""
        sent, code = await self._shown(targets)
        earlier = await self._feedback() if number else ()
        if number and not earlier:
            return False
        gaps: Gaps = {
            "failing": await self._failing(targets),
            "code": code,
            PromptPart.FEEDBACK.value: earlier or "",
        }

        prompt = PROMPT
        if targets[0].language != PYTHON.name:
            prompt = OTHER_PROMPT
            gaps["language"] = targets[0].language

        async def ask(sample: int) -> TriedChange | None:
            limit = self._bench.limits.answer_tokens
            question = build_question(prompt, gaps, sample, limit)
            if sample and self._bench.seeks_agreement:
                # Functions in another order make an answer less dependent on the one that passes.
                _, reordered = await self._shown(rotate(targets, sample))
                question = question.with_(gaps={**gaps, "code": reordered}, order=sample)
            written = await self._bench.ask(question)
            return await self._read_answer(written, sent, targets) if written is not None else None

        for sample in range(samples_in(number, self._bench.limits.samples)):
            work = await ask(sample)
            await seek_agreement(self._bench, ask, sample + 1)
            if self._bench.is_done:
                return True
            if work is not None and self._fixes_more(work):
                self._base = work
                return True
        return False

    async def _read_answer(
        self, written: Written, sent: tuple[SentFile, ...], targets: tuple[Target, ...]
    ) -> TriedChange | None:
        """Read an answer as a change.

        If it has no usable change, keep only the first versions of the functions asked for.
        """
        answer = await self._bench.consider(written, sent, self._changes)
        pruned = keep_requested(
            written, {part for target in targets for part in target.name.split(".")}
        )
        if answer.work is not None or pruned is None:
            return answer.work
        return (await self._bench.consider(pruned, sent, self._changes)).work

    @property
    def _changes(self) -> tuple[FileChange, ...]:
        return self._base.proposed.changes if self._base else ()

    @property
    def _left(self) -> tuple[TestResult, ...]:
        """Return the tests that still fail."""
        names = self._base.tried.still_failing if self._base else ()
        return first_failures(self._report, frozenset(names)) or first_failures(self._report)

    def _fixes_more(self, work: TriedChange) -> bool:
        """Return True if a change fixes more tests than its base."""
        so_far = self._base.tried.mended if self._base else ()
        return work.helps and len(work.tried.mended) > len(so_far)

    async def _targets(self) -> tuple[Target, ...]:
        """Return the functions at suspect places, those that failing tests name first.

        With a base, only the named ones.
        """
        found: dict[Target, None] = {}
        for place in self._brief.places:
            source = await self._brief.files.source(place.file)
            function = source.at(place.line) if source is not None else None
            if function is not None and find_language(place.file) is not None:
                found.setdefault(Target(place.file, function.name))
        used = [await self._names_in(failure) for failure in self._left]
        named = [target for target in found if any(target.last_name in names for names in used)]
        others = [] if named and self._base else [target for target in found if target not in named]
        chosen = [*named, *others]
        # One prompt is about one language: that of the likeliest function.
        return tuple(one for one in chosen if one.language == chosen[0].language)[:_TARGETS]

    async def _names_in(self, failure: TestResult) -> frozenset[str]:
        """Return the names that a failing test uses."""
        _, test = await test_function(failure, self._brief.files)
        return test.names if test is not None else frozenset()

    async def _shown(
        self, targets: tuple[Target, ...]
    ) -> tuple[tuple[SentFile, ...], tuple[Passage, ...]]:
        """Return the current functions by file, as far as they fit."""
        room = PromptSpace.of(PromptPart.SOURCES, self._brief.tokens)
        sent, passages = [], []
        for path in dict.fromkeys(target.path for target in targets):
            there = await self._brief.files.source(path)
            # Answers build on the base, so the model sees its version.
            text = next(
                (c.content for c in self._changes if c.path == path), there.text if there else None
            )
            source, spans, pieces = Source(path, text or ""), [], []
            for target in targets:
                function = source.named(target.name) if target.path == path else None
                span = (function.first, function.last) if function is not None else (1, 0)
                if function is None or not room.take(source.size(span)):
                    continue
                spans.append(span)
                pieces.append(
                    "\n".join([*_head(source, target), *source.lines[span[0] - 1 : span[1]]])
                )
            if spans:
                sent.append(SentFile(path=path, text=source.text, regions=tuple(spans)))
                label = f"{targets[0].language.capitalize()} code"
                passages.append(Passage(label=label, text="\n\n\n".join(pieces), origin=path))
        return tuple(sent), tuple(passages)

    async def _failing(self, targets: tuple[Target, ...]) -> tuple[Passage, ...]:
        """Return the failing tests that use one of the functions, else any failing tests."""
        names = {target.last_name for target in targets}
        using = [failure for failure in self._left if names & await self._names_in(failure)]
        chosen = (using or list(self._left))[:_FAILURES]
        room = PromptSpace.of(PromptPart.FAILING, self._brief.tokens)
        texts = [f"{f.name}\n{f.traceback or f.error_message or f.output}" for f in chosen]
        shares = range(len(texts), 0, -1)
        tracebacks = "\n\n".join(
            room.cut(text, parts=left) for text, left in zip(texts, shares, strict=True)
        )
        return (Passage(label="failing tests", text=tracebacks),)

    async def _feedback(self) -> tuple[Passage, ...]:
        """Return the failures with the best change, unless it is the base."""
        best = self._bench.best
        if best is None or best is self._base:
            return ()
        return feedback.failed(
            best.tried, await read_originals([best], self._brief), self._brief.tokens
        )


def keep_requested(written: Written, names: Collection[str]) -> Written | None:
    """Keep the first version of each function asked for in the first block; None if there is none.

    A weak model may write until it is cut off: other functions, and repetitions.

    Args:
        written: The answer.
        names: Names of the functions.
    """
    block = _BLOCK.search(written.text)
    pieces = _TOP.split(block[1]) if block is not None else []
    if written.finish is Finish.LENGTH and block is not None and block.end() == len(written.text):
        pieces.pop()  # cut off in the middle
    kept: dict[str, str] = {}
    decorators = ""
    for piece in pieces:
        found = _NAME.match(piece)
        if found is None:
            decorators = decorators + piece if piece.startswith("@") else ""
            continue
        if found[1] in names:
            kept.setdefault(found[1], decorators + piece.rstrip())
        decorators = ""
    text = "\n\n\n".join(kept.values())
    return written.with_(text=f"```python\n{text}\n```\n", finish=Finish.STOP) if kept else None


def _head(source: Source, target: Target) -> Iterator[str]:
    """Yield the header of a method's class."""
    owner = source.named(target.name.rpartition(".")[0]) if "." in target.name else None
    if owner is not None:
        yield source.header(owner)
