"""The table of what rung 2 knows of each language, tried out on a small program in it."""

import asyncio
from dataclasses import dataclass

from bot.fixers.rung2_model.edits import Reason, SentFile, read_edits
from bot.fixers.rung2_model.failing import test_function
from bot.fixers.rung2_model.related_context import imported_sources
from bot.fixers.rung2_model.sources import Files, Source
from sandbox.languages import READ
from tests.builders import a_failure
from tests.fakes.fake_workspace import FakeWorkspace


@dataclass(frozen=True)
class Sample:
    """A program whose function `total` calls `rate` in another file."""

    path: str
    total: str
    rate: tuple[str, str]
    test: tuple[str, str]
    failing: str


_JAVASCRIPT = "import { rate } from './tax'\n\nexport function total() {\n  return rate(1)\n}\n"
_TITLED = (
    "import { total } from './cart'\ndescribe('cart', () => { it('adds', () => { total() }) })\n"
)
_RATE = "export function rate(kind) {\n  return kind\n}\n"
SAMPLES = {
    "python": Sample(
        "cart.py",
        "from tax import rate\n\n\ndef total():\n    return rate(1)\n",
        ("tax.py", "def rate(kind):\n    return kind\n"),
        ("test_cart.py", "from cart import total\n\n\ndef test_total():\n    total()\n"),
        "test_cart.py::test_total",
    ),
    "javascript": Sample(
        "cart.js",
        _JAVASCRIPT,
        ("tax.js", _RATE),
        ("cart.test.js", _TITLED),
        "cart.test.js::cart > adds",
    ),
    "typescript": Sample(
        "cart.ts",
        _JAVASCRIPT,
        ("tax.ts", _RATE),
        ("cart.test.ts", _TITLED),
        "cart.test.ts::cart > adds",
    ),
    "go": Sample(
        "cart.go",
        "package shop\n\nfunc total() int {\n\treturn rate(1)\n}\n",
        ("tax.go", "package shop\n\nfunc rate(kind int) int {\n\treturn kind\n}\n"),
        ("cart_test.go", "package shop\n\nfunc TestTotal(t *testing.T) { total() }\n"),
        "shop::TestTotal",
    ),
    "rust": Sample(
        "src/cart.rs",
        "use crate::tax::rate;\n\npub fn total() -> u8 {\n    rate(1)\n}\n",
        ("src/tax.rs", "pub fn rate(kind: u8) -> u8 {\n    kind\n}\n"),
        ("tests/cart.rs", "#[test]\nfn adds() { total(); }\n"),
        "tests/cart.rs::adds",
    ),
}
"""By the name of the language."""


_COLUMNS = (
    "language",
    "files",
    "whole functions",
    "imported files",
    "the failing test",
    "a syntax error",
    "an undefined name",
    "whole functions as an answer",
)


def languages_table() -> str:
    """A row for each language, a column for each thing that is known."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{' --- |' * len(_COLUMNS)}"]
    for language in READ:
        cells = ["yes" if known else "no" for known in asyncio.run(_known(SAMPLES[language.name]))]
        files = ", ".join(f"`{suffix}`" for suffix in language.suffixes)
        lines.append(f"| {language.name} | {files} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


async def _known(sample: Sample) -> tuple[bool, ...]:
    files = {sample.path: sample.total, **dict([sample.rate, sample.test])}
    there = Files(FakeWorkspace({**files, "src/lib.rs": "mod cart;\nmod tax;\n"}))
    source = Source(sample.path, sample.total)
    line = next(n for n, text in enumerate(source.lines, 1) if "rate(1)" in text)
    function = source.at(line)
    imported = [one.path for one in await imported_sources([source], there)]
    failure = a_failure(
        name=sample.failing, test=sample.failing.rpartition("::")[2], file="", frames=()
    )
    _, test = await test_function(failure, there)
    return (
        function is not None and function.name == "total",
        sample.rate[0] in imported,
        test is not None,
        _is_refused(sample, "rate(1", Reason.SYNTAX),
        _is_refused(sample, "missing(1)", Reason.NAMES),
        _reads_function(sample),
    )


def _is_refused(sample: Sample, text: str, reason: Reason) -> bool:
    """Return True if an edit is refused that puts a text in the place of the call."""
    old = next(line for line in sample.total.splitlines() if "rate(1)" in line)
    new = old.replace("rate(1)", text)
    answer = f"{sample.path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    read = read_edits(answer, [SentFile(path=sample.path, text=sample.total)])
    return reason in {rejection.reason for rejection in read.rejections}


def _reads_function(sample: Sample) -> bool:
    """Return True if a function alone is an answer, in a file that is too long to be one."""
    long = sample.total + "".join(f"\n# {number}" for number in range(400)) + "\n"
    lines = sample.total.splitlines()
    first = next(n for n, text in enumerate(lines) if "total" in text)
    code = "\n".join(lines[first:]).replace("rate(1)", "rate(2)")
    read = read_edits(f"{sample.path}\n```\n{code}\n```\n", [SentFile(path=sample.path, text=long)])
    return bool(read.changes)
