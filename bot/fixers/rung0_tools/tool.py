"""ToolFixer: run an autofixer inside the sandbox and return what it changed."""

import posixpath
import shlex
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.ports import Workspace
from sandbox.changes.paths import is_safe_path
from sandbox.changes.protected import PathClass, protected_class
from sandbox.gate import clean
from sandbox.types import ChangeAction, FileChange, FileEdit, Frozen, Recipe, TestReport

COMMAND_S = 60.0
CANDIDATE_SCORE = 0.9


class ToolFix(Frozen):
    """One run of a tool that fixes files."""

    template: str
    """Name shown to people, such as `ruff check`."""
    command: str
    """A shell command line; file names are appended."""
    version_command: str
    format_only: bool = False
    """True if the tool changes only formatting, not behaviour. Only then may it edit test files."""
    tidy_check: str = ""
    """Command that checks whether the files are already formatted. It runs before the fix."""
    tidy: str = ""
    """Command that restores formatting after the fix, so that a format step does not turn red."""


class Tool(Frozen):
    """An autofix tool that can be registered."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of the files it fixes."""
    fixes: Callable[[str], tuple[ToolFix, ...]]
    """Maps the failing command to fixes; empty if the command does not run this tool."""


class ToolRun(Frozen):
    """A tool run that succeeded."""

    fix: ToolFix
    version: str
    paths: tuple[str, ...]


class ToolFixer:
    """A fixer on rung 0.

    Tools run repository code and configuration, so they run in the sandbox.

    Args:
        tool: The tool to run.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    @property
    def name(self) -> str:
        """Return the tool's name."""
        return self._tool.name

    @property
    def rung(self) -> Rung:
        """Return the cheapest rung."""
        return Rung.TOOLS

    def applies(self, report: TestReport) -> bool:
        """Return True if the report has findings of a command that runs this tool."""
        return (
            not report.success
            and report.traits.is_findings
            and bool(self._tool.fixes(report.target))
        )

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield at most one candidate: the tool's changes to the files the failing step named."""
        recipe = (await workspace.facts()).recipe
        report = context.test_results
        fixes = self._tool.fixes(recipe.command)
        if report is None or not self.applies(report) or not fixes:
            yield RungNote(reason=f"the failing step does not run {self.name}")
            return
        named = named_files(diagnosis, report, suffixes=self._tool.suffixes)
        started = time.monotonic()
        try:
            done = [
                await _run(fix, named, workspace, budget)
                for fix in fixes
                if allowed_files(fix, named)
            ]
            edits = await workspace.changes()
        except _ToolFailedError as error:
            edits, done = (), []
            problem = str(error)
        else:
            problem = _refusal(edits, done, recipe)
        finally:
            await workspace.revert()
        if problem:
            yield RungNote(reason=problem, candidates_tried=len(done))
            return
        yield _candidate(self.name, done, edits, seconds=time.monotonic() - started)


class _ToolFailedError(Exception):
    """The tool could not run. The message gives the reason."""


def named_files(
    diagnosis: Diagnosis, report: TestReport | None, *, suffixes: tuple[str, ...]
) -> tuple[str, ...]:
    """Return every file with a finding.

    Detailed failures give the file; all other findings have names like `path:line:rule`.
    """
    files = {failure.file for failure in diagnosis.failures if failure.file}
    if report is not None:
        files |= {failure.file for failure in report.failures if failure.file}
        files |= {name.split(":", 1)[0] for name in report.failing if ":" in name}
    return tuple(sorted(path for path in files if path.endswith(suffixes) and is_safe_path(path)))


def allowed_files(fix: ToolFix, named: Iterable[str]) -> tuple[str, ...]:
    """Return the named files that this run may edit. Formatting may edit test files."""
    open_to_it = {None, PathClass.TESTS} if fix.format_only else {None}
    return tuple(path for path in named if protected_class(path) in open_to_it)


async def _run(
    fix: ToolFix, named: Iterable[str], workspace: Workspace, budget: FixBudget
) -> ToolRun:
    paths = allowed_files(fix, named)
    limit = min(COMMAND_S, budget.time_limit_s)
    names = shlex.join(paths)
    # Format afterwards only if the files were formatted before.
    tidy = fix.tidy != "" and (await workspace.run(f"{fix.tidy_check} {names}", timeout_s=limit)).ok
    result = await workspace.run(f"{fix.command} {names}", timeout_s=limit)
    # Exit status 1 means that findings remain that the tool cannot fix.
    if result.exit_code not in {0, 1} or result.timed_out:
        output = " ".join(clean(result.stderr or result.stdout, cap=200).split())
        raise _ToolFailedError(f"{fix.template} could not run: {output or 'no answer'}")
    if tidy:
        await workspace.run(f"{fix.tidy} {names}", timeout_s=limit)
    version = await workspace.run(fix.version_command, timeout_s=limit)
    return ToolRun(fix=fix, version=" ".join(clean(version.stdout, cap=60).split()), paths=paths)


def _refusal(edits: Sequence[FileEdit], done: Sequence[ToolRun], recipe: Recipe) -> str:
    """Return the reason why the edits may not be proposed; empty if they may."""
    if not done:
        return "the failing step named no file that this tool may edit"
    if not edits:
        return "the tool changed nothing: the remaining findings need a person or another rung"
    named = {path for one in done for path in one.paths}
    # Named paths are relative to the step's directory; edits are relative to the checkout.
    expected = named | {
        posixpath.normpath(posixpath.join(recipe.working_directory, path)) for path in named
    }
    for edit in edits:
        # Configuration of the repository could make a tool edit any file.
        if edit.mode == "deleted" or edit.path not in expected:
            return (
                f"the tool touched {clean(edit.path, cap=200)}, which the failing step did not name"
            )
        if not _is_text(edit.content):
            return f"{clean(edit.path, cap=200)} is not UTF-8 text"
    return ""


def _candidate(
    name: str, done: Sequence[ToolRun], edits: Sequence[FileEdit], *, seconds: float
) -> Candidate:
    templates = " and ".join(dict.fromkeys(one.fix.template for one in done))
    versions = (
        ", ".join(dict.fromkeys(one.version for one in done if one.version))
        or f"{name}, version unknown"
    )
    count = f"{len(edits)} file{'s' if len(edits) != 1 else ''}"
    return Candidate(
        id=f"{name}-1",
        rung=Rung.TOOLS,
        fixer=name,
        template=templates,
        title=f"apply {templates} to {edits[0].path if len(edits) == 1 else count}",
        explanation=f"{versions} changed {count}; safe fixes only.",
        changes=tuple(
            FileChange(action=ChangeAction.REPLACE, path=edit.path, content=edit.content.decode())
            for edit in edits
        ),
        candidates_tried=len(done),
        score=CANDIDATE_SCORE,
        seconds=round(seconds, 3),
    )


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
