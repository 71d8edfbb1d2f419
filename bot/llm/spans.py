"""Untrusted text in a prompt: sanitized, labelled, between marks that it cannot close.

This is hygiene, not a security boundary: a model's answer is always checked as untrusted.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

from bot.domain.model import Passage
from sandbox.gate import Needles, clean

NONCE_CHARS = 20
PASSAGE_CAP = 65_536
LABEL_CAP = 200
REMEMBERED = 200
"""Maximum number of cached texts of one mission."""
NONE = "(none)"
"""Text of a gap without passages."""
_REMOVED = "[mark removed]"


def compute_nonce(passages: Iterable[Passage]) -> str:
    """Return a mark that these passages cannot contain, because it is a hash of them.

    It is stable for the same passages, so that servers can cache prompts and answers can be reused.
    Rendering removes it from other passages of the prompt.

    Args:
        passages: Untrusted text of a prompt: what its next questions repeat, or all of it.
    """
    made = hashlib.sha256()
    for passage in passages:
        for part in (passage.label, passage.origin, passage.text):
            # Length prefixes distinguish the same text split differently.
            made.update(f"{len(part)}:".encode())
            made.update(part.encode("utf-8", "surrogatepass"))
    return made.hexdigest()[:NONCE_CHARS]


class Sanitizer:
    """Sanitizes texts with a cache, because many prompts of a mission share them.

    Args:
        secrets: Values that must not be sent.
    """

    def __init__(self, secrets: Needles | None = None) -> None:
        self._secrets = secrets or Needles()
        self._washed: dict[tuple[str, int], str] = {}

    def washed(self, text: str, cap: int) -> str:
        """Return a text without hidden characters, control characters and secrets.

        Args:
            text: Any text.
            cap: Maximum number of characters.
        """
        found = self._washed.get((text, cap))
        if found is None:
            found = clean(text, cap=cap, secrets=self._secrets)
            if len(self._washed) == REMEMBERED:
                self._washed.clear()
            self._washed[text, cap] = found
        return found


def render_passages(passages: Sequence[Passage], nonce: str, washer: Sanitizer) -> str:
    """Render passages for a prompt.

    Args:
        passages: Passages in order.
        nonce: Mark of the prompt.
        washer: Sanitizes them.
    """
    return "\n\n".join(_render_passage(passage, nonce, washer) for passage in passages) or NONE


def _render_passage(passage: Passage, nonce: str, washer: Sanitizer) -> str:
    trust = "ours" if passage.trusted else "untrusted"
    head = f'<passage {nonce} what="{_attribute(passage.label, nonce, washer)}"'
    if passage.origin:
        head += f' from="{_attribute(passage.origin, nonce, washer)}"'
    text = _without(washer.washed(passage.text, PASSAGE_CAP), nonce)
    return f'{head} trust="{trust}">\n{text}\n</passage {nonce}>'


def _attribute(text: str, nonce: str, washer: Sanitizer) -> str:
    """Return a line that cannot end the attribute."""
    line = " ".join(washer.washed(text, LABEL_CAP).split())
    return _without(line, nonce).translate(str.maketrans('"<>', "'()"))


def _without(text: str, nonce: str) -> str:
    """Remove the mark from a text, in any case."""
    return re.sub(nonce, _REMOVED, text, flags=re.IGNORECASE)
