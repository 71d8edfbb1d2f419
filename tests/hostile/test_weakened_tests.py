"""No edit of a test passes as layout if it may change what the test does."""

import pytest

from sandbox.changes import ChangePolicy, same_tests, validate_edits
from sandbox.types import FileEdit
from tests.hostile.weakened_tests import WEAKENED, Weakened

LINT = ChangePolicy(purpose="lint")


@pytest.mark.parametrize("edit", WEAKENED.values(), ids=WEAKENED)
def test_what_only_looks_like_layout_is_refused(edit: Weakened) -> None:
    assert edit.old != edit.new
    assert not same_tests(edit.path, edit.old, edit.new)
    changed = FileEdit(path=edit.path, mode="100644", content=edit.new.encode())
    verdict = validate_edits([changed], {edit.path: edit.old.encode()}, LINT)
    assert "protected" in {concern.rule for concern in verdict.concerns}


@pytest.mark.parametrize("edit", WEAKENED.values(), ids=WEAKENED)
def test_the_way_back_is_refused_as_well(edit: Weakened) -> None:
    assert not same_tests(edit.path, edit.new, edit.old)
