"""Replace secrets by stars: known ones in every usual encoding, and whatever has the shape of a credential."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil

from pydantic import Field, SecretStr

from sandbox.gate.encodings import exact, long_forms
from sandbox.gate.shapes import ASSIGNMENTS, AUTHORIZATION, KEY_TAIL, TOKEN_SHAPES, USER_INFO, VALUES, is_credential
from sandbox.gate.views import squeezed, views
from sandbox.types import Frozen

MASK = "***"
MIN_SECRET = 6
"""Shorter values are words; masking them would only tear the text."""
PART = 12
"""So many characters of a secret in a row are enough to be masked, whatever stands between them."""
_GRAM = 8
_STRIDE = PART - _GRAM + 1
"""Every part that is long enough holds a gram that begins at a multiple of this."""
_VARIED = 4
"""Parts with fewer different characters are found anywhere."""
_PLACES = 4

Secret = SecretStr | str


class Needles(Frozen):
    """Secrets made ready to be looked for: worked out once, used for many texts."""

    whole: tuple[str, ...] = Field(default=(), repr=False)
    """What is looked for letter by letter, longest first."""
    forms: tuple[tuple[str, int], ...] = Field(default=(), repr=False)
    """Letters and digits of each encoding, with how many of them in a row are enough."""
    grams: dict[str, tuple[tuple[int, int], ...]] = Field(default_factory=dict, repr=False)
    """Where in the forms a few letters stand."""


def needles_of(secrets: Iterable[Secret]) -> Needles:
    """What to look for. Takes a tenth of a second for a private key: do it once."""
    whole: set[str] = set()
    forms: dict[str, int] = {}
    for secret in secrets:
        value = (secret.get_secret_value() if isinstance(secret, SecretStr) else secret).strip()
        if len(value) < MIN_SECRET:
            continue
        whole.update(form for form in exact(value) if len(form) >= MIN_SECRET)
        for form, width in long_forms(value):
            letters = squeezed(form, []).text
            if len(letters) >= PART:
                least = min(len(letters), max(PART, ceil(PART * width)))
                forms.setdefault(letters, least)
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
    """The text with every secret masked."""
    needles = secrets if isinstance(secrets, Needles) else needles_of(secrets)
    for needle in needles.whole:
        if needle in text:
            text = text.replace(needle, MASK)
    if needles.forms:
        text = _mask_spans(text, [span for view in views(text) for span in _parts(view.text, needles, view.span)])
    text = AUTHORIZATION.sub(_name_kept, text)
    text = USER_INFO.sub(lambda found: found.group(1) + MASK + "@", text)
    text = KEY_TAIL.sub(MASK, TOKEN_SHAPES.sub(MASK, text))
    text = VALUES.sub(_name_kept, text)
    return ASSIGNMENTS.sub(lambda found: found.group(1) + MASK if is_credential(found) else found.group(), text)


def _name_kept(found: re.Match[str]) -> str:
    return f"{found[1] or found[2]}{MASK}"


def _parts(text: str, needles: Needles, origin: Callable[[int, int], tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where parts of secrets stand in a reading; every character is looked at a few times at most."""
    grams, forms = needles.grams, needles.forms
    at, last = 0, len(text) - _GRAM
    while at <= last:
        for number, place in grams.get(text[at : at + _GRAM], ()):
            form, least = forms[number]
            start, end = _extended(text, at, form, place)
            if end - start >= least:
                yield origin(start, end)
                at = end - 1
                break
        at += 1


def _extended(text: str, at: int, form: str, place: int) -> tuple[int, int]:
    """The longest part of `form` around a place they share."""
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
