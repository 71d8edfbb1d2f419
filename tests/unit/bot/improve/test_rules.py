"""Rules: what each one changes, and code that it must leave alone."""

import time

import pytest

from bot.improve.rules import RULES, propose
from bot.improve.rules.source import PythonFile, exported_names

CHANGES = [
    ("unused-import", "import os\nx = 1\n", "x = 1\n"),
    ("unused-import", "from os import path, sep\nprint(sep)\n", "from os import sep\nprint(sep)\n"),
    ("unused-import", "def f():\n    import os\n    return 1\n", "def f():\n    return 1\n"),
    ("unused-variable", "def f():\n    a = 1\n    return 2\n", "def f():\n    return 2\n"),
    (
        "unused-exception-name",
        "try:\n    f()\nexcept E as e:\n    g()\n",
        "try:\n    f()\nexcept E:\n    g()\n",
    ),
    ("unreachable", "def f():\n    return 1\n    g()\n", "def f():\n    return 1\n"),
    (
        "unreachable",
        "def f():\n    for a in b:\n        continue\n        g()\n",
        "def f():\n    for a in b:\n        continue\n",
    ),
    ("redundant-pass", 'def f():\n    """Do."""\n    pass\n', 'def f():\n    """Do."""\n'),
    ("redundant-return", "def f():\n    g()\n    return\n", "def f():\n    g()\n"),
    ("negation", "x = not a in b\n", "x = a not in b\n"),
    ("negation", "x = not (a is None)\n", "x = a is not None\n"),
    (
        "boolean-return",
        "def f():\n    if a in b:\n        return True\n    else:\n        return False\n",
        "def f():\n    return a in b\n",
    ),
    (
        "boolean-return",
        "def f():\n    if isinstance(a, b):\n        return True\n    return False\n",
        "def f():\n    return isinstance(a, b)\n",
    ),
    ("boolean-choice", "x = True if a is b else False\n", "x = (a is b)\n"),
    ("negation", "x = not a not in b\n", "x = a in b\n"),
    (
        "boolean-return",
        "def f():\n    if a in b:\n        return False\n    return True\n",
        "def f():\n    return a not in b\n",
    ),
    (
        "boolean-return",
        "def f():\n    if callable(a):\n        return False\n    return True\n",
        "def f():\n    return not callable(a)\n",
    ),
    ("boolean-choice", "x = False if a is b else True\n", "x = (a is not b)\n"),
    ("boolean-choice", "x = False if callable(a) else True\n", "x = (not callable(a))\n"),
    ("call", "for i in range(1, n, 1): f(i)\n", "for i in range(1, n): f(i)\n"),
    ("call", "x = dict()\n", "x = {}\n"),
    ("call", "for i in range(0, n): f(i)\n", "for i in range(n): f(i)\n"),
    ("call", "x = list(sorted(a, key=b))\n", "x = sorted(a, key=b)\n"),
    ("call", "x = sorted(list(a))\n", "x = sorted(a)\n"),
    ("object-base", "class A(object):\n    x = 1\n", "class A:\n    x = 1\n"),
    (
        "super",
        "class A(B):\n    def f(self):\n        super(A, self).f()\n",
        "class A(B):\n    def f(self):\n        super().f()\n",
    ),
    ("f-string", 'x = f"a"\n', 'x = "a"\n'),
    ("unicode-prefix", 'x = "é", u"a"\n', 'x = "é", "a"\n'),
    ("coding-comment", "# -*- coding: utf-8 -*-\nx = 1\n", "x = 1\n"),
    ("redundant-pass", 'def f():\n    """Do."""\n    ...\n', 'def f():\n    """Do."""\n'),
    (
        "redundant-return",
        "def f():\n    if a:\n        g()\n        return\n    else:\n        h()\n",
        "def f():\n    if a:\n        g()\n    else:\n        h()\n",
    ),
    (
        "redundant-continue",
        "for a in b:\n    if c:\n        g()\n        continue\n",
        "for a in b:\n    if c:\n        g()\n",
    ),
    (
        "else-pass",
        "for a in b:\n    if a:\n        g()\n    else:\n        pass\n    h()\n",
        "for a in b:\n    if a:\n        g()\n    h()\n",
    ),
    (
        "unused-global",
        "def f():\n    global a\n    return a\n",
        "def f():\n    return a\n",
    ),
    (
        "old-future-import",
        "from __future__ import annotations, print_function\nx = 1\n",
        "from __future__ import annotations\nx = 1\n",
    ),
    ("collection", "x = set([a, b])\n", "x = {a, b}\n"),
    ("collection", "x = set([a for a in b])\n", "x = {a for a in b}\n"),
    ("collection", "x = tuple([a])\n", "x = (a,)\n"),
    ("collection", "x = list((a, b))\n", "x = [a, b]\n"),
    ("read-mode", "with open(a, 'r') as b: c(b)\n", "with open(a) as b: c(b)\n"),
    ("read-mode", "x = open(a, 'rt', encoding=b)\n", "x = open(a, encoding=b)\n"),
    ("encoding", "x = 'a'.encode('utf-8')\n", "x = 'a'.encode()\n"),
    ("or-choice", "x = a if a else b()\n", "x = a or b()\n"),
    (
        "type-check",
        "x = isinstance(a, int) or isinstance(a, (str, int))\n",
        "x = isinstance(a, (int, str))\n",
    ),
    (
        "caught-twice",
        "try:\n    f()\nexcept (OSError, IOError):\n    g()\n",
        "try:\n    f()\nexcept OSError:\n    g()\n",
    ),
    (
        "caught-twice",
        "try:\n    f()\nexcept (UnicodeDecodeError, KeyError, ValueError) as e:\n    g(e)\n",
        "try:\n    f()\nexcept (KeyError, ValueError) as e:\n    g(e)\n",
    ),
    ("old-exception-name", "raise IOError(a)\n", "raise OSError(a)\n"),
    ("class-brackets", "class A():\n    x = 1\n", "class A:\n    x = 1\n"),
    ("outer-brackets", "if (a == b):\n    f()\n", "if a == b:\n    f()\n"),
    ("outer-brackets", "assert(a)  # why\n", "assert a  # why\n"),
    ("semicolon", "f();\n", "f()\n"),
    ("backslash", "x = f(a, \\\n      b)\n", "x = f(a,\n      b)\n"),
    (
        "return-annotation",
        "def f(a: int):\n    if a:\n        return f'{a}'\n    return 'no'\n",
        "def f(a: int) -> str:\n    if a:\n        return f'{a}'\n    return 'no'\n",
    ),
    (
        "return-annotation",
        "def f(a: int):\n    if a in b:\n        return not c\n    raise E\n",
        "def f(a: int) -> bool:\n    if a in b:\n        return not c\n    raise E\n",
    ),
    (
        "return-annotation",
        "def f(a: int):\n    return len(b)\n",
        "def f(a: int) -> int:\n    return len(b)\n",
    ),
    (
        "none-annotation",
        "def f(a: int):\n    g(a)\n",
        "def f(a: int) -> None:\n    g(a)\n",
    ),
]

UNTOUCHED = [
    "import os\n",
    "import readline\nx = 1\n",
    "import os\nx = 'os.path'\n",
    "import os  # noqa: F401\nx = 1\n",
    "from __future__ import annotations\nx = 1\n",
    "import os as os\nx = 1\n",
    "import requests\nx = 1\n",
    "try:\n    import fcntl\nexcept ImportError:\n    x = 1\n",
    "class A:\n    import os\n    x = 1\n",
    "import os\nx = eval('o' + 's')\n",
    "import os; x = 1\n",
    "def f():\n    a = 1\n    return locals()\n",
    "def f():\n    a = g()\n    return 2\n",
    "def f():\n    global a\n    a = 1\n    return 2\n",
    "def f():\n    a = 1\n    def h():\n        return a\n    return h\n",
    "def f():\n    return\n    yield\n",
    "def f():\n    print(a)\n    return\n    a = 1\n",
    "def f():\n    return 1\n    g()  # pragma: no cover\n",
    "def f():\n    pass\n",
    "def f():\n    g()\n    pass  # until the server is gone\n",
    "x = not a == b\n",
    "x = 1 if a in b else 0\n",
    "def f():\n    if not a:\n        return False\n    return True\n",
    "for a in b:\n    continue\n",
    "for a in b:\n    if a:\n        continue\n    f()\n",
    "if a:\n    f()\nelse:\n    pass  # later\n",
    "if a:\n    f()\nelif b():\n    pass\n",
    "def f():\n    global a\n    a += 1\n",
    "def f():\n    global a\n    for a in b: g()\n",
    "def f():\n    a = g()\n    def h():\n        global a\n        return a\n    return h, a\n",
    "from __future__ import division\nx = division\n",
    "from __future__ import annotations\nx = 1\n",
    "x = set([])\n",
    "x = set([*a])\n",
    "x = set((a for a in b))\n",
    "x = tuple([a for a in b])\n",
    "set = make\nx = set([a])\n",
    "x = open(a, 'rb')\n",
    "x = open(a, 'r', 1)\n",
    "x = io.open(a, 'r')\n",
    "x = a.encode('utf-8')\n",
    "x = 'a'.encode('latin-1')\n",
    "x = a() if a() else b\n",
    "x = a if a else b if c else d\n",
    "x = isinstance(a, int) or isinstance(b, str)\n",
    "x = isinstance(a, int) or isinstance(a, Own)\n",
    "try:\n    f()\nexcept (KeyError, ValueError):\n    g()\n",
    "try:\n    f()\nexcept (OSError, select.error):\n    g()\n",
    "class IOError(Exception): x = 1\nraise IOError(a)\n",
    "x = 'IOError'\n",
    "return_ = (a)\n",
    "if (a) == (b):\n    f()\n",
    "def f():\n    return (a, b)\n",
    "def f():\n    return (yield)\n",
    "if (a and\n        b):\n    f()\n",
    "while (a := f()):\n    g(a)\n",
    "f(); g()\n",
    "x = a + \\\n    b\n",
    "def f(a: int):\n    if a:\n        return 'yes'\n",
    "def f(a: int):\n    if a:\n        return 'yes'\n    return 1\n",
    "def f(a: int):\n    return a == 1\n",
    "def str(a: int):\n    return 'yes'\n",
    "class A:\n    def f(self, a: int):\n        return True\n",
    "x = not a in b in c\n",
    "def f():\n    if a == b:\n        return True\n    return False\n",
    "def f():\n    if a in b:\n        return True  # because\n    return False\n",
    "def isinstance(a, b): return 7\ndef f():\n    if isinstance(a, b):\n        return True\n    return False\n",
    "dict = make\nx = dict()\n",
    "from somewhere import *\nx = dict()\n",
    'x = f"{dict()}"\n',
    "x = range(False, n)\n",
    "class A(object, metaclass=M):\n    x = 1\n",
    "@slots\nclass A(B):\n    def f(self):\n        super(A, self).f()\n",
    "class A(B):\n    def f(self):\n        super(B, self).f()\n",
    "class A(B):\n    def f(self):\n        super(A, self).f()\nA = other(A)\n",
    "class A(B):\n    def f(self):\n        return [super(A, self).g() for a in b]\n",
    'x = f"{a}"\n',
    'x = f"{{"\n',
    'def f():\n    f"not a docstring"\n',
    "def f(a: int):\n    yield a\n",
    "def f(a: int):\n    raise NotImplementedError\n",
    "def f(a: int):\n    return g(a)\n",
    "def f(a):\n    g(a)\n",
    "@decorated\ndef f(a: int):\n    g(a)\n",
]


def proposed(text: str, exported: frozenset[str] = frozenset()) -> dict[str, str]:
    source = PythonFile.parse("some.py", text.encode(), exported)
    assert source is not None, "the example must parse"
    return {found.rule: content.decode() for found, content in propose(source)}


@pytest.mark.parametrize(("rule", "before", "after"), CHANGES)
def test_a_rule_makes_its_change(rule: str, before: str, after: str) -> None:
    assert proposed(before)[rule] == after


@pytest.mark.parametrize(("rule", "before", "after"), CHANGES)
def test_line_ends_and_a_byte_order_mark_stay(rule: str, before: str, after: str) -> None:
    assert proposed(before.replace("\n", "\r\n"))[rule] == after.replace("\n", "\r\n")
    assert proposed("\ufeff" + before)[rule] == "\ufeff" + after


@pytest.mark.parametrize("text", UNTOUCHED)
def test_code_that_a_rule_cannot_prove_stays(text: str) -> None:
    assert proposed(text) == {}


def test_every_rule_has_an_example_of_its_change() -> None:
    assert {rule.name for rule in RULES} == {rule for rule, _, _ in CHANGES}


def test_a_change_is_final_and_not_found_again() -> None:
    for rule, before, _ in CHANGES:
        assert rule not in proposed(proposed(before)[rule])


@pytest.mark.parametrize(
    "other",
    [
        "from some import os\n",
        "from pkg.some import (a,\n  os)\n",
        "import some\nsome.os.remove('x')\n",
        "from pkg import some as s\ns.os\n",
        "from some import *\n",
        "patch('pkg.some.os')\n",
    ],
)
def test_a_name_that_another_file_takes_is_no_unused_import(other: str) -> None:
    assert proposed("import os\nx = 1\n", exported_names("some", [other])) == {}


def test_other_files_that_import_other_names_change_nothing() -> None:
    exported = exported_names("some", ["import os\nfrom some import x\nx.path\n", "import os\n"])
    assert proposed("import os\nx = 1\n", exported) == {"unused-import": "x = 1\n"}


def test_a_packages_init_keeps_its_imports() -> None:
    source = PythonFile.parse("pkg/__init__.py", b"import os\nx = 1\n")
    assert source is not None
    assert list(propose(source)) == []


@pytest.mark.parametrize("text", [b"x = (", b"x = 1\0", b"\xff", b"\x0cx = 1\n"])
def test_what_cannot_be_parsed_has_no_source(text: bytes) -> None:
    assert PythonFile.parse("some.py", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "1 + " * 2_000 + "1;\n",
        "for a in b:\n    if a: f()\n" + "    elif a: continue\n" * 2_000,
        "def f(a: int):\n    if a: return 'a'\n" + "    elif a: return 'a'\n" * 2_000,
    ],
)
def test_code_that_is_nested_too_deeply_is_left_alone(text: str) -> None:
    source = PythonFile.parse("some.py", text.encode())
    assert source is None or list(propose(source)) == []


def test_many_names_are_looked_up_in_one_pass() -> None:
    names = "".join(f"    name{number} = {number}\n" for number in range(8_000))
    began = time.process_time()
    found = proposed(f"def f():\n    return 1\n{names}")
    assert found["unreachable"] == "def f():\n    return 1\n"
    assert time.process_time() - began < 5


def test_a_title_has_the_right_plural() -> None:
    source = PythonFile.parse("some.py", b"class A(object): x = 1\nclass B(object): x = 1\n")
    assert source is not None
    assert [found.title for found, _ in propose(source)] == ["remove 2 redundant base classes"]
