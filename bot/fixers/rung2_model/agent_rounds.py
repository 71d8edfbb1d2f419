"""Our own agent: a model that works in steps with tools, until a change passes."""

from dataclasses import replace

from bot.domain.model import Passage, Written
from bot.fixers.rung2_model import feedback
from bot.fixers.rung2_model.agent_tools import DONE, AgentTools, parse_calls
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.budget import CHARACTERS_PER_TOKEN
from bot.fixers.rung2_model.context import Brief, Gaps
from bot.fixers.rung2_model.rounds import build_question, read_originals
from bot.fixers.rung2_model.tried_changes import TriedChange
from sandbox.types import TestReport

PROMPT = "fix_agent"
_EDIT = "<<<<<<< SEARCH"
_IDLE = 2
"""Steps without a tool or an edit after which the agent ends."""
_HISTORY = 0.7
"""Share of the prompt for the results of earlier steps; the oldest are left out."""
_SENTENCE = 600


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
            question = build_question(PROMPT, self._gaps(step), 0, self._bench.limits.answer_tokens)
            written = await self._bench.ask(question)
            if written is not None:
                await self._act(written)
            if self._ended or self._bench.is_done:
                return

    def _gaps(self, step: int) -> Gaps:
        brief = self._brief
        room = int(brief.tokens * CHARACTERS_PER_TOKEN * _HISTORY)
        kept: list[Passage] = []
        for passage in reversed(self._history):
            room -= len(passage.text) + len(passage.label)
            if room < 0 and kept:
                break
            kept.append(passage)
        dropped = len(self._history) - len(kept)
        left = self._bench.limits.agent_steps - step
        note = f"{left} steps are left." + (f" {dropped} results are not shown." if dropped else "")
        return {**brief.gaps(tuple(reversed(kept))), "left": note}

    async def _act(self, written: Written) -> None:
        """Try an answer's edits, run its tools and record the results."""
        calls = parse_calls(written.text)
        sentence = next((call.argument for call in calls if call.name == DONE), "")
        results: list[Passage] = []
        if _EDIT in written.text:
            results += await self._edit(written, sentence)
        results += [await self._tools.run(call) for call in calls if call.name != DONE]
        # Edits that were meant to be the last, and do not pass, are no end.
        self._ended = any(call.name == DONE for call in calls) and _EDIT not in written.text
        if not results and not self._ended:
            self._idle += 1
            self._ended = self._idle >= _IDLE
            text = "your answer has no edit and no tool that could be read"
            results.append(Passage(label="nothing happened", text=text, origin="MetaAgent"))
        self._history += results

    async def _edit(self, written: Written, sentence: str) -> tuple[Passage, ...]:
        answer = await self._bench.consider(
            written, await self._tools.sent(), base=self._tools.changes
        )
        if answer.work is None:
            return feedback.rejected(answer.read.rejections, self._brief.tokens)
        work = self._explain(answer.work, sentence)
        self._tools.keep(work.proposed.changes)
        text = feedback.describe_outcome(work)
        return (Passage(label="your edits are kept; with them", text=text, origin="a trial"),)

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
