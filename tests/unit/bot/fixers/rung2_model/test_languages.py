"""Rung 2 in JavaScript, TypeScript, Go and Rust: what a model is shown, and what it may not write."""

from collections.abc import Mapping

import pytest

from bot.domain.account import ModelLimits
from bot.domain.diagnosis import Suspect
from bot.fixers.rung2_model.budget import PromptPart
from bot.fixers.rung2_model.context import Brief, build_brief
from bot.fixers.rung2_model.edits import Reason, SentFile, read_edits
from bot.fixers.rung2_model.request_more import grant_request
from bot.fixers.trials import Failure, Proposed, Tried
from bot.llm.protocol.messages import Wanted
from sandbox.types import TestReport, TestResult, TestStatus
from tests.builders import a_diagnosis, a_failure, a_report, a_running_mission
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials, failed, passed
from tests.unit.bot.fixers.rung2_model.climbs import Climb, block, said

pytestmark = pytest.mark.anyio

FILLER = "".join(
    f"export function filler{n}(x: number): number {{\n  return x + {n} // {'.' * 60}\n}}\n\n"
    for n in range(40)
)
CART = f"""\
import {{ rate }} from './tax.js'

const LIMIT = 3
const UNUSED = 4

{FILLER}/** A basket. */
export class Cart {{
  items: number[] = []

  add(price: number): Cart {{
    this.items.push(price)
    return this
  }}

  total(discount: number): number {{
    return rate(this.items.length > LIMIT ? 1 : 2) + discount
  }}
}}
"""
TEST = """\
import { beforeEach, describe, expect, it } from 'vitest'
import { Cart } from '../src/cart.js'

describe('cart', () => {
  let cart: Cart
  beforeEach(() => { cart = new Cart() })
  function filled() { return cart.add(2) }

  it('takes a discount of $1', () => {
    expect(filled().total(1)).toBe(1)
  })

  it('is empty', () => {
    expect(cart.items).toEqual([])
  })

  it('has a total', () => {
    expect(cart.total(0)).toBe(2)
  })
})
"""
SHOP = {
    "package.json": '{"name": "shop"}',
    "src/cart.ts": CART,
    "src/tax.ts": "export function rate(kind: number, year?: number): number {\n  return kind\n}\n",
    "src/mail/send.ts": "export const send = (to: string, text = ''): void => {}\n",
    "test/cart.test.ts": TEST,
}
DISCOUNT = "test/cart.test.ts::cart > takes a discount of $1"
OLD = "    return rate(this.items.length > LIMIT ? 1 : 2) + discount"
SUITE = "test/cart.test.ts::cart"
LINE = CART.splitlines().index(OLD) + 1
RIGHT = block(OLD, OLD.replace("+ discount", "- discount"), "src/cart.ts").replace("python", "ts")


def a_vitest_run(name: str = DISCOUNT, **changes: object) -> TestReport:
    failure = a_failure(
        name=name,
        file="test/cart.test.ts",
        line=10,
        test=name.rpartition("::")[2],
        frames=(("test/cart.test.ts", 10, ""),),
        traceback="AssertionError: expected 3 to be 1",
        **changes,
    )
    outcomes = {
        name: TestStatus.FAIL,
        "test/cart.test.ts::cart > is empty": TestStatus.PASS,
        "test/cart.test.ts::cart > has a total": TestStatus.PASS,
    }
    return a_report(
        runner="vitest",
        target="vitest run",
        failures=(failure,),
        failure_count=1,
        outcomes=outcomes,
    )


def a_printed_run(runner: str, failure: TestResult) -> TestReport:
    return a_report(runner=runner, failures=(failure,), failure_count=1, outcomes={})


async def a_brief(
    files: Mapping[str, str], report: TestReport, *suspects: tuple[str, int]
) -> Brief:
    found = tuple(Suspect(file=file, line=line, score=0.9, reason="r") for file, line in suspects)
    failure = Failure(
        context=a_running_mission(test_results=report),
        diagnosis=a_diagnosis(suspects=found),
        workspace=FakeWorkspace(files),
    )
    return await build_brief(failure, report, 12_000)


def shown(brief: Brief, part: PromptPart) -> str:
    return "\n".join(f"{one.label} {one.origin}\n{one.text}" for one in brief.parts.get(part, ()))


async def test_a_failing_test_comes_once_with_what_runs_around_it() -> None:
    text = shown(await a_brief(SHOP, a_vitest_run()), PromptPart.TESTS)

    assert text.count("it('takes a discount of $1'") == 1
    for line in ("from 'vitest'", "describe('cart'", "let cart: Cart", "beforeEach(", "filled()"):
        assert line in text
    assert "is empty" not in text


async def test_a_title_with_gaps_is_found_by_the_name_that_ran() -> None:
    table = TEST.replace("it('takes a discount of $1'", "it.each([[1]])('takes %i of $name'")
    name = "test/cart.test.ts::cart > takes 1 of 3"
    text = shown(
        await a_brief({**SHOP, "test/cart.test.ts": table}, a_vitest_run(name)), PromptPart.TESTS
    )
    assert "expect(filled().total(1)).toBe(1)" in text


async def test_a_test_in_a_suite_with_a_computed_title_is_found_by_its_own() -> None:
    files = {**SHOP, "test/cart.test.ts": TEST.replace("describe('cart'", "describe(Cart.name")}
    report = a_vitest_run().with_(
        failures=(a_failure(name=DISCOUNT, frames=(), file=None, line=None),)
    )
    text = shown(await a_brief(files, report), PromptPart.TESTS)
    assert "expect(filled().total(1)).toBe(1)" in text


async def test_a_test_with_a_computed_title_is_found_by_its_line() -> None:
    name = "test/cart.test.ts::cart > of a table"
    text = shown(await a_brief(SHOP, a_vitest_run(name)), PromptPart.TESTS)
    assert "expect(filled().total(1)).toBe(1)" in text


async def test_a_suspect_method_comes_whole_with_what_it_needs_and_no_more() -> None:
    brief = await a_brief(SHOP, a_vitest_run(), ("src/cart.ts", LINE))

    text = shown(brief, PromptPart.SOURCES)
    for line in ("from './tax.js'", "const LIMIT = 3", "export class Cart {", "total(discount"):
        assert line in text
    assert "UNUSED" not in text
    assert "filler7(" not in text
    assert "are not shown" in text
    assert "src/tax.ts:1: export function rate(" in shown(brief, PromptPart.SKELETON)


async def test_what_a_failing_test_calls_is_shown_without_a_suspect() -> None:
    text = shown(await a_brief(SHOP, a_vitest_run()), PromptPart.SOURCES)
    assert "total(discount: number): number {" in text
    assert "filler7(" not in text


async def test_passing_tests_of_the_suspect_show_what_holds() -> None:
    text = shown(await a_brief(SHOP, a_vitest_run(), ("src/cart.ts", LINE)), PromptPart.TESTS)
    assert "it('has a total'" in text
    assert "is empty" not in text


async def test_other_files_are_listed_with_signatures() -> None:
    files = {**SHOP, "src/cart.ts": CART.replace(FILLER, "")}
    text = shown(await a_brief(files, a_vitest_run(), ("src/cart.ts", 10)), PromptPart.SKELETON)
    assert "src/mail/send.ts: send(to: string, text = ''): void" in text


async def test_files_of_other_languages_come_last() -> None:
    files = {
        **SHOP,
        "src/cart.ts": CART.replace(FILLER, ""),
        "src/a.py": "",
        "src/b.go": "package b\n",
    }
    text = shown(await a_brief(files, a_vitest_run(), ("src/cart.ts", 10)), PromptPart.SKELETON)
    assert text.index("src/mail/send.ts") < text.index("src/a.py") < text.index("src/b.go")


async def test_a_model_may_ask_for_definitions_and_search() -> None:
    brief = await a_brief(SHOP, a_vitest_run())
    wanted = Wanted(symbols=("send", "Cart.add"), files=("grep kind",))
    text = shown(await grant_request(wanted, brief), PromptPart.ASKED)
    assert "export const send" in text
    assert "this.items.push(price)" in text
    assert "src/tax.ts:2: return kind" in text


GO = {
    "go.mod": "module example.com/shop\n",
    "cart/cart.go": (
        'package cart\n\nimport "example.com/shop/tax"\n\n'
        "// Total adds up.\nfunc (c *Cart) Total(discount int) int {\n"
        "\treturn tax.Rate(1) + discount\n}\n"
        + "".join(f"\nfunc filler{n}() int {{\n\treturn {n} // {'.' * 60}\n}}\n" for n in range(40))
    ),
    "cart/cart_test.go": (
        "package cart\n\nfunc TestTotal(t *testing.T) {\n\tif got := newCart().Total(1); got != 0 {\n"
        '\t\tt.Errorf("got %d", got)\n\t}\n}\n\nfunc TestOther(t *testing.T) {}\n'
    ),
    "tax/tax.go": "package tax\n\nfunc Rate(kind int) int { return kind }\n",
}  # fmt: skip


async def test_go_tests_are_found_although_their_reports_name_no_folder() -> None:
    failure = a_failure(
        name="example.com/shop/cart::TestTotal/of_one",
        file="cart_test.go",
        line=5,
        test="TestTotal/of_one",
        frames=(),
    )
    brief = await a_brief(GO, a_printed_run("command", failure))

    tests, sources = shown(brief, PromptPart.TESTS), shown(brief, PromptPart.SOURCES)
    assert "func TestTotal" in tests
    assert "TestOther" not in tests
    assert "return tax.Rate(1) + discount" in sources
    assert "filler7" not in sources
    assert "tax/tax.go:3: func Rate(kind int) int" in shown(brief, PromptPart.SKELETON)


RUST = {
    "Cargo.toml": '[package]\nname = "shop"\n',
    "src/lib.rs": "pub mod cart;\npub mod tax;\n",
    "src/tax.rs": "pub fn rate(kind: u8) -> u8 { kind }\n",
    "src/cart.rs": (
        "use crate::tax::rate;\n\npub fn total(discount: u8) -> u8 {\n    rate(1) + discount\n}\n"
        + "".join(f"\npub fn filler{n}() -> u32 {{\n    {n} // {'.' * 60}\n}}\n" for n in range(40))
        + "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn takes_a_discount() {\n"
        "        assert_eq!(total(1), 0);\n    }\n}\n"
    ),
}  # fmt: skip


async def test_rust_tests_are_found_beside_the_code_that_they_call() -> None:
    failure = a_failure(
        name="src/lib.rs::cart::tests::takes_a_discount",
        file="src/cart.rs",
        line=RUST["src/cart.rs"].splitlines().index("        assert_eq!(total(1), 0);") + 1,
        test="takes_a_discount",
        frames=(),
    )
    brief = await a_brief(RUST, a_printed_run("command", failure))

    assert "fn takes_a_discount()" in shown(brief, PromptPart.TESTS)
    assert "rate(1) + discount" in shown(brief, PromptPart.SOURCES)
    assert "filler7" not in shown(brief, PromptPart.SOURCES)
    assert "pub fn rate(kind: u8)" in shown(brief, PromptPart.SOURCES)


BROKEN = {
    "src/a.ts": ("function a() { return 1 }", "function a() { return (1 }"),
    "src/a.jsx": ("const A = () => <b>1</b>", "const A = () => <b>1</c"),
    "a.go": ("func a() int { return 1 }", "func a() int { return 1"),
    "src/a.rs": ("fn a() -> u8 { 1 }", "fn a() -> u8 { (1 }"),
}


@pytest.mark.parametrize("path", BROKEN)
def test_an_edit_that_cannot_be_parsed_is_refused_in_words(path: str) -> None:
    right, wrong = BROKEN[path]
    package = "package a\n" if path.endswith(".go") else ""
    sent = [SentFile(path=path, text=f"{package}{right}\n")]
    (rejection,) = read_edits(block(right, wrong, path), sent).rejections
    assert rejection.reason is Reason.SYNTAX
    assert "the edited file cannot be parsed: line " in rejection.message
    fixed = read_edits(block(right, right.replace("1", "2"), path), sent)
    assert fixed.changes, fixed.rejections


RISKY = {
    "process.env.KEY": ("src/a.ts", "reads or writes the environment"),
    "require('fs').x": ("src/a.js", "opens, writes or removes files"),
    "os.Getenv(k)": ("a.go", "reads or writes the environment"),
    "os.ReadFile(k)": ("a.go", "opens, writes or removes files"),
    "std::env::var(k)": ("src/a.rs", "reads or writes the environment"),
    "std::fs::read(k)": ("src/a.rs", "opens, writes or removes files"),
}


@pytest.mark.parametrize("new", RISKY)
def test_what_a_fix_rarely_does_is_shown_in_any_language(new: str) -> None:
    path, message = RISKY[new]
    starts = {".go": "package a\nfunc f() int {", ".rs": "fn f() {"}
    text = f"{starts.get(path[-3:], 'function f() {')}\n  return k;\n}}\n"
    read = read_edits(
        block("  return k;", f"  return {new};", path), [SentFile(path=path, text=text)]
    )
    assert message in {flag.message for flag in read.flags}, read.rejections


async def test_a_default_export_is_shown_under_the_name_that_its_importer_chose() -> None:
    files = {
        "src/sum.js": "// padding\n" * 200
        + "module.exports = function (a, b) {\n  return a - b\n}\n",
        "test/sum.js": "const sum = require('../src/sum')\nit('adds', () => { sum(1, 2) })\n",
    }
    report = a_printed_run(
        "mocha", a_failure(name="adds", file=None, line=None, test="adds", frames=())
    )
    brief = await a_brief(files, report)
    assert "it('adds'" in shown(brief, PromptPart.TESTS), "found by its title alone"
    assert "return a - b" in shown(brief, PromptPart.SOURCES)


def test_an_anchor_names_a_method_of_any_language() -> None:
    text = "class A { one() {\n  return x\n} }\nclass B { one() {\n  return x\n} }\n"
    answer = block("  return x", "  return y", "src/a.ts").replace(
        "<<<<<<< SEARCH", "@@ B.one\n<<<<<<< SEARCH"
    )
    (change,) = read_edits(answer, [SentFile(path="src/a.ts", text=text)]).changes
    assert change.content == text[::-1].replace("x nruter", "y nruter", 1)[::-1]


def discounts(proposed: Proposed) -> Tried:
    """A trial that passes if the discount is taken off."""
    return passed(proposed) if "- discount" in str(proposed.changes) else failed(proposed)


async def test_a_climb_repairs_a_vitest_repository_after_an_answer_that_cannot_be_parsed() -> None:
    broken = RIGHT.replace("- discount", "- (discount")
    climb = await Climb(
        ScriptedMind({"fix": [broken, RIGHT + said("take the discount off")]}),
        ScriptedTrials(discounts),
        files=SHOP,
        report=a_vitest_run(),
        suspects=(Suspect(file="src/cart.ts", line=LINE, score=0.9, reason="called"),),
    ).run()

    assert "cannot be parsed" in climb.text(1)
    assert len(climb.trials.tried) == 1, "a broken file is not tried"
    (candidate,) = climb.candidates
    assert candidate.title == "take the discount off"
    assert "- discount" in (candidate.changes[0].content or "")


async def test_a_change_without_a_title_is_named_after_its_function() -> None:
    climb = await Climb(
        ScriptedMind({"fix": [RIGHT]}),
        ScriptedTrials(discounts),
        files=SHOP,
        report=a_vitest_run(),
        suspects=(Suspect(file="src/cart.ts", line=LINE, score=0.9, reason="called"),),
    ).run()
    assert climb.candidates[0].title == "change Cart.total in src/cart.ts"


async def test_a_model_that_fails_at_blocks_is_asked_for_whole_functions() -> None:
    code = OLD.strip().replace("+ discount", "- discount")
    answer = f"```ts\ntotal(discount: number): number {{\n  {code}\n}}\n```\n"
    climb = await Climb(
        ScriptedMind({"fix_definition": answer}),
        ScriptedTrials(discounts),
        files=SHOP,
        report=a_vitest_run(),
        limits=ModelLimits(edit_format="function"),
        suspects=(Suspect(file="src/cart.ts", line=LINE, score=0.9, reason="called"),),
    ).run()

    (question,) = climb.mind.questions
    assert question.gaps["language"] == "typescript"
    assert "total(discount: number)" in str(question.gaps["code"])
    assert climb.candidates[0].changes[0].content == CART.replace("+ discount", "- discount")


async def test_the_agent_searches_reads_and_runs_tests_by_title() -> None:
    tools = f"```tool\nsearch rate(\nread src/tax.ts:1-2\ntest {SUITE}\n```"
    climb = await Climb(
        ScriptedMind({"fix_agent": [tools, RIGHT]}),
        ScriptedTrials(discounts),
        files=SHOP,
        report=a_vitest_run(),
        limits=ModelLimits(fix="agent"),
        judge=lambda *_: a_vitest_run(),
        suspects=(Suspect(file="src/cart.ts", line=LINE, score=0.9, reason="called"),),
    ).run()
    text = climb.text(1)
    assert "src/tax.ts:1: export function rate(kind" in text
    results = str(climb.mind.questions[1].gaps["feedback"])
    assert f"{DISCOUNT}: " in results, "a suite names its tests"
    assert climb.candidates
