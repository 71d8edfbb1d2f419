"""Remove terminal control sequences and invisible characters from a text, in linear time."""

import re

# A string ends at its terminator, the next escape, or the line end: each character is read once.
_STRINGS = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
)
_SEQUENCES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?")
_OVERSTRUCK = re.compile(r"[^\x08\n]\x08")
_RETURNS = re.compile(r"\r+\n?|\x85|[\u2028\u2029]")
_ENDS = "\r\x85\u2028\u2029"
HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls except tab and newline
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-"
    "\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\ud800-\udfff\ue000-\uf8ff"  # surrogates, private use
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U00040000-\U0010ffff"  # only tags, variation selectors and private use
    "]"
)


def strip(text: str) -> str:
    """Return the text as a person would see it: plain characters, tabs and newlines."""
    text = _STRINGS.sub("", text)
    text = _SEQUENCES.sub("", text)
    # Old tools print bold text by overstriking.
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    if any(end in text for end in _ENDS):
        text = _RETURNS.sub("\n", text)
    return HIDDEN.sub("", text)
