"""Which places in the source a failure points at: frames, lines the commit changed, names the test calls."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from bot.domain.diagnosis import Suspect
from bot.mission.sentences import calls
from bot.ports import Workspace
from sandbox.changes import is_protected, is_safe_path
from sandbox.errors import ChangeRejected
from sandbox.types import FileContext, SourceDiff, TestResult

_DEEPEST = 0.9
_PER_FRAME = 0.1
_CHANGED = 0.7
_DEFINED = 0.8
_MENTIONED = 0.5
_BOTH = 0.1
_AT_MOST = 50
_CONTEXTS = 8
_FILES_READ = 40
_NAMED = 0.9
_PLACE = re.compile(r"(?<![\w./-])(?P<file>\w[\w./-]{0,200}\.py)(?::(?P<line>\d{1,6}))?(?!\w)")
_FUNCTION = re.compile(r"\s*(?:async\s+)?def\s")
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?\s*\(")
_NOT_NAMES = frozenset({"assert", "print", "len", "range", "isinstance", "list", "dict", "set", "tuple", "str", "int"})


def is_suspectable(path: str) -> bool:
    """Whether a path of the checkout may hold a cause that we may mend."""
    return is_safe_path(path) and not is_protected(path)


async def text_of(path: str, workspace: Workspace) -> str:
    """What stands in a file; nothing when there is none, or one too large to be read."""
    with suppress(ChangeRejected):
        return await workspace.read_file(path) or ""
    return ""


def from_frames(failures: Sequence[TestResult]) -> tuple[Suspect, ...]:
    """The frames of the tracebacks outside the tests, the deepest first."""
    found = []
    for failure in failures:
        frames = [f for f in reversed(failure.frames) if is_suspectable(f[0])]
        for depth, (file, line, function) in enumerate(frames):
            score = max(0.3, _DEEPEST - _PER_FRAME * depth)
            reason = f"{'raised' if depth == 0 else 'called'} in {function}"
            found.append(Suspect(file=file, line=max(1, line), score=round(score, 3), reason=reason))
    return tuple(found)


async def from_hint(hint: str, workspace: Workspace) -> tuple[Suspect, ...]:
    """Places a person named: `calc.py:12` is a line, `calc.py` stands for every function in it.

    Args:
        hint: Their words.
        workspace: Tells which of them are files.
    """
    named = {(found["file"], int(found["line"] or 0)) for found in _PLACE.finditer(hint)}
    if not named:
        return ()
    there = set(filter(is_suspectable, await workspace.list_files()))
    found = []
    for file, line in sorted(named)[:_CONTEXTS]:
        if file not in there:
            continue
        lines = [line] if line else await _functions_of(file, workspace)
        found += [Suspect(file=file, line=at, score=_NAMED, reason="named by a person") for at in lines]
    return tuple(found)


async def _functions_of(file: str, workspace: Workspace) -> list[int]:
    """The first lines of the functions in a file; its first line when there is none."""
    text = await text_of(file, workspace)
    starts = [at for at, line in enumerate(text.splitlines(), start=1) if _FUNCTION.match(line)]
    return starts[:_AT_MOST] or [1]


def from_red_diff(red_diff: SourceDiff) -> tuple[Suspect, ...]:
    """Source lines that the commit added or changed."""
    return tuple(
        Suspect(file=file, line=line, score=_CHANGED, reason="changed by the commit that turned the check red")
        for file, lines in sorted(red_diff.files.items())
        if file.endswith(".py") and is_suspectable(file)
        for line in lines
    )


async def from_calls(failures: Sequence[TestResult], workspace: Workspace, *, wide: bool) -> tuple[Suspect, ...]:
    """Where the functions are defined that the failing tests call.

    Args:
        failures: The failing tests.
        workspace: On the failing commit.
        wide: Take every call in the failing test's source, not only the one in the message.
    """
    wanted = {_last_name(call): _DEFINED for failure in failures for call in calls(failure)}
    if wide or not wanted:
        for failure in failures:
            for name in _calls_in(failure):
                wanted.setdefault(name, _MENTIONED)
    if not wanted:
        return ()
    files = [f for f in await workspace.list_files() if f.endswith(".py") and is_suspectable(f)]
    found = []
    for file in sorted(files, key=_shallow_first)[:_FILES_READ]:
        found += _definitions(file, await text_of(file, workspace), wanted)
    return tuple(found)


def merged(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Each place once, with its best score and a little more when two signs agree; best first."""
    best: dict[tuple[str, int], Suspect] = {}
    for suspect in suspects:
        place = (suspect.file, suspect.line)
        other = best.get(place)
        if other is None:
            best[place] = suspect
        elif other.reason != suspect.reason:
            top = max(other, suspect, key=lambda s: s.score)
            best[place] = top.with_(
                score=round(min(1.0, top.score + _BOTH), 3), reason=f"{other.reason}; {suspect.reason}"
            )
    return tuple(sorted(best.values(), key=lambda s: (-s.score, s.file, s.line)))[:_AT_MOST]


async def contexts_of(
    failures: Sequence[TestResult], suspects: Sequence[Suspect], workspace: Workspace, *, around: int
) -> tuple[FileContext, ...]:
    """Source around the failing lines and the best suspects, each place once."""
    places = [(f.file, f.line) for f in failures if f.file and f.line]
    places += [(s.file, s.line) for s in suspects]
    contexts = []
    for file, line in list(dict.fromkeys(places))[:_CONTEXTS]:
        if is_safe_path(file):
            contexts.append(await workspace.read_file_context(file, line, around=around))
    return tuple(context for context in contexts if context.success)


def place_of(failure: TestResult, suspects: Sequence[Suspect]) -> str:
    """`module.function` of the deepest frame outside the tests, or of the function the test called."""
    for file, _, function in reversed(failure.frames):
        if not is_protected(file):
            return f"{_module(file)}.{function}"
    for name in map(_last_name, calls(failure)):
        home = next((s.file for s in suspects if s.reason.startswith(f"defines {name},")), None)
        if home:
            return f"{_module(home)}.{name}"
    return ""


def _module(file: str) -> str:
    """A file's name as a person says it."""
    return PurePosixPath(file).stem


def _last_name(call: str) -> str:
    """`add` of `calculator.add(1, 2)`."""
    return call.partition("(")[0].rpartition(".")[2]


def _calls_in(failure: TestResult) -> list[str]:
    """Names called in the failing test's shown source."""
    source = "\n".join(line for line in (failure.traceback or "").splitlines() if not line.startswith("E "))
    names = [second or first for first, second in _CALL.findall(source)]
    return [n for n in dict.fromkeys(names) if n not in _NOT_NAMES and not n.startswith("test")]


def _shallow_first(path: str) -> tuple[int, str]:
    """Files near the top of the checkout first."""
    return path.count("/"), path


def _definitions(file: str, text: str, wanted: dict[str, float]) -> list[Suspect]:
    """The lines that define one of the wanted names."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = re.match(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)", line)
        if match and match[1] in wanted:
            reason = f"defines {match[1]}, which the failing test calls"
            found.append(Suspect(file=file, line=number, score=wanted[match[1]], reason=reason))
    return found
