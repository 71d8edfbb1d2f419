"""What servers do not take, learnt from their refusals: one request too many for each server, model and parameter."""

import re
from collections.abc import Mapping
from typing import Any

_REFUSING = re.compile(
    r"n[o']t (support|allow|permit|available|accept|recogni)|unsupported|unrecogni[sz]ed|unknown|unexpected|deprecated"
    r"|extra (inputs|fields)|invalid|incompatible|require|only the default|may only|must be",
    re.IGNORECASE,
)


class Adaptive:
    """What one server has refused to take for one model; kept as long as the process.

    Args:
        optional: Parameters that we can do without, each with those that make no sense without it.
        renames: Parameters that some servers know by another name.
    """

    def __init__(self, optional: Mapping[str, tuple[str, ...]], renames: Mapping[str, str]) -> None:
        self._optional = optional
        self._renames = renames
        self._dropped: set[str] = set()
        self._renamed: dict[str, str] = {}

    def takes(self, parameter: str) -> bool:
        """Whether it has not been refused."""
        return parameter not in self._dropped

    def fit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as this server takes it.

        Args:
            body: With every parameter under its usual name.
        """
        return {self._renamed.get(name, name): value for name, value in body.items() if self.takes(name)}

    def hear(self, said: str) -> None:
        """Learn from a refusal; a request that `fit` then makes otherwise is worth sending again.

        Args:
            said: The server's words: hostile, but all they can cost is a parameter we can do without.
        """
        if not _REFUSING.search(said):
            return
        for name, other in self._renames.items():
            if _names(said, name) and other in said:
                self._renamed[name] = other
        for name, along in self._optional.items():
            if _names(said, name):
                self._dropped.update((name, *along))


def _names(said: str, parameter: str) -> bool:
    """Whether it is spoken of as a parameter: in quotes, or where its name begins a statement."""
    quoted = rf"['\"`.]{parameter}[\\'\"`]"
    stated = rf"\b{parameter}\s*(:|param|is |are |was |may |must |can|require|does |do |only )"
    return re.search(f"{quoted}|{stated}", said) is not None
