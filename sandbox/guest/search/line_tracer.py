"""Which lines of the checkout each test runs."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, FrozenSet, Optional, Set


class LineTracer:
    """Collects lines by file while it is on.

    Args:
        wanted: Whether a file (by its absolute path) is of interest.
    """

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._known: Dict[str, Optional[Set[int]]] = {}

    def run(self, call: Callable[[], Any]) -> Any:
        """Trace one call; ask `lines` afterwards."""
        self._known = {name: (set() if lines is not None else None) for name, lines in self._known.items()}
        sys.settrace(self._on_call)
        try:
            return call()
        finally:
            sys.settrace(None)

    def lines(self) -> Dict[str, FrozenSet[int]]:
        """What the last traced call ran."""
        return {name: frozenset(lines) for name, lines in self._known.items() if lines}

    def _on_call(self, frame: Any, _event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in self._known:
            self._known[name] = set() if self._wanted(name) else None
        lines = self._known[name]
        if lines is None or frame.f_code.co_name == "<module>":
            return None
        add = lines.add

        def on_line(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                add(frame.f_lineno)
            return on_line

        return on_line
