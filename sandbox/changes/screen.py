"""The tamper guard in code: flag additions and removals that no honest fix needs.

Every rule counts matches in the old and the new text. Only an increase (for assertions, a decrease)
is a concern.
"""

import ast
import doctest
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator

from sandbox.changes.capabilities import find_capabilities
from sandbox.changes.comparisons import find_careless
from sandbox.changes.reachable import DOUBTED, MESSAGES, CapabilityKind
from sandbox.changes.same_tests import same_tests
from sandbox.changes.suspicions import LINE_RULES, REACHING, Concern, ConcernSeverity
from sandbox.changes.syntax import is_python, parse
from sandbox.gate import TOKEN_SHAPES

MAX_SCREENED = 1 << 20
_R, _D = ConcernSeverity.REFUSE, ConcernSeverity.DOUBT


_ASSERTIONS = re.compile(
    r"(?:^|:)[ \t]*assert\b|^[ \t]*>>> |\bself\.(?:assert|fail)\w+\s*\(|\bpytest\.raises\b"
    r"|\bexpect\s*\(",
    re.MULTILINE,
)
_TESTS = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(|\bTestCase\b", re.MULTILINE)
# Python could read another encoding (PEP 263) than this screen.
_COOKIE = re.compile(
    r"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]{0,200}coding[:=][ \t]*(?!utf-?8\b|ascii\b)[-\w.]", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"\w+")
# Code after a hundred blanks is outside of a reader's view.
_FAR_RIGHT = re.compile(r"[ \t]{100}(?=\S)")
_HIDDEN_CATEGORIES = frozenset({"Cf", "Co", "Cs", "Zl", "Zp"})
_CONTROLS = frozenset(
    map(chr, (*range(9), 11, *range(14, 32), 127, *range(128, 160), *range(0xE0100, 0xE01F0)))
)
"""No text needs these controls. The form feed (12) is an old convention and stays allowed."""
_HIDDEN_EXTRA = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\u2800"
)


def screen(old: str, new: str, path: str) -> tuple[Concern, ...]:
    """Return the concerns about the edit of one file.

    Args:
        old: The text before; empty for a new file.
        new: The text after.
        path: The path of the file.
    """
    if len(new) > MAX_SCREENED:
        return (
            Concern(
                severity=_R, rule="size", path=path, message="the file is too large to be checked"
            ),
        )
    before, after = (parse(old), parse(new)) if is_python(path) else (None, None)
    found = [*_characters(old, new, path), *_lookalikes(old, new, path)]
    found += _lines(old, new, path, is_read=after is not None)
    if _examples(old, before) - _examples(new, after):
        message = "a doctest example is changed or removed"
        found.append(Concern(severity=_R, rule="assertions", path=path, message=message))
    weaker = list(_assertions(old, new, path))
    # A formatter may break the line of an assertion, or join two.
    found += weaker if weaker and not same_tests(path, old, new) else []
    if is_python(path):
        reported = {(concern.severity, concern.rule) for concern in found}
        checked = _checked_syntax(before, after, path)
        found += [c for c in checked if (c.severity, c.rule) not in reported]
    refused = {concern.rule for concern in found if concern.severity is _R}
    return tuple(
        concern for concern in found if concern.severity is _R or concern.rule not in refused
    )


def added_lines(old: str, new: str) -> list[tuple[int, str]]:
    """Return lines that occur more often in the new text, with their numbers; in linear time."""
    left = Counter(old.splitlines())
    added = []
    for number, line in enumerate(new.splitlines(), start=1):
        if left[line] > 0:
            left[line] -= 1
        else:
            added.append((number, line))
    return added


def _lines(old: str, new: str, path: str, *, is_read: bool) -> Iterator[Concern]:
    added = added_lines(old, new)
    for rule in LINE_RULES:
        matches = len(rule.pattern.findall(new))
        known = len(rule.pattern.findall(old)) if matches else 0
        if matches > known:
            line = next((number for number, text in added if rule.pattern.search(text)), None)
            # A parsed program is judged by its capabilities. For other text the words are the only
            # evidence.
            is_new = rule.name in REACHING and not known and not is_read
            severity = _R if is_new else rule.severity
            yield Concern(
                severity=severity, rule=rule.name, path=path, line=line, message=rule.message
            )


def _characters(old: str, new: str, path: str) -> Iterator[Concern]:
    if "\0" in new:
        yield Concern(
            severity=_R, rule="binary", path=path, message="the file contains a NUL character"
        )
    hidden = _hidden(new) - _hidden(old)
    if hidden:
        names = ", ".join(f"U+{ord(character):04X}" for character in list(hidden)[:3])
        yield Concern(
            severity=_R,
            rule="hidden",
            path=path,
            message=f"hidden or direction-changing characters: {names}",
        )
    # A rewrite of all line endings would hide the edit in the diff of the whole file.
    is_rewritten = (("\r\n" in new) != ("\r\n" in old) and "\n" in old and "\n" in new) or (
        new.count("\r") > old.count("\r") + len(added_lines(old, new))
    )
    if old and is_rewritten and not _evens_line_ends(old, new):
        yield Concern(
            severity=_R, rule="line-endings", path=path, message="the line endings are rewritten"
        )
    if len(TOKEN_SHAPES.findall(new)) > len(TOKEN_SHAPES.findall(old)):
        yield Concern(
            severity=_R,
            rule="secret",
            path=path,
            message="a possible credential is added",
        )


def _evens_line_ends(old: str, new: str) -> bool:
    """Return True if all lines get one kind of end, and nothing else changes."""
    plain = old.replace("\r\n", "\n")
    return new in {plain, plain.replace("\n", "\r\n")}


def _hidden(text: str) -> Counter[str]:
    if text.isascii() and _CONTROLS.isdisjoint(text):
        return Counter()
    return Counter(
        character
        for character in text
        if (
            character > "\x7f"
            and (
                unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _HIDDEN_EXTRA
            )
        )
        or character in _CONTROLS
    )


def _lookalikes(old: str, new: str, path: str) -> Iterator[Concern]:
    """Yield lines that look different from what Python reads."""
    for number, line in added_lines(old, new):
        mixed = not line.isascii() and any(_is_mixed(word) for word in _IDENTIFIER.findall(line))
        if mixed or _FAR_RIGHT.search(line.lstrip()):
            message = "the line looks different from what Python reads"
            yield Concern(severity=_R, rule="hidden", path=path, line=number, message=message)
            return
    if is_python(path) and _COOKIE.match(new) and not _COOKIE.match(old):
        yield Concern(
            severity=_R,
            rule="encoding",
            path=path,
            message="the file declares another encoding",
        )


def _is_mixed(word: str) -> bool:
    """Return True if one word mixes Latin letters with a similar alphabet."""
    return any("\u0370" <= c <= "\u052f" for c in word) and any(
        c.isascii() and c.isalpha() for c in word
    )


def _examples(text: str, tree: ast.Module | None) -> Counter[tuple[str, str]]:
    """Return the doctest examples of a text; the tree is None unless it is a Python program."""
    if ">>>" not in text:
        return Counter()
    found: Counter[tuple[str, str]] = Counter()
    # A docstring ends at its quotes. In the raw text, the code below would count as expected
    # output.
    for documentation in [text] if tree is None else _strings(tree):
        try:
            examples = doctest.DocTestParser().get_examples(documentation)
        except ValueError:
            continue
        found.update((example.source, example.want) for example in examples)
    return found


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>>" in node.value:
            yield node.value


def _assertions(old: str, new: str, path: str) -> Iterator[Concern]:
    if _TESTS.search(old):
        asserted = Counter(line.strip() for line in old.splitlines() if _ASSERTIONS.search(line))
        if asserted - Counter(line.strip() for line in new.splitlines()):
            yield Concern(
                severity=_R,
                rule="assertions",
                path=path,
                message="an assertion of a test is changed",
            )
        if len(_TESTS.findall(new)) < len(_TESTS.findall(old)):
            yield Concern(severity=_R, rule="assertions", path=path, message="a test is removed")
    before, after = len(_ASSERTIONS.findall(old)), len(_ASSERTIONS.findall(new))
    if after < before:
        message = f"{before - after} of {before} assertions are removed"
        yield Concern(severity=_R, rule="assertions", path=path, message=message)


def _checked_syntax(
    before: ast.Module | None, after: ast.Module | None, path: str
) -> list[Concern]:
    try:
        return list(_syntax(before, after, path))
    except RecursionError:
        message = "a chain of attributes, calls or operators is too long to be checked"
        return [Concern(severity=_R, rule="size", path=path, message=message)]


def _syntax(before: ast.Module | None, after: ast.Module | None, path: str) -> Iterator[Concern]:
    if after is None:
        # A file that no longer parses would escape the check.
        severity = _D if before is None else _R
        yield Concern(
            severity=severity, rule="syntax", path=path, message="the new text cannot be parsed"
        )
        return
    yield from _new_capabilities(before, after, path)
    lines = list(find_careless(after))
    if len(lines) > (len(list(find_careless(before))) if before is not None else 0):
        message = "a comparison ignores the content of its objects"
        yield Concern(severity=_R, rule="always-equal", path=path, line=max(lines), message=message)
    checks: tuple[tuple[ConcernSeverity, str, str, Callable[[ast.AST], bool]], ...] = (
        (_R, "swallow", "an exception is swallowed", _swallows),
        (_D, "constant-condition", "a condition is constant", _is_constant_condition),
    )
    nodes, nodes_before = list(ast.walk(after)), [] if before is None else list(ast.walk(before))
    for severity, rule, message, matches in checks:
        lines = [node.lineno for node in nodes if matches(node) and hasattr(node, "lineno")]
        known = sum(map(matches, nodes_before))
        if len(lines) > known:
            yield Concern(severity=severity, rule=rule, path=path, line=max(lines), message=message)


def _new_capabilities(before: ast.Module | None, after: ast.Module, path: str) -> Iterator[Concern]:
    """Yield the capabilities that only the new program has, once for each kind."""
    known = find_capabilities(before) if before is not None else {}
    lines: dict[CapabilityKind, int] = {}
    for reach, line in find_capabilities(after).items():
        if reach not in known:
            lines[reach.kind] = min(line, lines.get(reach.kind, line))
    for kind, line in lines.items():
        severity = _D if kind in DOUBTED else _R
        yield Concern(
            severity=severity, rule=kind.value, path=path, line=line, message=MESSAGES[kind]
        )


def _swallows(node: ast.AST) -> bool:
    """Return True for an `except` or `suppress` that ignores every exception."""
    if isinstance(node, ast.ExceptHandler):
        broad = node.type is None or _is_broad(node.type)
        idle = all(
            isinstance(step, ast.Pass | ast.Continue) or _is_constant(step) for step in node.body
        )
        return idle and (broad or all(isinstance(step, ast.Pass) for step in node.body))
    if isinstance(node, ast.Call):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        return name == "suppress" and any(_is_broad(argument) for argument in node.args)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _exits_quietly(node)


def _exits_quietly(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True for an `__exit__` that ends every exception, whatever it is."""
    if node.name not in {"__exit__", "__aexit__"}:
        return False
    arguments = [*node.args.args[1:], *node.args.posonlyargs[1:], node.args.vararg]
    given = {argument.arg for argument in arguments if argument is not None}
    inside = [inner for step in node.body for inner in ast.walk(step)]
    if any(isinstance(inner, ast.Name) and inner.id in given for inner in inside):
        return False
    results = [inner.value for inner in inside if isinstance(inner, ast.Return)]
    return any(isinstance(each, ast.Constant) and bool(each.value) for each in results)


def _is_broad(node: ast.expr) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(
        getattr(name, "id", "") in {"Exception", "BaseException", "AssertionError"}
        for name in names
    )


def _is_constant(step: ast.stmt) -> bool:
    if isinstance(step, ast.Return):
        return step.value is None or isinstance(step.value, ast.Constant)
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def _is_constant_condition(node: ast.AST) -> bool:
    return isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Constant)
