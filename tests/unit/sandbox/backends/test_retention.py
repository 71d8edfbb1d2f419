"""What is kept gives way by age, and by size those used least recently first."""

import os
from pathlib import Path

from sandbox.backends.retention import (
    DAY_S,
    ONE_TREE_DAYS,
    CacheEntry,
    LastUses,
    RetentionLimits,
    select_for_removal,
)

LIMITS = RetentionLimits(size=100, days=14)


def names(*entries: CacheEntry, limits: RetentionLimits = LIMITS) -> list[str]:
    return [entry.name for entry in select_for_removal(entries, limits)]


def test_the_old_go_and_the_rest_stays() -> None:
    old, new = (
        CacheEntry(name="old", size=1, idle_s=15 * DAY_S),
        CacheEntry(name="new", size=1, idle_s=13 * DAY_S),
    )
    assert names(old, new) == ["old"]


def test_over_the_size_those_used_least_recently_go_until_there_is_room() -> None:
    entries = [CacheEntry(name=str(hours), size=40, idle_s=hours * 3600) for hours in (1, 4, 2, 3)]
    assert names(*entries) == ["4", "3"]


def test_what_the_age_frees_counts_for_the_size() -> None:
    old = CacheEntry(name="old", size=90, idle_s=15 * DAY_S)
    assert names(
        old, CacheEntry(name="a", size=50, idle_s=3600), CacheEntry(name="b", size=50, idle_s=7200)
    ) == ["old"]


def test_what_is_in_use_or_about_to_be_stays_whatever_its_age() -> None:
    used = CacheEntry(name="used", size=500, idle_s=99 * DAY_S, protected=True)
    fresh = CacheEntry(name="fresh", size=500, idle_s=5)
    assert names(used, fresh) == []


def test_what_does_not_count_goes_by_its_own_age_only() -> None:
    layer = CacheEntry(name="layer", size=500, idle_s=DAY_S / 2, counted=False, days=1)
    assert names(layer) == []
    assert names(layer.with_(idle_s=2 * DAY_S)) == ["layer"]


def test_uses_are_remembered_until_forgotten(tmp_path: Path) -> None:
    uses = LastUses(tmp_path / "uses")
    assert uses.last("a:b/c") is None
    uses.touch("a:b/c")
    assert uses.now() - (uses.last("a:b/c") or 0) < 60
    for path in (tmp_path / "uses").iterdir():
        os.utime(path, (1000, 1000))
    assert uses.last("a:b/c") == 1000
    uses.touch("a:b/c")
    assert (uses.last("a:b/c") or 0) > 1000
    uses.forget("a:b/c")
    uses.forget("a:b/c")
    assert uses.last("a:b/c") is None


def test_what_serves_one_tree_goes_before_what_serves_all() -> None:
    shared = CacheEntry(name="shared", size=60, idle_s=DAY_S)
    trees = [
        CacheEntry(name=f"tree {hours}", size=30, idle_s=hours * 3600, one_tree=True)
        for hours in (1, 3, 2)
    ]
    assert names(shared, *trees) == ["tree 3", "tree 2"]
    assert names(shared.with_(size=200), *trees) == ["tree 3", "tree 2", "tree 1", "shared"]
    # A flood of them, each in use or about to be, pushes out nothing that others need.
    assert names(shared, trees[0].with_(idle_s=5, size=500)) == ["shared"]


def test_what_serves_one_tree_is_kept_for_a_shorter_time() -> None:
    tree = CacheEntry(name="tree", size=1, idle_s=(ONE_TREE_DAYS + 0.1) * DAY_S, one_tree=True)
    assert names(tree, tree.with_(name="shared", one_tree=False)) == ["tree"]
    assert names(tree.with_(idle_s=(ONE_TREE_DAYS - 0.1) * DAY_S)) == []
    short = LIMITS.with_(days=ONE_TREE_DAYS / 4)
    assert names(tree.with_(idle_s=ONE_TREE_DAYS / 2 * DAY_S), limits=short) == ["tree"]
