"""What is read of JavaScript, TypeScript, Go and Rust, and what hostile text cannot do."""

import subprocess
import sys
import time

import pytest

from sandbox.languages import MAX_READ_CHARACTERS
from sandbox.languages.outline import Definition, DefinitionKind, Outline
from sandbox.languages.reading import new_syntax_error, read_outline

CART_TS = """\
import { rate, type Money } from './tax.js';
import fs = require('node:fs');
export * from './prices';
const legacy = require('./legacy');

const LIMIT = 3;
export interface Item { price: Money }
type Id = string | number;
enum Size { Small, Large }

/** A basket. */
@sealed
export class Cart<T extends Item> extends Base {
  #items: T[] = [];
  add = (item: T): void => { this.#items.push(item); };

  // Rounded down.
  @logged()
  total(discount: number = 0, ...rest: T[]): number {
    return Math.floor(sum(this.#items) * rate(LIMIT) - discount);
  }

  static async *all(): AsyncGenerator<Cart<Item>> {}
}

export default function <K>(key: K) { return `${key} ${inner(() => key)}`; }
export const pick = <K,>({ a, b }: Pair, key: K) => a ?? b;
export const Row = memo(forwardRef(({ name }: Props) => <td>{format(name)}</td>));
namespace Shapes { export function area(r: number) { return r; } }
exports.legacy = function () {};
Cart.prototype.clear = function () {};
module.exports = { get() {}, set: function () {}, on: () => 1, LIMIT };
app.get('/carts', (request, response) => { response.send(list()); });
function over(a: string): string;
function over(a: string) { return a; }
"""
TEST_JS = """\
import { describe, it } from 'vitest';
vi.mock('../src/mail');

const base = 2;

describe('cart', () => {
  let cart;
  beforeEach(async () => { cart = await makeCart(base); });
  function helper() { return cart; }

  it('adds a $1 item', () => {
    expect(helper().add(1)).toBe(3);
  });
  describe.each([[1]])('with %i', (n) => {
    it.only(`keeps ${n}`, () => keep(n));
  });
  it.each`a|b
    ${1}|${2}`('is $a', ({ a }) => { same(a); });
  for (const c of cases) { it(c.name, () => run(c)); }
});
test('it\\'s plain', async (t) => {
  await t.test('sub', () => { below(); });
});
"""
CART_GO = """\
package cart

import (
	"fmt"
	tax "example.com/shop/internal/tax"
)

const (
	Small = iota
	Large
)

var limit, other = 1, 2

// Cart is a basket.
type Cart[T any] struct{ items []T }

type (
	Shape interface{ Area() float64 }
	Id    = int
)

// Total adds up.
func (c *Cart[T]) Total(discount, extra int, rest ...string) (int, error) {
	return tax.Rate(limit) - discount, nil
}

func Map[T, U any](in []T, f func(T) U) []U { return nil }
"""
CART_RS = """\
use crate::tax::{rate, Money as M, self};
use super::*;
pub mod prices;

const LIMIT: u8 = 3;

/// A basket.
#[derive(Debug)]
pub struct Cart<T> { items: Vec<T> }

impl<T: Clone> Shape for Cart<T> {
    fn total(&self, discount: u8) -> Result<u8, Error> { Ok(rate(LIMIT) - discount) }
}

trait Shape { fn total(&self, discount: u8) -> Result<u8, Error>; }

macro_rules! many { ($x:expr) => { $x } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(Cart::new().total(1), Ok(2));
    }
}
"""


def outline(path: str, text: str) -> Outline:
    found = read_outline(path, text)
    assert found is not None
    return found


def lines(found: Outline) -> dict[str, tuple[int, int]]:
    return {one.name: (one.first, one.last) for one in found.definitions}


def named(found: Outline, name: str) -> Definition:
    return next(one for one in found.definitions if one.name == name)


def test_typescript_with_jsx() -> None:
    found = outline("src/cart.tsx", CART_TS)

    assert lines(found) == {
        "Item": (7, 7),
        "Id": (8, 8),
        "Size": (9, 9),
        "Cart": (11, 24),
        "Cart.add": (15, 15),
        "Cart.total": (17, 21),
        "Cart.all": (23, 23),
        "default": (32, 32),
        "pick": (27, 27),
        "Row": (28, 28),
        "Shapes": (29, 29),
        "Shapes.area": (29, 29),
        "legacy": (30, 30),
        "Cart.clear": (31, 31),
        "default.get": (32, 32),
        "default.set": (32, 32),
        "default.on": (32, 32),
        "app.get /carts": (33, 33),
        "over": (35, 35),
    }
    total = named(found, "Cart.total")
    assert total.arguments == ("discount", "rest")
    assert total.signature == "Cart.total(discount: number = 0, ...rest: T[]): number"
    assert {"rate", "LIMIT", "sum", "items", "floor"} <= total.names
    assert (total.line, total.body, total.owner, total.last_name) == (19, 20, "Cart", "total")
    assert "format" in named(found, "Row").names
    assert [one.modules for one in found.imports] == [
        ("./tax.js",), ("node:fs",), ("./prices",), ("./legacy",),
    ]  # fmt: skip
    assert {"LIMIT", "legacy", "Item", "Id", "Size"} <= dict(found.constants).keys()


def test_suites_and_tests_of_javascript() -> None:
    found = outline("test/cart.test.js", TEST_JS)

    assert [(one.kind, one.name, one.first) for one in found.definitions] == [
        (DefinitionKind.SUITE, "cart", 6),
        (DefinitionKind.SETUP, "cart > beforeEach", 8),
        (DefinitionKind.FUNCTION, "cart > helper", 9),
        (DefinitionKind.TEST, "cart > adds a $1 item", 11),
        (DefinitionKind.SUITE, "cart > with %i", 14),
        (DefinitionKind.TEST, "cart > with %i > keeps ${n}", 15),
        (DefinitionKind.TEST, "cart > is $a", 17),
        (DefinitionKind.TEST, "cart > c.name", 19),
        (DefinitionKind.TEST, "it's plain", 21),
        (DefinitionKind.TEST, "it's plain > sub", 22),
    ]
    assert named(found, "cart > helper").last_name == "helper"
    assert {"add", "helper"} <= named(found, "cart > adds a $1 item").names
    assert "it" not in named(found, "cart > adds a $1 item").names
    assert [one.modules for one in found.imports] == [("vitest",), ("../src/mail",)]
    assert dict(found.constants) == {"base": (4, 4), "cart": (7, 7)}


WRAPPED = """\
(function (root) {
  function add(a, b) { return a + b; }
  root.add = add;
})(this);

define(['x'], function (x) {
  function sub(a, b) { return a - b; }
});

function runAll(name) {
  describe(name, () => {
    it('works', async () => { await all(); });
    if (process.env.CI) {
      it('works in CI', () => {});
    }
  });
}

describe('values', () => {
  [1, 2].forEach((n) => {
    it('is a number', () => { number(n); });
  });
  test('is taken over', process('a', 'b'));
});
"""


def test_tests_and_functions_inside_of_functions_that_only_wrap_them() -> None:
    found = outline("test/all.js", WRAPPED)

    assert [(one.kind, one.name, one.first, one.last) for one in found.definitions] == [
        (DefinitionKind.FUNCTION, "add", 2, 2),
        (DefinitionKind.FUNCTION, "sub", 7, 7),
        (DefinitionKind.FUNCTION, "runAll", 10, 17),
        (DefinitionKind.SUITE, "name", 11, 16),
        (DefinitionKind.TEST, "name > works", 12, 12),
        (DefinitionKind.TEST, "name > works in CI", 14, 14),
        (DefinitionKind.SUITE, "values", 19, 24),
        (DefinitionKind.FUNCTION, "values > [1, 2].forEach", 20, 22),
        (DefinitionKind.TEST, "values > is a number", 21, 21),
        (DefinitionKind.TEST, "values > is taken over", 23, 23),
    ]


def test_what_stands_in_code_that_cannot_be_parsed_is_still_found() -> None:
    found = outline("a.ts", "let x = = 3 ((\nfunction whole() {\n  return 1;\n}\n")
    assert lines(found) == {"whole": (2, 4)}


def test_go_with_types_and_receivers() -> None:
    found = outline("cart/cart.go", CART_GO)

    assert lines(found) == {
        "Cart": (15, 16),
        "Shape": (19, 19),
        "Id": (20, 20),
        "Cart.Total": (23, 26),
        "Map": (28, 28),
    }
    total = named(found, "Cart.Total")
    assert total.arguments == ("discount", "extra", "rest")
    assert total.signature == "Cart.Total(discount, extra int, rest ...string) (int, error)"
    assert {"tax", "Rate", "limit"} <= total.names
    assert found.imports[0].modules == ("fmt", "example.com/shop/internal/tax")
    assert dict(found.constants) == {
        "Small": (8, 11), "Large": (8, 11), "limit": (13, 13), "other": (13, 13),
        "Cart": (15, 16), "Shape": (19, 19), "Id": (20, 20),
    }  # fmt: skip


def test_rust_with_traits_and_tests() -> None:
    found = outline("src/cart.rs", CART_RS)

    assert [(one.name, one.first, one.last) for one in found.definitions] == [
        ("Cart", 7, 9),
        ("Cart", 11, 13),
        ("Cart.total", 12, 12),
        ("Shape", 15, 15),
        ("Shape.total", 15, 15),
        ("many", 17, 17),
        ("tests", 19, 27),
        ("tests.adds", 23, 26),
    ]
    total = named(found, "Cart.total")
    assert total.signature == "Cart.total(&self, discount: u8) -> Result<u8, Error>"
    assert {"rate", "LIMIT"} <= total.names
    assert "total" in named(found, "tests.adds").names, "names in macros count"
    assert [one.modules for one in found.imports] == [
        ("crate::tax::rate", "crate::tax::Money", "crate::tax"),
        ("super",),
        ("mod prices",),
        ("super",),
    ]


BEHIND = {
    "a.js": "class A { // a\n  one() {}\n  x = 1 // b\n  // c\n  two() {}\n}\n",
    "a.ts": "const x = 1; // a\nfunction one() {}\nconst y = 2; // b\n// c\nfunction two() {}\n",
    "a.go": "package a // a\nfunc one() {}\nvar x = 1 // b\n// c\nfunc two() {}\n",
    "a.rs": "const A: u8 = 1; // a\nfn one() {}\nconst B: u8 = 2; // b\n// c\nfn two() {}\n",
}


@pytest.mark.parametrize("path", BEHIND)
def test_a_comment_behind_code_does_not_belong_to_the_next_definition(path: str) -> None:
    found = lines(outline(path, BEHIND[path]))
    assert {name.rpartition(".")[2]: span for name, span in found.items() if name != "A"} == {
        "one": (2, 2),
        "two": (4, 5),
    }


@pytest.mark.parametrize("path", ["a.js", "a.ts"])
def test_the_line_of_a_definition_is_that_of_its_name(path: str) -> None:
    text = "@a\nclass A {\n  @b\n  one() {}\n\n  @c\n  two = () => {}\n}\n"
    found = outline(path, text).definitions
    assert [(one.first, one.line, one.last) for one in found] == [(1, 2, 8), (3, 4, 4), (6, 7, 7)]


def test_crlf_and_unicode_keep_the_lines() -> None:
    text = "// ünïcode 🎉\nconst größe = '\U0001d4b3';\nfunction über(ß) {\n  return größe;\n}\n"
    for written in (text, text.replace("\n", "\r\n"), f"\ufeff{text}"):
        found = outline("a.js", written)
        assert lines(found) == {"über": (3, 5)}
        assert "größe" in named(found, "über").names


BROKEN = {
    "a.js": ("const a = 1;\n", "const a = (1;\n", "line 1"),
    "a.jsx": ("const a = <b>x</b>;\n", "const a = <b>x</c\n", "line 1"),
    "a.mjs": ("const a = `x ${1}`;\n", "const a = `x ${1`;\n", "line 1"),
    "a.ts": ("let a: T<U> = f<U>(1);\n", "let a: T<U = f<U>(1);\n", "line 1"),
    "a.tsx": ("let a = <A b={c}>d</A>;\n", "let a = <A b={c>d</A>;\n", "line 1"),
    "a.go": ("package a\n\nfunc f() {}\n", "package a\n\nfunc f() {\n", "line 3"),
    "a.rs": ("fn f() -> u8 { 1 }\n", "fn f() -> u8 { 1 \n", "line 1"),
}


@pytest.mark.parametrize("path", BROKEN)
def test_an_edit_that_breaks_the_syntax_is_named_with_its_line(path: str) -> None:
    right, wrong, line = BROKEN[path]
    assert line in (new_syntax_error(path, right, wrong) or "")
    assert new_syntax_error(path, wrong, right) is None
    assert new_syntax_error(path, "", right) is None


def test_what_was_broken_before_is_not_held_against_an_edit() -> None:
    unknown = "func f() {}\ntype X = < <newer syntax> >\n"
    assert new_syntax_error("a.go", f"package a\n{unknown}", f"package a\n\n{unknown}") is None
    added = f"package a\n{unknown}func g( {{\n"
    assert new_syntax_error("a.go", f"package a\n{unknown}", added) is not None


def test_other_files_are_not_read() -> None:
    assert read_outline("a.py", "x = 1\n") is None
    assert read_outline("a.json", "{}") is None
    assert new_syntax_error("README.md", "", "((((") is None


HOSTILE = {
    "open brackets": "(" * 10_000,
    "brackets": "[" * 10_000 + "]" * 10_000,
    "functions": "function f(){" * 10_000 + "}" * 10_000,
    "blocks": "func f(){" + "{" * 10_000 + "}" * 10_000 + "}",
    "suites": "describe('a',()=>{" * 10_000 + "})" * 10_000,
    "objects": "module.exports=" + "{a:" * 10_000 + "1" + "}" * 10_000,
    "classes": "x=class{a=" * 10_000,
    "calls": "memo(" * 10_000,
    "modules": "mod a{" * 10_000 + "}" * 10_000,
    "paths": "use a::{" * 10_000,
    "templates": "`${" * 10_000,
    "elements": "<a>" * 10_000,
    "arrows": "a=>" * 10_000,
    "receivers": "func (" + "*" * 10_000 + "a) f() {}",
    "a long title": "it('" + "%s$a" * 5_000 + "',()=>{})",
    "comments": "// x\n" * 20_000 + "function f() {}",
}


@pytest.mark.parametrize("path", ["a.tsx", "a.go", "a.rs"])
def test_hostile_text_costs_bounded_time_and_no_recursion(path: str) -> None:
    started = time.process_time()
    for text in HOSTILE.values():
        found = read_outline(path, text)
        for one in found.definitions[:50] if found is not None else ():
            assert isinstance(one.names, frozenset)
            assert len(one.signature) <= 160
    assert time.process_time() - started < 10


def test_ambiguity_of_any_depth_does_not_end_the_process() -> None:
    # On a stack of 8 MiB, this text ends the process.
    assert read_outline("a.go", "[{" * (MAX_READ_CHARACTERS // 2)) is not None


def test_a_large_file_is_left_alone() -> None:
    line = "export const one = (a) => a + 1;\n"
    large = line * (1_000_000 // len(line))
    assert read_outline("a.js", large) is None
    assert new_syntax_error("a.js", line, large) is not None, "an edit may not make it unreadable"
    assert new_syntax_error("a.js", large, f"{large};") is None
    fits = line * (MAX_READ_CHARACTERS // len(line))
    assert len(outline("a.js", fits).definitions) == MAX_READ_CHARACTERS // len(line)


def test_the_parsers_are_loaded_when_such_a_file_is_met() -> None:
    program = (
        "import sys, bot.fixers.rung2_model.fixer\n"
        "from sandbox.languages.reading import read_outline\n"
        "read_outline('a.py', '')\n"
        "print(sorted(name for name in sys.modules if name.startswith('tree_sitter')))\n"
        "read_outline('a.go', '')\n"
        "print(sorted(n for n in sys.modules if n.startswith('tree_sitter') and '.' not in n))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n['tree_sitter', 'tree_sitter_go']\n"
