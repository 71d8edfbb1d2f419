"""An error or a warning that recommends a replacement."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.candidates.moved_names import apply_advice, apply_rewrites
from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal

COST = 0.3
CHANGES = (
    (
        "DeprecationWarning: old_name() is deprecated, use new_name() instead",
        2,
        "def f(a):\n    return a.old_name(1)\n",
        "def f(a):\n    return a.new_name(1)\n",
    ),
    (
        (
            "DeprecationWarning: datetime.datetime.utcnow() is deprecated and scheduled for "
            "removal in a future version."
        ),
        4,
        "from datetime import datetime\n\ndef f():\n    return datetime.utcnow()\n",
        (
            "from datetime import datetime\nfrom datetime import timezone\n\ndef f():\n"
            "    return datetime.now(timezone.utc)\n"
        ),
    ),
    (
        "ValueError: 'M' is no longer supported for offsets. Please use 'ME' instead.",
        2,
        "def f(a):\n    return a.resample('M')\n",
        "def f(a):\n    return a.resample('ME')\n",
    ),
    (
        "RuntimeError: 'size' was renamed to 'width'",
        2,
        "def f(a):\n    return g(a, size=1)\n",
        "def f(a):\n    return g(a, width=1)\n",
    ),
)
UNTOUCHED = (
    ("RuntimeError: no", 2, "def f(a):\n    return a.old_name(1)\n"),
    ("DeprecationWarning: use new_name() instead", 2, "def f(a):\n    return a.other(1)\n"),
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Apply the recommendation of the message, or a known rename."""
    failure = view.failure
    if failure.is_a(
        "AttributeError", "TypeError", "NameError", "ImportError", "KeyError", "AssertionError"
    ):
        return  # those have templates of their own
    yield from apply_advice(view, COST - 0.1)
    if failure.is_a("Warning"):
        for spot in view.spots[:2]:
            for node in spot.find(ast.Attribute)[:4]:
                if node.attr in failure.message:
                    yield from apply_rewrites(spot, node, COST)
