"""Loop guards: what is put in, that it changes nothing but endless loops, and that edits of the head stay inside."""

import types
from collections.abc import Callable

import pytest

from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.functions import Unit, list_units, match_swaps
from sandbox.guest.search.source.loop_guard import with_guards
from sandbox.guest.search.source.render import SourceFile, TextEdit

TEXT = """def count(n):
    turns = 0
    while (n > 0):
        n -= 1
        turns += 1
    else:
        turns += 100
    return turns


def first(items):
    while items: return items[0]
    return None


def plain(n):
    return [i for i in range(n)]
"""


class Turned(BaseException):
    """What a guard raises."""


def unit(name: str, text: str = TEXT) -> Unit:
    return next(
        u
        for u in list_units(SourceFile("loops.py", text.encode()), "/loops.py")
        if u.names[-1] == name
    )


def guarded(name: str, text: str = TEXT, most: int = 50) -> Callable[..., object]:
    """The function with guards that let its loops turn so often."""
    chosen = unit(name, text)
    code = chosen.compile(with_guards((), chosen.loops))
    assert code is not None
    left = [most]

    def tick() -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise Turned
        return True

    return types.FunctionType(code, {"__builtins__": __builtins__, TICK_NAME: tick})


@pytest.mark.parametrize(("n", "turns"), [(0, 100), (3, 103), (40, 140)])
def test_a_loop_that_ends_gives_what_it_gave(n: int, turns: int) -> None:
    assert guarded("count")(n) == turns


def test_a_loop_that_does_not_end_is_ended() -> None:
    with pytest.raises(Turned):
        guarded("count")(51)


def test_a_loop_on_one_line_is_guarded_as_well() -> None:
    assert guarded("first")([7]) == 7
    assert guarded("first")([]) is None


def test_code_that_swallows_everything_meets_the_guard_again_at_the_next_turn() -> None:
    text = "def f():\n    seen = 0\n    while seen < 2:\n        try:\n            while True: pass\n        except BaseException:\n            seen += 1\n    return seen\n"
    with pytest.raises(Turned):
        guarded("f", text)()


def test_generators_nested_functions_and_assignments_in_the_head_keep_their_meaning() -> None:
    text = (
        "def f(n):\n    def down(m):\n        while m:\n            yield m\n            m -= 1\n"
        "    found = []\n    numbers = iter(down(n))\n    while (last := next(numbers, None)) is not None:\n"
        "        found.append(last)\n    return found\n"
    )
    assert guarded("f", text)(3) == [3, 2, 1]


@pytest.mark.parametrize(
    ("edit", "head"),
    [
        (("n > 0", "n > 1"), f"while {TICK_NAME}() and ( (n > 1)):"),
        (("(n > 0)", "n > 0 or not n"), f"while {TICK_NAME}() and ( n > 0 or not n):"),
    ],
)
def test_an_edit_of_the_head_stays_inside_the_guard(edit: tuple[str, str], head: str) -> None:
    chosen = unit("count")
    start = TEXT.index(edit[0])
    edits = with_guards((TextEdit(start, start + len(edit[0]), edit[1]),), chosen.loops)
    assert head in chosen.source.render(edits).decode()


def test_what_is_put_in_at_the_end_of_a_head_stays_inside_the_guard() -> None:
    text = "def f(a):\n    while a:\n        a -= 1\n"
    chosen = unit("f", text)
    at = text.index(":\n        a")
    rendered = chosen.source.render(
        with_guards((TextEdit(at, at, " + 1 > 2"),), chosen.loops)
    ).decode()
    assert f"while {TICK_NAME}() and ( a + 1 > 2):" in rendered


def test_a_loop_whose_head_is_cut_by_an_edit_is_left_alone() -> None:
    chosen = unit("count")
    start = TEXT.index("while (n > 0):")
    edits = (TextEdit(start, start + len("while (n > 0):"), "if n > 0:"),)
    assert with_guards(edits, chosen.loops) == edits


def test_functions_without_such_loops_cost_nothing() -> None:
    assert unit("plain").loops == ()


def test_functions_inside_get_the_code_from_the_same_place() -> None:
    text = "def f(n):\n    def g(m):\n        while m: m -= 1\n        return m\n    return g(n)\n"
    chosen = unit("f", text)
    code = chosen.originals[()]
    inner = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    function = types.FunctionType(inner, {})
    new = chosen.compile(with_guards((), chosen.loops))
    assert new is not None
    outer = types.FunctionType(code, {})
    swaps = match_swaps([(outer, code), (function, inner)], new)
    assert [code.co_name for _, code in swaps] == ["f", "g"]
    assert TICK_NAME in swaps[1][1].co_names
