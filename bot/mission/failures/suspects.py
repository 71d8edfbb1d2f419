"""Suspected places of a failure: traceback frames, changed lines, names that the test calls."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from bot.domain.diagnosis import Suspect
from bot.domain.lesson import RecalledLesson
from bot.mission.failures.sentences import calls
from bot.ports import Workspace
from sandbox.changes import PatchHunk, is_protected, is_safe_path, parse_patch
from sandbox.errors import ChangeRejected
from sandbox.languages import READ, is_source
from sandbox.languages.reading import read_outline
from sandbox.types import FileContext, SourceDiff, TestResult

# Scores by evidence: a raised error, then a called function, a changed line, an earlier fix.
_DEEPEST = 0.9
_PER_FRAME = 0.1
_CHANGED = 0.7
_DEFINED = 0.8
_MENTIONED = 0.5
_FIXED = 0.5
_BOTH = 0.1
_AT_MOST = 50
"""Maximum number of suspects, and of a file's functions if a person names the file."""
_CONTEXTS = 8
"""Maximum number of places that are shown with their source, or taken from a person's hint."""
_FILES_READ = 40
"""Maximum number of source files to search for definitions."""
_NAMED = 0.9
_REFUSED = frozenset({"closed", "reverted"})
_SUFFIXES = "|".join(re.escape(suffix) for language in READ for suffix in language.suffixes)
_PLACE = re.compile(
    rf"(?<![\w./$-])(?P<file>[\w$][\w./$-]{{0,200}}(?:{_SUFFIXES}))(?::(?P<line>\d{{1,6}}))?(?!\w)"
)
_FUNCTION = re.compile(r"\s*(?:async\s+)?def\s")
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?\s*\(")
_NOT_NAMES = frozenset(
    {"assert", "print", "len", "range", "isinstance", "list", "dict", "set", "tuple", "str", "int"}
)
_COMMON_METHODS = frozenset(
    {"get", "post", "put", "patch", "delete", "head", "options", "request", "json", "text", "send"}
    | {"add", "append", "clear", "close", "copy", "count", "extend", "find", "format", "index"}
    | {"insert", "items", "join", "keys", "open", "pop", "read", "remove", "replace", "run", "save"}
    | {
        "set",
        "setdefault",
        "sort",
        "split",
        "strip",
        "update",
        "values",
        "write",
        "login",
        "filter",
    }
)
"""Methods of containers, files and test clients. Such a name does not identify a class."""


def is_suspectable(path: str) -> bool:
    """Return True if a path may hold a cause that we are allowed to fix."""
    return is_safe_path(path) and not is_protected(path)


async def read_text(path: str, workspace: Workspace) -> str:
    """Return a file's text; empty if it is missing or too large."""
    with suppress(ChangeRejected):
        return await workspace.read_file(path) or ""
    return ""


def from_frames(failures: Sequence[TestResult]) -> tuple[Suspect, ...]:
    """Return the traceback frames outside the tests, the deepest first."""
    found = []
    for failure in failures:
        frames = [f for f in reversed(failure.frames) if is_suspectable(f[0])]
        for depth, (file, line, function) in enumerate(frames):
            score = max(0.3, _DEEPEST - _PER_FRAME * depth)
            reason = f"{'raised' if depth == 0 else 'called'} in {function}"
            found.append(
                Suspect(file=file, line=max(1, line), score=round(score, 3), reason=reason)
            )
    return tuple(found)


async def from_hint(hint: str, workspace: Workspace) -> tuple[Suspect, ...]:
    """Return the places that a person named: `calc.py:12` a line, `calc.py` all its functions.

    Args:
        hint: The person's text.
        workspace: Workspace with the failing commit.
    """
    named = {(found["file"], int(found["line"] or 0)) for found in _PLACE.finditer(hint)}
    if not named:
        return ()
    there = set(filter(is_suspectable, await workspace.list_files()))
    found = []
    for file, line in sorted(named)[:_CONTEXTS]:
        if file not in there:
            continue
        lines = [line] if line else await _list_functions(file, workspace)
        found += [
            Suspect(file=file, line=at, score=_NAMED, reason="named by a person") for at in lines
        ]
    return tuple(found)


async def _list_functions(file: str, workspace: Workspace) -> list[int]:
    """Return the first lines of a file's functions; its first line if it has none."""
    text = await read_text(file, workspace)
    starts = [at for at, line in enumerate(text.splitlines(), start=1) if _FUNCTION.match(line)]
    if not is_source(file) and (outline := read_outline(file, text)) is not None:
        starts = [one.line for one in outline.definitions if not one.is_class]
    return starts[:_AT_MOST] or [1]


def from_red_diff(red_diff: SourceDiff, reads: Callable[[str], bool]) -> tuple[Suspect, ...]:
    """Return source lines that the commit added or changed.

    Args:
        red_diff: The changes of the commit.
        reads: Returns True for source in the languages of the failing tests.
    """
    return tuple(
        Suspect(
            file=file,
            line=line,
            score=_CHANGED,
            reason="changed by the commit that turned the check red",
        )
        for file, lines in sorted(red_diff.files.items())
        if reads(file) and is_suspectable(file)
        for line in lines
    )


async def from_lessons(
    lessons: Sequence[RecalledLesson], workspace: Workspace
) -> tuple[Suspect, ...]:
    """Return the lines where failures like this one were fixed before, wherever they are now.

    Faults recur near earlier ones (Kim et al., "Predicting Faults from Cached History", 2007).

    Args:
        lessons: Lessons of this failure, most relevant first.
        workspace: Workspace with the failing commit.
    """
    found = []
    for lesson, score in ((one.lesson, one.score) for one in lessons):
        if lesson.fix is None or lesson.fate in _REFUSED:
            continue
        with suppress(ChangeRejected):
            for file in parse_patch(lesson.fix.diff.encode()):
                if not is_suspectable(file.path):
                    continue
                lines = (await read_text(file.path, workspace)).splitlines()
                reason = f"a failure like this was fixed here by mission {lesson.mission_id}"
                found += [
                    Suspect(file=file.path, line=at, score=round(_FIXED * score, 3), reason=reason)
                    for hunk in file.hunks
                    if (at := _find_hunk(hunk, lines))
                ]
    return tuple(found)


def _find_hunk(hunk: PatchHunk, lines: Sequence[str]) -> int | None:
    """Return the present number of the first line that a hunk wrote or replaced."""
    known = {line.strip() for line in hunk.old} & {line.strip() for line in hunk.new}
    for text in (line.strip() for line in (*hunk.new, *hunk.old)):
        places = [at for at, line in enumerate(lines, start=1) if line.strip() == text]
        if text and text not in known and places:
            return min(places, key=lambda at: abs(at - hunk.start))
    return None


async def from_calls(
    failures: Sequence[TestResult], workspace: Workspace, *, wide: bool
) -> tuple[Suspect, ...]:
    """Return the definitions of the functions that the failing tests call.

    Args:
        failures: The failing tests.
        workspace: Workspace with the failing commit.
        wide: Take every call in the failing test's source, not only the one in the message.
    """
    wanted = {_last_name(call): _DEFINED for failure in failures for call in calls(failure)}
    if wide or not wanted:
        for failure in failures:
            for name in _calls_in(failure):
                wanted.setdefault(name, _MENTIONED)
    if not wanted:
        return ()
    files = [f for f in await workspace.list_files() if is_source(f) and is_suspectable(f)]
    found = []
    said = "\n".join(failure.traceback or "" for failure in failures)
    for file in sorted(files, key=_shallow_first)[:_FILES_READ]:
        found += _definitions(file, await read_text(file, workspace), wanted, said)
    return tuple(found)


def merged(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Return each place once, best first.

    Its score is the best one, plus a bonus for two agreeing signs.
    """
    best: dict[tuple[str, int], Suspect] = {}
    for suspect in suspects:
        place = (suspect.file, suspect.line)
        other = best.get(place)
        if other is None:
            best[place] = suspect
        elif other.reason != suspect.reason:
            top = max(other, suspect, key=lambda s: s.score)
            best[place] = top.with_(
                score=round(min(1.0, top.score + _BOTH), 3),
                reason=f"{other.reason}; {suspect.reason}",
            )
    return tuple(sorted(best.values(), key=lambda s: (-s.score, s.file, s.line)))[:_AT_MOST]


async def read_contexts(
    failures: Sequence[TestResult],
    suspects: Sequence[Suspect],
    workspace: Workspace,
    *,
    around: int,
) -> tuple[FileContext, ...]:
    """Return the source around the failing lines and the best suspects, each place once."""
    places = [(f.file, f.line) for f in failures if f.file and f.line]
    places += [(s.file, s.line) for s in suspects]
    contexts = []
    for file, line in list(dict.fromkeys(places))[:_CONTEXTS]:
        if is_safe_path(file):
            contexts.append(await workspace.read_file_context(file, line, around=around))
    return tuple(context for context in contexts if context.success)


def locate_failure(failure: TestResult, suspects: Sequence[Suspect]) -> str:
    """Return `module.function` of the deepest frame outside the tests, or of the called code."""
    for file, _, function in reversed(failure.frames):
        if not is_protected(file):
            return f"{_module(file)}.{function}"
    for name in map(_last_name, calls(failure)):
        home = next((s.file for s in suspects if s.reason.startswith(f"defines {name},")), None)
        if home:
            return f"{_module(home)}.{name}"
    return ""


def _module(file: str) -> str:
    """Return a file's module name for a reader."""
    return PurePosixPath(file).stem


def _last_name(call: str) -> str:
    """Return `add` for `calculator.add(1, 2)`."""
    return call.partition("(")[0].rpartition(".")[2]


def _calls_in(failure: TestResult) -> list[str]:
    """Return the names called in the failing test's source."""
    source = "\n".join(
        line for line in (failure.traceback or "").splitlines() if not line.startswith("E ")
    )
    names = [second or first for first, second in _CALL.findall(source)]
    return [n for n in dict.fromkeys(names) if n not in _NOT_NAMES and not n.startswith("test")]


def _shallow_first(path: str) -> tuple[int, str]:
    """Return a sort key that puts files near the root of the checkout first."""
    return path.count("/"), path


def _definitions(file: str, text: str, wanted: dict[str, float], said: str) -> list[Suspect]:
    """Return the lines that define one of the wanted names.

    Args:
        file: The file.
        text: Its content.
        wanted: Score by name.
        said: The source of the failing tests.
    """
    found = []
    owner, inner = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        match = re.match(r"(\s*)(?:async\s+)?(def|class)\s+(\w+)", line)
        if match is None:
            continue
        if len(match[1]) <= inner:
            owner = ""
        if match[2] == "class":
            owner, inner = match[3], len(match[1])
        elif owner and match[3] in _COMMON_METHODS and not _is_named(owner, match[3], said):
            continue
        if match[3] in wanted:
            reason = f"defines {match[3]}, which the failing test calls"
            found.append(Suspect(file=file, line=number, score=wanted[match[3]], reason=reason))
    return found


def _is_named(owner: str, method: str, said: str) -> bool:
    """Return True if tests mention a class, or call the method on a variable named like it."""
    if not said or re.search(rf"\b{owner}\b", said):
        return True
    plain = owner.lower()
    receivers = re.findall(rf"(\w+)\.{method}\(", said)
    return any((word := name.strip("_").lower()) in plain or plain in word for name in receivers)
