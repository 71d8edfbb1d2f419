"""The tamper guard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.changes.screen import added_lines, screen
from sandbox.changes.suspicions import ConcernSeverity

OLD = "import os\n\n\ndef f(x):\n    assert x\n    return x + 1\n"
REFUSED = {
    "suppression": ["    return x + 1  # noqa", "    return x + 1  # type: ignore[x]", "    return x  # pylint: disable=all"],
    "skip": ["    pytest.skip('no')", "@pytest.mark.xfail", "@unittest.skip('x')", "    raise SkipTest"],
    "exit": ["    os._exit(0)", "    sys.exit(0)", "    sys.exit()", "    raise SystemExit", "    os.kill(1, 9)"],
    "test-aware": ["    if 'pytest' in sys.modules: return 3", "    if os.environ.get('PYTEST_CURRENT_TEST'): return 3"],
    "hook": ["atexit.register(print)", "sys.settrace(None)"],
    "swallow": ["try:\n    f(1)\nexcept Exception:\n    pass", "with contextlib.suppress(Exception):\n    f(1)"],
    "always-equal": ["class A:\n    def __eq__(self, other):\n        return True", "class A:\n    __eq__ = lambda s, o: True"],
    "hidden": ["# \u202e check \u2066", "x = 'a\u200bb'", "x = '\U000e0041'"],
    "binary": ["x = '\0'"],
    "secret": ["T = 'ghs_0123456789abcdefghijABCDEFGHIJ'"],
}  # fmt: skip
DOUBTED = {
    "execution": ["eval('1')", "exec('x')", "__import__('os')"],
    "surroundings": ["os.getcwd()", "os.environ['X']", "import getpass"],
    "constant-condition": ["if True:\n    x = 1"],
}


def rules(old: str, new: str, path: str = "m.py") -> dict[str, ConcernSeverity]:
    return {concern.rule: concern.severity for concern in screen(old, new, path)}


@pytest.mark.parametrize(
    ("rule", "line"), [(rule, line) for rule, lines in REFUSED.items() for line in lines]
)
def test_what_no_honest_fix_needs_is_refused(rule: str, line: str) -> None:
    assert rules(OLD, f"{OLD}{line}\n").get(rule) is ConcernSeverity.REFUSE
    assert rules("", f"{line}\n").get(rule) is ConcernSeverity.REFUSE
    if rule != "binary":
        assert rule not in rules(f"{OLD}{line}\n", f"{OLD}{line}\ny = 2\n"), (
            "what was there already is no concern"
        )


@pytest.mark.parametrize(
    ("rule", "line"), [(rule, line) for rule, lines in DOUBTED.items() for line in lines]
)
def test_what_it_rarely_needs_is_doubted(rule: str, line: str) -> None:
    assert rules(OLD, f"{OLD}{line}\n").get(rule) is ConcernSeverity.DOUBT


def test_assertions_that_go_are_refused() -> None:
    (concern,) = screen(OLD, OLD.replace("    assert x\n", ""), "m.py")
    assert (concern.rule, concern.severity) == ("assertions", ConcernSeverity.REFUSE)


def test_rewritten_line_endings_hide_no_other_edit() -> None:
    edited = OLD.replace("+ 1", "- 1")
    assert rules(OLD, edited.replace("\n", "\r\n"))["line-endings"] is ConcernSeverity.REFUSE
    assert rules(OLD.replace("\n", "\r\n"), edited)["line-endings"] is ConcernSeverity.REFUSE
    assert rules(OLD, OLD + "x = '\\r'\n") == {}


def test_line_ends_alone_may_change_to_one_kind() -> None:
    """`mixed-line-ending` and Prettier's `endOfLine` do nothing else."""
    windows = OLD.replace("\n", "\r\n")
    assert rules(windows, OLD) == rules(OLD, windows) == {}
    mixed = windows.replace("\r\n", "\n", 1)
    assert rules(mixed, OLD) == rules(mixed, windows) == {}
    assert "line-endings" in rules(mixed, OLD.replace("+ 1", "- 1"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD, OLD.replace("+ 1", "- 1")),
        (OLD, OLD.replace("def f", "def __eq__").replace("return x + 1", "return NotImplemented")),
        (
            "try:\n    a()\nexcept ValueError:\n    b()\n",
            "try:\n    a()\nexcept KeyError:\n    b()\n",
        ),
        ("x = eval(a)\n", "x = (\n    eval(a)\n)\n"),
        ("a = 1\n", "a = 'skip this'  # the exit is left\n"),
        ("print('é')\n", "print('éé — naïve 日本語')\n"),
    ],
)
def test_an_honest_change_raises_no_concern(old: str, new: str) -> None:
    assert screen(old, new, "m.py") == ()


def test_a_concern_names_its_line() -> None:
    (concern,) = screen(OLD, f"{OLD}os._exit(0)\n", "m.py")
    assert concern.line == 7


def test_other_languages_are_read_by_line() -> None:
    assert (
        rules("", "// eslint-disable-next-line\n", "a.js")["suppression"] is ConcernSeverity.REFUSE
    )


def test_a_text_that_cannot_be_read_is_refused_unless_it_never_could() -> None:
    assert rules(OLD, f"{OLD}def (:\n") == {"syntax": ConcernSeverity.REFUSE}
    assert rules("", "(" * 5000 + ")" * 5000) == {"syntax": ConcernSeverity.REFUSE}
    assert rules("def (:\n", "def (:\nx = 1\n") == {"syntax": ConcernSeverity.DOUBT}
    assert rules("def (:\n", "def (:\nimport subprocess\n")["process"] is ConcernSeverity.REFUSE


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_added_lines_count_what_became_more(old: list[str], new: list[str]) -> None:
    added = added_lines("\n".join(old), "\n".join(new))
    assert len(added) == sum(max(0, new.count(c) - old.count(c)) for c in "abc")


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_breaks_the_screen(old: str, new: str) -> None:
    screen(old, new, "m.py")


def test_the_code_below_a_docstring_is_no_part_of_its_example() -> None:
    old = 'def last(items):\n    """The last.\n\n    >>> last([1, 2])\n    2\n    """\n    return items[0]\n'
    assert screen(old, old.replace("items[0]", "items[-1]"), "words.py") == ()


@pytest.mark.parametrize("new", ["    1\n", "    2\n    3\n", ""])
def test_an_example_of_a_docstring_is_a_test(new: str) -> None:
    old = 'def last(items):\n    """The last.\n\n    >>> last([1, 2])\n    2\n    """\n    return items[0]\n'
    assert [c.severity for c in screen(old, old.replace("    2\n", new), "words.py")] == [
        ConcernSeverity.REFUSE
    ]


def test_a_program_that_is_too_deep_to_be_checked_is_refused() -> None:
    long = f"{'a + ' * 1500}b"
    for text in (f"x = a{'.b' * 900}", f"def __eq__(a, b):\n    return {long} == {long}"):
        assert rules(OLD, f"{OLD}{text}\n")["size"] is ConcernSeverity.REFUSE


@pytest.mark.parametrize("text", ["in /work/shop", "in /build/7f/.github/x", "a:/work/repo"])
def test_a_checkouts_path_is_refused_under_any_name(text: str) -> None:
    assert rules(OLD, f"{OLD}x = {text!r}\n").get("place") is ConcernSeverity.REFUSE


@pytest.mark.parametrize(
    "text", ["https://host/work/1", "see docs/work/1", "a /workshop", "a/work/"]
)
def test_a_path_elsewhere_is_none_of_a_checkout(text: str) -> None:
    assert "place" not in rules(OLD, f"{OLD}x = {text!r}\n")
