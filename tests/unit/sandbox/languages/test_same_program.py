"""Which edits of source files are proved to be layout, and what hostile text costs."""

import subprocess
import sys
import time

import pytest

from sandbox.languages.same_program import can_prove, same_source
from tests.patience import stretched

SAME = {
    "blanks": ("a.js", "f( a,b );", "f(a, b);"),
    "quotes": ("a.js", "f('a', \"it's\", 'b\"')", 'f("a", \'it\\\'s\', "b\\"")'),
    "semicolons": ("a.js", "const a = 1\nf(a)\nreturn\n", "const a = 1;\nf(a);\nreturn;\n"),
    "a semicolon at the beginning": ("a.js", "f();\n[a].map(b);", "f()\n;[a].map(b)"),
    "semicolons of a block": ("a.js", "{ (a || b).c(); }", "{\n  ;(a || b).c()\n}"),
    "commas": ("a.js", "f([1, 2], { a, b }, c)", "f(\n  [1, 2,],\n  {\n    a,\n    b,\n  },\n  c,\n)"),
    "imports of JavaScript": ("a.mjs", "import { a, b } from 'c'", 'import {\n  a,\n  b,\n} from "c";'),
    "one parameter": ("a.js", "f(a => b, async c => d)", "f((a) => b, async (c) => d);"),
    "one parameter, typed file": ("a.ts", "f(a => b)", "f((a) => b)"),
    "a value in parentheses": ("a.js", "f = () => (a = b)", "f = () => a = b"),
    "a long value": ("a.js", "return a && b || c", "return (\n  (a && b) || c\n);"),
    "a remainder": ("a.js", "x = a * b % c", "x = (a * b) % c"),
    "a choice": ("a.js", "x = a ? (b) : (c)", "x = a ? b : c"),
    "keys": ("a.js", "x = { 'a': 1, 'b-c': 2 }", 'x = { a: 1, "b-c": 2 }'),
    "large numbers": ("a.js", "x = 0XAB + 1E5", "x = 0xab + 1e5"),
    "a template": ("a.js", "f(`a ${ b }`)", "f(`a ${b}`)"),
    "a mode": ("a.js", "'use strict'\nf()", '"use strict";\n\nf();\n'),
    "a class": ("a.js", "class A { a = 1\n get b() { return 2 } }", "class A {\n  a = 1;\n  get b() {\n    return 2;\n  }\n}"),
    "a name of a keyword": ("a.ts", "const type = f\ng({ type, async: 1 })", 'const type = f;\ng({\n  type,\n  "async": 1\n});'),
    "members of a type": ("a.ts", "interface A { a: B, c(): D }", "interface A {\n  a: B;\n  c(): D;\n}"),
    "a large directive": ("a.ts", "// @ts-ignore\nf(a,b)\ng()", "// @ts-ignore\nf(a, b);\ng();"),
    "comments": ("a.js", "f() // a \n/*\n * b\n */\ng()", "f(); // a\n/*\n   * b\n   */\ng();"),
    "lines of a line": ("a.js", "if (a && !b) { c() } else d()", "if (\n  a &&\n  !b\n) {\n  c();\n} else d();"),
    "tags": ("a.jsx", "x = <a b='c'>\n<d/>{e}</a>", 'x = (\n  <a b="c">\n    <d />\n    {e}\n  </a>\n);'),
    "a text between tags": ("a.tsx", "x = <a>b\nc  d</a>", "x = (\n  <a>\n    b c  d\n  </a>\n);"),
    "a fragment": ("a.tsx", "x = <><a/></>", "x = (\n  <>\n    <a />\n  </>\n);"),
    "a call by a test": (
        "web/a.test.ts",
        "it('adds',()=>{expect(add(1,2)).toBe(3)})",
        'it("adds", () => {\n  expect(add(1, 2)).toBe(3);\n});\n',
    ),
    "Go": (
        "a_test.go",
        'package a\nimport (\n"testing"\n"os"\n)\nfunc  TestA( t *testing.T ) { f(1,\n2,\n) ; g() }',
        'package a\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestA(t *testing.T) {\n\tf(1,\n\t\t2)\n\tg()\n}\n',
    ),
    "numbers of Go": ("a.go", "package a\nvar a = 0XAB+1E5", "package a\n\nvar a = 0xAB + 1e5\n"),
    "comments of Go": ("a.go", "package a\nvar a=1 // b\n// c\nvar d=2", "package a\n\nvar a = 1 // b\n// c\nvar d = 2\n"),
    "Rust": (
        "tests/a.rs",
        "#[test] fn a(){ let b=vec![1,2]; assert_eq!( b.len(),2 ); c(d,e,); }",
        "#[test]\nfn a() {\n    let b = vec![1, 2];\n    assert_eq!(b.len(), 2);\n    c(d, e);\n}\n",
    ),
    "cases of Rust": ("a.rs", "fn a() { match b { C => {}, D => 1 } }", "fn a() {\n    match b {\n        C => {}\n        D => 1,\n    }\n}\n"),
    "brackets of Rust": ("a.rs", "type A = Vec<Vec<u8> >;", "type A = Vec<Vec<u8>>;"),
    "a negation in a macro": ("a.rs", "fn a() { assert!(!(b&&c)) }", "fn a() { assert!(!(b && c)) }"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_layout_is_no_change_in_either_direction(name: str) -> None:
    path, old, new = SAME[name]
    assert same_source(path, old, new)
    assert same_source(path, new, old)


@pytest.mark.parametrize("path", ["tests/a.test.ts", "a.jsx", "a_test.go", "tests/a.rs"])
def test_programs_are_proved(path: str) -> None:
    assert can_prove(path)
    assert same_source(path, "", "")


@pytest.mark.parametrize(
    "path", ["tests/a.vue", "tests/a.json", "testdata/a.go", "web/__fixtures__/a.js"]
)
def test_data_is_not_proved(path: str) -> None:
    assert not can_prove(path)
    assert not same_source(path, "", "")


def test_text_with_errors_proves_nothing() -> None:
    for path, text in (("a.js", "f(("), ("a.go", "package"), ("a.rs", "fn (")):
        assert not same_source(path, text, text)
        assert not same_source(path, "", text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.ts", "(" * 12_000 + "a" + ")" * 12_000),
        ("a.js", "a/**/," * 10_000 + "a"),
        ("a.jsx", "x=" + "<a>" * 8_000 + "</a>" * 8_000),
        ("a.js", "`" + "${a}" * 10_000 + "`"),
        ("a.go", "package a\n" + "import()\n" * 8_000),
        ("a.rs", "fn f(){assert!(" + "(" * 12_000 + ")" * 12_000 + ")}"),
        ("a.rs", "fn f(){assert!(" + "a!()" * 8_000 + ")}"),
    ],
)
def test_hostile_text_costs_seconds_at_most(path: str, text: str) -> None:
    begun = time.process_time()
    same_source(path, text, text + "\n")
    assert time.process_time() - begun < stretched(20.0)


def test_no_parser_is_loaded_for_python() -> None:
    code = (
        "import sys; from sandbox.changes import same_tests; same_tests('a.py', 'x=1', 'x = 1'); "
        "print([name for name in sys.modules if name.startswith('tree_sitter')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
