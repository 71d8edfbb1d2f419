"""Foreign text in a prompt: cleaned, labelled, between marks that nothing inside can close.

This is hygiene and not the boundary: whatever a model makes of such text, its answer is checked as if it were hostile.
"""

import hashlib
from collections.abc import Iterable, Sequence

from bot.domain.model import Passage
from sandbox.gate import Needles, clean

NONCE_CHARS = 20
PASSAGE_CAP = 65_536
LABEL_CAP = 200
REMEMBERED = 200
"""Cleaned texts of one mission."""
_NONE = "(none)"
_REMOVED = "[mark removed]"


def nonce_of(passages: Iterable[Passage]) -> str:
    """A mark that no text among the passages can hold, since it is made of all of them.

    It is the same for the same passages, so that servers can reuse what they have read and answers can be remembered.

    Args:
        passages: Everything foreign in a prompt.
    """
    made = hashlib.sha256()
    for passage in passages:
        for part in (passage.label, passage.origin, passage.text):
            made.update(f"{len(part)}:".encode())
            made.update(part.encode("utf-8", "surrogatepass"))
    return made.hexdigest()[:NONCE_CHARS]


class Washer:
    """Cleans texts; the same ones stand in many prompts of a mission, and are cleaned once.

    Args:
        secrets: What must not leave.
    """

    def __init__(self, secrets: Needles | None = None) -> None:
        self._secrets = secrets or Needles()
        self._washed: dict[tuple[str, int], str] = {}

    def washed(self, text: str, cap: int) -> str:
        """A text without what hides, acts or is secret.

        Args:
            text: Anything.
            cap: Most characters.
        """
        found = self._washed.get((text, cap))
        if found is None:
            found = clean(text, cap=cap, secrets=self._secrets)
            if len(self._washed) == REMEMBERED:
                self._washed.clear()
            self._washed[text, cap] = found
        return found


def spans(passages: Sequence[Passage], nonce: str, washer: Washer) -> str:
    """Passages as they stand in a prompt.

    Args:
        passages: In their order.
        nonce: Made of all passages of the prompt.
        washer: Cleans them.
    """
    return "\n\n".join(_span(passage, nonce, washer) for passage in passages) or _NONE


def _span(passage: Passage, nonce: str, washer: Washer) -> str:
    trust = "ours" if passage.trusted else "untrusted"
    head = f'<passage {nonce} what="{_attribute(passage.label, nonce, washer)}"'
    if passage.origin:
        head += f' from="{_attribute(passage.origin, nonce, washer)}"'
    text = _without(washer.washed(passage.text, PASSAGE_CAP), nonce)
    return f'{head} trust="{trust}">\n{text}\n</passage {nonce}>'


def _attribute(text: str, nonce: str, washer: Washer) -> str:
    """One line that ends no attribute."""
    line = " ".join(washer.washed(text, LABEL_CAP).split())
    return _without(line, nonce).translate(str.maketrans('"<>', "'()"))


def _without(text: str, nonce: str) -> str:
    """The text without the mark, in whatever letters."""
    while (at := text.lower().find(nonce)) >= 0:
        text = f"{text[:at]}{_REMOVED}{text[at + len(nonce) :]}"
    return text
