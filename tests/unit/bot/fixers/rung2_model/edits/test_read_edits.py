"""The applier on a table of answers: every one ends as it should, and nothing else in the files moves."""

import pytest

from bot.fixers.rung2_model.edits import Reason, describe_rejections, read_edits
from sandbox.types import ChangeAction
from tests.unit.bot.fixers.rung2_model.edits import diff_cases, fence_cases, search_cases
from tests.unit.bot.fixers.rung2_model.edits.cases import Case

CASES: list[Case] = [*search_cases.CASES, *diff_cases.CASES, *fence_cases.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_answer_of_the_table_ends_as_it_should(case: Case) -> None:
    read = read_edits(case.answer, case.sent, case.rules, truncated=case.truncated)
    if isinstance(case.becomes, Reason):
        assert not read.changes
        assert read.rejections[0].reason is case.becomes, describe_rejections(read.rejections)
        if case.windows is not None:
            assert tuple(window.first for window in read.rejections[0].windows) == case.windows
        return
    assert read.rejections == (), describe_rejections(read.rejections)
    assert {change.path: change.content for change in read.changes} == case.becomes
    for change in read.changes:
        assert change.search_for is None
        assert change.action is (
            ChangeAction.REPLACE if change.path in case.files else ChangeAction.CREATE
        )


def test_the_table_is_as_large_as_promised_and_names_no_case_twice() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len(CASES) >= 200
