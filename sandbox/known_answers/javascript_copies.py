"""Write copies of JavaScript tests that must pass, and copies that must fail.

As in Python (`copies.py`), a copy runs every statement of the original and a check of numbers. In a
copy that must fail this check is false, or an assertion of the original is negated. After each
assertion whose meaning is known, a copy also compares the values by an operator of the language,
which no code can replace: `expect(price).toBe(90)` by `!==`. So a matcher that accepts one wrong
value makes a copy fail that must pass.
"""

from collections.abc import Iterable, Iterator, Mapping
from random import Random  # noqa: TID251 - passed in

from sandbox.known_answers.copies import WORDS, Copy, Qualname, Rewritten
from sandbox.languages.javascript_assertions import Assertion, Place
from sandbox.languages.javascript_tests import TestFile, TestFunction, read_tests

_NO_TYPES = "// @ts-nocheck\n"
"""A copy may violate rules of types that the project's options make strict."""
_EQUAL = """const {name} = (a, b, n = 0) => {{
if (a === b || n > 5) return true;
if (b === null || b === undefined) return a == b;
if (typeof b !== 'object' && typeof b !== 'function') {{
  if (Object(a) === a || a == b || (a !== a && b !== b)) return true;
  return typeof a === 'number' && typeof b === 'number' && (a % 1 !== 0 || b % 1 !== 0) &&
    Math.abs(a - b) <= 0.01 * (1 + Math.abs(b)) }}
if (b.constructor !== Object && b.constructor !== Array) return true;
if (Object(a) !== a || (b.constructor === Array && a.length !== b.length)) return false;
for (const k in b) if (!{name}(a[k], b[k], n + 1)) return false;
return true }};
"""
"""Claims inequality only where all libraries do: some compare objects or fractions in other ways.

What the expected value lacks may be in the other one, and objects of classes are not compared.
"""
_WRONG = {
    "same": "{a} !== {b} && ({a} === {a} || {b} === {b})",
    "other": "{a} === {b} && {a} !== 0",
    "equal": "!{equal}({a}, {b})",
    "true": "!{a}",
    "false": "{a}",
    "null": "{a} !== null",
    "undefined": "{a} !== void 0",
    "defined": "{a} === void 0",
    "length": "{a} && typeof {a}.length === 'number' && {a}.length != {b}",
    "contains": "Object({b}) !== {b} && {b} === {b} && (typeof {a} === 'string' || "
    "Array.isArray({a})) && {a}.indexOf({b}) < 0",
    "matches": "typeof {a} === 'string' && (typeof {b} === 'string' ? {a}.indexOf({b}) : "
    "{a}.search({b})) < 0",
    "called": "{a} && {a}.mock && {a}.mock.calls && {a}.mock.calls.length < 1",
    "calls": "{a} && {a}.mock && {a}.mock.calls && {a}.mock.calls.length != {b}",
    "more": "!({a} > {b})",
    "less": "!({a} < {b})",
    "kind": "!({a} instanceof {b})",
    "throws": "!{a}_thrown",
}
"""Conditions of a wrong assertion, by its check."""
_Edit = tuple[Place, str]


def add_copies(
    path: str, source: str, wanted: Mapping[Qualname, int], random: Random
) -> Rewritten | None:
    """Add copies under new titles after the originals.

    Args:
        path: Path of the test file.
        source: Its text.
        wanted: Number of copies of each kind for each test, by its joined titles.
        random: Source of titles, numbers and the order of copies.
    """
    file = _read(path, source)
    if file is None:
        return None
    data = source.encode()
    edits: list[_Edit] = []
    added: list[Copy] = []
    for test, qualname in _find(file, wanted):
        number = wanted[qualname]
        negates_first = random.random() < 0.5  # noqa: PLR2004 - a coin
        kinds = [(True, False)] * number
        # Of two copies that must fail, one has a negated assertion.
        kinds += [(False, (index % 2 == 0) is negates_first) for index in range(number)]
        random.shuffle(kinds)
        for passes, negates in kinds:
            # At the end, also of a title with places for values.
            ending = f" {random.choice(WORDS)} {random.randrange(1000, 10000)}"
            title = test.title + ending
            text = _copy(data, test, title, random, passes=passes, negates=negates)
            edits.append(((test.place[1], test.place[1]), f"\n;{text}"))
            added.append(Copy(original=qualname, name=(qualname[0] + ending,), passes=passes))
    return _rewritten(data, file, edits, added)


def replace_originals(
    path: str,
    source: str,
    wanted: Iterable[Qualname],
    random: Random,
    *,
    passes: bool,
    negates: bool = False,
) -> Rewritten | None:
    """Put copies of one kind in the place of the originals, under the same titles."""
    file = _read(path, source)
    if file is None:
        return None
    data = source.encode()
    found = _find(file, wanted)
    edits: list[_Edit] = []
    for test in dict.fromkeys(test for test, _ in found):
        text = _copy(data, test, None, random, passes=passes, negates=negates)
        edits.append((test.place, f";{text}"))
    replaced = [Copy(original=name, name=name, passes=passes) for _, name in found]
    return _rewritten(data, file, edits, list(dict.fromkeys(replaced)))


def _find(file: TestFile, wanted: Iterable[Qualname]) -> list[tuple[TestFunction, Qualname]]:
    """Return the tests with a name each, or the only one whose titles have places for values."""
    found = []
    for qualname in wanted:
        named = [test for test in file.tests if test.matches(qualname[0])]
        exact = [test for test in named if test.is_literal]
        found += [(test, qualname) for test in exact or (named if len(named) == 1 else [])]
    return found


def _read(path: str, source: str) -> TestFile | None:
    # Tests of types are never run, so that no copy of them can fail.
    return None if "-d." in path.rsplit("/", 1)[-1] else read_tests(path, source)


def _rewritten(
    data: bytes, file: TestFile, edits: list[_Edit], copies: list[Copy]
) -> Rewritten | None:
    if not copies:
        return None
    edits.append(((file.first, file.first), _NO_TYPES))
    return Rewritten(text=_apply(data, (0, len(data)), edits), copies=tuple(copies))


def _apply(data: bytes, place: Place, edits: Iterable[_Edit]) -> str:
    """Return the text of a place with changes inside it, which do not overlap."""
    parts: list[bytes] = []
    at, last = place
    for (start, end), text in sorted(edits, key=lambda edit: edit[0]):
        parts += [data[at:start], text.encode()]
        at = end
    return b"".join((*parts, data[at:last])).decode()


def _copy(
    data: bytes,
    test: TestFunction,
    title: str | None,
    random: Random,
    *,
    passes: bool,
    negates: bool,
) -> str:
    """Return the text of one copy."""
    certain = [one for one in test.assertions if one.is_certain and one.negation is not None]
    negated = random.choice(certain) if certain and negates and not passes else None
    check = _number_check(random, is_true=passes or negated is not None)
    equal = f"{random.choice(WORDS)}_{random.randrange(10000, 100000)}"
    helper = _EQUAL.format(name=equal) if any(o.check == "equal" for o in test.assertions) else ""
    edits: list[_Edit] = [] if title is None else [(test.title_place, _quote(title))]
    for one in test.assertions:
        text = _assert(data, one, random, equal, is_negated=one is negated)
        if not test.is_expression:
            edits.append((one.place, text))
        elif one.check or one is negated:
            body = f"{{ {helper}{check} {text} }}"
            return _apply(data, test.place, [*edits, (test.body, body)])
    start, end = test.body
    if test.is_expression:
        edits += [((start, start), f"{{ {check} return ("), ((end, end), ") }")]
    else:
        at = (end, end) if test.ends else (start, start)
        edits += [((start, start), f"\n;{helper}"), (at, f"\n;{check}\n")]
    return _apply(data, test.place, edits)


def _assert(data: bytes, one: Assertion, random: Random, equal: str, *, is_negated: bool) -> str:
    """Return an assertion with its values in another form, and checked by an operator."""
    edits = list(_disguise(data, one, random))
    if is_negated and one.negation is not None:
        edits.append(one.negation)
    if not one.check:
        return _apply(data, one.place, edits)
    value, expected = (f"{word}{random.randrange(1000, 10000)}" for word in random.sample(WORDS, 2))
    own = _apply(data, one.value, ())
    lines = [f"const {value} = {'await ' if one.awaited else ''}({own});"]
    inside = [edit for edit in edits if one.expected and _contains(one.expected, edit[0])]
    rest = [edit for edit in edits if not (one.expected and _contains(one.expected, edit[0]))]
    rest.append((one.value, _witness(value) if one.check == "throws" else value))
    if one.check == "throws":
        lines.append(f"let {value}_thrown = false;")
    if one.awaited is not None:
        rest.append((one.awaited, ""))
    if one.expected is not None:
        lines.append(f"const {expected} = ({_apply(data, one.expected, inside)});")
        rest.append((one.expected, expected))
    wrong = _WRONG[one.check].format(a=value, b=expected, equal=equal)
    lines += [f"{_apply(data, one.place, rest)};", f"if ({wrong}) throw new Error('{value}');"]
    return "{ " + " ".join(lines) + " }"


def _witness(value: str) -> str:
    """Return a function that calls another one, and notes that it threw."""
    return f"() => {{ try {{ return {value}() }} catch (e) {{ {value}_thrown = true; throw e }} }}"


def _contains(outer: Place, inner: Place) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _disguise(data: bytes, one: Assertion, random: Random) -> Iterator[_Edit]:
    """Write numbers and texts as sums, so that an expected value cannot be found by its text."""
    for start, end in one.literals:
        # The value itself is written once more, as it is.
        if _contains(one.value, (start, end)):
            continue
        text = data[start:end].decode()
        if text[0] in "'\"":
            cut = random.randrange(2, len(text) - 1)
            yield (start, end), f"({text[:cut]}{text[0]} + {text[0]}{text[cut:]})"
        else:
            part = random.randrange(1, 100)
            yield (start, end), f"({int(text) + part} - {part})"


def _number_check(random: Random, *, is_true: bool) -> str:
    """Return a check of numbers; the copy fails if it is false."""
    name = f"{random.choice(WORDS)}_{random.randrange(1000, 10000)}"
    start, step = random.randrange(100, 900), random.randrange(10, 90)
    claim = start + step + (0 if is_true else random.randrange(1, 9))
    return f"const {name} = {start}; if ({name} + {step} !== {claim}) throw new Error('{name}');"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return "'" + escaped.replace("\t", "\\t") + "'"
