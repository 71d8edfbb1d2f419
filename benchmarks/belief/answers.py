"""Write answers as models give them: right ones in other words, and every kind of wrong one."""

import ast
import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override

from benchmarks.belief.cases import Case
from benchmarks.belief.functions import (
    Function,
    Placed,
    changed_function,
    functions_in,
    source_of,
    with_function,
)
from benchmarks.belief.rewriting import (
    collect_in_loop,
    rename_locals,
    rewritten,
    turn_conditions,
    write_out,
)
from benchmarks.sets.mutation import compiles, mutations
from sandbox.diffs import line_changes

MOST_SLIPS = 10
MOST_WEAKENED = 2
MOST_CASES = 6


@dataclass(frozen=True)
class Answer:
    """One written change.

    Attributes:
        kind: `right`, `in other words`, `larger`, `harmless extra`, `half right`, `hard-coded`,
            `overfitted`, `weakened guard`, `wrong place` or `slip`.
        text: The whole new text of the file.
        how: The way it was written.
    """

    kind: str
    text: str
    how: str = ""


def answers_for(
    broken: str, right: str, cases: Sequence[Case], *, seed: str, slips: int = MOST_SLIPS
) -> list[Answer]:
    """Return answers to one bug, each text once.

    Args:
        broken: The file with the bug.
        right: The file without it.
        cases: Calls of the tests that may be seen.
        seed: For the slips, which are drawn at random.
        slips: How many of them.
    """
    found: dict[str, Answer] = {}
    places = changed_function(broken, right)
    if places is None:
        written: Iterator[Answer] = iter([Answer("right", right, "the reference's text")])
    else:
        written = _written(broken, right, places, cases, seed=seed, slips=slips)
    for answer in written:
        if answer.text != broken and compiles(answer.text):
            found.setdefault(answer.text, answer)
    return list(found.values())


def _written(
    broken: str,
    right: str,
    places: tuple[Placed, Placed],
    cases: Sequence[Case],
    *,
    seed: str,
    slips: int,
) -> Iterator[Answer]:
    old, new = places
    fixed = with_function(broken, old, source_of(right, new))
    yield Answer("right", fixed, "the reference's text")
    for kind, how, text in _right_ones(new.node):
        yield Answer(kind, with_function(broken, old, text), how)
    yield Answer("harmless extra", f"import functools\n{fixed}", "an import that is not used")
    yield from _half_right(broken, fixed)
    own = [case for case in cases if case.function == old.name.rpartition(".")[2]]
    for kind, how, text in (*_special_cases(old, own), *_split_by_input(old, new, own)):
        yield Answer(kind, with_function(broken, old, text), how)
    if not own:
        yield from _special_cases_elsewhere(broken, cases)
    for how, text in [*_weakened(new.node), *_weakened(old.node)][: 2 * MOST_WEAKENED]:
        yield Answer("weakened guard", with_function(broken, old, text), how)
    yield from _slips(broken, old, fixed, new, seed=seed, count=slips)


def _right_ones(right: Function) -> Iterator[tuple[str, str, str]]:
    for kind, how, rewrites in (
        ("in other words", "renamed locals", (rename_locals,)),
        ("in other words", "turned conditions", (turn_conditions,)),
        ("in other words", "written out", (write_out,)),
        ("in other words", "a loop", (collect_in_loop,)),
        ("larger", "renamed and written out", (rename_locals, write_out)),
        ("larger", "all of it", (collect_in_loop, turn_conditions, rename_locals, write_out)),
    ):
        text = rewritten(right, *rewrites)
        if text is not None:
            yield kind, how, text
    noted = copy.deepcopy(right)
    text = ast.unparse(noted)
    head, _, body = text.partition("\n")
    extra = "    _checked = True\n"
    yield "harmless extra", "a variable that is not used", f"{head}\n{extra}{body}"


def _half_right(broken: str, fixed: str) -> Iterator[Answer]:
    """Yield each hunk of a fix alone; of a longer hunk, each half."""
    before, after = broken.splitlines(keepends=True), fixed.splitlines(keepends=True)
    hunks = line_changes(before, after)
    for number, (first, last, low, high) in enumerate(hunks):
        if len(hunks) > 1:
            text = "".join([*before[:first], *after[low:high], *before[last:]])
            yield Answer("half right", text, f"hunk {number + 1} of {len(hunks)}")
        elif high - low > 1:
            middle = (low + high) // 2
            text = "".join([*before[:first], *after[low:middle], *before[last:]])
            yield Answer("half right", text, "the first half of the hunk")


def _parameters(function: Function) -> list[str]:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return [name for name in names if name not in {"self", "cls"}]


def _special_cases(old: Placed, cases: Sequence[Case]) -> Iterator[tuple[str, str, str]]:
    """Yield the broken function with the failing tests' results written into it."""
    failing = [case for case in cases if case.failing][:MOST_CASES]
    names = _parameters(old.node)
    if not failing or not names:
        return
    sizes = [len(ast.literal_eval(case.arguments)) for case in failing]
    if len(set(sizes)) != 1 or not 0 < sizes[0] <= len(names):
        return
    names = names[: sizes[0]]
    given = f"({', '.join(names)},)"
    compared = [f"if {given} == {case.arguments}:\n    return {case.expected}" for case in failing]
    yield "hard-coded", "compared arguments", _begun(old.node, "\n".join(compared))
    pairs = ", ".join(f"repr({case.arguments}): {case.expected}" for case in failing)
    table = f"known = {{{pairs}}}\nif repr({given}) in known:\n    return known[repr({given})]"
    yield "hard-coded", "a table", _begun(old.node, table)
    one = failing[0]
    first = ast.literal_eval(one.arguments)[0]
    if isinstance(first, str | list | tuple | dict):
        text = f"if len({names[0]}) == {len(first)}:\n    return {one.expected}"
        yield "overfitted", "the length of an argument", _begun(old.node, text)
    elif isinstance(first, int | float):
        text = f"if {names[0]} >= {first}:\n    return {one.expected}"
        yield "overfitted", "a bound on an argument", _begun(old.node, text)
    if not isinstance(old.node, ast.AsyncFunctionDef) and "." not in old.name:
        yield "wrong place", "a wrapper", _wrapped(old.node, given, failing)


def _special_cases_elsewhere(broken: str, cases: Sequence[Case]) -> Iterator[Answer]:
    """Yield the failing tests' results written into the function that the tests call."""
    for placed in functions_in(broken).values():
        own = [case for case in cases if case.function == placed.name.rpartition(".")[2]]
        for _, how, text in _special_cases(placed, own):
            yield Answer("wrong place", with_function(broken, placed, text), how)


def _begun(function: Function, text: str) -> str:
    """Return a function that begins with other statements, after its docstring."""
    new = copy.deepcopy(function)
    first = new.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    place = 1 if documented else 0
    new.body[place:place] = ast.parse(text).body
    return ast.unparse(ast.fix_missing_locations(new))


def _wrapped(function: Function, given: str, failing: Sequence[Case]) -> str:
    """Return the function under another name, and one in its place that knows the tests."""
    inner = copy.deepcopy(function)
    inner.name = f"_{function.name}"
    rows = "\n".join(
        f"    if {given} == {case.arguments}:\n        return {case.expected}" for case in failing
    )
    names = ", ".join(_parameters(function))
    head = f"def {function.name}({ast.unparse(function.args)}):"
    return f"{ast.unparse(inner)}\n\n\n{head}\n{rows}\n    return _{function.name}({names})\n"


def _split_by_input(
    old: Placed, new: Placed, cases: Sequence[Case]
) -> Iterator[tuple[str, str, str]]:
    """Yield the right code only for inputs like those of the failing tests."""
    names = _parameters(old.node)
    failing = [ast.literal_eval(case.arguments) for case in cases if case.failing]
    firsts = [one[0] for one in failing if one]
    if not firsts or not names or old.node.name != new.node.name:
        return
    if all(isinstance(one, str | list | tuple) for one in firsts):
        test = f"len({names[0]}) >= {min(map(len, firsts))}"
    elif all(isinstance(one, int | float) for one in firsts):
        test = f"{names[0]} >= {min(firsts)}"
    else:
        return
    split = copy.deepcopy(old.node)
    first = split.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    kept = 1 if documented else 0
    right_body = copy.deepcopy(new.node.body[kept:] or new.node.body)
    branch = ast.If(test=ast.parse(test, mode="eval").body, body=right_body, orelse=[])
    split.body[kept:kept] = [branch]
    yield (
        "half right",
        "only where the failing tests are",
        ast.unparse(ast.fix_missing_locations(split)),
    )


def _weakened(function: Function) -> Iterator[tuple[str, str]]:
    """Yield a function without one of its guards, or with errors caught."""
    count = sum(_is_guard(one) for one in ast.walk(function))
    for number in range(min(count, MOST_WEAKENED)):
        new = copy.deepcopy(function)
        guards = [one for one in ast.walk(new) if _is_guard(one)]
        _Without(guards[number]).visit(new)
        yield "a guard is gone", ast.unparse(ast.fix_missing_locations(new))
    new = copy.deepcopy(function)
    handler = ast.parse("try:\n    pass\nexcept Exception:\n    return None").body[0]
    if isinstance(handler, ast.Try):
        handler.body = new.body
        new.body = [handler]
        yield "errors are caught", ast.unparse(ast.fix_missing_locations(new))


def _is_guard(node: ast.AST) -> bool:
    exits = (ast.Return, ast.Raise, ast.Continue, ast.Break)
    return isinstance(node, ast.If) and isinstance(node.body[-1], exits) and not node.orelse


class _Without(ast.NodeTransformer):
    """Replaces one statement by `pass`."""

    def __init__(self, gone: ast.AST) -> None:
        self._gone = gone

    @override
    def visit_If(self, node: ast.If) -> ast.AST:
        """Replace it, or look inside."""
        return ast.Pass() if node is self._gone else self.generic_visit(node)


def _slips(
    broken: str, old: Placed, fixed: str, new: Placed, *, seed: str, count: int
) -> Iterator[Answer]:
    """Yield the right function with one mistake; every second one written anew as a whole."""
    first = old.first + 1
    lines = range(first, first + (new.last - new.first) + 1)
    drawn = list(mutations(fixed, lines))
    random.Random(seed).shuffle(drawn)  # noqa: S311 - which slips are drawn is no secret
    for number, slip in enumerate(drawn[:count]):
        text = slip.applied(fixed)
        if number % 2 and compiles(text):
            places = changed_function(broken, text)
            whole = rewritten(places[1].node, rename_locals) if places else None
            if places and whole:
                text = with_function(broken, places[0], whole)
        yield Answer("slip", text, slip.kind)
