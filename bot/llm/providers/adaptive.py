"""Learn unsupported parameters from a server's errors, at the cost of one request for each."""

import re
from collections.abc import Mapping
from typing import Any

_REFUSING = re.compile(
    r"n[o']t (support|allow|permit|available|accept|recogni)|unsupported|unrecogni[sz]ed"
    r"|unknown|unexpected|deprecated|extra (inputs|fields)|invalid|incompatible|require"
    r"|only the default|may only|must be",
    re.IGNORECASE,
)


class Adaptive:
    """Parameters that one server has rejected for one model, for the lifetime of the process.

    Args:
        optional: Parameters that may be dropped, each with those that depend on it.
        renames: Parameters with another name on some servers.
    """

    def __init__(self, optional: Mapping[str, tuple[str, ...]], renames: Mapping[str, str]) -> None:
        self._optional = optional
        self._renames = renames
        self._dropped: set[str] = set()
        self._renamed: dict[str, str] = {}

    def takes(self, parameter: str) -> bool:
        """Return True if the server has not rejected the parameter."""
        return parameter not in self._dropped

    def fit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Adapt a request to the server.

        Args:
            body: All parameters under their usual names.
        """
        return {
            self._renamed.get(name, name): value for name, value in body.items() if self.takes(name)
        }

    def drop(self, parameter: str) -> None:
        """Leave out a parameter, and those that depend on it, from now on."""
        self._dropped.update((parameter, *self._optional.get(parameter, ())))

    def learn(self, error_text: str) -> None:
        """Learn from an error. If `fit` then changes the request, it is worth sending again.

        Args:
            error_text: The server's error; untrusted, but it can only drop optional parameters.
        """
        if not _REFUSING.search(error_text):
            return
        for name, other in self._renames.items():
            if _names(error_text, name) and other in error_text:
                self._renamed[name] = other
        for name in self._optional:
            if _names(error_text, name):
                self.drop(name)


def _names(error_text: str, parameter: str) -> bool:
    """Return True if a text names a parameter: quoted, or at the beginning of a statement."""
    # OpenAI names a part of a parameter, such as 'text.format'.
    quoted = rf"['\"`.]{parameter}[\\'\"`]|['\"`]{parameter}\.\w"
    stated = rf"\b{parameter}\s*(:|param|is |are |was |may |must |can|require|does |do |only )"
    return re.search(f"{quoted}|{stated}", error_text) is not None
