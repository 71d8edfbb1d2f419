"""What a model asks to see: files and symbols of the repository, within a room, so often and no more."""

from collections.abc import Iterable

from bot.fixers.rung2_model.budget import Part, Room
from bot.fixers.rung2_model.context import Brief
from bot.fixers.rung2_model.excerpts import Excerpts, may_be_shown
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import NextStep, ProposeFix, Wanted
from sandbox.changes import is_protected

GRANTED = 2
"""Times in one climb."""
_ENTRIES = 10
"""Files, and symbols, of one wish."""
_FILES_SEARCHED = 60


def proposal_in(text: str) -> ProposeFix | None:
    """What an answer says about its change.

    Args:
        text: The answer.
    """
    found = extract(text, ProposeFix).message
    return found if found is not None and not _is_placeholder(found.title) else None


def wanted_in(text: str) -> Wanted:
    """What an answer asks to see; nothing when it asks for nothing.

    Args:
        text: The answer.
    """
    for message in (extract(text, ProposeFix).message, extract(text, NextStep).message):
        if message is not None and (message.context.files or message.context.symbols):
            return message.context
    return Wanted()


async def granted(wanted: Wanted, brief: Brief) -> Brief | None:
    """The brief with what was asked for; None when the repository has nothing of it that may be shown.

    Args:
        wanted: From a model: names of whatever it likes.
        brief: What it was shown.
    """
    there = frozenset(path for path in await brief.files.paths() if may_be_shown(path))
    shown = Excerpts(brief.files, Room.of(Part.ASKED, brief.tokens), "asked for")
    for symbol in wanted.symbols[:_ENTRIES]:
        await _add_symbol(symbol.strip(), brief, there, shown)
    for path in wanted.files[:_ENTRIES]:
        named = path.strip().removeprefix("./").partition(":")[0]
        if named in there:
            await shown.add_file(named)
    return brief.with_asked(shown) if shown.shown else None


async def _add_symbol(symbol: str, brief: Brief, there: frozenset[str], shown: Excerpts) -> None:
    """Show a definition, from the files that are nearest to what was shown."""
    path, _, inside = symbol.rpartition("::") if "::" in symbol else symbol.rpartition(":")
    name = inside.strip().removesuffix("()")
    if path in there and await shown.add_name(path, name):
        return
    for candidate in _nearest(there, [file.path for file in brief.sent])[:_FILES_SEARCHED]:
        if await shown.add_name(candidate, name):
            return


def _nearest(there: Iterable[str], sent: list[str]) -> list[str]:
    """Python files, those that were shown first, then sources near the top of the checkout, then the rest."""
    python = [path for path in there if path.endswith(".py")]
    return sorted(python, key=lambda path: (path not in sent, is_protected(path), path.count("/"), path))


def _is_placeholder(title: str) -> bool:
    """Whether it is the example of the prompt."""
    return title.startswith("<") and title.endswith(">")
