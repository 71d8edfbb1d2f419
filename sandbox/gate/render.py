"""Clean text in the form a place needs: Markdown, a fence, a workflow's log. Each expects cleaned text."""

import re

_TICKS = re.compile(r"`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$=-])")
_REFERENCES = re.compile(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww\.(?=\w)|\bmailto:|\bxmpp:", re.IGNORECASE)
_COMMAND = re.compile(r"(?m)^([^\S\n]*)::")
_INDENT = re.compile(r"(?m)^[ \t]+")
_LIST = re.compile(r"(?m)^(\d{1,9})([.)])")


def for_markdown(text: str) -> str:
    """Prose that means nothing to a Markdown reader: no markup, mention, reference, closing keyword, link or HTML."""
    # References are broken by a space: an escape would not stop them.
    text = _REFERENCES.sub(lambda found: f"{found.group()} ", text)
    text = _SPECIAL.sub(r"\\\1", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _INDENT.sub("", text)
    return _LIST.sub(r"\1\\\2", text)


def fenced(text: str, *, info: str = "text") -> str:
    """A code block no content can close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def for_workflow_log(text: str) -> str:
    """Lines that are no commands to a workflow's runner."""
    return _COMMAND.sub(r"\1: :", text.replace("##[", "## [")).replace("\n::", "\n: :")
