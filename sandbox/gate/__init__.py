"""The filter for untrusted text before people read it: bound, strip, redact, cap."""

from sandbox.gate.passage import CAP, clean
from sandbox.gate.redact import MASK, Needles, prepare_needles
from sandbox.gate.render import fenced, for_markdown, for_workflow_log
from sandbox.gate.shapes import TOKEN_SHAPES

__all__ = [
    "CAP",
    "MASK",
    "TOKEN_SHAPES",
    "Needles",
    "clean",
    "fenced",
    "for_markdown",
    "for_workflow_log",
    "prepare_needles",
]
