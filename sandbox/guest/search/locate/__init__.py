"""Fault localization: a score and a reason for every suspicious line of the checkout."""

from __future__ import annotations

from sandbox.guest.search.locate.located import Located, locate

__all__ = ["Located", "locate"]
