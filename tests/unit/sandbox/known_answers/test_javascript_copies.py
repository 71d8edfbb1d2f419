"""Copies of JavaScript tests run all of their originals, and have the answer decided for them."""

import re
from collections.abc import Callable
from random import Random

import pytest

from sandbox.known_answers import can_copy, observe
from sandbox.known_answers.copies import Qualname, Rewritten
from sandbox.known_answers.javascript_copies import add_copies, replace_originals
from sandbox.languages.javascript_tests import read_tests
from sandbox.types import RunVerdict, TestReport, TestStatus
from tests.builders import a_report
from tests.fakes.fake_backend import FakeGuest

SEEDS = range(8)
SUM = re.compile(r"const (\w+) = (\d+); if \(\1 \+ (\d+) !== (\d+)\) throw")
CART = (
    "import { price } from './price'\n"
    "describe('cart', () => {\n"
    "  it('has a price', () => { expect(price(10)).toBe(90) })\n"
    "  it('is new', async () => { await expect(load()).resolves.toEqual({ a: 'text' }) })\n"
    "})\n"
)
PRICE: Qualname = ("cart > has a price",)


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - the same copies in every run


def copied(source: str, name: str, seed: int = 0, path: str = "a.test.ts") -> Rewritten:
    made = add_copies(path, source, {(name,): 1}, seeded(seed))
    assert made is not None
    assert read_tests(path, made.text) is not None, made.text
    return made


def text_of(made: Rewritten, title: str) -> str:
    """Return the text of the copy with a title, or with this beginning of one."""
    found = re.search(
        rf"\n;[^\n]*'{re.escape(title)}.*?(?=\n;(?:it|test)\b|\Z)", made.text, re.DOTALL
    )
    assert found is not None, made.text
    return found[0]


def is_true(text: str) -> bool:
    """Return whether the copy's check of numbers is true."""
    _, start, step, claim = SUM.findall(text)[-1]
    return int(start) + int(step) == int(claim)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_that_must_fail_has_a_false_sum_or_a_negated_assertion(seed: int) -> None:
    made = copied(CART, PRICE[0], seed)
    assert sorted(copy.passes for copy in made.copies) == [False, True]
    for copy in made.copies:
        assert copy.original == PRICE
        text = text_of(made, copy.name[0].removeprefix("cart > "))
        assert (is_true(text) and ".not.toBe" not in text) is copy.passes
        assert "price(10)" in text
        assert not re.search(r"\b90\b", text)


def test_the_original_stays_beside_its_copies() -> None:
    made = copied(CART, PRICE[0])
    assert CART.splitlines()[2] in made.text
    replaced = replace_originals("a.js", CART, [PRICE], seeded(0), passes=False, negates=True)
    assert replaced is not None
    assert CART.splitlines()[2] not in replaced.text
    assert "it('has a price', () =>" in replaced.text
    assert ".not.toBe(" in replaced.text
    assert [(copy.name, copy.passes) for copy in replaced.copies] == [(PRICE, False)]


@pytest.mark.parametrize(
    ("assertion", "found"),
    [
        ("expect(a).toBe(b)", r"if \((\w+) !== (\w+) && "),
        ("expect(a).not.toBe(b)", r"if \((\w+) === (\w+) && \1 !== 0\)"),
        ("await expect(a).resolves.toBe(3)", r"const \w+ = await \(a\);"),
        ("expect(a).toEqual({ b: 1 })", r"if \(!\w+\((\w+), (\w+)\)\) throw"),
        ("expect(a).to.deep.equal([1])", r"if \(!\w+\((\w+), (\w+)\)\) throw"),
        ("expect(a).to.be.true", r"if \(!\w+\) throw"),
        ("expect(a).toBeNull()", r"if \(\w+ !== null\) throw"),
        ("expect(a).toHaveLength(2)", r"\.length != \w+\) throw"),
        ("expect(a).toContain('b')", r"\.indexOf\(\w+\) < 0\) throw"),
        ("expect(a).toMatch(/b/)", r"\.search\(\w+\)\) < 0\) throw"),
        ("expect(() => a()).toThrow()", r"if \(!\w+_thrown\) throw"),
        ("expect(a).toHaveBeenCalledTimes(1)", r"\.mock\.calls\.length != \w+\) throw"),
        ("assert(a)", r"if \(!\w+\) throw"),
        ("assert.equal(a, 1, 'no')", r"assert\.equal\(\w+, \w+, \('n' \+ 'o'\)\)"),
        ("t.assert.strictEqual(a, b)", r"if \((\w+) !== (\w+) && "),
        ("strictEqual(a, b)", r"if \((\w+) !== (\w+) && "),
        ("throws(() => a())", r"if \(!\w+_thrown\) throw"),
    ],
)
def test_values_are_checked_by_operators_beside_the_assertion(assertion: str, found: str) -> None:
    made = copied(f"test('a', async (t) => {{ {assertion} }})\n", "a")
    for copy in made.copies:
        assert re.search(found, text_of(made, copy.name[0])), made.text


@pytest.mark.parametrize(
    "assertion",
    [
        "expect(a).to.deep.include({ b: 1 })",
        "expect(a).to.be.bignumber.equal(3)",
        "expect(a).rejects.toThrow()",
        "expect(a).resolves.toBe(3)",
        "expect(a).to.equal",
        "expect(...a).toBe(3)",
        "assert.equal(...a)",
        "own.equal(a, 3)",
        "equals(a, 3)",
        "expect.soft(a).toBe(x)",
    ],
)
def test_an_assertion_of_unknown_meaning_stays_as_it_is(assertion: str) -> None:
    made = copied(f"test('a', () => {{ {assertion} }})\n", "a")
    for copy in made.copies:
        text = text_of(made, copy.name[0])
        assert text.count("throw new Error") == 1, text


@pytest.mark.parametrize(
    "source",
    [
        "it('a', () => expect(b()).toBe(1))",
        "it('a', () => load().then((one) => one))",
        "test('a', { timeout: 9 }, async () => { await b() })",
        "it.only('a', function (done) { 'use strict'; b(done) })",
        "test.skipIf(c)('a', ({ d }) => { if (d) return; expect(d).toBe(1) }, 500)",
        "if (b) { it(`a`, () => {}) }",
        "it('a', () => { for (const c of d) expect(c).toBe(1) })",
        "it('a', () => { if (b) expect(c).toBe(1); else expect(c).toBe(2) })",
    ],
)
def test_all_forms_of_tests_are_copied(source: str) -> None:
    made = copied(source, "a")
    assert len(made.copies) == 2
    for copy in made.copies:
        assert is_true(text_of(made, copy.name[0])) or not copy.passes


def test_rows_of_tables_are_copied_by_the_names_of_their_rows() -> None:
    source = (
        "describe.each([1, 2])('cart %i', (n) => {\n"
        "  test.each`a\n${1}`('adds $a', ({ a }) => { expect(a).toBe(1) })\n"
        "  it.each([[1]])('takes %i of %s', (a) => { expect(a).toBe(1) })\n})\n"
    )
    for name in ("cart 2 > adds 1", "cart 1 > takes 3 of these"):
        made = copied(source, name)
        assert all(copy.name[0].startswith(f"{name} ") for copy in made.copies)
    assert add_copies("a.js", source, {("cart 1 > takes",): 1}, seeded(0)) is None


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.test.js", "it.fails('a', () => {})"),
        ("a.test.js", "it.skip('a', () => {})"),
        ("a.test.js", "test('a', { todo: true }, () => {})"),
        ("a.test.js", "it(`${b}`, () => {})"),
        ("a.test.js", "it('b', () => {})"),
        ("a.test.js", "it('a', wrap(() => {}))"),
        ("a.test.js", "it('a', function* () {})"),
        ("a.test.js", "for (const b of c) { other('s', () => { it('a', () => {}) }) }"),
        ("a.test.js", "const b = it('a', () => {})"),
        ("a.test.js", "it('a', () => { this is no JavaScript })"),
        ("a.test-d.ts", "test('a', () => { expectTypeOf(b).toBeString() })"),
    ],
)
def test_a_test_that_is_not_plain_is_not_copied(path: str, source: str) -> None:
    assert add_copies(path, source, {("a",): 1}, seeded(0)) is None


def test_comments_that_select_an_environment_stay_first() -> None:
    source = "/** @jest-environment jsdom */\nimport b from 'b'\nit('a', () => {})\n"
    assert copied(source, "a").text.startswith("/** @jest-environment jsdom */\n// @ts-nocheck\n")


def test_files_in_javascript_and_typescript_can_be_copied() -> None:
    assert all(map(can_copy, ("a.py", "a.test.js", "b.spec.mts", "c.jsx", "d.tsx")))
    assert not any(map(can_copy, ("a_test.go", "example.org/shop", "a.vue")))


Outcome = Callable[[str, str], bool]
"""From a test's name and text to whether a runner reports it as passed."""


def honest(name: str, text: str) -> bool:
    return is_true(text) and ".not.toBe" not in text


def of_one(name: str, text: str) -> bool:
    return name == "a.test.js::a"


def of_one_text(name: str, text: str) -> bool:
    return "expect(b()).toBe(1)" in text


def of_all(name: str, text: str) -> bool:
    return True


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("outcome", "finding"),
    [
        (honest, "confirmed"),
        (of_one, "forged"),
        (of_one_text, "unconfirmed"),
        (of_all, "forged"),
    ],
)
async def test_the_observer_believes_only_a_runner_that_runs_the_copies(
    outcome: Outcome, finding: str
) -> None:
    source = "test('a', () => { expect(b()).toBe(1) })\n"
    guest = FakeGuest({"a.test.js": ("100644", source.encode())}, {})

    async def run(names: tuple[str, ...]) -> TestReport:
        text = guest.files["a.test.js"][1].decode()
        parts = {one.split("'")[1]: one for one in text.split("test(")[1:]}
        texts = {name: parts[name.partition("::")[2]] for name in names}
        found = {
            name: TestStatus.PASS if outcome(name, one) else TestStatus.FAIL
            for name, one in texts.items()
            if SUM.search(one)
        } or dict.fromkeys(names, TestStatus.PASS)
        is_green = set(found.values()) == {TestStatus.PASS}
        verdict = RunVerdict.PASS if is_green else RunVerdict.FAIL
        return a_report(outcomes=found, success=is_green, verdict=verdict)

    passed = a_report(
        outcomes={"a.test.js::a": TestStatus.PASS}, success=True, verdict=RunVerdict.PASS
    )
    answers = await observe(guest, run, passed, targeted=True, random=seeded(1))
    assert answers.finding == finding
    assert guest.files["a.test.js"][1].decode() == source
