"""Tools of our own agent: list, read and search files, run tests, and show its own edits."""

import asyncio
import re
from collections.abc import Iterable, Sequence

from bot.domain.model import ModelTool, Passage
from bot.fixers.rung2_model.agent_answer import DONE, ToolCall
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.budget import PromptSpace, shortened
from bot.fixers.rung2_model.context import Brief
from bot.fixers.rung2_model.edits import SentFile
from bot.fixers.rung2_model.excerpts import may_be_shown
from bot.fixers.rung2_model.feedback import diff_changes
from bot.fixers.rung2_model.repository_map import nearest_first
from bot.fixers.rung2_model.sources import Excerpt, Source
from bot.fixers.rung2_model.text_search import SAID, search_text
from bot.fixers.rung2_model.tried_changes import merge_changes
from sandbox.changes import is_protected
from sandbox.errors import ChangeRejected
from sandbox.languages import is_read_source
from sandbox.languages.outline import TITLES, Span
from sandbox.types import FileChange, TestReport

TEST_S = 60.0
"""Timeout of a test run for the agent, in seconds."""
_LINES, _CHARACTERS = 200, 9_000
"""Limits of one result; the lines are those of a read."""
_PATHS, _FILES = 150, 200
_OUTPUT = 3_000
_TESTS = 200
"""Tests that one call runs."""
_PARAMETER_SETS = re.compile(r" \(\d{1,9} parameter sets\)$")
"""End of the name of a test with several parameter sets in the prompt."""
_SPAN = re.compile(r"(.+?):(\d{1,7})(?:\s*-\s*(\d{1,7}))?")
_AROUND = 5
"""Lines shown on either side of an edit."""


def _tool(name: str, description: str, argument: str = "", *, required: bool = False) -> ModelTool:
    """Define a tool with at most one argument, which is a string."""
    properties = {argument: {"type": "string"}} if argument else {}
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required else [],
        "additionalProperties": False,
    }
    return ModelTool(name=name, description=description, parameters=parameters)


TOOLS = (
    _tool("list", "List the files of a folder, or of the whole repository.", "folder"),
    _tool("read", "Read a file, or lines of it: path:first-last.", "place", required=True),
    _tool("search", "Search the source files for an exact text.", "text", required=True),
    _tool(
        "test", "Run a test, class or file of tests with your edits; by default what fails.", "test"
    ),
    _tool("diff", "Show your edits."),
    _tool("reset", "Throw your edits away."),
    _tool(DONE, "End, with the cause of the failure in one sentence.", "cause", required=True),
)
"""The tools, for servers with tool calls. Edits are blocks of text for all servers."""


class AgentTools:
    """The tools of an agent, with its edits. The workspace stays as it was.

    Args:
        bench: Its failure, workspace and remaining time.
        brief: The checkout's files, and what the prompt shows of them.
        report: The red run.
    """

    def __init__(self, bench: Bench, brief: Brief, report: TestReport) -> None:
        self._bench = bench
        self._files = brief.files
        self._report = report
        self._places = brief.places
        self._shown = {file.path: file.regions for file in brief.sent}
        self.changes: tuple[FileChange, ...] = ()
        """The agent's edits so far, each file once."""
        self._touched: dict[str, None] = {}
        """Paths that were edited at any time, in order."""

    async def keep(self, changes: tuple[FileChange, ...]) -> None:
        """Make changes part of what the agent sees and builds on."""
        await self._replace(merge_changes(self.changes, changes))

    async def _replace(self, changes: tuple[FileChange, ...]) -> None:
        """Make these the only edits, and move the shown regions of their files with the lines."""
        paths = dict.fromkeys(change.path for change in (*self.changes, *changes))
        before = {path: await self._text(path) or "" for path in paths}
        self.changes = changes
        self._touched |= paths
        for path in paths:
            after = await self._text(path) or ""
            if regions := self._shown.get(path):
                self._shown[path] = move_regions(regions, before[path], after)

    async def sources(self, passages: Iterable[Passage], room: PromptSpace) -> tuple[Passage, ...]:
        """Return passages of the prompt, with the current lines of files that were edited.

        Args:
            passages: Source as it was before the edits; the origin is the path.
            room: Space for all edited files.
        """
        current = [await self._current(path, room) for path in self._touched]
        return (*current, *(one for one in passages if one.origin not in self._touched))

    async def _current(self, path: str, room: PromptSpace) -> Passage:
        """Return the present lines of an edited file that the agent has seen or written."""
        source = Source(path, await self._text(path) or "", parsed=False)
        original = await self._files.source(path)
        first, last = changed_span(original.text if original is not None else "", source.text)
        whole = (1, len(source.lines))
        spans = [(first - _AROUND, last + _AROUND), *(self._shown.get(path) or (whole,))]
        excerpt = Excerpt(source)
        for line in (line for span in spans for line in range(max(1, span[0]), span[1] + 1)):
            if not room.take(excerpt.missing((line, line))):
                break
            excerpt.add((line, line))
        return Passage(label="source as it is with your edits", text=excerpt.text, origin=path)

    async def sent(self) -> tuple[SentFile, ...]:
        """Return the files that the agent has seen, as it sees them now."""
        found = []
        for path, regions in self._shown.items():
            text = await self._text(path)
            if text is not None:
                found.append(
                    SentFile(path=path, text=text, regions=regions, editable=not is_protected(path))
                )
        return tuple(found)

    async def run(self, call: ToolCall) -> Passage:
        """Return the result of a tool, or the reason why there is none."""
        match call.name:
            case "list":
                text = await self._list(call.argument)
            case "read":
                return await self._read(call.argument)
            case "search" | "grep":
                text = await self._search(call.argument)
            case "test":
                text = await self._test(call.argument)
            case "diff":
                text = await self._diff()
            case "reset":
                await self._replace(())
                text = "your edits are gone"
            case _:
                text = "there is no such tool: list, read, search, test, diff, reset, done"
        label = f"{call.name} {call.argument}".strip()[:SAID]
        return Passage(label=label, text=shortened(text, _CHARACTERS), origin="a tool")

    async def _paths(self) -> list[str]:
        return sorted(path for path in await self._files.paths() if may_be_shown(path))

    async def _text(self, path: str) -> str | None:
        for change in self.changes:
            if change.path == path:
                return change.content
        source = await self._files.source(path)
        return source.text if source is not None else None

    async def _lines(self, path: str) -> tuple[str, ...]:
        """Return the lines of a file with the edits, counted as edits are placed."""
        return Source(path, await self._text(path) or "", parsed=False).lines

    async def _list(self, folder: str) -> str:
        prefix = folder.removeprefix("./").strip("/").removesuffix(".")
        inside = [p for p in await self._paths() if not prefix or p.startswith(f"{prefix}/")]
        more = [f"and {len(inside) - _PATHS} more"] if len(inside) > _PATHS else []
        return "\n".join([*inside[:_PATHS], *more]) or "there is no such folder"

    async def _read(self, argument: str) -> Passage:
        span = _SPAN.fullmatch(argument)
        path = (span[1] if span else argument).removeprefix("./")
        may_be_read = may_be_shown(path) and path in await self._files.paths()
        if not may_be_read or await self._text(path) is None:
            refusal = "there is no such text file, or it may not be shown"
            return Passage(label=f"read {argument}"[:SAID], text=refusal, origin="a tool")
        lines = await self._lines(path)
        first = max(1, int(span[2])) if span else 1
        last = int(span[3] or span[2]) if span else len(lines)
        last = min(last, len(lines), first + _LINES - 1)
        shown = lines[first - 1 : last]
        while len("\n".join(shown)) > _CHARACTERS and len(shown) > 1:
            shown = shown[: len(shown) // 2]
        last = first + len(shown) - 1
        whole = first == 1 and last == len(lines)
        # An empty tuple of regions means the whole file.
        known = self._shown.get(path)
        if whole or known == ():
            self._shown[path] = ()
        elif shown:
            self._shown[path] = (*(known or ()), (first, last))
        label = f"{path}, lines {first} to {last} of {len(lines)}"
        text = shortened("\n".join(shown), _CHARACTERS)
        return Passage(label=label, text=text or "no such lines", origin=path)

    async def _search(self, text: str) -> str:
        sources = nearest_first(filter(is_read_source, await self._paths()), self._known_paths)
        return await search_text(text, sources, self._lines, limit=_FILES)

    @property
    def _known_paths(self) -> set[str]:
        """Return the files that are shown, edited or suspected."""
        return {*self._shown, *self._touched, *(place.file for place in self._places)}

    def _named_tests(self, name: str) -> tuple[str, ...]:
        """Return the tests of a name, of a test with parameter sets, or of a class or file.

        Failing ones come first; without a name, only they are returned.
        """
        failing = self._report.failing
        known = sorted(self._report.outcomes if self._report.knows_tests else ())
        known.sort(key=lambda one: one not in failing)
        name = _PARAMETER_SETS.sub("", name)
        inside = (f"{name}[", f"{name}::", f"{name}{TITLES}")
        return tuple(
            one
            for one in known
            if (one == name or one.startswith(inside) if name else one in failing)
        )

    async def _test(self, name: str) -> str:
        """Run some tests, or the failing ones, with the agent's edits."""
        # A name becomes an argument of the runner, so only known names are passed on.
        wanted = self._named_tests(name)
        if not wanted:
            return "there is no such test; name one as it is shown above"
        workspace = self._bench.failure.workspace
        limit = asyncio.timeout(max(1.0, min(TEST_S, self._bench.left_s)))
        try:
            async with limit:
                if self.changes:
                    await workspace.apply_changes(self.changes)
                report = await workspace.run_tests(targets=wanted[:_TESTS])
        except ChangeRejected as error:
            return f"your edits cannot be applied: {error.message}"
        except TimeoutError:
            if not limit.expired():
                raise
            return "the tests did not end in time"
        finally:
            await workspace.revert()
        note = f"{_TESTS} of {len(wanted):,} tests were run\n" if len(wanted) > _TESTS else ""
        return note + _describe(report)

    async def _diff(self) -> str:
        if not self.changes:
            return "you have made no edit"
        texts = {c.path: await self._files.source(c.path) for c in self.changes}
        originals = {path: source.text for path, source in texts.items() if source is not None}
        return diff_changes(self.changes, originals)


def changed_span(before: str, after: str) -> Span:
    """Return the lines between the first and the last change; the last may be before the first."""
    old, new = Source("", before).lines, Source("", after).lines
    same = _count_equal(old, new)
    rest = min(len(old), len(new)) - same
    end = _count_equal(old[::-1][:rest], new[::-1][:rest])
    return same + 1, len(new) - end


def move_regions(regions: Iterable[Span], before: str, after: str) -> tuple[Span, ...]:
    """Return where shown lines are after a change, with the changed lines.

    Args:
        regions: Lines of the text before.
        before: The text before.
        after: The text after.
    """
    first, last = changed_span(before, after)
    added = len(Source("", after).lines) - len(Source("", before).lines)
    moved = [(first, last)]
    for one, other in regions:
        start = one if one < first else max(first, one + added)
        stop = other if other < first else max(first - 1, other + added)
        moved.append((start, stop))
    kept = tuple(dict.fromkeys(span for span in moved if 1 <= span[0] <= span[1]))
    near = max(1, first - 1)
    # No region at all would mean the whole file.
    return kept or ((near, near),)


def _count_equal(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(first), len(second)))


def _describe(report: TestReport) -> str:
    failures: Sequence[str] = [
        f"{one.name}: {one.error_message or one.output}"[:_OUTPUT] for one in report.failures[:3]
    ]
    return "\n".join([report.summary, *failures])[: 2 * _OUTPUT]
