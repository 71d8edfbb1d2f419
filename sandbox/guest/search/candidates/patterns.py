"""Tokenize regular expressions and mutate one token at a time."""

from __future__ import annotations

import re
import warnings
from typing import Iterator, List, NamedTuple, Sequence, Tuple

LITERAL, ESCAPE, CLASS, OPEN, CLOSE, OR, ANCHOR, DOT, QUANTIFIER, SPACE = range(10)
ATOMS = (LITERAL, ESCAPE, CLASS, DOT)

TOKENS = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<anchor>\^|\$|\\[AZbB])"
    r"|(?P<escape>\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.))"
    r"|(?P<open>\((?:\?(?:P<\w+>|P=\w+|:|=|!|<=|<!|>|#[^)]*|[aiLmsux-]+:?))?)"
    r"|(?P<close>\))"
    r"|(?P<or>\|)"
    r"|(?P<dot>\.)"
    r"|(?P<quantifier>(?:[*+?]|\{\d*,?\d*\})[?+]?)"
    r"|(?P<space>\s+)"
    r"|(?P<literal>.)",
    re.DOTALL,
)
KINDS = {
    "class": CLASS, "anchor": ANCHOR, "escape": ESCAPE, "open": OPEN, "close": CLOSE, "or": OR,
    "dot": DOT, "quantifier": QUANTIFIER, "space": SPACE, "literal": LITERAL,
}  # fmt: skip

WIDER = {
    "\\d": ("[\\d.]", "[\\d-]", "[\\d_]", "[\\d,]", "\\w", "[-+]?\\d", "[0-9a-fA-F]"),
    "\\w": (
        "[\\w-]",
        "[\\w.]",
        "[\\w.-]",
        "[\\w ]",
        "[\\w/]",
        "[\\w:]",
        "\\S",
        "[a-zA-Z]",
        "[^\\W\\d_]",
    ),
    "\\s": ("[ \\t]", " ", "[\\s,]", "[\\s_]"),
    "\\S": ("[^\\s,]", "\\w", "."),
    "\\D": ("\\W",),
    "\\W": ("[\\W_]", "\\D", "[^\\w-]"),
    ".": ("\\.", "[\\s\\S]", "[^/]", "\\S", "\\w", "[^,]", '[^"]', "[^']"),
    " ": ("\\s", "[ \\t]", "\\s*", "\\s+", " *", " +"),
}
NEGATED = {"\\d": "\\D", "\\D": "\\d", "\\w": "\\W", "\\W": "\\w", "\\s": "\\S", "\\S": "\\s"}
ANCHORS = {
    "$": ("\\Z", "\\b", "(?:\\n|$)"),
    "\\Z": ("$",),
    "^": ("\\A", "\\b", "(?:^|\\s)"),
    "\\A": ("^",),
}
CLASS_MEMBERS = (
    "_",
    "-",
    ".",
    "0-9",
    "a-z",
    "A-Z",
    " ",
    "\\s",
    "\\w",
    "'",
    "/",
    "+",
    ":",
    ",",
    "\\\\",
)
QUANTIFIERS = ("*", "+", "?", "*?", "+?", "??")
MAX_WORDS = 12
"""Maximum words tried as an additional alternative."""
GROUPS = {
    "(": ("(?:",), "(?:": ("(",), "(?=": ("(?!", "(?:"), "(?!": ("(?=",), "(?<=": ("(?<!",),
    "(?<!": ("(?<=",),
}  # fmt: skip
METACHARACTERS = ".+*?^$|()[]{}"


class PatternToken(NamedTuple):
    """A token of a regular expression with its position."""

    kind: int
    start: int
    end: int
    text: str


class PatternChange(NamedTuple):
    """A replacement of `start:end` in the pattern; a higher `surprise` is tried later."""

    surprise: float
    start: int
    end: int
    text: str


def tokenize_pattern(pattern: str) -> List[PatternToken]:
    """Return the tokens of a pattern, in order and without gaps."""
    found = []
    for match in TOKENS.finditer(pattern):
        kind = KINDS[match.lastgroup or "literal"]
        found.append(PatternToken(kind, match.start(), match.end(), match.group()))
    return found


def is_pattern(text: str) -> bool:
    """Return True if Python compiles the text as a regular expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, RecursionError, OverflowError, MemoryError, ValueError):
        return False
    return True


def mutations(
    pattern: str, seen: Sequence[str] = (), words: Sequence[str] = ()
) -> Iterator[PatternChange]:
    """Yield mutations of one token.

    Args:
        pattern: The regular expression.
        seen: Strings of the failing tests; their letters may have to match.
        words: Words of these strings; each may be a missing alternative.
    """
    tokens = tokenize_pattern(pattern)
    # Punctuation of the tests' strings that the pattern does not mention yet.
    letters = _unknown_letters(pattern, seen)
    for index, found in enumerate(tokens):
        if found.kind == QUANTIFIER:
            yield from _quantifier(found)
        elif found.kind == CLASS:
            yield from _class(found, letters)
        elif found.kind == ANCHOR:
            yield PatternChange(0.0, found.start, found.end, "")
            yield from (
                PatternChange(0.3, found.start, found.end, other)
                for other in ANCHORS.get(found.text, ())
            )
        elif found.kind in (ESCAPE, DOT, LITERAL) or found.text == " ":
            yield from _atom(found)
        if found.kind in ATOMS or found.kind in (CLOSE, OPEN):
            yield from _unquantified(tokens, index)
    yield from _groups(tokens)
    yield from _one_more(pattern, words)
    yield from _ends(pattern, tokens)


def _unknown_letters(pattern: str, seen: Sequence[str]) -> List[str]:
    letters = dict.fromkeys(
        c for text in seen for c in text if not c.isalnum() and c.isprintable() and c not in pattern
    )
    return list(letters)[:8]


def _quantifier(found: PatternToken) -> Iterator[PatternChange]:
    plain = found.text.rstrip("?+") or found.text[0]
    yield PatternChange(0.1, found.start, found.end, "")
    for other in QUANTIFIERS:
        if other != found.text:
            # Exchanges of `*`, `+` and `?` cost least.
            near = other.rstrip("?") == plain or found.text in QUANTIFIERS[:3]
            yield PatternChange(
                0.0 if near and len(other) == 1 else 0.2, found.start, found.end, other
            )
    match = re.fullmatch(r"\{(\d*)(,?)(\d*)\}", plain)
    if match:
        low, high = int(match.group(1) or 0), match.group(3)
        options = [f"{{{low + 1}}}", f"{{{max(0, low - 1)}}}"] if not match.group(2) else []
        options += [
            f"{{{low},}}",
            f"{{{max(0, low - 1)},{high}}}",
            f"{{{low + 1},{high}}}",
            f"{{1,{low or 1}}}",
        ]
        if high:
            options += [f"{{{low},{int(high) + 1}}}", f"{{{low},{max(low, int(high) - 1)}}}"]
        yield from (
            PatternChange(0.2, found.start, found.end, other)
            for other in options
            if other != found.text
        )


def _class(found: PatternToken, letters: Sequence[str]) -> Iterator[PatternChange]:
    negative = found.text.startswith("[^")
    inside = found.text[2 if negative else 1 : -1]
    first = found.start + (2 if negative else 1)
    yield PatternChange(0.4, first - 1 if negative else first, first, "" if negative else "^")
    end = found.end - 1
    for letter in letters:
        yield PatternChange(0.0, end, end, _in_class(letter))
    for member in CLASS_MEMBERS:
        if member not in inside:
            # A trailing `-` is literal only while it stays last.
            at = end if member == "-" or not inside.endswith("-") else end - 1
            yield PatternChange(0.3, at, at, member)
    for item in re.finditer(r"\\.|.-[^\]]|.", inside, re.DOTALL):
        if len(item.group()) < len(inside):
            yield PatternChange(0.3, first + item.start(), first + item.end(), "")


def _in_class(letter: str) -> str:
    return "\\" + letter if letter in "\\]^-" else letter


def _atom(found: PatternToken) -> Iterator[PatternChange]:
    yield PatternChange(0.2, found.start, found.end, "")
    for other in WIDER.get(found.text, ()):
        yield PatternChange(0.3, found.start, found.end, other)
    if found.text in NEGATED:
        yield PatternChange(0.5, found.start, found.end, NEGATED[found.text])
    if found.kind == ESCAPE and found.text[1] in METACHARACTERS:
        yield PatternChange(0.2, found.start, found.end, found.text[1])
    if found.kind == LITERAL and found.text.isalpha():
        yield PatternChange(
            0.7, found.start, found.end, f"[{found.text.lower()}{found.text.upper()}]"
        )
        yield PatternChange(0.9, found.start, found.end, found.text.swapcase())
    if found.kind == LITERAL and found.text in "dwsbDWSB":
        yield PatternChange(0.6, found.start, found.end, "\\" + found.text)
    if found.kind == DOT:
        # The cheapest change: a dot that should match only itself.
        yield PatternChange(0.0, found.start, found.end, "\\.")


def _unquantified(tokens: Sequence[PatternToken], index: int) -> Iterator[PatternChange]:
    """Add a quantifier to an atom or group without one, or delete an atom with its quantifier."""
    found = tokens[index]
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following is not None and following.kind == QUANTIFIER:
        if found.kind in ATOMS:
            yield PatternChange(0.2, found.start, following.end, "")
    elif found.kind != OPEN:
        surprise = 0.2 if found.kind != LITERAL else 0.4
        for quantifier in ("?", "*", "+"):
            yield PatternChange(surprise, found.end, found.end, quantifier)


def _groups(tokens: Sequence[PatternToken]) -> Iterator[PatternChange]:
    """Change the kind of a group, and drop or reorder alternatives."""
    stack: List[PatternToken] = []
    for found in tokens:
        if found.kind == OPEN:
            stack.append(found)
            yield from (
                PatternChange(0.4, found.start, found.end, other)
                for other in GROUPS.get(found.text, ())
            )
        elif found.kind == CLOSE and stack:
            opening = stack.pop()
            inside = [t for t in tokens if opening.end <= t.start and t.end <= found.start]
            yield from _alternatives(inside, opening.end, found.start)
    yield from _alternatives(tokens, 0, tokens[-1].end if tokens else 0)


def _alternatives(tokens: Sequence[PatternToken], start: int, end: int) -> Iterator[PatternChange]:
    bars, depth = [], 0
    for found in tokens:
        # Only bars at depth 0 separate alternatives of this group.
        depth += (found.kind == OPEN) - (found.kind == CLOSE)
        if found.kind == OR and depth == 0:
            bars.append(found)
    if not bars:
        return
    bounds = [start, *(b.start for b in bars), end]
    pattern = "".join(t.text for t in tokens)
    parts = [
        pattern[bounds[i] + (i > 0) - start : bounds[i + 1] - start] for i in range(len(bounds) - 1)
    ]
    for index in range(len(parts)):
        yield PatternChange(0.3, start, end, "|".join(parts[:index] + parts[index + 1 :]))
        if index:
            exchanged = [*parts[: index - 1], parts[index], parts[index - 1], *parts[index + 1 :]]
            yield PatternChange(0.2, start, end, "|".join(exchanged))
    # The first alternative that matches wins, so a longer one belongs before its prefixes.
    longest = sorted(parts, key=lambda part: -len(part))
    if longest != parts:
        yield PatternChange(0.2, start, end, "|".join(longest))
    yield from _bound_together(parts, start, end)


def _one_more(pattern: str, words: Sequence[str]) -> Iterator[PatternChange]:
    """Add an alternative shaped like the last one of its group, with another word."""
    known = {word.lower() for word in re.findall(r"(?<!\\)[^\W\d_]{2,}", pattern)}
    for last in re.finditer(r"\|([^|()]*?)([^\W\d_]{2,})([^|()]*)(?=\)|$)", pattern):
        before, model, after = last.groups()
        if before.endswith("\\"):
            continue
        cased = [
            word.lower() if model.islower() else word.upper() if model.isupper() else word
            for word in words
        ]
        for rank, word in enumerate(dict.fromkeys(cased)):
            if word.lower() not in known and rank < MAX_WORDS:
                yield PatternChange(0.3, last.end(), last.end(), f"|{before}{word}{after}")


def _bound_together(parts: Sequence[str], start: int, end: int) -> Iterator[PatternChange]:
    """Group alternatives, since `^a|b$` differs from `^(?:a|b)$`."""
    first, last = parts[0], parts[-1]
    head = "^" if first.startswith("^") else ""
    tail = "$" if last.endswith("$") and not last.endswith("\\$") else ""
    inner = [first[len(head) :], *parts[1:-1], last[: len(last) - len(tail)]]
    if head or tail or start:
        yield PatternChange(0.1, start, end, f"{head}(?:{'|'.join(inner)}){tail}")


def _ends(pattern: str, tokens: Sequence[PatternToken]) -> Iterator[PatternChange]:
    size = len(pattern)
    if not pattern.startswith(("^", "\\A")):
        yield from (
            PatternChange(0.1, 0, 0, text)
            for text in ("^", "\\b", "\\s*", "(?:^|\\s)", "(?i)", "(?s)", "(?m)")
        )
    if not pattern.endswith(("$", "\\Z")):
        yield from (
            PatternChange(0.1, size, size, text)
            for text in ("$", "\\b", "\\s*", "\\Z", "\\s*$", "$(?!\\n)")
        )
    elif tokens:
        yield PatternChange(0.2, tokens[-1].start, tokens[-1].start, "\\s*")


def apply_change(pattern: str, change: PatternChange) -> str:
    """Return the pattern with a change applied."""
    return pattern[: change.start] + change.text + pattern[change.end :]


def distinct(
    pattern: str, seen: Sequence[str], words: Sequence[str] = ()
) -> List[Tuple[PatternChange, str]]:
    """Return changes with distinct results that compile, keeping the least surprising of each."""
    kept: dict[str, PatternChange] = {}
    for change in mutations(pattern, seen, words):
        new = apply_change(pattern, change)
        known = kept.get(new)
        if new != pattern and (known is None or change.surprise < known.surprise):
            kept[new] = change
    return [(change, new) for new, change in kept.items() if is_pattern(new)]
