"""From the text of a model's answer to changes of whole files, or typed reasons why not. Nothing is ever run."""

from bot.fixers.rung2_model.edits.gates import key_of
from bot.fixers.rung2_model.edits.read import read_edits, told
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
    "key_of",
    "read_edits",
    "told",
]
