"""Answer a model's requests for files, lines, symbols and searches, within limits."""

import re
from collections.abc import Collection, Iterable

from bot.fixers.rung2_model.budget import PromptPart, PromptSpace
from bot.fixers.rung2_model.context import Brief
from bot.fixers.rung2_model.excerpts import Excerpts, may_be_shown
from bot.fixers.rung2_model.repository_map import nearest_first
from bot.fixers.rung2_model.text_search import SAID, describe_searched, search_text
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import NextStep, ProposeFix, Wanted
from sandbox.languages import is_read_source

GRANTED = 4
"""Maximum number of answered requests in one climb; they do not count as attempts."""
_ENTRIES = 10
"""Maximum number of files, and of symbols, in one request."""
_FILES_SEARCHED = 100
_SEARCH = re.compile(r"(?:grep|search)[: ]\s*(.+)")
_LINES = re.compile(r"(\d{1,7})(?:\s*-\s*(\d{1,7}))?")


def parse_proposal(text: str) -> ProposeFix | None:
    """Return an answer's description of its change.

    Args:
        text: The answer.
    """
    found = extract(text, ProposeFix).message
    return found if found is not None and not _is_placeholder(found.title) else None


def parse_wanted(text: str) -> Wanted:
    """Return the files and symbols an answer asks for; empty if there are none.

    Args:
        text: The answer.
    """
    for message in (extract(text, ProposeFix).message, extract(text, NextStep).message):
        if message is not None and (message.context.files or message.context.symbols):
            return message.context
    return Wanted()


async def grant_request(wanted: Wanted, brief: Brief) -> Brief:
    """Return the brief with the requested excerpts, and a refusal in words for all other entries.

    An entry is a path, lines of a file (`path:120-180`), a symbol, or a search (`grep word`).

    Args:
        wanted: Names from a model; untrusted.
        brief: The current brief.
    """
    # A model may ask for any path, but secrets are never shown.
    there = frozenset(path for path in await brief.files.paths() if may_be_shown(path))
    room = PromptSpace.of(PromptPart.ASKED, brief.tokens)
    shown, answers = Excerpts(brief.files, room, "asked for"), list[str]()
    refused = list[str]()
    symbols = [(entry, _add_symbol) for entry in wanted.symbols[:_ENTRIES]]
    for entry, add in (*symbols, *((entry, _add_file) for entry in wanted.files[:_ENTRIES])):
        name = " ".join(entry.split())
        if word := _SEARCH.fullmatch(name):
            answers.append(await _search(word[1].strip("'\""), there, brief, room))
        elif not await add(name, brief, there, shown):
            # A path may come as a symbol, and a symbol as a path.
            other = _add_file if add is _add_symbol else _add_symbol
            if not await other(name, brief, there, shown):
                where = describe_searched(_nearest(there, brief), _FILES_SEARCHED)
                refusal = f"there is no such text in {where}, or it may not be shown"
                refused.append(f"{name[:SAID]}: {refusal}")
    refused += [f"no space for {name}" for name in shown.cut]
    return brief.with_asked(shown, (*answers, *refused), lacks=bool(refused))


async def _add_file(entry: str, _: Brief, there: Collection[str], shown: Excerpts) -> bool:
    """Add a file, or some of its lines."""
    path, _colon, lines = entry.removeprefix("./").partition(":")
    if path not in there:
        return False
    span = _LINES.fullmatch(lines)
    if span is None:
        return await shown.add_file(path)
    first = int(span[1])
    return await shown.add_lines(path, first, int(span[2] or first))


async def _search(word: str, there: Collection[str], brief: Brief, room: PromptSpace) -> str:
    """Return the lines that contain a word, the nearest files first."""

    async def read(path: str) -> tuple[str, ...]:
        source = await brief.files.source(path)
        return source.lines if source is not None else ()

    sources = _nearest(there, brief)
    found = await search_text(word, sources, read, limit=_FILES_SEARCHED, take=room.take)
    return f"grep {word[:SAID]}: {found}"


async def _add_symbol(entry: str, brief: Brief, there: Collection[str], shown: Excerpts) -> bool:
    """Add a definition, from the files nearest to the shown ones."""
    path, _, inside = entry.rpartition("::") if "::" in entry else entry.rpartition(":")
    name = inside.strip().removesuffix("()")
    if path in there and await shown.add_name(path, name):
        return True
    for candidate in _nearest(there, brief)[:_FILES_SEARCHED]:
        if await shown.add_name(candidate, name):
            return True
    return False


def _nearest(there: Iterable[str], brief: Brief) -> list[str]:
    """Return the source files, the nearest to the shown and suspected ones first."""
    known = {file.path for file in brief.sent} | {place.file for place in brief.places}
    return nearest_first(filter(is_read_source, there), known)


def _is_placeholder(title: str) -> bool:
    """Return True if it is the example of the prompt."""
    return title.startswith("<") and title.endswith(">")
