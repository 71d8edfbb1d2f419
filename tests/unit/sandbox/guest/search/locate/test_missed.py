"""Branches that failing tests nearly take are suspects if they have what the tests expect."""

from pathlib import Path

import pytest

from sandbox.guest.search.locate.code import Modules, read_files
from sandbox.guest.search.locate.failure_report import FailureReport
from sandbox.guest.search.locate.missed import MOST_MISSED, missed_branches
from sandbox.guest.search.locate.observe import Trace
from sandbox.guest.search.locate.score import FaultEvidence, Scorer

SHOP = """\
def label(price, stock):
    if price < 0 and stock:
        return "free of charge"
    elif price > 1000:
        return refund(price)
    while price > 5000:
        price -= rebate(price)
    try:
        return str(price)
    except KeyError:
        return fallback(price)
"""
RAN = {2, 4, 6, 8, 9, 10}
"""No body is entered, and the `except` does not match."""


def heads(
    folder: Path, said: FailureReport, ran: set[int] = RAN, text: str = SHOP
) -> dict[int, float]:
    (folder / "shop.py").write_text(text)
    files = read_files(str(folder), {"shop.py"}, {"shop.py"})
    hit = {("shop.py", line) for line in ran}
    found = missed_branches([said], files, files["shop.py"].units, hit)
    return {branch.head[1]: branch.share for branch in found}


@pytest.mark.parametrize(
    ("said", "head"),
    [
        (FailureReport(pairs=(("0", "free of charge"),)), 2),
        (FailureReport(pairs=(("total of shop", "total charge of shop"),)), 2),
        (FailureReport(called=("cart", "refund")), 4),
        (FailureReport(called=("rebate",)), 6),
        (FailureReport(called=("fallback",)), 10),
    ],
    ids=["an expected text", "a part of it", "elif", "while", "except"],
)
def test_a_condition_that_is_evaluated_and_not_met_is_a_suspect(
    tmp_path: Path, said: FailureReport, head: int
) -> None:
    assert list(heads(tmp_path, said)) == [head]


def test_what_the_test_enters_or_never_reaches_is_not(tmp_path: Path) -> None:
    said = FailureReport(pairs=(("0", "free of charge"),), called=("refund",))
    assert heads(tmp_path, said, {2, 3}) == {}
    assert heads(tmp_path, said, {1}) == {}


def test_common_names_and_a_body_on_the_same_line_tell_nothing(tmp_path: Path) -> None:
    assert heads(tmp_path, FailureReport(called=("self", "str", "price_of"))) == {}
    text = "def label(price):\n    if price: return refund(price)\n"
    assert heads(tmp_path, FailureReport(called=("refund",)), {2}, text) == {}


def test_with_many_such_branches_none_is_meaningful(tmp_path: Path) -> None:
    branch = "    if price > 10:\n        return refund(price)\n"
    text = "def label(price):\n" + branch * (MOST_MISSED + 1)
    ran = set(range(2, 2 * MOST_MISSED + 4, 2))
    assert heads(tmp_path, FailureReport(called=("refund",)), ran, text) == {}


def test_the_condition_ranks_before_the_body_and_before_other_conditions(tmp_path: Path) -> None:
    said = FailureReport(called=("refund",))
    (tmp_path / "shop.py").write_text(SHOP)
    trace = Trace({"shop.py": RAN - {10}}, {("shop.py", 1): (1, None)}, {"shop.py": {9}}, said)
    evidence = FaultEvidence(
        tests={0: trace}, failing=(0,), names=["test_shop.py::test_it"], mentioned=set(), literals=[],
        files=read_files(str(tmp_path), {"shop.py"}, {"shop.py"}), modules=Modules({"shop.py"}),
        changed={}, hints={},
    )  # fmt: skip
    with_it, reasons = Scorer(evidence).result()
    without, _ = Scorer(evidence, {"missed": 0.0}).result()
    assert without["shop.py"][2] > without["shop.py"][4]
    assert with_it["shop.py"][4] > with_it["shop.py"][2]
    assert with_it["shop.py"][4] > with_it["shop.py"][5] > 0
    assert "do not enter" in reasons["shop.py"][5]
