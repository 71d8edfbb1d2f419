"""Rung 0: autofixers people already trust; which tool for which failing step."""

from bot.fixers.rung0_tools import python_ruff
from bot.fixers.rung0_tools.tool import Tool, ToolFixer

TOOLS: tuple[Tool, ...] = (Tool(name="ruff", suffixes=python_ruff.SUFFIXES, fixes=python_ruff.fixes),)
"""Every tool, in the order they are asked."""


def tool_fixers() -> tuple[ToolFixer, ...]:
    """One fixer per tool."""
    return tuple(ToolFixer(tool) for tool in TOOLS)
