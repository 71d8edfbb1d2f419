"""ToolFixer: run the failing tool's own fixes inside the sandbox and return what they changed."""

import posixpath
import shlex
import time
from collections.abc import AsyncIterator, Iterable, Sequence

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung0_tools.calls import find_failing, read_calls
from bot.fixers.rung0_tools.tool import Tool, ToolCall
from bot.ports import Workspace
from sandbox.changes.paths import is_safe_path
from sandbox.changes.protected import PathClass, protected_class
from sandbox.changes.same_tests import can_prove_tests, same_tests
from sandbox.gate import clean
from sandbox.types import (
    ChangeAction,
    CommandResult,
    FileChange,
    FileEdit,
    Frozen,
    TestReport,
    TestResult,
)

COMMAND_S = 60.0
CANDIDATE_SCORE = 0.9
_MOST_NAMED = 400
"""Files in one command: their names must fit into one argument of a shell, 128 KiB."""
_NODE_PROGRAMS = "node_modules/.bin"


class ToolRun(Frozen):
    """A fix that ran."""

    call: ToolCall
    version: str
    paths: tuple[str, ...]
    """The named files that it may edit, relative to the checkout."""


class ToolFixer:
    """The fixer of rung 0.

    Tools run repository code and configuration, so they run in the sandbox.

    Args:
        tools: All tools that it knows.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tuple(tools)

    @property
    def name(self) -> str:
        """Return the fixer's name."""
        return "tools"

    @property
    def rung(self) -> Rung:
        """Return the cheapest rung."""
        return Rung.TOOLS

    def applies(self, report: TestReport) -> bool:
        """Return True if the report has findings of a command that runs a known tool."""
        calls = read_calls(report.target, self._tools)
        is_red = not report.success and report.traits.is_findings
        return is_red and find_failing(calls, report) is not None

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield at most one candidate: the tools' changes to the files that the checks named."""
        recipe = (await workspace.facts()).recipe
        report = context.test_results
        calls = read_calls(recipe.command, self._tools)
        failing = find_failing(calls, report) if report is not None else None
        if report is None or failing is None or not self.applies(report):
            yield RungNote(reason="the failing step runs no tool that fixes its findings")
            return
        started = time.monotonic()
        work = _Work(workspace, self._tools, recipe.working_directory, budget.time_limit_s)
        # The tree may have the edits of an earlier iteration.
        earlier = await workspace.changes()
        try:
            done = await work.fix_from(calls[calls.index(failing) :], calls, report, diagnosis)
            edits = tuple(edit for edit in await workspace.changes() if edit not in earlier)
        except _ToolFailedError as error:
            edits, done = (), ()
            problem = str(error)
        else:
            edits = _without_strays(edits, done)
            problem = _refusal(edits, done)
        finally:
            await workspace.revert()
        if not problem:
            edits, problem = await _without_changed_tests(edits, workspace)
        if problem:
            yield RungNote(reason=problem, candidates_tried=len(done))
            return
        yield _candidate(done, edits, seconds=time.monotonic() - started)


class _ToolFailedError(Exception):
    """The tool could not run. The message gives the reason."""


class _Work:
    """The fixes of one failing command line.

    Args:
        workspace: On the failing tree; changed, and not reverted.
        tools: All known tools.
        folder: The step's folder, relative to the checkout.
        limit_s: Time limit of each command, in seconds.
    """

    def __init__(
        self, workspace: Workspace, tools: Sequence[Tool], folder: str, limit_s: float
    ) -> None:
        self._workspace = workspace
        self._tools = tools
        self._folder = folder
        self._limit_s = min(COMMAND_S, limit_s)

    async def fix_from(
        self,
        later: Sequence[ToolCall],
        calls: Sequence[ToolCall],
        report: TestReport,
        diagnosis: Diagnosis,
    ) -> tuple[ToolRun, ...]:
        """Fix the findings of the failing check, then of the checks behind it.

        A command line ends at its first red check. The later ones run here, on the fixed files.

        Args:
            later: The failing check and those behind it.
            calls: All checks of the command line.
            report: The red run.
            diagnosis: Details of its failures.

        Raises:
            _ToolFailedError: A tool could not run.
        """
        done: list[ToolRun] = []
        first = named_files(diagnosis.failures, report)
        files: Iterable[str] = first
        for number, call in enumerate(later):
            if number:
                rerun = await self._workspace.run_tests(call.in_folder(call.line))
                # What it finds in other files may be older than the failure.
                files = sorted({*named_files((), rerun)} & {*first}) if not rerun.success else ()
            files = tuple(path for path in files if call.tool.fits(path))
            if paths := allowed_files(files):
                done.append(await self._fix(call, paths, calls))
        return tuple(done)

    async def _fix(
        self, call: ToolCall, paths: tuple[str, ...], calls: Sequence[ToolCall]
    ) -> ToolRun:
        companions = await self._find_companions(call, paths, calls)
        result = await self._run(call, call.fix_command, paths)
        if result.exit_code not in call.tool.statuses or result.timed_out:
            output = " ".join(clean(result.stderr or result.stdout, cap=200).split())
            raise _ToolFailedError(f"{call.tool.name} could not run: {output or 'no answer'}")
        for other in companions:
            await self._run(other, other.fix_command, paths)
        if companions:
            # A formatter that the project does not use may contradict the check.
            await self._run(call, call.fix_command, paths)
        version = await self._workspace.run(
            call.in_folder(call.version_command), timeout_s=self._limit_s
        )
        text = " ".join(clean(version.stdout, cap=60).split())
        return ToolRun(call=call, version=text, paths=paths)

    async def _run(self, call: ToolCall, command: str, paths: Sequence[str]) -> CommandResult:
        if not call.tool.whole_project:
            start = posixpath.normpath(posixpath.join(self._folder, call.folder))
            names = [posixpath.relpath(path, start) for path in paths[:_MOST_NAMED]]
            command = f"{command} {shlex.join(names)}"
        return await self._workspace.run(call.in_folder(command), timeout_s=self._limit_s)

    async def _find_companions(
        self, call: ToolCall, paths: Sequence[str], calls: Sequence[ToolCall]
    ) -> list[ToolCall]:
        """Return the formatters that find nothing to change in these files before the fix."""
        wanted = [
            tool
            for tool in self._tools
            if tool.check and tool != call.tool and all(map(tool.fits, paths))
        ]
        found = []
        places = await self._find_programs(call, wanted)
        for tool in wanted:
            other = _companion(tool, call, calls, places)
            if other is not None and (await self._run(other, other.check_command, paths)).ok:
                found.append(other)
        return found

    async def _find_programs(self, call: ToolCall, tools: Sequence[Tool]) -> dict[str, str]:
        """Return where the programs of tools are, by name."""
        names = sorted({tool.program for tool in tools} - {call.tool.program})
        if not names:
            return {}
        search = (
            f"for name in {shlex.join(names)}; do "
            f'command -v "$name" || ls "{_NODE_PROGRAMS}/$name"; done 2>/dev/null'
        )
        result = await self._workspace.run(call.in_folder(search), timeout_s=self._limit_s)
        places = [line.strip() for line in result.stdout.splitlines()]
        return {
            name: place if place.startswith(_NODE_PROGRAMS) else name
            for place in places
            if (name := place.rpartition("/")[2]) in names
        }


def _companion(
    tool: Tool, call: ToolCall, calls: Sequence[ToolCall], places: dict[str, str]
) -> ToolCall | None:
    """Return how a formatter runs here: as in the command line, else as its environment has it."""
    own = next((one for one in calls if one.tool == tool and one.folder == call.folder), None)
    if own is not None:
        return own
    if tool.program == call.tool.program:
        # The same program and configuration: `ruff format` beside `ruff check`.
        return call.with_(tool=tool)
    if tool.program not in places:
        return None
    return ToolCall(tool=tool, start=(places[tool.program],), folder=call.folder)


def named_files(failures: Iterable[TestResult], report: TestReport) -> tuple[str, ...]:
    """Return every file with a finding, relative to the checkout.

    Detailed failures give the file; all other findings have names like `path:line:rule`.
    """
    files = {failure.file for failure in (*failures, *report.failures) if failure.file}
    files |= {name.split(":", 1)[0] for name in report.failing if ":" in name}
    return tuple(sorted(filter(is_safe_path, files)))


def allowed_files(named: Iterable[str]) -> tuple[str, ...]:
    """Return the named files that a tool may edit.

    Of tests, those of which it can be proved that an edit keeps what they do.
    """
    return tuple(
        path
        for path in named
        if (kind := protected_class(path)) is None
        or (kind is PathClass.TESTS and can_prove_tests(path))
    )


async def _without_changed_tests(
    edits: Sequence[FileEdit], workspace: Workspace
) -> tuple[tuple[FileEdit, ...], str]:
    """Return the edits without those that may change what a test does, and why none is left.

    Args:
        edits: The tools' edits of text files.
        workspace: The tree before them.
    """
    kept, dropped = list[FileEdit](), list[str]()
    for edit in edits:
        is_test = protected_class(edit.path) is not None
        old = await workspace.read_file(edit.path) if is_test else None
        if is_test and not same_tests(edit.path, old or "", edit.content.decode()):
            dropped.append(clean(edit.path, cap=200))
        else:
            kept.append(edit)
    problem = f"the tool's edit of {dropped[0]} may change what the test does" if dropped else ""
    return tuple(kept), "" if kept else problem


def _without_strays(edits: Sequence[FileEdit], done: Sequence[ToolRun]) -> tuple[FileEdit, ...]:
    """Return the edits; without those of files that no check named if a whole project was fixed."""
    if not any(one.call.tool.whole_project for one in done):
        return tuple(edits)
    named = {path for one in done for path in one.paths}
    return tuple(edit for edit in edits if edit.path in named)


def _refusal(edits: Sequence[FileEdit], done: Sequence[ToolRun]) -> str:
    """Return the reason why the edits may not be proposed; empty if they may."""
    if not done:
        return "the failing step named no file that its tool may edit"
    if not edits:
        return "the tool changed nothing: the remaining findings need a person or another rung"
    named = {path for one in done for path in one.paths}
    for edit in edits:
        path = clean(edit.path, cap=200)
        # Configuration of the repository could make a tool edit any file.
        if edit.mode == "deleted" or edit.path not in named:
            return f"the tool touched {path}, which the failing step did not name"
        if not _is_text(edit.content):
            return f"{path} is not UTF-8 text"
    return ""


def _candidate(done: Sequence[ToolRun], edits: Sequence[FileEdit], *, seconds: float) -> Candidate:
    tools = tuple(dict.fromkeys(one.call.tool for one in done))
    templates = " and ".join(tool.name for tool in tools)
    versions = ", ".join(dict.fromkeys(one.version for one in done if one.version))
    count = f"{len(edits)} file{'s' if len(edits) != 1 else ''}"
    return Candidate(
        id=f"{tools[0].program}-1",
        rung=Rung.TOOLS,
        fixer=" and ".join(dict.fromkeys(tool.program for tool in tools)),
        template=templates,
        title=f"apply {templates} to {edits[0].path if len(edits) == 1 else count}",
        explanation=f"{versions or templates} changed {count}; safe fixes only.",
        changes=tuple(
            FileChange(action=ChangeAction.REPLACE, path=edit.path, content=edit.content.decode())
            for edit in edits
        ),
        candidates_tried=len(done),
        score=CANDIDATE_SCORE,
        # The edits are those of the tool whose finding failed the step.
        confident=True,
        seconds=round(seconds, 3),
    )


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
