"""Counts words."""

import re
import os, sys
from collections import Counter
from typing import Optional

WORD = re.compile(r"[a-z']+")


def count(text):
    """How often each word stands in a text."""
    return Counter(WORD.findall(text.lower()))


def longest(text):
    """The longest word, the first of several."""
    return max(WORD.findall(text.lower()), key=len, default="")
