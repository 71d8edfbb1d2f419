"""Rung 0: established autofixers, chosen by the failing command."""

from bot.fixers.rung0_tools.fixer import ToolFixer
from bot.fixers.rung0_tools.locks import LockFixer
from bot.fixers.rung0_tools.others import OTHER_TOOLS
from bot.fixers.rung0_tools.python import PYTHON_TOOLS
from bot.fixers.rung0_tools.tool import Tool
from bot.fixers.rung0_tools.web import WEB_TOOLS
from bot.ports import Fixer

TOOLS: tuple[Tool, ...] = (*PYTHON_TOOLS, *WEB_TOOLS, *OTHER_TOOLS)
"""All tools. Companions run in this order after another tool's fix."""


def tool_fixers() -> tuple[Fixer, ...]:
    """Return the fixer that knows all tools, and the one of lock files."""
    return ToolFixer(TOOLS), LockFixer()
