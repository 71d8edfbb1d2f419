"""Edits of test files that look like layout and change what the test does, or may do so.

Each is a path, the old text and the new one. Every rule that a formatter's edit may bend has some.
"""

from typing import NamedTuple


class Weakened(NamedTuple):
    """An edit of a test."""

    path: str
    old: str
    new: str


def js(old: str, new: str, suffix: str = "js") -> Weakened:
    return Weakened(f"web/a.test.{suffix}", old, new)


def go(old: str, new: str) -> Weakened:
    return Weakened("shop/a_test.go", f"package shop\n\n{old}", f"package shop\n\n{new}")


def rust(old: str, new: str) -> Weakened:
    return Weakened("tests/a.rs", old, new)


def python(old: str, new: str, path: str = "tests/test_a.py") -> Weakened:
    return Weakened(path, old, new)


STRINGS = {
    "white space in a string": js("eq('a  b', x)", "eq('a b', x)"),
    "an escape that is none": js("eq('\\\\', x)", "eq('\\\\\\\\', x)"),
    "a backslash before a quote": js('eq("\\\\\\"", x)', "eq('\\\\\\\\\"', x)"),
    "a written character": js("eq('\\u0041', x)", "eq('A', x)"),
    "a string made a template": js("eq('${x}', x)", "eq(`${x}`, x)"),
    "white space in a template": js("eq(`a ${b} c`, x)", "eq(`a ${b}  c`, x)"),
    "white space between values": js("eq(`${a} ${b}`, x)", "eq(`${a}${b}`, x)"),
    "white space at the ends": js("eq(` ${a} `, x)", "eq(`${a}`, x)"),
    "a line end in a template": js("eq(`a\nb`, x)", "eq(`a b`, x)"),
    "the indentation of a snapshot": js("snap(`\n  a\n`)", "snap(`\n    a\n`)"),
    "a comment in a template": js("eq(`${a}// b`, x)", "eq(`${a}`, x)"),
    "a template of a type": js("type A = `${B} ${C}`", "type A = `${B}${C}`", "ts"),
    "white space in a regex": js("ok(/a b/.test(x))", "ok(/a  b/.test(x))"),
    "a flag of a regex": js("ok(/a/.test(x))", "ok(/a/i.test(x))"),
    "a regex made a division": js("f(a)\n/b/g", "f(a);\n/b/g"),
    "a number": js("eq(1.5, x)", "eq(1.50001, x)"),
    "an octal number": js("eq(010, x)", "eq(10, x)"),
    "a large number": js("eq(1n, x)", "eq(1, x)"),
    "a computed key": js("eq({ 'a': 1 }, x)", "eq({ ['__proto__']: 1 }, x)"),
    "a name that is no name": js("eq({ 'a-b': 1 }, x)", "eq({ a: -b, c: 1 }, x)"),
}
LINE_ENDS = {
    "a value moved away from return": js("f(() => { return (x) })", "f(() => { return\n(x) })"),
    "a list moved away": js("f(() => { return [x] })", "f(() => { return\n[x] })"),
    "a regex moved away": js("f(() => { return /x/ })", "f(() => { return\n/x/ })"),
    "a value moved to return": js("f(() => { return\nx })", "f(() => { return x })"),
    "a comment with a line end": js("f(() => { return (x) })", "f(() => { return /*\n*/(x) })"),
    "a label": js("b: for (;;) { break b }", "b: for (;;) { break\nb }"),
    "an error that is not thrown": js("f(() => { throw (x) })", "f(() => { throw\n(x) })"),
    "a yield": js("function* g() { yield (x) }", "function* g() { yield\n(x) }"),
    "a call made of two lines": js("expect(a);\n(b)", "expect(a)\n(b)"),
    "an index made of two lines": js("a;\n[b].map(t)", "a\n[b].map(t)"),
    "a tagged template": js("a;\n`b`", "a\n`b`"),
    "an increment": js("a\n++b", "a++\nb"),
    "a decrement": js("a;\n--\nb", "a--;\nb"),
    "an arrow of HTML comments": js("while (n --> 0) t()", "while (n\n--> 0) t()"),
    "another comment of HTML": js("t(a < !--b, c)", "t(a <!--b, c)"),
    "no function that waits": js("async function f() {}", "async\nfunction f() {}"),
    "a getter": js("class A { get; x() {} }", "class A { get\nx() {} }"),
    "a static member": js("class A { static; x() {} }", "class A { static\nx() {} }"),
    "a field made an index": js("class A { a = b;\n['c'] = d }", "class A { a = b\n['c'] = d }"),
    "a type": js("type A = B[c]", "type A = B\n[c]", "ts"),
    "no type at all": js("type A = B", "type\nA = B", "ts"),
    "something that is there": js("let a = b!\nc()", "let a = b\n!c()", "ts"),
    "an empty body": js("if (a)\n b()", "if (a);\n b()"),
    "a loop without a body": js("for (const a of b)\n c()", "for (const a of b);\n c()"),
    "the parts of a loop": js("for (; a;) b()", "for (a;;) b()"),
}
SIGNS = {
    "a mode made strict": js("('use strict')\nf()", "'use strict'\nf()"),
    "a mode that is strict no more": js("'use strict'\nf()", "('use strict')\nf()"),
    "a semicolon before a mode": js("'use strict'\nf()", ";'use strict'\nf()"),
    "a chain that ends early": js("eq((a?.b).c, x)", "eq(a?.b.c, x)"),
    "another order": js("eq(a - (b - c), x)", "eq(a - b - c, x)"),
    "another order of conditions": js("ok(a && (b || c))", "ok(a && b || c)"),
    "two arguments of one": js("eq((a, b))", "eq(a, b)"),
    "a type made of comparisons": js("f((a < b), c > (d))", "f(a < b, c > (d))", "ts"),
    "an object made a body": js("f(() => ({}))", "f(() => {})"),
    "a hole in a list": js("eq([a, , ], x)", "eq([a, ], x)"),
    "a list of one hole": js("eq([,], x)", "eq([], x)"),
    "an argument": js("eq(a, b)", "eq(a)"),
    "a default": js("f((a = 1) => a)", "f(a => a)"),
    "a rest": js("f((...a) => a)", "f(a => a)"),
    "a pattern": js("f(({ a }) => a)", "f(a => a)"),
    "a name of a keyword": js("f((async) => x)", "f(async => x)"),
    "a text that is no program": js("expect(a", "expect( a"),
    "a word that is gone": js("await f()", "f()"),
    "a test that is skipped": js("it('a', f)", "it.skip('a', f)"),
}
TAGS = {
    "a blank between tags": js("x = <a><b /> <b /></a>", "x = <a><b /><b /></a>", "jsx"),
    "a blank before a value": js("x = <a>b {c}</a>", "x = <a>b{c}</a>", "jsx"),
    "a blank that begins": js("x = <a> b</a>", "x = <a>b</a>", "jsx"),
    "two blanks": js("x = <a>b  c</a>", "x = <a>b c</a>", "jsx"),
    "a blank at a line end": js("x = <a>b{c} </a>", "x = <a>b{c}\n</a>", "jsx"),
    "a line end for a blank": js("x = <a><b /> c</a>", "x = <a><b />\nc</a>", "jsx"),
    "an entity and a line end": js("x = <a>&nbsp;\nb</a>", "x = <a>&nbsp;b</a>", "jsx"),
    "another kind of blank": js("x = <a>b\n\u00a0c</a>", "x = <a>b \u00a0c</a>", "jsx"),
    "a comment that is shown": js("x = <a>// b\n</a>", "x = <a>\n</a>", "jsx"),
    "an attribute": js("x = <a b='c  d' />", "x = <a b='c d' />", "jsx"),
    "a backslash in one": js("x = <a b='\\\"' />", "x = <a b='\"' />", "jsx"),
    "a fragment": js("x = <> <b /></>", "x = <><b /></>", "tsx"),
}
DIRECTIVES = {
    "an error that is expected elsewhere": js(
        "// @ts-expect-error\nf(1)\ng(2)", "f(1)\n// @ts-expect-error\ng(2)", "ts"
    ),
    "a comment that covers more where lines end oddly": js(
        "// @ts-ignore\rf(1)\rg(2)", "// @ts-ignore\rf(1); g(2)", "ts"
    ),
    "a comment that covers more": js(
        "// @ts-ignore\nf(1)\ng(2)", "// @ts-ignore\nf(1); g(2)", "ts"
    ),
    "one that covers the next line": js(
        "f(1) // @ts-ignore\ng(2)", "f(1)\n// @ts-ignore\ng(2)", "ts"
    ),
    "a rule that is off": js("f(1)\ng(2)", "f(1) // eslint-disable-line\ng(2)"),
    "a rule that is off earlier": js(
        "f(1)\n/* eslint-disable */\ng(2)", "/* eslint-disable */\nf(1)\ng(2)"
    ),
    "another environment": js(
        "/** @jest-environment node */\nf()", "/** @jest-environment jsdom */\nf()"
    ),
    "an environment too late": js(
        "/** @jest-environment jsdom */\nf()", "f()\n/** @jest-environment jsdom */"
    ),
    "a statement in a comment": js("f()\ng()", "f() // g()"),
    "a constraint": Weakened(
        "shop/a_test.go",
        "//go:build linux\n\npackage shop\n",
        "//go:build !linux\n\npackage shop\n",
    ),
    "a constraint that is documentation": Weakened(
        "shop/a_test.go", "// +build linux\n\npackage shop\n", "// +build linux\npackage shop\n"
    ),
    "documentation that is a constraint": Weakened(
        "shop/a_test.go", "// +build linux\npackage shop\n", "// +build linux\n\npackage shop\n"
    ),
    "a directive that moves": go(
        "//go:embed a\nvar A string\nvar B string\n", "var A string\n//go:embed a\nvar B string\n"
    ),
    "a directive in the second column": go(
        "//line b.go:1\nvar A int\n", " //line b.go:1\nvar A int\n"
    ),
    "an attribute": rust("#[test]\nfn a() {}", "fn a() {}"),
    "an attribute that moves": rust(
        "#[test]\nfn a() {}\nfn b() {}", "fn a() {}\n#[test]\nfn b() {}"
    ),
    "a test that is ignored": rust("#[test]\nfn a() {}", "#[test]\n#[ignore]\nfn a() {}"),
    "an example": rust(
        "/// ```\n/// assert!(a());\n/// ```\nfn a() {}", "/// ```\n/// a();\n/// ```\nfn a() {}"
    ),
}
GO = {
    "a raw string": go("var a = `b  c`\n", "var a = `b c`\n"),
    "a raw string's line end": go("var a = `b\n`\n", "var a = `b`\n"),
    "a raw string made another": go("var a = `\\n`\n", 'var a = "\\n"\n'),
    "a struct's tag": go('type A struct {\n\tB int `json:"b"`\n}\n', 'type A struct {\n\tB int `json:"c"`\n}\n'),
    "blanks in a struct's tag": go('type A struct {\n\tB int `json:"b" xml:"b"`\n}\n', 'type A struct {\n\tB int `json:"b"  xml:"b"`\n}\n'),
    "a value moved away from return": go("func a() (b int) {\n\treturn c()\n}\n", "func a() (b int) {\n\treturn\n\tc()\n}\n"),
    "a label": go("func a() {\nb:\n\tfor {\n\t\tbreak b\n\t}\n}\n", "func a() {\nb:\n\tfor {\n\t\tbreak\n\t\tb\n\t}\n}\n"),
    "a sign at the line's beginning": go("func a() {\n\tb = c -\n\t\td\n}\n", "func a() {\n\tb = c\n\t-d\n}\n"),
    "a brace in its own line": go("func a() {\n\tfor b {\n\t}\n}\n", "func a() {\n\tfor b\n\t{\n\t}\n}\n"),
    "an output in two comments": go("func ExampleA() {\n\t// Output:\n\t// 3\n}\n", "func ExampleA() {\n\t// Output:\n\n\t// 3\n}\n"),
    "an output": go("func ExampleA() {\n\t// Output: 3\n}\n", "func ExampleA() {\n\t// Output: 4\n}\n"),
    "an output before a statement": go("func ExampleA() {\n\tb()\n\t// Output: 3\n}\n", "func ExampleA() {\n\t// Output: 3\n\tb()\n}\n"),
    "a number": go("var a = 0x10\n", "var a = 0o10\n"),
    "a rune": go("var a = 'b'\n", "var a = 'c'\n"),
    "another import": go('import (\n\t"a"\n\t"b"\n)\n', 'import (\n\t"a"\n\t"c"\n)\n'),
    "the name of an import": go('import (\n\ta "a"\n\tb "b"\n)\n', 'import (\n\tb "a"\n\ta "b"\n)\n'),
    "an import with a comment": go('import (\n\t"b" // of b\n\t"a"\n)\n', 'import (\n\t"a" // of b\n\t"b"\n)\n'),
    "an import without a name": go('import (\n\t"a"\n\t_ "b"\n)\n', 'import (\n\t"a"\n)\n'),
    "no program at all": go("func a() {\n\tb(c)\n}\n", "func a() {\n\tb(c\n\t)\n}\n"),
    "code in C": go('// int a;\nimport "C"\n\nvar b=1\n', '// int a;\nimport "C"\n\nvar b = 1\n'),
    "data of a test": Weakened("shop/testdata/a.go", "package a\nvar b=1\n", "package a\n\nvar b = 1\n"),
}  # fmt: skip
RUST = {
    "a raw string": rust('fn a() { b(r#"c  d"#); }', 'fn a() { b(r#"c d"#); }'),
    "a string": rust('fn a() { b("c\\\n  d"); }', 'fn a() { b("c\\\n    d!"); }'),
    "blanks that a macro sees": rust("fn a() { b!(c  d); }", "fn a() { b!(c d); }"),
    "blanks that an inner macro sees": rust("fn a() { assert!(b!(c  d)); }", "fn a() { assert!(b!(c d)); }"),
    "blanks that a macro by path sees": rust("fn a() { b::vec!(c  d); }", "fn a() { b::vec!(c d); }"),
    "signs that a macro sees": rust("fn a() { assert!(b == -c); }", "fn a() { assert!(b ==-c); }"),
    "a macro": rust("macro_rules! a { (b  c) => {} }", "macro_rules! a { (b c) => {} }"),
    "a comma in a macro": rust("fn a() { vec![b,]; }", "fn a() { vec![b]; }"),
    "a tuple of one": rust("fn a() { b((c,)); }", "fn a() { b((c)); }"),
    "a type of one": rust("type A = (B,);", "type A = (B);"),
    "a pattern of one": rust("fn a() { let (b,) = c; }", "fn a() { let (b) = c; }"),
    "a result": rust("fn a() -> B { c() }", "fn a() -> B { c(); }"),
    "a lifetime": rust("fn a(b: &'c D) {}", "fn a(b: &'d D) {}"),
    "another order": rust("fn a() { b(1); c(2); }", "fn a() { c(2); b(1); }"),
    "a question": rust("fn a() -> R { b()?; c }", "fn a() -> R { b(); c }"),
}  # fmt: skip
_USES = "\n\ndef test_a():\n    assert b()\n"
IMPORTS = {
    "an assertion": python(f"import os\nimport b{_USES}", f"import b{_USES.replace('b()', '1')}"),
    "a fixture": python(
        "from tests.data import user\n\n\ndef test_a(user):\n    assert user\n",
        "def test_a(user):\n    assert user\n",
    ),
    "a fixture without a name": python(
        "from tests.data import clean, b\n\n\ndef test_a():\n    assert b()\n",
        "from tests.data import b\n\n\ndef test_a():\n    assert b()\n",
    ),
    "tests of another file": python(
        f"from tests.base import TestAll\nfrom b import b{_USES}", f"from b import b{_USES}"
    ),
    "tests of a class": python(
        f"from tests.base import Checks, b{_USES}", f"from tests.base import b{_USES}"
    ),
    "a plugin": python(f"import plugin\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "a package's plugin": python(f"import shop.plugin\nimport shop\nfrom b import b{_USES}", f"import shop\nfrom b import b{_USES}"),
    "all of a module": python(f"from a import *\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "all of a module, later": python(f"from a import *\nfrom b import b{_USES}", f"from b import b\nfrom a import *{_USES}"),
    "two of one name": python(f"from a import b\nfrom c import b{_USES}", f"from c import b\nfrom a import b{_USES}"),
    "one of two of a name": python(f"from a import b\nfrom os import path as b{_USES}", f"from a import b{_USES}"),
    "another module": python(f"from a import b{_USES}", f"from os import b{_USES}"),
    "one more": python(f"from a import b{_USES}", f"import this\nfrom a import b{_USES}"),
    "the future": python(f"from __future__ import annotations\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "the future too late": python(f"from __future__ import annotations\nfrom b import b{_USES}", f"from b import b\nfrom __future__ import annotations{_USES}"),
    "an import with an effect": python(f"import readline\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "tests of Python itself": python(f"from test.test_abc import TestABC\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "a test by its alias": python(f"from json import loads as test_loads\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "a hook by its alias": python(f"from os import getcwd as setUpModule\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "an import that is tested": python("def test_a():\n    import zoneinfo\n", "def test_a():\n    pass\n"),
    "an import that may fail": python(
        "try:\n    import tomllib\nexcept ImportError:\n    skip()\n", "try:\n    pass\nexcept ImportError:\n    skip()\n"
    ),
    "the order of what may fail": python(
        "try:\n    import b\n    import a\nexcept ImportError:\n    a = 1\n", "try:\n    import a\n    import b\nexcept ImportError:\n    a = 1\n"
    ),
    "an import beyond a statement": python(f"from b import b\nb.patch()\nimport a{_USES}", f"import a\nfrom b import b\nb.patch(){_USES}"),
    "an attribute of a class": python("class TestA:\n    import os\n    x = 1\n", "class TestA:\n    x = 1\n"),
    "a name that a text uses": python(f"import sys\nfrom b import b\nmark('sys.platform == 1'){_USES}", f"from b import b\nmark('sys.platform == 1'){_USES}"),
    "a name that others take": python(f"import sys\nfrom b import b\n__all__ = ['sys']{_USES}", f"from b import b\n__all__ = ['sys']{_USES}"),
    "a name that is looked up": python(f"import sys\nfrom b import b\nglobals(){_USES}", f"from b import b\nglobals(){_USES}"),
    "an import with a reason": python(f"import sys  # noqa: F401\nfrom b import b{_USES}", f"from b import b{_USES}"),
    "fixtures for all tests": python("import sys\n", "", "tests/conftest.py"),
    "names for other tests": python("import sys\n", "", "tests/__init__.py"),
    "declared names": python("import sys\n", "", "tests/test_a.pyi"),
    "text that is none": python("x = '\ufffd'\n", "x='\ufffd'\n"),
}  # fmt: skip
WEAKENED = {
    f"{kind}: {name}": edit
    for kind, edits in (
        ("strings", STRINGS), ("line ends", LINE_ENDS), ("signs", SIGNS), ("tags", TAGS),
        ("directives", DIRECTIVES), ("Go", GO), ("Rust", RUST), ("imports", IMPORTS),
    )
    for name, edit in edits.items()
}  # fmt: skip
