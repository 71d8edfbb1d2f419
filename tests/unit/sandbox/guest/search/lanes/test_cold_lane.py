"""The cold lane where tests write into the checkout: what the unedited ones change is nobody's fault."""

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import override

from sandbox.guest.search.lanes.cold import ColdLane

RED = {"test_a": "fail", "test_b": "pass"}
GREEN = {"test_a": "pass", "test_b": "pass"}


class Tree:
    """A checkout in which each run changes what it is told to."""

    guard = None

    def __init__(self, changes: Sequence[Sequence[str]]) -> None:
        self._changes: Iterator[Sequence[str]] = iter(changes)
        self.edited = False
        self.dirty: list[str] = []

    def ran(self) -> None:
        self.dirty += next(self._changes)

    def write(self, files: Mapping[str, bytes]) -> bool:
        self.edited = True
        self.dirty += files
        return True

    def restore(self) -> list[str]:
        changed, self.dirty, self.edited = self.dirty, [], False
        return changed


class Lane(ColdLane):
    """Runs nothing: tests pass when a file is edited."""

    def __init__(self, tree: Tree, unedited: dict[str, str]) -> None:
        command: Any = SimpleNamespace(root=".")
        super().__init__(command, tree, ["test_a"], ["test_b"], memory_bytes=1)
        self.tree, self.unedited = tree, unedited

    @override
    def _run(self, targets: Sequence[str], left: float, maxfail: int | None) -> dict[str, str]:
        edited = self.tree.edited
        self.tree.ran()
        return GREEN if edited else self.unedited


def left() -> float:
    return 9.0


@pytest.mark.parametrize(
    ("changes", "fixed"),
    [
        ([[], []], ("test_a",)),
        ([["cache"], ["cache"], ["cache"]], ("test_a",)),
        ([["cache"], ["cache"], ["cache", "result"]], ()),
        ([[], ["result"]], ()),
    ],
)
def test_a_fix_may_change_what_the_unedited_tests_change(
    changes: list[list[str]], fixed: tuple[str, ...]
) -> None:
    lane = Lane(Tree(changes), RED)
    assert lane.check_unedited(left) == ""
    assert lane.tree.dirty == []
    assert lane.confirm({"a.py": b""}, left) == fixed


def test_it_is_told_when_the_unedited_tests_change_other_files_each_time() -> None:
    lane = Lane(Tree([["run-1"], ["run-2"]]), RED)
    assert "run-2" in lane.check_unedited(left)
    assert lane.tree.dirty == []


def test_the_checkout_is_put_back_where_the_lane_is_not_believed() -> None:
    lane = Lane(Tree([["cache"]]), GREEN)
    assert lane.check_unedited(left) == "failing tests pass there"
    assert lane.tree.dirty == []
