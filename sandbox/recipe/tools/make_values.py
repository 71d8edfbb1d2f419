"""Expand make's variables and functions without a shell: what only a shell knows stays marked."""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sandbox.recipe.files import CheckoutFiles, inside
from sandbox.recipe.tools.base import ReadingBudget

MOST_CHARACTERS = 8000
_DEEPEST = 20
_EXPANSION_STEPS = 50
"""Cost of one expansion beyond its characters."""
MATCHING_STEPS = 4
"""Cost of comparing one file of the checkout with a pattern."""
_PRODUCT_SHARE = 8
"""Characters of two texts that are combined for one step of the budget."""
SHELL = "\1"
"""The dollar of an expansion that only a shell can compute."""
UNKNOWN = f"{SHELL}?"
"""The value of a function of what only a shell can compute."""
_CLOSING = {"(": ")", "{": "}"}
_SUBSTITUTION = re.compile(r"([^\s:]+):([^=]*)=(.*)", re.DOTALL)
_FUNCTION = re.compile(r"([a-z-]+)[ \t](.*)", re.DOTALL)
_LOOKS = re.compile(r"(?:which|command -v|type -p)\s+([\w./-]+).*")
_SHELL_VALUES = {
    "pwd": ".",
    "git rev-parse --show-toplevel": ".",
    "uname": "Linux",
    "uname -s": "Linux",
    "uname -m": "x86_64",
}
"""Results of commands that are the same in every sandbox."""


class MakeExhausted(Exception):
    """A Makefile expands to more than the budget allows."""


@dataclass(frozen=True)
class MakeValues:
    """The variables of a Makefile, and what its functions read.

    Args:
        variables: Names to texts, which are expanded when they are used.
        files: The checkout.
        folder: The folder in which make works.
        budget: Pays for every expanded character.
    """

    variables: Mapping[str, str]
    files: CheckoutFiles
    folder: str
    budget: ReadingBudget
    own: Mapping[str, str] = field(default_factory=dict)
    """Variables of a target, a call or a loop, which come first."""
    depth: int = 0

    def with_(self, more: Mapping[str, str]) -> "MakeValues":
        """Return the values with further variables."""
        return replace(self, own={**self.own, **more})

    def spend(self, steps: int) -> None:
        """Pay for some characters.

        Raises:
            MakeExhausted: The budget does not allow it.
        """
        if not self.budget.spend(_EXPANSION_STEPS + steps):
            raise MakeExhausted

    def expand(self, text: str) -> str:
        """Substitute variables and functions; an expansion for a shell begins with `SHELL`.

        Raises:
            MakeExhausted: The budget does not allow it.
        """
        text = text[:MOST_CHARACTERS]
        self.spend(len(text))
        if self.depth > _DEEPEST:  # variables may refer to each other in a circle
            return ""
        found, at, length = [], 0, 0
        inner = replace(self, depth=self.depth + 1)
        while (start := text.find("$", at)) >= 0 and length < MOST_CHARACTERS:
            name, end = _reference(text, start)
            value = "$" if name == "$" else inner.value(name)
            found += [text[at:start], value]
            length += start - at + len(value)
            at = end
        return "".join([*found, text[at:]])[:MOST_CHARACTERS]

    def value(self, name: str) -> str:
        """Return the value of one reference, `NAME`, `NAME:.a=.b` or `function words`."""
        if (called := _FUNCTION.fullmatch(name)) is not None:
            function = _FUNCTIONS.get(called[1])
            return function(self, called[2].lstrip()) if function is not None else UNKNOWN
        # The name may be computed: `$(FLAGS_$(@:test-%=%))`.
        plain = self.expand(name).strip() if "$" in name else name
        if (changed := _SUBSTITUTION.fullmatch(plain)) is not None:
            old, new = changed[2], changed[3]
            old, new = (old, new) if "%" in old else (f"%{old}", f"%{new}")
            return _patsubst(old, new, self._variable(changed[1]))
        return self._variable(plain)

    def _variable(self, name: str) -> str:
        return self.expand(self.own.get(name, self.variables.get(name, "")))


def for_shell(text: str) -> str:
    """Return an expanded text as a shell reads it."""
    return text.replace(SHELL, "$")


def known_words(text: str) -> list[str]:
    """Return the words of an expanded text, without those that only a shell knows."""
    return re.sub(rf"{SHELL}(?:\([^()]*\)|\?)", " ", text).split()


def _reference(text: str, start: int) -> tuple[str, int]:
    """Return what a `$` refers to, and where its text ends."""
    opening = text[start + 1 : start + 2]
    if opening not in _CLOSING:
        return opening, start + 1 + len(opening)
    depth = 0
    for found in re.compile(rf"[{opening}{_CLOSING[opening]}]").finditer(text, start):
        depth += 1 if found[0] == opening else -1
        if not depth:
            return text[start + 2 : found.start()], found.end()
    return "", len(text)


def _arguments(text: str, most: int) -> list[str]:
    """Split a function's arguments at commas outside of brackets."""
    found: list[str] = []
    start = depth = 0
    for match in re.finditer(r"[(){},]", text):
        if len(found) == most - 1:
            break
        sign = match[0]
        if sign == "," and not depth:
            found.append(text[start : match.start()])
            start = match.end()
        depth += (sign in "({") - (sign in ")}")
    return [*found, text[start:]]


Function = Callable[[MakeValues, str], str]


def _of_words(arguments: int, compute: Callable[..., str]) -> Function:
    """Return a function of plain texts; of what only a shell knows, its result is unknown."""

    def apply(values: MakeValues, text: str) -> str:
        given = [values.expand(one) for one in _arguments(text, arguments)]
        if len(given) < arguments or any(SHELL in one for one in given):
            return UNKNOWN
        # A text is repeated, or compared with another one, for each word.
        longest = max(map(len, given[:-1]), default=1)
        values.spend(longest * len(given[-1]) // _PRODUCT_SHARE)
        return compute(*given)

    return apply


def _each(change: Callable[[str], str]) -> Function:
    return _of_words(1, lambda text: " ".join(map(change, text.split())))


def match_stem(pattern: str, name: str) -> str | None:
    """Return what the `%` of a pattern stands for in a name; None if the name does not match."""
    before, percent, after = pattern.partition("%")
    if not percent:
        return "" if name == pattern else None
    is_long = len(name) >= len(before) + len(after)
    if not is_long or not (name.startswith(before) and name.endswith(after)):
        return None
    return name[len(before) : len(name) - len(after)]


def fill_stem(values: MakeValues, pattern: str, stem: str) -> str:
    """Return a name whose pattern has a stem: only the first `%` stands for it.

    Raises:
        MakeExhausted: The budget does not allow as much text.
    """
    values.spend(len(pattern) + len(stem))
    return pattern.replace("%", stem, 1)


def _patsubst(old: str, new: str, text: str) -> str:
    if any(SHELL in one for one in (old, new, text)):
        return UNKNOWN
    stems = ((word, match_stem(old, word)) for word in text.split())
    changed = (word if stem is None else new.replace("%", stem, 1) for word, stem in stems)
    return " ".join(changed)


def _filter(patterns: str, text: str, *, keep: bool) -> str:
    wanted = patterns.split()
    found = (
        word
        for word in text.split()
        if any(match_stem(one, word) is not None for one in wanted) is keep
    )
    return " ".join(found)


def _word(number: str, text: str) -> str:
    words = text.split()
    index = int(number) if re.fullmatch(r"\s*\d{1,4}\s*", number) else 0
    return words[index - 1] if 0 < index <= len(words) else ""


def _folder_name(path: str) -> str:
    return f"{path.rpartition('/')[0]}/" if "/" in path else "./"


def _wildcard(values: MakeValues, text: str) -> str:
    patterns = values.expand(text)
    if SHELL in patterns:
        return UNKNOWN
    found: list[str] = []
    for pattern in patterns.split():
        values.spend(MATCHING_STEPS * len(values.files.names))
        if "*" in pattern or "?" in pattern:
            found += values.files.matching(pattern, values.folder)
        elif (path := inside(values.folder, pattern)) is not None:
            known = values.files.is_file(path) or values.files.is_folder(path)
            found += [pattern] if known else []
    return " ".join(found)


def _shell(values: MakeValues, text: str) -> str:
    line = values.expand(text).strip()
    if (looks := _LOOKS.fullmatch(line)) is not None:
        return looks[1]
    return _SHELL_VALUES.get(line.removesuffix(" 2>/dev/null"), f"{SHELL}({line})")


def _if(values: MakeValues, text: str) -> str:
    """Choose a branch; an undecidable condition holds."""
    parts = _arguments(text, 3)
    chosen = parts[1:2] if values.expand(parts[0]).strip() else parts[2:3]
    return values.expand("".join(chosen).strip())


def _or(values: MakeValues, text: str) -> str:
    given = (values.expand(one).strip() for one in _arguments(text, 60))
    return next(filter(None, given), "")


def _and(values: MakeValues, text: str) -> str:
    value = ""
    for one in _arguments(text, 60):
        value = values.expand(one).strip()
        if not value:
            break
    return value


def _foreach(values: MakeValues, text: str) -> str:
    name, words, body = (*_arguments(text, 3), "", "")[:3]
    name, words = values.expand(name).strip(), values.expand(words)
    if SHELL in words:
        return UNKNOWN
    return " ".join(
        values.with_({name: word.replace("$", "$$")}).expand(body) for word in words.split()
    )


def _call(values: MakeValues, text: str) -> str:
    name, *given = (values.expand(one) for one in _arguments(text, 20))
    own = {str(number): one.replace("$", "$$") for number, one in enumerate(given, 1)}
    return values.with_({"0": name, **own}).value(name.strip())


def _path(values: MakeValues, text: str) -> str:
    """Return paths as they are, with the folder of make's work for the current one."""
    return values.expand(text).strip()


def _nothing(_values: MakeValues, _text: str) -> str:
    return ""


_FUNCTIONS: dict[str, Function] = {
    "shell": _shell,
    "wildcard": _wildcard,
    "if": _if,
    "or": _or,
    "and": _and,
    "foreach": _foreach,
    "call": _call,
    "strip": lambda values, text: " ".join(values.expand(text).split()),
    **dict.fromkeys(("abspath", "realpath"), _path),
    **dict.fromkeys(("info", "warning", "error", "eval", "file"), _nothing),
    "value": lambda values, text: values.variables.get(values.expand(text).strip(), ""),
    "subst": _of_words(3, lambda old, new, text: text.replace(old, new) if old else text),
    "patsubst": _of_words(3, lambda old, new, text: _patsubst(old.strip(), new.strip(), text)),
    "addprefix": _of_words(2, lambda one, text: " ".join(one + word for word in text.split())),
    "addsuffix": _of_words(2, lambda one, text: " ".join(word + one for word in text.split())),
    "filter": _of_words(2, lambda one, text: _filter(one, text, keep=True)),
    "filter-out": _of_words(2, lambda one, text: _filter(one, text, keep=False)),
    "findstring": _of_words(2, lambda one, text: one if one in text else ""),
    "sort": _of_words(1, lambda text: " ".join(sorted(set(text.split())))),
    "word": _of_words(2, _word),
    "words": _of_words(1, lambda text: str(len(text.split()))),
    "firstword": _of_words(1, lambda text: " ".join(text.split()[:1])),
    "lastword": _of_words(1, lambda text: " ".join(text.split()[-1:])),
    "dir": _each(_folder_name),
    "notdir": _each(lambda path: path.rpartition("/")[2]),
    "basename": _each(lambda path: posixpath.splitext(path)[0]),
    "suffix": _each(lambda path: posixpath.splitext(path)[1]),
}
