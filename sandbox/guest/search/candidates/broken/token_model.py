"""A token language model trained on the file itself and on a part of the standard library."""

from __future__ import annotations

import math
import os
from collections import Counter
from functools import lru_cache
from typing import Counter as CounterOf
from typing import Iterable, List, Sequence, Tuple

from sandbox.guest.search.candidates.broken.lexing import (
    COMMENT,
    NAME,
    NEWLINE,
    NUMBER,
    OPEN,
    STRAY,
    STRING,
    SourceToken,
    tokenize_source,
)

MODULES = (
    "argparse.py",
    "textwrap.py",
    "configparser.py",
    "shutil.py",
    "queue.py",
    "dataclasses.py",
)
"""Modules of ordinary code that come with every interpreter."""
MAX_CHARACTERS = 120_000
"""Maximum characters read of each module."""
FLOOR = 0.0006
"""Minimum probability, so that an unseen token counts as 7.4 nats instead of infinity."""
REACH = 600
"""Maximum characters before and after an edit that are compared."""
BUILT_IN = frozenset(
    {"len", "print", "range", "str", "int", "list", "dict", "set", "tuple", "isinstance", "super",
     "open", "sorted", "enumerate", "zip", "map", "sum", "min", "max", "any", "all", "repr", "type",
     "getattr", "setattr", "hasattr", "float", "bool", "bytes", "iter", "next", "abs", "format",
     "self", "cls"}
)  # fmt: skip


def _plain(token: SourceToken) -> str:
    if token.kind == NAME:
        # Names are folded into one class; keywords and common built-ins stay distinct.
        return token.text if token.is_keyword or token.text in BUILT_IN else "N"
    if token.kind in {STRING, OPEN}:
        return "S" if "\n" not in token.text else "D"
    if token.kind == NUMBER:
        return "0"
    return "\n" if token.kind == NEWLINE else "?" if token.kind == STRAY else token.text


def _folded(tokens: Iterable[SourceToken]) -> List[SourceToken]:
    """Return the tokens without comments and empty lines."""
    kept: List[SourceToken] = []
    for token in tokens:
        if token.kind == COMMENT or (token.kind == NEWLINE and kept and kept[-1].kind == NEWLINE):
            continue
        kept.append(token)
    return kept


class TokenModel:
    """Measures how surprising a range of tokens is in this file.

    Args:
        tokens: Tokens of the file.
    """

    def __init__(self, tokens: Sequence[SourceToken]) -> None:
        self._pairs: CounterOf[Tuple[str, str]] = Counter()
        self._triples: CounterOf[Tuple[str, str, str]] = Counter()
        self._words: CounterOf[str] = Counter()
        self._exact: CounterOf[Tuple[str, str]] = Counter()
        self._exact_words: CounterOf[str] = Counter()
        words, pairs, triples = _ordinary()
        self._words.update(words)
        self._pairs.update(pairs)
        self._triples.update(triples)

        kept = _folded(tokens)
        plain = [_plain(token) for token in kept]
        self._words.update(plain)
        self._pairs.update(zip(plain, plain[1:]))
        self._triples.update(zip(plain, plain[1:], plain[2:]))
        texts = [token.text for token in kept]
        self._exact_words.update(texts)
        self._exact.update(zip(texts, texts[1:]))

    def surprise(self, text: str, start: int, end: int) -> float:
        """Return the mean surprise of the tokens in a range of offsets, in nats per token.

        Two tokens after the range count too, since an edit changes their context.
        """
        first = text.rfind("\n", 0, max(0, start - 1)) + 1
        last = text.find("\n", end)
        last = len(text) if last < 0 else last + 1
        # Very long lines are cut, to bound the work.
        first, last = max(first, start - REACH), min(last, end + REACH)
        tokens = _folded(
            [SourceToken(NEWLINE, "\n", first, 0), *tokenize_source(text[first:last], 0, first)]
        )
        plain = [_plain(token) for token in tokens]
        total, count = 0.0, 0
        behind = 0
        for at in range(1, len(tokens)):
            if tokens[at].end <= start:
                continue
            if tokens[at].start >= end:
                behind += 1
                # A trigram looks back two tokens.
                if behind > 2:
                    break
            total += self._one(tokens, plain, at)
            count += 1
        return total / count if count else 0.0

    def _one(self, tokens: Sequence[SourceToken], plain: Sequence[str], at: int) -> float:
        # An interpolated (Jelinek-Mercer) trigram model over token classes, mixed with pairs of
        # exact texts. The 2.0 lowers estimates from contexts that were seen only a few times.
        word, before = plain[at], plain[at - 1]
        wide = (plain[at - 2] if at > 1 else "\n", before)
        triple = self._triples[(wide[0], before, word)] / (self._pairs[wide] + 2.0)
        pair = self._pairs[before, word] / (self._words[before] + 2.0)
        chance = 0.65 * triple + 0.25 * pair
        left, here = tokens[at - 1].text, tokens[at].text
        seen = self._exact_words[left]
        # A single occurrence gives no statistics.
        if seen > 1:
            share = self._exact[left, here] / seen
            chance = 0.6 * chance + 0.4 * share
        return -math.log(max(chance, FLOOR))


@lru_cache(maxsize=1)
def _ordinary() -> Tuple[
    CounterOf[str], CounterOf[Tuple[str, str]], CounterOf[Tuple[str, str, str]]
]:
    """Count tokens, pairs and triples in ordinary code."""
    words: CounterOf[str] = Counter()
    pairs: CounterOf[Tuple[str, str]] = Counter()
    triples: CounterOf[Tuple[str, str, str]] = Counter()
    for name in MODULES:
        plain = [_plain(token) for token in _folded(tokenize_source(_module(name)))]
        words.update(plain)
        pairs.update(zip(plain, plain[1:]))
        triples.update(zip(plain, plain[1:], plain[2:]))
    return words, pairs, triples


def _module(name: str) -> str:
    path = os.path.join(os.path.dirname(os.__file__), name)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_CHARACTERS)
    except (OSError, UnicodeDecodeError):
        return ""
