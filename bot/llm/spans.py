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


def spans(passages: Sequence[Passage], nonce: str, secrets: Needles) -> str:
    """Passages as they stand in a prompt.

    Args:
        passages: In their order.
        nonce: Made of all passages of the prompt.
        secrets: What must not leave.
    """
    return "\n\n".join(_span(passage, nonce, secrets) for passage in passages) or _NONE


def _span(passage: Passage, nonce: str, secrets: Needles) -> str:
    trust = "ours" if passage.trusted else "untrusted"
    head = f'<passage {nonce} what="{_attribute(passage.label, nonce, secrets)}"'
    if passage.origin:
        head += f' from="{_attribute(passage.origin, nonce, secrets)}"'
    text = _without(clean(passage.text, cap=PASSAGE_CAP, secrets=secrets), nonce)
    return f'{head} trust="{trust}">\n{text}\n</passage {nonce}>'


def _attribute(text: str, nonce: str, secrets: Needles) -> str:
    """One line that ends no attribute."""
    line = " ".join(clean(text, cap=LABEL_CAP, secrets=secrets).split())
    return _without(line, nonce).translate(str.maketrans('"<>', "'()"))


def _without(text: str, nonce: str) -> str:
    """The text without the mark, in whatever letters."""
    while (at := text.lower().find(nonce)) >= 0:
        text = f"{text[:at]}{_REMOVED}{text[at + len(nonce) :]}"
    return text
