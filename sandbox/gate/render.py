"""Render cleaned text for its destination: Markdown, a fenced block, a workflow's log."""

import re

_TICKS = re.compile(r"`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$=-])")
_REFERENCES = re.compile(
    r"@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww\.(?=\w)|\bmailto:|\bxmpp:", re.IGNORECASE
)
_COMMAND = re.compile(r"(?m)^([^\S\n]*)::")
_INDENT = re.compile(r"(?m)^[ \t]+")
_LIST = re.compile(r"(?m)^(\d{1,9})([.)])")


def for_markdown(text: str) -> str:
    """Return prose without effect in Markdown.

    It has no markup, mention, reference, closing keyword, link or HTML.
    """
    # A space breaks a reference; an escape would not.
    text = _REFERENCES.sub(lambda found: f"{found.group()} ", text)
    text = _SPECIAL.sub(r"\\\1", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _INDENT.sub("", text)
    return _LIST.sub(r"\1\\\2", text)


def fenced(text: str, *, info: str = "text") -> str:
    """Return a code block that no content can close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def for_workflow_log(text: str) -> str:
    """Return lines without commands to a workflow's runner."""
    return _COMMAND.sub(r"\1: :", text.replace("##[", "## [")).replace("\n::", "\n: :")
