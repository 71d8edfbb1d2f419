"""Context around the suspects: signatures, the red diff, lessons and earlier attempts."""

from collections.abc import Iterable, Iterator, Sequence

from bot.domain.mission import MissionContext
from bot.domain.model import Passage
from bot.domain.patch import NearMiss
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.excerpts import may_be_shown
from bot.fixers.rung2_model.sources import Excerpt, Files, Source
from sandbox.changes.syntax import is_python
from sandbox.languages import is_source
from sandbox.languages.modules import imported_files
from sandbox.languages.outline import Definition
from sandbox.types import RedHunk, WorkspaceFacts

_FILES_READ = 12
_PACKAGE_READ = 40
"""For other languages than Python: in Go, no import says which file of a package it means."""
_LOOKED_AT = 300
_LESSONS = 3
_ATTEMPTS = 2
_MESSAGE = 400


async def skeleton(
    shown: Sequence[Excerpt], files: Files, room: PromptSpace
) -> tuple[Passage, ...]:
    """Return signatures of callees and callers, and of other definitions in the shown files.

    Args:
        shown: Excerpts of the suspects.
        files: Files of the checkout.
        room: Space for all signatures.
    """
    sources = [excerpt.source for excerpt in shown]
    used = frozenset[str]().union(*(one.names for one in _shown_functions(shown)))
    known = {(excerpt.source.path, line) for excerpt in shown for line in excerpt.chosen}
    imported = await imported_sources(sources, files)
    names = frozenset(one.last_name for one in _shown_functions(shown)) - {""}
    lines = dict[str, None]()
    for source, one in _wanted(sources, imported, used, names):
        if (source.path, one.line) not in known and not one.is_titled:
            owner = f"({one.owner}) " if one.owner else ""
            lines.setdefault(f"{source.path}:{one.line}: {owner}{source.header(one)}")
    kept = [line for line in lines if room.take(len(line) + 1)]
    return (
        (Passage(label="signatures elsewhere", text="\n".join(kept), origin="the repository"),)
        if kept
        else ()
    )


async def red_diff(
    facts: WorkspaceFacts, shown: Iterable[str], files: Files, room: PromptSpace
) -> tuple[tuple[Passage, ...], list[str]]:
    """Return the diff that turned the check red, hunks of shown files first.

    Args:
        facts: Facts about the workspace.
        shown: Paths of the suspects.
        files: Files of the checkout.
        room: Space for the diff.

    Returns:
        The diff, and the names of hunks that did not fit.
    """
    first = set(shown)
    hunks = [hunk for hunk in facts.red_diff.hunks if may_be_shown(hunk.path)]
    pieces, cut = list[str](), list[str]()
    for hunk in sorted(hunks, key=lambda hunk: hunk.path not in first):
        text = _hunk(hunk, await files.source(hunk.path))
        if room.take(len(text) + 1):
            pieces.append(text)
        else:
            cut.append(f"the diff of {hunk.path} at line {hunk.line}")
    passage = Passage(
        label="diff that turned the check red", text="\n".join(pieces), origin="the repository"
    )
    return (passage,) if pieces else (), cut


def lessons(context: MissionContext, room: PromptSpace) -> tuple[Passage, ...]:
    """Return lessons of earlier missions about this failure.

    Args:
        context: Has the recalled lessons.
        room: Space for all lessons.
    """
    sentences = [recalled.lesson.sentence[:_MESSAGE] for recalled in context.lessons[:_LESSONS]]
    return tuple(
        Passage(label="lesson of an earlier mission", text=text, origin="memory")
        for text in sentences
        if room.take(len(text) + 1)
    )


def attempts(context: MissionContext, room: PromptSpace) -> tuple[Passage, ...]:
    """Return failed changes of earlier iterations, and near misses of the search.

    Args:
        context: Has the iterations and near misses.
        room: Space for all attempts.
    """
    found = [
        Passage(
            label="earlier attempt, rejected by verification",
            text=f"{made.title}\n{verdict.reason}\n{verdict.diff}",
            origin=made.fixer,
        )
        for each in reversed(context.iterations)
        if (made := each.candidate) is not None
        and (verdict := each.verification) is not None
        and not verdict.green
    ][:_ATTEMPTS]
    unlike: dict[tuple[str, int, tuple[str, ...]], NearMiss] = {}
    for miss in context.near_misses:
        unlike.setdefault((miss.path, miss.line, miss.mended), miss)
    found += [
        Passage(
            label="a change that makes some of the failing tests pass",
            text=(
                f"{miss.path}:{miss.line}: {miss.description}\n"
                f"passes with it: {', '.join(miss.mended)}\n{miss.diff}"
            ),
            origin="search",
        )
        for miss in list(unlike.values())[:_ATTEMPTS]
    ]
    shares = range(len(found), 0, -1)
    return tuple(
        one.with_(text=room.cut(one.text, parts=left))
        for one, left in zip(found, shares, strict=True)
    )


def person_hints(context: MissionContext, cause: str, room: PromptSpace) -> tuple[Passage, ...]:
    """Return a person's hints and the analysis so far.

    Args:
        context: Has the request.
        cause: Cause given in the diagnosis.
        room: Space for all of it.
    """
    answer = context.request.answer
    entries = (
        ("a person's hint", context.request.hint),
        ("a person's answer", answer.text if answer else ""),
        ("analysis so far", cause),
    )
    return tuple(
        Passage(label=label, text=room.cut(text), origin="mission")
        for label, text in entries
        if text
    )


def _shown_functions(shown: Sequence[Excerpt]) -> Iterator[Definition]:
    """Yield the functions with shown lines."""
    for excerpt in shown:
        spans = excerpt.spans
        for one in excerpt.source.functions:
            if any(first <= one.last and one.first <= last for first, last in spans):
                yield one


def _wanted(
    sources: Sequence[Source],
    imported: Sequence[Source],
    used: frozenset[str],
    names: frozenset[str],
) -> Iterator[tuple[Source, Definition]]:
    """Yield callees, then callers, then the other definitions of the shown files."""
    everywhere = [*sources, *imported]
    for source in everywhere:
        yield from ((source, one) for one in source.definitions if one.last_name in used)
    for source in everywhere:
        yield from ((source, one) for one in source.functions[:_LOOKED_AT] if one.names & names)
    for source in sources:
        yield from ((source, one) for one in source.definitions[:_LOOKED_AT])


async def imported_sources(sources: Sequence[Source], files: Files) -> list[Source]:
    """Return files of the checkout that the sources import.

    Args:
        sources: The importing files.
        files: Files of the checkout.
    """
    known = {source.path for source in sources}
    homes = _homes(await files.paths())
    paths = dict[str, None]()
    for source in sources:
        if is_python(source.path):
            modules = (name for one in source.imports for name in one.modules)
            paths |= dict.fromkeys(path for name in modules if (path := _home(name, homes)))
        else:
            checkout = await files.checkout(source.path)
            paths |= dict.fromkeys(imported_files(source.path, source.imports, checkout))
    wanted = [path for path in paths if path not in known and may_be_shown(path)]
    most = _FILES_READ if all(is_python(source.path) for source in sources) else _PACKAGE_READ
    found = [await files.source(path) for path in wanted[:most]]
    return [source for source in found if source is not None]


def _homes(paths: Iterable[str]) -> dict[str, list[str]]:
    """Group Python files by the last part of their module name."""
    homes: dict[str, list[str]] = {}
    for path in paths:
        if is_source(path):
            homes.setdefault(_module(path).rpartition("/")[2], []).append(path)
    return homes


def _home(module: str, homes: dict[str, list[str]]) -> str | None:
    """Return a module's file: the one nearest to the top whose path ends with its name."""
    tail = f"/{module.replace('.', '/')}"
    found = [
        path
        for path in homes.get(module.rpartition(".")[2], ())
        if f"/{_module(path)}".endswith(tail)
    ]
    return min(found, key=lambda path: (path.count("/"), path), default=None)


def _module(path: str) -> str:
    """Return the module path: `pkg/mod` for `pkg/mod.py`, `pkg` for `pkg/__init__.py`."""
    return path.removesuffix(".py").removesuffix("/__init__")


def _hunk(hunk: RedHunk, now: Source | None) -> str:
    """Format a hunk with its old and current lines."""
    new = now.lines[hunk.line - 1 : hunk.line - 1 + hunk.lines] if now is not None else ()
    gone = [f"-{line}" for line in hunk.before.splitlines()]
    return "\n".join([f"--- {hunk.path} line {hunk.line}", *gone, *(f"+{line}" for line in new)])
