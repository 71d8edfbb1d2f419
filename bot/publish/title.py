"""Build the one-line title of a fix from the verified diff: verb, code, symbol, file. Pure."""

import re
from collections.abc import Iterator, Sequence

from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Rung
from bot.publish.changed_parts import ChangedPart, changed_parts
from bot.publish.markdown import SafeWriter

TITLE_CHARS = 72
"""Git shows at most so many characters of a subject in one line."""
_FALLBACK = "Repair the failing check"
_MOST_NAMED = 3
_RULE = re.compile(r"[A-Z]{1,4}[0-9]{1,4}|[a-z][a-z-]{2,30}")
_UNDONE = "undo_"
"""Prefix of templates that restore the code of the base commit."""


def fix_title(context: MissionContext, *, pen: SafeWriter | None = None) -> str:
    """Return a title such as `Restore + in add and == 0 in is_even (broken_math.py)`.

    Of several wordings, the most exact one that fits is taken, so that no word is cut.

    Args:
        context: A mission with a fix.
        pen: Sanitizes untrusted text.
    """
    pen = pen or SafeWriter()
    titles = (pen.title(title, cap=1000) for title in _wordings(context, pen))
    return next((title for title in titles if len(title) <= TITLE_CHARS), _FALLBACK)


def steps_of_fix(context: MissionContext) -> tuple[Candidate, ...]:
    """Return the candidates that form the fix, in order: partial ones, then the last."""
    kept = (
        i
        for i in context.iterations
        if i.verification and (i.verification.green or i.verification.partial)
    )
    return tuple(i.candidate for i in kept if i.candidate)


def is_undone(context: MissionContext) -> bool:
    """Return True if the fix restores the code of the base commit."""
    steps = steps_of_fix(context)
    return bool(steps) and all(step.template.startswith(_UNDONE) for step in steps)


def _wordings(context: MissionContext, pen: SafeWriter) -> Iterator[str]:
    """Yield titles from exact to short."""
    if context.fix is None:
        return
    parts = changed_parts(context, pen)
    paths = list(dict.fromkeys(edit.path.replace("`", "") for edit in context.fix[1].edits))
    for ending in _endings(paths):
        if context.request.improve is not None:
            title = context.fix[0].title
            yield f"{title[:1].upper()}{title[1:]}{ending}"
            continue
        if context.fix[0].rung is Rung.TOOLS:
            yield from _by_tool(context, ending)
        else:
            yield from _by_parts(parts, ending, undone=is_undone(context))
    if paths and context.request.improve is not None:
        yield f"Improve {_base(paths[0])}"
    elif len(paths) > 1:
        yield f"Repair {len(paths)} files"
    elif paths:
        yield f"Repair {paths[0]}"
        yield f"Repair {_base(paths[0])}"


def _endings(paths: Sequence[str]) -> Iterator[str]:
    """Yield the changed files in brackets, with and without their folders."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    for name in (str, _base):
        if paths:
            yield f" ({name(paths[0])}{more})"


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _by_tool(context: MissionContext, ending: str) -> Iterator[str]:
    """Yield titles of a tool's own fix: its rules instead of the lines, which may be many."""
    if context.fix is None:
        return
    candidate, verification = context.fix
    named = [
        change.name.rpartition(":")[2].partition("#")[0]
        for change in verification.table
        if "::" not in change.name and change.after is None
    ]
    rules = [rule for rule in dict.fromkeys(named) if _RULE.fullmatch(rule)]
    tool = re.sub(r"[^\w -]", "", candidate.fixer)
    if 0 < len(rules) <= _MOST_NAMED:
        yield f"Fix {_join(rules)} with {tool}{ending}"
    if len(rules) > 1:
        yield f"Fix {rules[0]} and {len(rules) - 1} more with {tool}{ending}"
    yield f"Apply {tool}{ending}"


def _by_parts(parts: Sequence[ChangedPart], ending: str, *, undone: bool) -> Iterator[str]:
    phrases = list(dict.fromkeys(_phrase(part, undone=undone) for part in parts))
    if 0 < len(phrases) <= _MOST_NAMED:
        yield _sentence(phrases) + ending
    if len(phrases) > 1:
        yield f"{_sentence(phrases[:1])} and {len(phrases) - 1} more{ending}"
    symbols = [f"`{name}`" for name in dict.fromkeys(part.symbol for part in parts) if name]
    verb = "Restore" if undone else "Repair"
    if 0 < len(symbols) <= _MOST_NAMED:
        yield f"{verb} {_join(symbols)}{ending}"
    if len(symbols) > 1:
        yield f"{verb} {symbols[0]} and {len(symbols) - 1} more{ending}"


def _phrase(part: ChangedPart, *, undone: bool) -> tuple[str, str]:
    """Return the verb of a change and the rest of its sentence."""
    place = f" in `{part.symbol}`" if part.symbol else ""
    if part.new and undone:
        return "restore", f"`{part.new}`{place}"
    if part.new and part.old:
        return "use", f"`{part.new}` for `{part.old}`{place}"
    if part.new:
        return "add", f"`{part.new}`{place}"
    if part.old:
        return "remove", f"`{part.old}`{place}"
    verb = "restore" if undone else "change"
    return verb, f"`{part.symbol}`" if part.symbol else "the code"


def _sentence(phrases: Sequence[tuple[str, str]]) -> str:
    """Join phrases; a verb that repeats is written once."""
    words, last = [], ""
    for verb, rest in phrases:
        words.append(rest if verb == last else f"{verb} {rest}")
        last = verb
    text = _join(words)
    return text[:1].upper() + text[1:]


def _join(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
