"""Where to look: every line of the checkout that a failing test may owe its failure to, with a score and a reason."""

from __future__ import annotations

from sandbox.guest.search.locate.located import Located, locate

__all__ = ["Located", "locate"]
