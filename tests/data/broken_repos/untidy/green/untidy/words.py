"""Counts words."""

import re
from collections import Counter

WORD = re.compile(r"[a-z']+")


def count(text):
    """How often each word stands in a text."""
    return Counter(WORD.findall(text.lower()))


def longest(text):
    """The longest word, the first of several."""
    return max(WORD.findall(text.lower()), key=len, default="")
