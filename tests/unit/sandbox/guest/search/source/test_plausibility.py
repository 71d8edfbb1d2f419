"""Candidates are weighed before they are tried: names bound at the place, kinds of values, arguments taken."""

import ast
import time
from itertools import islice

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.source.bindings import Bindings, node_span
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.kinds import ValueKind
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import NO_LITERALS, CodeScope


def a_scope(text: str, observed: dict[str, tuple[str, ...]] | None = None) -> CodeScope:
    source = SourceFile("m.py", text.encode())
    root = next(
        n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return CodeScope(source, root, NO_LITERALS, observed)


def extra(
    text: str, old: str, new: str, observed: dict[str, tuple[str, ...]] | None = None
) -> float | None:
    """What exchanging one piece of text costs more; None when it makes no sense."""
    at = text.index(old)
    return a_scope(text, observed).plausibility.extra_cost((TextEdit(at, at + len(old), new),))


def names_before(text: str, mark: str) -> list[str]:
    """Names bound where a piece of text stands."""
    source = SourceFile("m.py", text.encode())
    root = source.tree.body[0]
    line = text[: text.index(mark)].count("\n") + 1
    node = next(
        n for n in ast.walk(root) if getattr(n, "lineno", 0) == line and isinstance(n, ast.stmt)
    )
    return Bindings(root, source.tree).at(node_span(node)[0])


PLACES = """
def f(a, *more, key=None):
    first = 1
    if a:
        inner = 2
    else:
        HERE
    for item in a:
        LOOP
        late = item
    try:
        AFTER
    except KeyError as error:
        CAUGHT
    def nested(own):
        NESTED
    last = [x for x in a]
    END
"""


@pytest.mark.parametrize(
    ("mark", "bound", "unbound"),
    [
        (
            "HERE",
            ["a", "more", "key", "first"],
            ["inner", "item", "late", "error", "x", "last", "own"],
        ),
        ("LOOP", ["a", "inner", "item", "late"], ["error", "nested", "last"]),
        ("AFTER", ["item", "late"], ["error", "x", "last"]),
        ("CAUGHT", ["error"], ["nested", "last"]),
        ("NESTED", ["own", "last", "a", "nested"], ["error", "x"]),
        ("END", ["nested", "last"], ["own", "error", "x"]),
    ],
)
def test_names_are_bound_from_where_they_get_a_value(
    mark: str, bound: list[str], unbound: list[str]
) -> None:
    here = names_before(PLACES, mark)
    assert [name for name in bound if name not in here] == []
    assert [name for name in unbound if name in here] == []


def test_names_of_the_last_round_of_a_loop_come_last() -> None:
    assert names_before(PLACES, "LOOP")[-1] == "late"


BASE = """
import m

LIMIT = 3


def f(n: int, words: list[str], other):
    count = 0
    found = []
    table = {}
    for word in words:
        count += len(word)
        found.append(word)
        table[word] = count
    result = g(count, found)
    return other


def g(a, b, c=1):
    return a
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("len(word)", "len(count)"),
        ("found.append(word)", "count.append(word)"),
        ("found.append(word)", "found.add(word)"),
        ("g(count, found)", "g(count)"),
        ("g(count, found)", "g(count, found, 1, 2)"),
        ("g(count, found)", "g(count, unknown)"),
        ("g(count, found)", "g(found[count:table], 1)"),
        ("return other", "return word_count"),
        ("return other", "return count + found"),
        ("return other", "return found - found"),
        ("return other", "return count - count"),
        ("return other", "return count < found"),
        ("return other", "return count == 'a'"),
        ("return other", "return 'a' in count"),
        ("return other", "return max(count, found)"),
        ("return other", "return other if 1 else 2"),
        ("return other", "return other and other"),
        ("return other", "return other is 3"),
        ("return other", "return table[found]"),
        ("return other", "return abs(found)"),
        ("return other", "return [x for x in count]"),
        ("return other", "return count("),
        ("return other", "other"),
        ("return other", "other = other"),
    ],
)
def test_what_cannot_work_is_not_tried(old: str, new: str) -> None:
    assert extra(BASE, old, new) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return other", "return other.anything(count)[0] - n"),
        ("return other", "return [x + n for x in other if x not in table]"),
        ("return other", "return LIMIT + m.limit"),
        ("return other", "return '%s' % count"),
        ("return other", "return found * 2 + [n]"),
        ("return other", "return lambda own: own - count"),
        ("return other", "return (late := count) + late"),
        ("return other", "return g(*found)"),
        ("return other", "return n is None"),
        ("return other", "return sorted(table, key=table.get)[-1]"),
        ("return other", "yield from found"),
        ("return other", "for new in found:\n        print(new)"),
    ],
)
def test_what_may_work_costs_nothing_more(old: str, new: str) -> None:
    assert extra(BASE, old, new) == 0.0


@pytest.mark.parametrize(
    ("old", "new"), [("return other", "return n.strip()"), ("return other", "return len(n)")]
)
def test_what_contradicts_an_annotation_is_tried_later(old: str, new: str) -> None:
    cost = extra(BASE, old, new)
    assert cost is not None
    assert cost > 0


def test_what_was_observed_is_believed() -> None:
    assert extra(BASE, "return other", "return other - 1") == 0.0
    assert extra(BASE, "return other", "return other - 1", {"other": ("list[int]",)}) is None
    assert extra(BASE, "return other", "return other[0] - 1", {"other": ("list[int]",)}) == 0.0
    assert (
        extra(BASE, "return other", "return other - 1", {"other": ("Widget", "list[int]")}) == 0.0
    )


def test_an_inserted_statement_is_weighed_where_it_will_stand() -> None:
    scope = a_scope(BASE)
    loop, ending = scope.nodes[0], None
    for node in scope.nodes:
        loop = node if isinstance(node, ast.For) else loop
        ending = node if isinstance(node, ast.Return) else ending
    assert isinstance(loop, ast.For)
    assert isinstance(ending, ast.Return)
    for statement, code, fits in [
        (loop, "word = word.strip()", False),
        (ending, "word = word.strip()", True),
        (ending, "if not found:\n    return None", True),
        (ending, "if not found:\n    return missing", False),
    ]:
        proposal = scope.before(1.0, statement, code)
        assert proposal is not None
        assert (scope.plausibility.extra_cost(proposal.edits) is not None) is fits


def test_code_that_complains_already_is_not_held_against_the_edit() -> None:
    text = "def f(a):\n    b = 1\n    return b.append(a) + c.d\n"
    assert extra(text, "c.d", "c.e") == 0.0


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("'a'.split(',')", {"list"}), ("[1][0]", {"int"}), ("{'a': 1.5}['a']", {"float"}), ("1 / 2", {"float"}),
        ("len([]) + 1", {"int"}), ("[x for x in 'ab']", {"list"}), ("'a' if q else 1", {"str", "int"}),
        ("not q", {"bool"}), ("sorted(q)", {"list"}), ("f'{q}'", {"str"}), ("q", None), ("q.r(1)", None),
        ("{1} | {2}", {"set"}), ("(1, 2)[:1]", {"tuple"}), ("max(1, 2.0)", {"int", "float"}), ("-1", {"int"}),
    ],
)  # fmt: skip
def test_kinds_follow_from_literals_operators_and_calls(
    expression: str, names: set[str] | None
) -> None:
    scope = a_scope(f"def f(q):\n    return {expression}\n")
    ending = next(node for node in scope.nodes if isinstance(node, ast.Return))
    assert ending.value is not None
    kind: ValueKind | None = scope.infer_kind(ending.value)
    assert (None if kind is None else set(kind.names)) == names


# --- the order of candidates ------------------------------------------------------------------------


def best(text: str, scores: dict[int, float], number: int) -> list[CandidatePatch]:
    units = list_units(SourceFile("m.py", text.encode()), "/m.py")
    order = Generator(load_templates(), {}).best_first(
        units, Suspicion({"m.py": scores}), NO_LITERALS
    )
    return list(islice(order, number))


LONG = "def f(a, b):\n" + "".join(
    f"    v{i} = [x + {i} for x in a if x > {i}]\n    if len(v{i}) > b:\n        a = v{i}[{i}:]\n"
    for i in range(150)
)


def test_nothing_is_worked_out_before_its_turn() -> None:
    started = time.process_time()
    found = best(LONG, dict.fromkeys(range(1, 460), 0.2) | {400: 1.0}, 50)
    assert {candidate.line for candidate in found} == {400}
    assert time.process_time() - started < 5


def test_no_candidate_comes_twice_and_all_come_in_order() -> None:
    found = best(BASE, dict.fromkeys(range(1, 30), 1.0), 4000)
    assert len({(c.unit, c.edits) for c in found}) == len(found)
    assert [c.priority for c in found] == sorted(c.priority for c in found)


@pytest.mark.slow
def test_an_expression_nested_too_deeply_is_survived() -> None:
    text = "def f(a):\n    return " + " + ".join(["a"] * 700) + "\n"
    assert best(text, {2: 1.0}, 5)


def test_parts_of_text_are_changed_only_where_their_place_is_sure() -> None:
    text = 'def f(a, b):\n    return f"{a} and {{a}} {a:>3} {b!r}"\n'
    results = {c.source.render(c.edits).decode() for c in best(text, {2: 1.0}, 500)}
    assert 'def f(a, b):\n    return f"{b} and {{a}} {a:>3} {b!r}"\n' in results
    assert all("{{a}}" in result for result in results if "{{" in result)
