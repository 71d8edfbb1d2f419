"""Mask secrets: known ones in every common encoding, and any text in the format of a credential."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil

from pydantic import Field, SecretStr

from sandbox.gate.encodings import exact, long_forms
from sandbox.gate.shapes import (
    ASSIGNMENTS,
    AUTHORIZATION,
    KEY_TAIL,
    TOKEN_SHAPES,
    USER_INFO,
    VALUES,
    is_credential,
)
from sandbox.gate.views import squeeze, views
from sandbox.types import Frozen

MASK = "***"
MIN_SECRET = 6
"""Shorter values are ordinary words; masking them would damage the text."""
PART = 12
"""Number of consecutive characters of a secret that are masked, whatever separates them."""
_GRAM = 8
_STRIDE = PART - _GRAM + 1
"""Distance between indexed grams: every part that is long enough contains one of them."""
_VARIED = 4
"""Minimum of different characters in an indexed gram; others occur everywhere."""
_PLACES = 4

Secret = SecretStr | str


class Needles(Frozen):
    """Secrets in prepared form: computed once, used for many texts."""

    whole: tuple[str, ...] = Field(default=(), repr=False)
    """Forms that are searched verbatim, longest first."""
    forms: tuple[tuple[str, int], ...] = Field(default=(), repr=False)
    """Letters and digits of each encoding, with the number of consecutive ones that are masked."""
    grams: dict[str, tuple[tuple[int, int], ...]] = Field(default_factory=dict, repr=False)
    """Positions of short character sequences in the forms."""


def prepare_needles(secrets: Iterable[Secret]) -> Needles:
    """Prepare secrets for the search; the same secrets are prepared once."""
    texts = (one.get_secret_value() if isinstance(one, SecretStr) else one for one in secrets)
    values = (text.strip() for text in texts)
    return _prepared(tuple(sorted({value for value in values if len(value) >= MIN_SECRET})))


# A private key takes a tenth of a second and 10 MB, and several parts of a process ask for it.
@lru_cache(maxsize=8)
def _prepared(values: tuple[str, ...]) -> Needles:
    whole: set[str] = set()
    forms: dict[str, int] = {}
    for value in values:
        whole.update(form for form in exact(value) if len(form) >= MIN_SECRET)
        for form, width in long_forms(value):
            letters = squeeze(form, []).text
            if len(letters) >= PART:
                least = min(len(letters), max(PART, ceil(PART * width)))
                forms.setdefault(letters, least)
                # A reversed secret is easily restored.
                forms.setdefault(letters[::-1], least)
    return Needles(
        whole=tuple(sorted(whole, key=lambda form: (-len(form), form))),
        forms=tuple(forms.items()),
        grams=_grams(forms),
    )


def _grams(forms: Iterable[str]) -> dict[str, tuple[tuple[int, int], ...]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for number, form in enumerate(forms):
        for at in range(0, len(form) - _GRAM + 1, _STRIDE):
            gram = form[at : at + _GRAM]
            if len(set(gram)) >= _VARIED or gram.isdigit():
                places = found.setdefault(gram, [])
                if len(places) < _PLACES:
                    places.append((number, at))
    return {gram: tuple(places) for gram, places in found.items()}


def redact(text: str, secrets: Sequence[Secret] | Needles = ()) -> str:
    """Return the text with every secret masked."""
    needles = secrets if isinstance(secrets, Needles) else prepare_needles(secrets)
    for needle in needles.whole:
        if needle in text:
            text = text.replace(needle, MASK)
    if needles.forms:
        text = _mask_spans(
            text, [span for view in views(text) for span in _parts(view.text, needles, view.span)]
        )
    text = AUTHORIZATION.sub(_mask_value, text)
    text = USER_INFO.sub(lambda found: found.group(1) + MASK + "@", text)
    text = KEY_TAIL.sub(MASK, TOKEN_SHAPES.sub(MASK, text))
    text = VALUES.sub(_mask_value, text)
    return ASSIGNMENTS.sub(
        lambda found: found.group(1) + MASK if is_credential(found) else found.group(), text
    )


def _mask_value(found: re.Match[str]) -> str:
    return f"{found[1] or found[2]}{MASK}"


def _parts(
    text: str, needles: Needles, origin: Callable[[int, int], tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the spans of secret parts in a view. Each character is read a few times at most."""
    grams, forms = needles.grams, needles.forms
    at, last = 0, len(text) - _GRAM
    while at <= last:
        for number, place in grams.get(text[at : at + _GRAM], ()):
            form, least = forms[number]
            start, end = _extend_match(text, at, form, place)
            if end - start >= least:
                yield origin(start, end)
                at = end - 1
                break
        at += 1


def _extend_match(text: str, at: int, form: str, place: int) -> tuple[int, int]:
    """Return the longest part of `form` around a common position."""
    start, end, ahead = at, at + _GRAM, place + _GRAM
    while start > 0 and place > 0 and text[start - 1] == form[place - 1]:
        start, place = start - 1, place - 1
    while end < len(text) and ahead < len(form) and text[end] == form[ahead]:
        end, ahead = end + 1, ahead + 1
    return start, end


def _mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        if start > at or not parts:
            parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])
