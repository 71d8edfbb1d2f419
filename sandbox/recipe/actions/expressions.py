"""Evaluate GitHub's expression language as data.

Values that only GitHub knows stay unknown, by name.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sandbox.recipe.actions.functions import call
from sandbox.recipe.actions.values import (
    Context,
    Partly,
    Unknown,
    Value,
    as_text,
    combine_unknown,
    equal,
    is_true,
    less,
    same_kind,
)

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>0x[0-9a-fA-F]{1,15}|0o[0-7]{1,18}|[-+]?(?:\.\d+"
    r"|\d+(?:\.\d*)?)(?:[eE][-+]?\d{1,3})?)"
    r"|'(?P<string>(?:[^']|'')*)'"
    r"|(?P<word>[A-Za-z_][\w-]*)"
    r"|(?P<sign>\(|\)|\[|\]|\.|,|\*|==|!=|<=|>=|<|>|!|&&|\|\|)"
    r")"
)
_MOST_CHARACTERS = 20_000
_MOST_TOKENS = 2_000
_DEEPEST = 50
_LONGEST_PATH = 100


class _Malformed(Exception):
    """The expression is malformed."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


def evaluate(expression: str, context: Context) -> Value:
    """Evaluate one expression without its `${{` and `}}`. A malformed one is unknown."""
    try:
        return _Reader(_tokens(expression), context).whole()
    except _Malformed:
        return Unknown((f"the expression `{expression.strip()[:60]}`",))


def _tokens(expression: str) -> list[_Token]:
    if len(expression) > _MOST_CHARACTERS:
        raise _Malformed
    found: list[_Token] = []
    at = 0
    stripped = expression.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None or len(found) >= _MOST_TOKENS or match.lastgroup is None:
            raise _Malformed
        found.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Reader:
    """Single-pass parser and evaluator.

    Expressions are pure, so that evaluating both sides is harmless.
    """

    def __init__(self, tokens: Sequence[_Token], context: Context) -> None:
        self._tokens = tokens
        self._context = context
        self._at = 0
        self._depth = 0

    def whole(self) -> Value:
        value = self._either()
        if self._at != len(self._tokens):
            raise _Malformed
        return value

    def _sign(self, *signs: str) -> str | None:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "sign" and token.text in signs:
                self._at += 1
                return token.text
        return None

    def _expect(self, sign: str) -> None:
        if self._sign(sign) is None:
            raise _Malformed

    def _either(self) -> Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Malformed
        value = self._all()
        while self._sign("||"):
            value = _or(value, self._all())
        self._depth -= 1
        return value

    def _all(self) -> Value:
        value = self._equality()
        while self._sign("&&"):
            value = _and(value, self._equality())
        return value

    def _equality(self) -> Value:
        value = self._order()
        while sign := self._sign("==", "!="):
            value = _compare(sign, value, self._order())
        return value

    def _order(self) -> Value:
        value = self._not()
        while sign := self._sign("<", "<=", ">", ">="):
            value = _compare(sign, value, self._not())
        return value

    def _not(self) -> Value:
        turns = 0
        while self._sign("!"):
            turns += 1
        value = self._access()
        # `!!x` converts to a boolean; two more negations change nothing.
        for _ in range(turns % 2 or 2 * bool(turns)):
            truth = is_true(value)
            value = combine_unknown(value) if truth is None else not truth
        return value

    def _access(self) -> Value:
        value, path = self._primary()
        while True:
            if self._sign("."):
                key: Value = "*" if self._sign("*") else self._word()
            elif self._sign("["):
                key = "*" if self._sign("*") else self._either()
                self._expect("]")
            else:
                return value
            path = f"{path}.{as_text(key)}"[:_LONGEST_PATH] if path else ""
            value = _part(value, key, path)

    def _word(self) -> str:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != "word":
            raise _Malformed
        self._at += 1
        return self._tokens[self._at - 1].text

    def _primary(self) -> tuple[Value, str]:
        if self._sign("("):
            value = self._either()
            self._expect(")")
            return value, ""
        if self._at >= len(self._tokens) or self._tokens[self._at].kind == "sign":
            raise _Malformed
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "string":
            return token.text.replace("''", "'"), ""
        if token.kind == "number":
            return _number(token.text), ""
        return self._name(token.text)

    def _name(self, word: str) -> tuple[Value, str]:
        literal: dict[str, Value] = {"true": True, "false": False, "null": None}
        lower = word.lower()
        if self._sign("("):
            return call(lower, self._arguments()), ""
        if lower in literal:
            return literal[lower], ""
        if lower == "nan":
            return float("nan"), ""
        return self._context.get(lower, Unknown((word[:_LONGEST_PATH],))), word[:_LONGEST_PATH]

    def _arguments(self) -> list[Value]:
        found: list[Value] = []
        if self._sign(")"):
            return found
        while True:
            found.append(self._either())
            if self._sign(")"):
                return found
            self._expect(",")


def _number(text: str) -> int | float:
    if text[:2].lower() in {"0x", "0o"}:
        return int(text, 0)
    return int(text) if re.fullmatch(r"[-+]?\d{1,15}", text) else float(text)


def _and(left: Value, right: Value) -> Value:
    truth = is_true(left)
    if truth is not None and not isinstance(left, Unknown):
        return right if truth else left
    return combine_unknown(
        left, right, truth=False if truth is False or is_true(right) is False else None
    )


def _or(left: Value, right: Value) -> Value:
    truth = is_true(left)
    if truth is not None and not isinstance(left, Unknown):
        return left if truth else right
    return combine_unknown(
        left, right, truth=True if truth is True or is_true(right) is True else None
    )


_COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": less,
    ">": lambda left, right: less(right, left),
    "<=": lambda left, right: less(left, right) or (same_kind(left, right) and equal(left, right)),
    ">=": lambda left, right: less(right, left) or (same_kind(left, right) and equal(left, right)),
}


def _compare(sign: str, left: Value, right: Value) -> Value:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return combine_unknown(left, right)
    return _COMPARE[sign](left, right)


def _part(value: Value, key: Value, path: str) -> Value:
    """Evaluate `value.key`.

    A part of an unknown value is unknown by its full name; of null, it is null.
    """
    if isinstance(value, Unknown):
        return Unknown((path,)) if path else value
    if isinstance(key, Unknown):
        return key
    if key == "*":
        return (
            list(value.values())
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else []
        )
    if isinstance(value, dict):
        wanted = as_text(key).lower()
        missing = Unknown((path or wanted[:_LONGEST_PATH],)) if isinstance(value, Partly) else None
        return next((item for name, item in value.items() if name.lower() == wanted), missing)
    if isinstance(value, list):
        return _item(value, key)
    return None


def _item(value: list[Value], key: Value) -> Value:
    if isinstance(key, int | float) and not isinstance(key, bool):
        return value[int(key)] if 0 <= key < len(value) else None
    # after a `*`, a name applies to every item
    return [_part(item, key, "") for item in value if isinstance(item, dict)]
