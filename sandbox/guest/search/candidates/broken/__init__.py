"""Repair of files that do not parse: text in, edits out, best first.

Every proposal compiles in this interpreter.
"""

from __future__ import annotations

from sandbox.guest.search.candidates.broken.child import propose_in_child
from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.candidates.broken.proposing import difference, propose

__all__ = ["Broken", "TextProposal", "difference", "propose", "propose_in_child"]
