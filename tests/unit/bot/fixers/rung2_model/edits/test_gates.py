"""The gates: what no answer may do, what is shown to a person, and which answers count as one."""

import time

import pytest

from bot.fixers.rung2_model.edits import (
    EditRules,
    Reason,
    SentFile,
    describe_rejections,
    program_key,
    read_edits,
)
from tests.unit.bot.fixers.rung2_model.edits.cases import MATHS, SOURCE, block, fence, sr

TESTS = "tests/test_maths.py"
TEST = "import pytest\n\n\n@pytest.mark.timeout(5)\ndef test_add():\n    assert add(1, 2) == pytest.approx(3, rel=1e-9)\n"
OLD = "    return a - b\n"
REFUSED = {
    "skips": "    pytest.skip('x')\n",
    "silences a checker": "    return a + b  # noqa\n",
    "exits": "    sys.exit(0)\n",
    "knows that it is tested": "    return 3 if 'pytest' in sys.modules else 0\n",
    "swallows": "    try:\n        return a + b\n    except Exception:\n        pass\n",
    "hides characters": "    return a + b  # \u202e\n",
    "holds a credential": "    return 'ghs_0123456789abcdefghijABCDEFGHIJ'\n",
    "hooks": "    atexit.register(print)\n",
    "starts a process": "    import subprocess\n    return subprocess.call('x')\n",
    "uses the network": "    import socket\n    return socket.socket()\n",
}
FLAGGED = {
    "runs a string as code": "    return eval('a + b')\n",
    "reads or writes the environment": "    return os.environ['A']\n",
    "contains a URL": "    return 'https://example.com/x'\n",
    "contains encoded data": f"    return '{'QUJD' * 20}'\n",
    "decodes data": "    import base64\n    return base64.b64decode('eA==')\n",
    "opens, writes or removes files": "    return open('x')\n",
    "accesses attributes by name": "    return setattr(a, 'b', b)\n",
    "imports `inspect`": "    import inspect\n    return inspect.cleandoc(a + b)\n",
    "imports `numpy`": "    import numpy\n    return numpy.add(a, b)\n",
}


def sent(text: str = SOURCE, path: str = MATHS) -> list[SentFile]:
    return [SentFile(path=path, text=text)]


@pytest.mark.parametrize("new", REFUSED.values(), ids=REFUSED)
def test_what_no_honest_fix_does_is_refused(new: str) -> None:
    read = read_edits(sr(OLD, new), sent("import sys\nimport atexit\nimport pytest\n" + SOURCE))
    assert {each.reason for each in read.rejections} == {Reason.TAMPER}
    assert not read.changes


@pytest.mark.parametrize(("message", "new"), FLAGGED.items(), ids=FLAGGED)
def test_what_a_fix_rarely_does_is_shown(message: str, new: str) -> None:
    read = read_edits(sr(OLD, new), sent())
    assert message in {flag.message for flag in read.flags}
    assert read.changes


def test_an_ordinary_fix_raises_no_flag() -> None:
    read = read_edits(sr(OLD, "    return a + b\n"), sent())
    assert read.flags == ()
    assert read.changed_lines == 2


@pytest.mark.parametrize(
    "new",
    [
        "    import math\n    return math.fsum([a, b])\n",
        "    from collections import Counter\n    return Counter(a) + b\n",
        "    from shop.tax import rate\n    return rate(a, b)\n",
        "    import helpers\n    return helpers.add(a, b)\n",
    ],
)
def test_a_pure_module_and_one_of_the_repository_raise_no_flag(new: str) -> None:
    rules = EditRules(files=frozenset({"src/shop/tax.py", "helpers/__init__.py", MATHS}))
    read = read_edits(sr(OLD, new), sent(), rules)
    assert read.flags == ()
    assert read.changes


def test_what_was_there_before_raises_no_flag() -> None:
    text = SOURCE.replace(
        "import os\n", "import os\nHOME = os.environ['HOME']  # https://example.com\n"
    )
    assert read_edits(sr(OLD, "    return a + b\n"), sent(text)).flags == ()


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml", "action.yml", "conftest.py", "tests/test_maths.py", "pyproject.toml", "setup.py",
        "poetry.lock", "requirements.txt", "src/sitecustomize.py", ".pre-commit-config.yaml", "tox.ini",
    ],
)  # fmt: skip
def test_protected_files_are_not_edited_even_when_they_were_sent(path: str) -> None:
    read = read_edits(sr("a = 1\n", "a = 2\n", path), sent("a = 1\n", path))
    assert [each.reason for each in read.rejections] == [Reason.PROTECTED]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    assert add(1, 2) == pytest.approx(3, rel=1e-9)\n", "    assert True\n"),
        (
            "    assert add(1, 2) == pytest.approx(3, rel=1e-9)\n",
            "    assert add(1, 2) == pytest.approx(3, rel=1)\n",
        ),
        ("    assert add(1, 2) == pytest.approx(3, rel=1e-9)\n", "    add(1, 2)\n"),
        ("@pytest.mark.timeout(5)\n", "@pytest.mark.timeout(500)\n"),
        ("@pytest.mark.timeout(5)\n", "@pytest.mark.skip\n"),
        ("def test_add():\n", "def check_add():\n"),
    ],
)
def test_a_test_that_may_be_edited_is_not_made_weaker(old: str, new: str) -> None:
    rules = EditRules(allowed=("tests",))
    read = read_edits(sr(old, new, TESTS), sent(TEST, TESTS), rules)
    assert {each.reason for each in read.rejections} == {Reason.TAMPER}


def test_a_test_that_may_be_edited_may_get_more() -> None:
    rules = EditRules(allowed=("tests",))
    read = read_edits(
        sr("import pytest\n", "import pytest\nfrom maths import add\n", TESTS),
        sent(TEST, TESTS),
        rules,
    )
    assert read.changes


def test_too_many_lines_files_and_bytes_are_refused() -> None:
    many = "".join(f"    a += {n}\n" for n in range(400))
    wide = f"    return '{'a ' * 40_000}'\n"
    six = [SentFile(path=f"m{n}.py", text="a = 1\n") for n in range(6)]
    for text, files in (
        (sr(OLD, many), sent()),
        (sr(OLD, wide), sent()),
        ("".join(sr("a = 1\n", "a = 2\n", f.path) for f in six), six),
    ):
        assert Reason.TOO_LARGE in {each.reason for each in read_edits(text, files).rejections}


def test_a_file_that_is_not_utf_8_is_left_alone() -> None:
    read = read_edits(sr("a = 1\n", "a = 2\n"), sent("# \ufffd\na = 1\n"))
    assert [each.reason for each in read.rejections] == [Reason.UNREADABLE_FILE]


def test_broken_python_is_refused_with_the_line_and_mended_python_is_not() -> None:
    read = read_edits(sr(OLD, "    return (a\n"), sent())
    assert [each.reason for each in read.rejections] == [Reason.SYNTAX]
    assert "line" in read.rejections[0].message
    assert read_edits(sr("def f(:\n", "def f():\n"), sent("def f(:\n    return 1\n")).changes


def test_python_newer_than_ours_is_not_refused() -> None:
    text = "def f():\n    return 1\n\n\ntype A = int\n" + "match = 1\nx = f'{'a'}'\n"
    assert read_edits(sr("    return 1\n", "    return 2\n"), sent(text)).changes


@pytest.mark.parametrize(
    ("new", "ok"),
    [
        ("    return missing(a)\n", False),
        ("    return helper(a)\n\n\ndef helper(x):\n    return x\n", True),
        ("    return [x for x in (a, b) if (y := x)] and y\n", True),
        ("    try:\n        return a + b\n    except TypeError as error:\n        raise ValueError from error\n", True),
        ("    global total\n    total = a + b\n    return total\n", True),
        ("    match a:\n        case {'k': v, **rest}:\n            return v, rest\n        case [first, *others]:\n            return first, others\n", True),
        ("    return __name__, __file__, len((a, b))\n", True),
        ("    return (lambda q, *r, **s: (q, r, s))(a, b)\n", True),
        ("    del a\n    return b\n", True),
        ("    a + b\n\n\ndef twice(a):\n    return 2 * a\n", False),
    ],
)  # fmt: skip
def test_names_that_nothing_binds_and_functions_defined_twice_are_refused(
    new: str, *, ok: bool
) -> None:
    read = read_edits(sr(OLD, new), sent())
    assert bool(read.changes) is ok, describe_rejections(read.rejections)


def test_names_are_not_judged_where_they_may_come_from_anywhere() -> None:
    assert read_edits(
        sr(OLD, "    return missing(a)\n"), sent("from x import *\n" + SOURCE)
    ).changes
    assert read_edits(
        sr(OLD, "    return missing(a)\n"), sent("globals().update(a=1)\n" + SOURCE)
    ).changes
    assert read_edits(sr(OLD, "    return missing(a)\n"), sent("missing\n" + SOURCE)).changes


def test_layout_alone_is_a_change_only_where_a_linter_is_red() -> None:
    text = sr(OLD, "    return a  -  b\n")
    assert [each.reason for each in read_edits(text, sent()).rejections] == [Reason.NO_CHANGE]
    assert read_edits(text, sent(), EditRules(layout=True)).changes


def test_answers_that_come_to_the_same_program_have_one_key() -> None:
    plain = read_edits(sr(OLD, "    return a + b\n"), sent())
    commented = read_edits(sr(OLD, "    return (a + b)  # mended\n"), sent())
    documented = read_edits(
        fence('def add(a, b):\n    """Other words."""\n    return a + b\n'), sent()
    )
    other = read_edits(sr(OLD, "    return b + a\n"), sent())
    assert plain.key == commented.key == documented.key != other.key


def test_the_key_of_what_cannot_be_parsed_is_its_text() -> None:
    assert (
        program_key({"a.py": "def ("})
        == program_key({"a.py": "def (  "})
        != program_key({"a.py": "def ["})
    )
    deep = "x = 1" + " + 1" * 3_000
    assert program_key({"a.py": deep}) == program_key({"a.py": deep})


def test_rejections_are_told_with_the_lines_that_may_have_been_meant() -> None:
    read = read_edits(sr("    return a * b\n", "x\n") + sr("zzz\n", "y\n", "src/other.py"), sent())
    text = describe_rejections(read.rejections)
    assert f"- edit 1: {MATHS}: its SEARCH text is not in the file" in text
    assert "     9 |     return a - b" in text
    assert "- edit 2: src/other.py: only files that were sent may be edited." in text


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("prose", True),
        (sr("zzz\n", "y\n"), True),
        (f"{MATHS}\n<<<<<<< SEARCH\nx\n", True),
        (sr(OLD, OLD), False),
        (sr(OLD, "    return 1  # noqa\n"), False),
        (sr(OLD, "    return 1\n", "src/other.py"), False),
        (sr(OLD, "    return a + b\n"), False),
    ],
)
def test_failures_of_format_are_told_from_all_others(text: str, *, failed: bool) -> None:
    assert read_edits(text, sent()).format_failed is failed


def test_an_answer_of_rejections_is_bounded() -> None:
    text = "".join(f"{MATHS}\n" + block(f"zzz{n}\n", "y\n") for n in range(45))
    rejections = read_edits(text, sent()).rejections
    assert len(rejections) == 20
    assert sum(bool(each.windows) for each in rejections) <= 5


REPEATED = "def f(a):\n    x = 1\n" * 3_000
SLOW = {
    "text that stands everywhere": sr("def f(a):\n    x = 1\n" * 500, "y = 1\n"),
    "text that stands nowhere": "".join(
        sr(f"def f(b):\n    x = {n}\n" * 50, "y = 1\n") for n in range(2, 50)
    ),
    "functions of one name": "".join(fence(f"def f(a):\n    return {n}\n") for n in range(2, 50)),
    "a line of blanks in an edit": sr(OLD, " " * 100_000 + "x\n"),
    "a line of blanks behind a fence": "```" + " " * 200_000 + "`x\n",
    "a line of blanks behind an anchor": "@@" + " " * 200_000 + "x@y\n" + sr(OLD, "x\n"),
    "a line of blanks behind a section": "*** Update File: " + " " * 200_000 + "x\n",
    "openings without an end": "<<<<<<< SEARCH\n" * 16_000,
    "fences without an end": "```\n~~~\n" * 25_000,
    "headers": "--- a\n+++ b\n" * 20_000,
    "code nested deeply": fence("def add(a, b):\n    return " + "-" * 50_000 + "1\n"),
    "a sum without an end": sr(OLD, "    return " + "1 + " * 10_000 + "1\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_no_answer_takes_long_to_read(text: str) -> None:
    began = time.process_time()
    read_edits(text, [*sent(), SentFile(path="src/repeated.py", text=REPEATED)])
    assert time.process_time() - began < 10  # what is not bounded takes minutes
