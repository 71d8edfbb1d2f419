"""Improvements that can be proved from the source alone, so that no model is needed."""

from collections.abc import Iterator

from bot.domain.counted import counted
from bot.improve.rules import (
    dead_code,
    exceptions,
    expressions,
    imports,
    layout,
    literals,
    returns,
    tokens,
)
from bot.improve.rules.source import PythonFile, Rule
from bot.improve.values import Improvement

RULES = (
    *imports.RULES,
    *dead_code.RULES,
    *expressions.RULES,
    *literals.RULES,
    *exceptions.RULES,
    *tokens.RULES,
    *layout.RULES,
    *returns.RULES,
)
"""All rules, the most useful first."""


def propose(source: PythonFile) -> Iterator[tuple[Improvement, bytes]]:
    """Yield improvements of a file with its new content, one for each rule that applies.

    Args:
        source: The parsed file.
    """
    for rule in RULES:
        count, content = _apply(rule, source)
        if count:
            things = counted(count, rule.noun, plural=rule.plural)
            title = rule.title.format(things=things)
            yield (
                Improvement(path=source.path, rule=rule.name, title=title, reason=rule.reason),
                content,
            )


def _apply(rule: Rule, source: PythonFile) -> tuple[int, bytes]:
    """Return the number of edits and the new content; no edits if the file must be left alone."""
    try:
        edits = source.without_overlaps(rule.find(source))
        content = source.spliced(edits)
        if not source.content[:1].isspace():
            content = content.lstrip(b"\r\n")  # of imports that were removed at the top
        # A rule that breaks the file would be our bug.
        if edits and _is_sound(rule, source, content):
            return len(edits), content
    except RecursionError:
        pass  # the code is nested more deeply than the rule can follow
    return 0, source.content


def _is_sound(rule: Rule, source: PythonFile, content: bytes) -> bool:
    """Return True if the new content parses, and to the same tree if the rule promises it."""
    if rule.same_tree:
        return source.is_same_tree(content)
    return PythonFile.parse(source.path, content) is not None
