"""Our own agent: a model that works in steps with tools, until a change passes."""

from dataclasses import replace

from bot.domain.counted import counted
from bot.domain.model import Finish, Passage, Written
from bot.fixers.rung2_model import feedback
from bot.fixers.rung2_model.agent_answer import MOST_CALLS, ToolCall, parse_answer
from bot.fixers.rung2_model.agent_tools import TOOLS, AgentTools
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.budget import PromptPart, PromptSpace, characters, shortened
from bot.fixers.rung2_model.context import Brief, Gaps
from bot.fixers.rung2_model.edits import EditFormat, EditsRead, Reason
from bot.fixers.rung2_model.rounds import build_question, read_originals
from bot.fixers.rung2_model.tried_changes import TriedChange
from sandbox.types import FileChange, TestReport

PROMPT = "fix_agent"
_IDLE = 2
"""Steps without a tool or an edit after which the agent ends."""
_HISTORY = 0.7
"""Share of the prompt for the results of earlier steps; the oldest are left out."""
_SENTENCE = 600
_OWN_ANSWER = 1_200
"""Characters of each of its answers that the agent sees again."""
_BLOCKS = frozenset({EditFormat.SEARCH_REPLACE, EditFormat.APPLY_PATCH, EditFormat.UNIFIED_DIFF})


class AgentRounds:
    """Steps of one agent. Every answer may edit, and call tools; every edit is tried at once.

    Args:
        bench: Asks, reads and tries.
        brief: The failure, as a prompt for a fix shows it.
        report: The red run.
    """

    def __init__(self, bench: Bench, brief: Brief, report: TestReport) -> None:
        self._bench = bench
        self._brief = brief
        self._tools = AgentTools(bench, brief, report)
        self._history: list[Passage] = []
        self._idle = 0
        self._ended = False

    async def run(self) -> None:
        """Take steps until a change passes, the agent ends, or a limit is reached.

        Raises:
            Stopped: A limit was reached.
            TooLarge: The prompt must become smaller.
        """
        works = list(self._bench.works.values())
        originals = await read_originals(works, self._brief)
        self._history += feedback.summarize(works, originals, self._brief.tokens) if works else ()
        for step in range(self._bench.limits.agent_steps):
            question = build_question(PROMPT, await self._gaps(step), 0, self._bench.answer_tokens)
            written = await self._bench.ask(question.with_(tools=TOOLS))
            if written is not None:
                await self._act(written)
            if self._ended or self._bench.is_done:
                return

    async def _gaps(self, step: int) -> Gaps:
        brief = self._brief
        room_left = characters(brief.tokens * _HISTORY)
        kept: list[Passage] = []
        for passage in reversed(self._history):
            size = len(passage.text) + len(passage.label)
            if size > room_left and kept:
                break
            kept.append(passage.with_(text=shortened(passage.text, room_left)))
            room_left -= size
        dropped = len(self._history) - len(kept)
        left = self._bench.limits.agent_steps - step
        note = f"{left} steps are left." + (f" {dropped} results are not shown." if dropped else "")
        room = PromptSpace.of(PromptPart.SOURCES, brief.tokens)
        shown = brief.parts.get(PromptPart.SOURCES, ())
        gaps = brief.gaps(tuple(reversed(kept)))
        # An agent reads files with its tools instead of asking for them.
        del gaps[PromptPart.ASKED.value]
        gaps[PromptPart.SOURCES.value] = await self._tools.sources(shown, room)
        return {**gaps, "left": note}

    async def _act(self, written: Written) -> None:
        """Run an answer's tools and try its edits, in the order of its text; record the results."""
        answer = parse_answer(written.text)
        own = shortened(answer.text.strip(), _OWN_ANSWER)
        self._history.append(Passage(label="your answer", text=own, origin="your answer"))
        calls = [part for part in answer.parts if isinstance(part, ToolCall)]
        edited = False
        for number, part in enumerate(answer.parts, start=1):
            if isinstance(part, ToolCall):
                await self._call(part)
                continue
            finish = Finish.LENGTH if answer.is_cut else written.finish
            last = number == len(answer.parts)
            piece = written.with_(text=part, finish=finish if last else Finish.STOP)
            edited |= await self._edit(piece, answer.sentence or "")
            if self._bench.is_done:
                return
        if answer.dropped:
            text = f"{counted(answer.dropped, 'call')} too many: one answer has up to {MOST_CALLS}"
            self._history.append(Passage(label="not run", text=text, origin="MetaAgent"))
        # If its last edits do not pass, the agent goes on.
        self._ended = answer.sentence is not None and not edited
        if not (calls or edited or self._ended):
            self._note_idle(was_cut=written.finish is Finish.LENGTH)

    def _note_idle(self, *, was_cut: bool) -> None:
        """Record that an answer did nothing; end after several."""
        # The next answer may be longer than one that was cut off.
        self._idle += not was_cut or self._bench.hopeless
        self._ended = self._idle >= _IDLE
        text = "your answer has no edit and no tool that could be read"
        if was_cut:
            text = "your answer was cut off before an edit or a tool: think and explain less"
        self._history.append(Passage(label="nothing happened", text=text, origin="MetaAgent"))

    async def _call(self, call: ToolCall) -> None:
        """Run a tool and record its result."""
        before = self._tools.changes
        result = await self._tools.run(call)
        if self._tools.changes != before:
            self._forget_reads(before)
        self._history.append(result)

    def _forget_reads(self, changes: tuple[FileChange, ...]) -> None:
        """Drop earlier reads of changed files; the source shows their present lines."""
        paths = {change.path for change in changes}
        self._history = [passage for passage in self._history if passage.origin not in paths]

    async def _edit(self, written: Written, sentence: str) -> bool:
        """Try the edits in a part of an answer; return False if it has none, or was cut off."""
        sent, base = await self._tools.sent(), self._tools.changes
        answer = await self._bench.consider(written, sent, base, in_steps=True)
        if answer.work is None:
            if not _has_edits(answer.read):
                return False
            self._history += feedback.rejected(answer.read.rejections, self._brief.tokens)
            return not answer.read.cut_off
        work = self._explain(answer.work, sentence)
        changes = work.proposed.changes
        await self._tools.keep(changes)
        self._forget_reads(changes)
        text = feedback.describe_outcome(work)
        self._history.append(
            Passage(label="your edits are kept; with them", text=text, origin="a trial")
        )
        return True

    def _explain(self, work: TriedChange, sentence: str) -> TriedChange:
        """Record the agent's last sentence as the explanation of its change."""
        if not sentence:
            return work
        words = sentence[:_SENTENCE]
        tried = work.tried
        if tried.candidate is not None:
            tried = tried.with_(candidate=tried.candidate.with_(explanation=words))
        explained = replace(work, proposed=work.proposed.with_(explanation=words), tried=tried)
        for key, known in self._bench.works.items():
            if known is work:
                self._bench.works[key] = explained
        return explained


def _has_edits(read: EditsRead) -> bool:
    """Return True if a text has edits, also unusable ones; quoted code is no edit."""
    reasons = {rejection.reason for rejection in read.rejections}
    return read.format in _BLOCKS or bool(reasons - {Reason.NO_EDIT, Reason.NO_CHANGE})
