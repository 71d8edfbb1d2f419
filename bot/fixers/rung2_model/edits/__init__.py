"""Convert a model's answer to changes of whole files, or typed rejections. Nothing is executed."""

from bot.fixers.rung2_model.edits.gates import program_key
from bot.fixers.rung2_model.edits.read import describe_rejections, read_edits
from bot.fixers.rung2_model.edits.values import (
    EditFormat,
    EditRules,
    EditsRead,
    Reason,
    Rejection,
    SentFile,
    Window,
)

__all__ = [
    "EditFormat",
    "EditRules",
    "EditsRead",
    "Reason",
    "Rejection",
    "SentFile",
    "Window",
    "describe_rejections",
    "program_key",
    "read_edits",
]
