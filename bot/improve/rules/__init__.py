"""Improvements that can be proved from the source alone, so that no model is needed."""

from collections.abc import Iterator

from bot.improve.rules import dead_code, expressions, imports, returns, tokens
from bot.improve.rules.source import PythonFile
from bot.improve.values import Improvement

RULES = (*imports.RULES, *dead_code.RULES, *expressions.RULES, *tokens.RULES, *returns.RULES)
"""All rules, the most useful first."""


def propose(source: PythonFile) -> Iterator[tuple[Improvement, bytes]]:
    """Yield improvements of a file with its new content, one for each rule that applies.

    Args:
        source: The parsed file.
    """
    for rule in RULES:
        edits = source.without_overlaps(rule.find(source))
        content = source.spliced(edits)
        if not source.content[:1].isspace():
            content = content.lstrip(b"\r\n")  # of imports that were removed at the top
        # A rule that breaks the file would be our bug; the file is left alone then.
        if edits and PythonFile.parse(source.path, content) is not None:
            count = len(edits)
            title = rule.title.format(count=count, s="s" if count > 1 else "")
            yield (
                Improvement(path=source.path, rule=rule.name, title=title, reason=rule.reason),
                content,
            )
