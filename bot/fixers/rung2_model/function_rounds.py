"""Ask for whole functions, as weak models can: all suspects at once, then one by one; what helps is built on."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bot.domain.model import Finish, Passage, Written
from bot.fixers.rung2_model import feedback
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.budget import Part, Room
from bot.fixers.rung2_model.context import Brief, Gaps
from bot.fixers.rung2_model.edits import SentFile
from bot.fixers.rung2_model.failing import first_failures, test_function
from bot.fixers.rung2_model.rounds import asked, originals_of, samples_in, search_on
from bot.fixers.rung2_model.sources import Source
from bot.fixers.rung2_model.works import Work
from sandbox.types import FileChange, TestReport, TestResult

PROMPT = "fix_function"
_TARGETS = 6
_FAILURES = 2
_BLOCK = re.compile(r"```[\w+-]*\n(.*?)(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_TOP = re.compile(r"^(?=(?:@|def |async def |class ))", re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Target:
    """A function that may hold the cause."""

    path: str
    name: str

    @property
    def last_name(self) -> str:
        """`total` of `Cart.total`."""
        return self.name.rpartition(".")[2]


class FunctionRounds:
    """Whole functions.

    Args:
        bench: Asks, reads and tries.
        brief: Where the cause may be.
        report: The red run.
    """

    def __init__(self, bench: Bench, brief: Brief, report: TestReport) -> None:
        self._bench = bench
        self._brief = brief
        self._report = report
        self._base: Work | None = None
        """A change that mends a part: the next ones are made on top of it."""

    async def run(self) -> None:
        """Until a change passes, or rounds, time or money are spent.

        Raises:
            Stopped: a limit was reached.
            TooLarge: the prompt has to become smaller.
        """
        for number in range(self._bench.limits.rounds):
            if await self._builds(number):
                return
            await search_on(self._bench)
            if self._bench.is_done:
                return

    async def _builds(self, number: int) -> bool:
        """Go on while answers mend more and more; whether that is all."""
        while await self._improves(number):
            if self._bench.is_done:
                return True
        return False

    async def _improves(self, number: int) -> bool:
        """Ask for what is still suspect; whether an answer mends more than what it stands on, or ends the matter."""
        targets = await self._targets()
        groups = [targets, *((target,) for target in targets if len(targets) > 1 and not number)]
        for group in groups:
            if group and await self._ask_for(group, number):
                return True
        return False

    async def _ask_for(self, targets: tuple[Target, ...], number: int) -> bool:
        """Ask for some functions until an answer helps."""
        sent, code = await self._shown(targets)
        told = await self._told() if number else ()
        if number and not told:
            return False
        gaps: Gaps = {"failing": await self._failing(targets), "code": code, Part.FEEDBACK.value: told or ""}
        for sample in range(samples_in(number, self._bench.limits.samples)):
            written = await self._bench.ask(asked(PROMPT, gaps, sample, self._bench.limits.answer_tokens))
            work = await self._work_of(written, sent, targets) if written is not None else None
            if self._bench.is_done:
                return True
            if work is not None and self._mends_more(work):
                self._base = work
                return True
        return False

    async def _work_of(self, written: Written, sent: tuple[SentFile, ...], targets: tuple[Target, ...]) -> Work | None:
        """The answer as a change; of one that goes on and on, the functions that were asked for."""
        answer = await self._bench.consider(written, sent, self._changes)
        pruned = only_asked_for(written, {part for target in targets for part in target.name.split(".")})
        if answer.work is not None or pruned is None:
            return answer.work
        return (await self._bench.consider(pruned, sent, self._changes)).work

    @property
    def _changes(self) -> tuple[FileChange, ...]:
        return self._base.proposed.changes if self._base else ()

    @property
    def _left(self) -> tuple[TestResult, ...]:
        """What still fails."""
        names = self._base.tried.still_failing if self._base else ()
        return first_failures(self._report, frozenset(names)) or first_failures(self._report)

    def _mends_more(self, work: Work) -> bool:
        """Whether a change helps, and more than what it stands on."""
        so_far = self._base.tried.mended if self._base else ()
        return work.helps and len(work.tried.mended) > len(so_far)

    async def _targets(self) -> tuple[Target, ...]:
        """The functions at the suspect places, named ones first; only those once a part is mended."""
        found: dict[Target, None] = {}
        for place in self._brief.places:
            source = await self._brief.files.source(place.file)
            function = source.at(place.line) if source is not None else None
            if function is not None:
                found.setdefault(Target(place.file, function.name))
        used = [await self._names_in(failure) for failure in self._left]
        named = [target for target in found if any(target.last_name in names for names in used)]
        others = [] if named and self._base else [target for target in found if target not in named]
        return tuple([*named, *others][:_TARGETS])

    async def _names_in(self, failure: TestResult) -> frozenset[str]:
        """What a failing test makes use of."""
        _, test = await test_function(failure, self._brief.files)
        return test.names if test is not None else frozenset()

    async def _shown(self, targets: tuple[Target, ...]) -> tuple[tuple[SentFile, ...], tuple[Passage, ...]]:
        """Functions as they stand now, by file, as far as they fit."""
        room = Room.of(Part.SOURCES, self._brief.tokens)
        sent, passages = [], []
        for path in dict.fromkeys(target.path for target in targets):
            there = await self._brief.files.source(path)
            text = next((c.content for c in self._changes if c.path == path), there.text if there else None)
            source, spans, pieces = Source(path, text or ""), [], []
            for target in targets:
                function = source.named(target.name) if target.path == path else None
                span = (function.first, function.last) if function is not None else (1, 0)
                if function is None or not room.take(source.size(span)):
                    continue
                spans.append(span)
                pieces.append("\n".join([*_head(source, target), *source.lines[span[0] - 1 : span[1]]]))
            if spans:
                sent.append(SentFile(path=path, text=source.text, regions=tuple(spans)))
                passages.append(Passage(label="Python code", text="\n\n\n".join(pieces), origin=path))
        return tuple(sent), tuple(passages)

    async def _failing(self, targets: tuple[Target, ...]) -> tuple[Passage, ...]:
        """The failing tests that use one of the functions; any of those that still fail where none does."""
        names = {target.last_name for target in targets}
        using = [failure for failure in self._left if names & await self._names_in(failure)]
        chosen = (using or list(self._left))[:_FAILURES]
        room = Room.of(Part.FAILING, self._brief.tokens)
        texts = [f"{f.name}\n{f.traceback or f.error_message or f.output}" for f in chosen]
        shares = range(len(texts), 0, -1)
        told = "\n\n".join(room.cut(text, parts=left) for text, left in zip(texts, shares, strict=True))
        return (Passage(label="failing tests", text=told),)

    async def _told(self) -> tuple[Passage, ...]:
        """What still fails with the best change, unless that is what is shown."""
        best = self._bench.best
        if best is None or best is self._base:
            return ()
        return feedback.failed(best.tried, await originals_of([best], self._brief), self._brief.tokens)


def only_asked_for(written: Written, names: Collection[str]) -> Written | None:
    """The first version of each function that was asked for, out of an answer's first block; None when there is none.

    A weak model writes on until it is cut off: other functions, and the same again.

    Args:
        written: The answer.
        names: Of the functions.
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
    """The head of the class a method stands in."""
    owner = source.named(target.name.rpartition(".")[0]) if "." in target.name else None
    if owner is not None:
        yield source.header(owner)
