"""Whole functions as answers in JavaScript, TypeScript, Go and Rust."""

import time

import pytest

from bot.fixers.rung2_model.edits import (
    EditFormat,
    EditsRead,
    Reason,
    SentFile,
    describe_rejections,
    read_edits,
)

TS = """\
import { rate } from './tax'

/** A basket. */
@sealed
export class Cart {
  // Rounded.
  total(discount: number): number {
    return rate(1) + discount
  }

  add(price: number) {
    this.items.push(price)
  }
}

export const pick = (a: number) => {
  return a + 1
}

export default function main() {
  return `a
  b`
}
"""
GO = """\
package cart

import "example.com/tax"

// Total adds up.
func (c *Cart) Total(discount int) int {
\treturn tax.Rate(1) + discount
}

func pick(a int) int { return a + 1 }
"""
RUST = """\
use crate::tax::rate;

#[derive(Debug)]
pub struct Cart;

impl Cart {
    /// Adds up.
    #[inline]
    pub fn total(&self, discount: u8) -> u8 {
        rate(1) + discount
    }
}

pub(crate) fn pick(a: u8) -> u8 {
    a + 1
}
"""
LONG = "\n// filler" * 200 + "\n"
FILES = {"src/cart.ts": TS + LONG, "cart.go": GO + LONG, "src/cart.rs": RUST + LONG}


def read(code: str, path: str, *, language: str = "", label: bool = False) -> EditsRead:
    answer = f"{f'{path}{chr(10)}' if label else ''}```{language}\n{code}```\n"
    return read_edits(answer, [SentFile(path=path, text=FILES[path])])


METHOD = "total(discount: number): number {\n  return rate(1) - discount\n}\n"
FIXED = [
    ("src/cart.ts", METHOD, {"+ discount": "- discount"}),
    ("src/cart.ts", f"class Cart {{\n{METHOD}}}\n", {"+ discount": "- discount"}),
    ("src/cart.ts", f"class Cart {{\n{METHOD}\nmore() {{}}\n}}\n", Reason.INCOMPLETE),
    ("src/cart.ts", f"class Cart {{\nsize = 1\n{METHOD}}}\n", Reason.INCOMPLETE),
    ("src/cart.ts", "@sealed\nexport class Cart {\n  size = 1\n  add() {}\n  total() {}\n}\n",
     {TS[TS.index("/** A"):TS.index("export const")]:
      "@sealed\nexport class Cart {\n  size = 1\n  add() {}\n  total() {}\n}\n\n"}),
    ("src/cart.ts", "const pick = (a: number) => {\n  return a + 2\n}\n", {"a + 1": "a + 2"}),
    ("src/cart.ts", "export const pick = (a) => {\n  return a + 2\n}\n",
     {"(a: number) => {\n  return a + 1": "(a) => {\n  return a + 2"}),
    ("src/cart.ts", "export default function main() {\n  return `a\n  c`\n}\n", {"a\n  b`": "a\n  c`"}),
    ("src/cart.ts", f"import {{ tax }} from './more'\n\n{METHOD}", Reason.TOO_LONG),
    ("src/cart.ts", "import { tax } from './more'\n\nconst pick = (a: number) => {\n  return a + 2\n}\n",
     {"a + 1": "a + 2", "from './tax'\n": "from './tax'\nimport { tax } from './more'\n"}),
    ("src/cart.ts", f"{METHOD}\nconst pick = (a: number) => {{\n  return a + 2\n}}\n", Reason.TOO_LONG),
    ("src/cart.ts", "export function other() {}\n", Reason.TOO_LONG),
    ("src/cart.ts", "const pick = (a: number) => {\n", Reason.TOO_LONG),
    ("src/cart.ts", "const pick = (a: number) => {\n  return a + 1\n}\n", Reason.NO_CHANGE),
    ("src/cart.ts", "const pick = (a: number) => {\n  // ... rest of the function\n}\n", Reason.ELIDED),
    ("cart.go", "func (c *Cart) Total(discount int) int {\n\treturn tax.Rate(1) - discount\n}\n",
     {"+ discount": "- discount"}),
    ("cart.go", "package cart\n\nfunc pick(a int) int { return a + 2 }\n", {"a + 1": "a + 2"}),
    ("src/cart.rs", "fn total(&self, discount: u8) -> u8 {\n    rate(1) - discount\n}\n",
     {"+ discount": "- discount"}),
    ("src/cart.rs", "impl Cart {\n    pub fn total(&self, discount: u8) -> u8 {\n        rate(2)\n    }\n}\n",
     {"rate(1) + discount": "rate(2)"}),
    ("src/cart.rs", "/// More.\n#[inline]\npub(crate) fn pick(a: u8) -> u8 {\n    a + 2\n}\n",
     {"pub(crate)": "/// More.\n#[inline]\npub(crate)", "a + 1": "a + 2"}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "code", "becomes"), FIXED)
def test_a_definition_replaces_the_one_of_its_name(
    path: str, code: str, becomes: dict[str, str] | Reason
) -> None:
    found = read(code, path, label=isinstance(becomes, Reason))
    if isinstance(becomes, Reason):
        assert becomes in {one.reason for one in found.rejections}
        return
    text = FILES[path]
    for old, new in becomes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert not found.rejections, describe_rejections(found.rejections)
    assert [change.content for change in found.changes] == [text]
    assert found.format is EditFormat.FUNCTION


def test_the_last_version_of_a_function_counts_and_the_old_one_does_not() -> None:
    old = "const pick = (a: number) => {\n  return a + 1\n}\n"
    answer = "".join(
        f"```ts\n{one}```\n" for one in (old.replace("1", "3"), old.replace("1", "2"), old)
    )
    (change,) = read_edits(answer, [SentFile(path="src/cart.ts", text=TS)]).changes
    assert change.content == TS.replace("a + 1", "a + 2")


def test_a_name_in_two_files_is_asked_back() -> None:
    sent = [SentFile(path=f"src/{name}.ts", text=TS) for name in "ab"]
    found = read_edits("```ts\nconst pick = (a: number) => {\n  return a + 2\n}\n```\n", sent)
    assert [one.reason for one in found.rejections] == [Reason.AMBIGUOUS]


def test_a_getter_and_a_setter_are_distinguished() -> None:
    text = "class A {\n  get x() {\n    return 1\n  }\n\n  set x(v) {\n    this.y = v\n  }\n}\n"
    fixed = text.replace("1", "2").replace("= v", "= -v")
    answer = f"```ts\n{fixed}```\n"
    (change,) = read_edits(answer, [SentFile(path="src/a.ts", text=text + LONG)]).changes
    assert change.content == fixed + LONG


SHARED = [
    ("a.js", "class A { one() { return 1 } two() { return 2 } }\n", "one() { return 3 }\n"),
    ("a.js", "const A = 1, one = () => 2\n", "const one = () => 3\n"),
    ("a.js", "const A = 1; function one() {}\n", "function one() { return 3 }\n"),
    ("a.js", "function one() {\n} const A = 1\n", "function one() {\n  return 3\n}\n"),
    ("a.rs", "const A: u8 = 1; fn one() {}\n", "fn one() { 3 }\n"),
]


@pytest.mark.parametrize(("path", "text", "code"), SHARED)
def test_code_that_shares_its_lines_is_not_replaced_by_lines(
    path: str, text: str, code: str
) -> None:
    sent = [SentFile(path=path, text=text + LONG)]
    assert read_edits(f"{path}\n```\n{code}```\n", sent).rejections


def test_a_function_of_go_does_not_replace_a_method() -> None:
    code = "func Total(discount int) int {\n\treturn 2\n}\n"
    assert read(code, "cart.go", label=True).rejections


def test_windows_line_ends_stay() -> None:
    text = TS.replace("\n", "\r\n")
    answer = "```ts\nconst pick = (a: number) => {\n  return a + 2\n}\n```\n"
    (change,) = read_edits(answer, [SentFile(path="src/cart.ts", text=text)]).changes
    assert change.content == text.replace("a + 1", "a + 2")


KEPT = [
    ("a.js", "class A {\n  x = 1 // first\n  one() {\n    return 1\n  }\n}\n",
     "class A {\n  // Two.\n  one() {\n    return 2\n  }\n}\n",
     {"  one()": "  // Two.\n  one()", "return 1": "return 2"}),
    ("a.js", "class A {\n  @logged\n  one() {\n    return 1\n  }\n}\n", "one() {\n  return 2\n}\n",
     {"return 1": "return 2"}),
    ("a.rs", "/// Old.\n#[inline]\nfn one() -> u8 {\n    1\n}\n", "/// New.\nfn one() -> u8 {\n    2\n}\n",
     {"    1": "    2"}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "code", "becomes"), KEPT)
def test_what_is_beside_a_definition_is_kept(
    path: str, text: str, code: str, becomes: dict[str, str]
) -> None:
    (change,) = read_edits(f"```\n{code}```\n", [SentFile(path=path, text=text)]).changes
    for old, new in becomes.items():
        text = text.replace(old, new)
    assert change.content == text


IMPORTED = [
    ("a.ts", "import { rate } from './tax'\n", ["import { rate, tax } from './tax'\n"],
     "import { rate, tax } from './tax'\n"),
    ("a.ts", "import tax from './tax'\n", ["import tax from './tax'\nimport { x } from './tax'\n"],
     "import tax from './tax'\nimport { x } from './tax'\n"),
    ("a.ts", "import { x } from './x'\n", ["import { y } from './y'\n", "import { z } from './z'\n"],
     "import { x } from './x'\nimport { y } from './y'\nimport { z } from './z'\n"),
    ("a.ts", "", ["import { y } from './y'\n"], "import { y } from './y'\n"),
    ("a.go", 'package a\n\nimport "fmt"\n', ['import (\n\t"fmt"\n\t"os"\n)\n'],
     'package a\n\nimport (\n\t"fmt"\n\t"os"\n)\n'),
    ("a.rs", "use crate::tax::rate;\n", ["use crate::tax::{rate, money};\n", "use crate::tax::{rate, money};\n"],
     "use crate::tax::{rate, money};\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "imports", "sent", "becomes"), IMPORTED)
def test_new_imports_come_once(path: str, imports: str, sent: list[str], becomes: str) -> None:
    word = {".ts": "function", ".go": "func", ".rs": "fn"}[path[-3:]]
    code = [f"{word} f{n}() {{\n  call(8)\n}}\n" for n in range(len(sent))]
    fixed = [one.replace("8", "9") for one in code]
    answer = "".join(f"```\n{new}\n{one}```\n" for new, one in zip(sent, fixed, strict=True))
    found = read_edits(answer, [SentFile(path=path, text=f"{imports}{''.join(code)}")])
    assert [change.content for change in found.changes] == [f"{becomes}{''.join(fixed)}"]


MANY = "".join(f"function f{n}() {{}}\n" for n in range(3_500))
HOSTILE = {
    "an answer of many": ("function f() {}\n", MANY),
    "many of one name on one line": ("a=()=>1;" * 20_000 + "\n", "a = () => 2\n"),
    "many imports": (
        "import 'a'\n" * 15_000 + "function f() {}\n",
        "import x from 'x'\n" * 3_500 + "function f() {}\n",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_and_answers_cost_bounded_time(name: str) -> None:
    text, code = HOSTILE[name]
    started = time.process_time()
    read_edits(f"a.js\n```js\n{code}```\n", [SentFile(path="a.js", text=text + LONG)])
    assert time.process_time() - started < 4
