"""Grant a model's requests for files and symbols, within limits on size and number."""

from collections.abc import Iterable

from bot.fixers.rung2_model.budget import PromptPart, PromptSpace
from bot.fixers.rung2_model.context import Brief
from bot.fixers.rung2_model.excerpts import Excerpts, may_be_shown
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import NextStep, ProposeFix, Wanted
from sandbox.changes import is_protected
from sandbox.languages import is_source

GRANTED = 2
"""Maximum number of granted requests in one climb."""
_ENTRIES = 10
"""Maximum number of files, and of symbols, in one request."""
_FILES_SEARCHED = 60


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


async def grant_request(wanted: Wanted, brief: Brief) -> Brief | None:
    """Return the brief with the requested excerpts; None if nothing of them may be shown.

    Args:
        wanted: Names from a model; untrusted.
        brief: The current brief.
    """
    # A model may ask for any path, but secrets are never shown.
    there = frozenset(path for path in await brief.files.paths() if may_be_shown(path))
    shown = Excerpts(brief.files, PromptSpace.of(PromptPart.ASKED, brief.tokens), "asked for")
    for symbol in wanted.symbols[:_ENTRIES]:
        await _add_symbol(symbol.strip(), brief, there, shown)
    for path in wanted.files[:_ENTRIES]:
        named = path.strip().removeprefix("./").partition(":")[0]
        if named in there:
            await shown.add_file(named)
    return brief.with_asked(shown) if shown.shown else None


async def _add_symbol(symbol: str, brief: Brief, there: frozenset[str], shown: Excerpts) -> None:
    """Add a definition, from the files nearest to the shown ones."""
    path, _, inside = symbol.rpartition("::") if "::" in symbol else symbol.rpartition(":")
    name = inside.strip().removesuffix("()")
    if path in there and await shown.add_name(path, name):
        return
    for candidate in _nearest(there, [file.path for file in brief.sent])[:_FILES_SEARCHED]:
        if await shown.add_name(candidate, name):
            return


def _nearest(there: Iterable[str], sent: list[str]) -> list[str]:
    """Sort source files: shown ones first, then sources near the top of the checkout."""
    sources = [path for path in there if is_source(path)]
    return sorted(
        sources, key=lambda path: (path not in sent, is_protected(path), path.count("/"), path)
    )


def _is_placeholder(title: str) -> bool:
    """Return True if it is the example of the prompt."""
    return title.startswith("<") and title.endswith(">")
