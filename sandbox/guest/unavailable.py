"""Read from the installer's messages which requested package cannot be installed at all."""

import re
from typing import NamedTuple, Optional

from sandbox.guest.source_index import normal_name

_LONGEST = 100_000
_REQUIRED = re.compile(
    r"\byou require ([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    # Extras, a marker and bounds may follow the name.
    r"(?:\[[^\[\]]*\])?(?:\{[^{}]*\})?(?:[<>=!~]\S*)?, we can conclude"
)
_OUTAGE = re.compile(r"could not be queried|network was disabled")
_REASONS = (
    (
        re.compile(r"\bha(?:s|ve) no (?:usable wheels|wheels with a matching)"),
        "it, or a package that it needs, has no wheel for this Python and machine",
    ),
    (
        re.compile(r"\bwas not found in the package registry"),
        "it, or a package that it needs, is not in the package index",
    ),
    (
        re.compile(r"\brequires? Python "),
        "it, or a package that it needs, requires another Python",
    ),
)


class Unavailable(NamedTuple):
    """A requested package that cannot be installed, and the reason."""

    name: str
    reason: str


def read_unavailable(said: str) -> Optional[Unavailable]:
    """Return the package that an installer's message blames; None for all other messages.

    A message that names several requested packages is a conflict between them. One without a
    reason of ours is a conflict of versions, or an outage of the index.
    """
    # The installer wraps its messages to the width of a terminal.
    text = " ".join(said[:_LONGEST].split())
    if "No solution found" not in text or text.count("you require") != 1 or _OUTAGE.search(text):
        return None
    named = _REQUIRED.search(text)
    reason = next((reason for pattern, reason in _REASONS if pattern.search(text)), None)
    if named is None or reason is None:
        return None
    return Unavailable(normal_name(named.group(1)), reason)
