"""Rung 0: established autofixers, chosen by the failing command."""

from bot.fixers.rung0_tools import python_ruff
from bot.fixers.rung0_tools.tool import Tool, ToolFixer

TOOLS: tuple[Tool, ...] = (
    Tool(name="ruff", suffixes=python_ruff.SUFFIXES, fixes=python_ruff.fixes),
)
"""All tools, in the order they run."""


def tool_fixers() -> tuple[ToolFixer, ...]:
    """Return one fixer for each tool."""
    return tuple(ToolFixer(tool) for tool in TOOLS)
