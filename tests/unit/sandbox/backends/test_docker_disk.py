"""Which images are ours, and which of them go."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError
from typing_extensions import override

from sandbox.backends.base import TREE_NOTE
from sandbox.backends.docker_disk import MADE_BY_US, NOTES_LABEL, Disk
from sandbox.backends.retention import DAY_S, LastUses, RetentionLimits

MB = 1_000_000


class Daemon:
    """Images and containers of a daemon, in memory."""

    def __init__(self) -> None:
        self.described: dict[str, dict[str, Any]] = {}
        self.running: list[str] = []
        self.removed: list[str] = []
        self.refuses: set[str] = set()
        self.api = self

    def add(
        self,
        id_: str,
        *tags: str,
        size: int = 100,
        parent: str = "",
        age_days: float = 0.0,
        **more: Any,
    ) -> None:
        image = {"Id": id_, "RepoTags": list(tags) or None, "Size": size * MB, "ParentId": parent}
        self.described[id_] = {
            **image,
            "Created": 1e9 - age_days * DAY_S,
            "Labels": {"metaagent.guest": "x"},
            **more,
        }

    # what the docker SDK offers, as far as it is used
    @property
    def images(self) -> Any:
        return self

    def __call__(self, **which: Any) -> list[dict[str, Any]]:
        return list(self.described.values())

    def containers(self, **which: Any) -> list[dict[str, Any]]:
        return [{"ImageID": image} for image in self.running]

    def inspect_image(self, id_: str) -> dict[str, Any]:
        return self.described[id_]

    def remove(self, name: str) -> None:
        if name in self.refuses:
            raise APIError("conflict")
        self.removed.append(name)
        for id_, image in list(self.described.items()):
            if name in {id_, *(image["RepoTags"] or ())}:
                del self.described[id_]


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
def uses(tmp_path: Path) -> LastUses:
    return Still(tmp_path / "uses")


class Still(LastUses):
    """A clock that stands."""

    @override
    def now(self) -> float:
        return 1e9


def disk(daemon: Daemon, uses: LastUses, megabytes: int = 1000) -> Disk:
    return Disk(daemon, uses, RetentionLimits(size=megabytes * MB, days=14))  # type: ignore[arg-type]


def test_images_of_others_are_never_touched(daemon: Daemon, uses: LastUses) -> None:
    daemon.add("a", "their-app:1", size=9000, age_days=99)
    daemon.add("b", "metaagent-environment-of-somebody:1", age_days=99)
    daemon.add("c", age_days=99)
    daemon.add("d", age_days=99, Comment="buildkit")
    assert disk(daemon, uses).prune(()).count == 0
    assert daemon.removed == []


def test_environments_nobody_used_for_long_go(daemon: Daemon, uses: LastUses) -> None:
    daemon.add("base", "metaagent-toolchain:b", size=400, age_days=99)
    daemon.add("a", "metaagent-env:a", size=450, parent="base", age_days=20)
    daemon.add("b", "metaagent-env:b", size=420, parent="base", age_days=20)
    daemon.add("c", "metaagent-env:c", size=430, parent="base", age_days=3)
    uses.touch("metaagent-env:b")
    kept = disk(daemon, uses).prune(("metaagent-toolchain:b",))
    assert daemon.removed == ["metaagent-env:a"]
    assert (kept.count, kept.size, kept.removed, kept.removed_bytes) == (2, 50 * MB, 1, 50 * MB)


def test_over_the_size_those_used_least_recently_go(daemon: Daemon, uses: LastUses) -> None:
    for name, age in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
        daemon.add(name, f"metaagent-env:{name}", age_days=age)
    kept = disk(daemon, uses, 250).prune(())
    assert daemon.removed == ["metaagent-env:b"]
    assert (kept.count, kept.removed) == (2, 1)


def test_what_others_stand_on_goes_after_them(daemon: Daemon, uses: LastUses) -> None:
    daemon.add("a", "metaagent-env:a", size=100, age_days=30)
    daemon.add("b", "metaagent-env:b", size=150, parent="a", age_days=1)
    assert disk(daemon, uses).prune(()).size == 150 * MB  # taking the name away would free nothing
    assert daemon.removed == []
    kept = disk(daemon, uses, 0).prune(())
    assert daemon.removed == ["metaagent-env:b", "metaagent-env:a"]
    assert (kept.count, kept.removed, kept.removed_bytes) == (0, 2, 150 * MB)


def test_layers_without_a_name_are_counted_with_what_stands_on_them(
    daemon: Daemon, uses: LastUses
) -> None:
    daemon.add("base", "metaagent-toolchain:b", size=400)
    daemon.add("nameless", size=900, parent="base")
    daemon.add("a", "metaagent-env:a", size=950, parent="nameless")
    assert disk(daemon, uses).prune(("metaagent-toolchain:b",)).size == 550 * MB


def test_what_a_container_stands_on_stays(daemon: Daemon, uses: LastUses) -> None:
    daemon.add("a", "metaagent-env:a", age_days=99)
    daemon.add("b", "metaagent-env:a-guest", parent="a", age_days=99)
    daemon.running = ["b"]
    assert disk(daemon, uses, 0).prune(()).removed == 0


def test_layers_of_other_versions_and_nameless_leftovers_go_after_a_day(
    daemon: Daemon, uses: LastUses
) -> None:
    daemon.add("present", "metaagent-toolchain:new", age_days=99)
    daemon.add("other", "metaagent-toolchain:old-guest", age_days=2)
    daemon.add("recent", "metaagent-toolchain:older-guest", age_days=0.5)
    daemon.add("dear", "metaagent-toolchain:base", age_days=2)
    daemon.add("gone", "metaagent-toolchain:base2", age_days=20)
    daemon.add("left", age_days=2, Comment=MADE_BY_US)
    daemon.add("below", age_days=2, Comment=MADE_BY_US)
    daemon.add("above", "metaagent-env:x", parent="below", age_days=1)
    disk(daemon, uses).prune(("metaagent-toolchain:new",))
    assert sorted(daemon.removed) == [
        "left",
        "metaagent-toolchain:base2",
        "metaagent-toolchain:old-guest",
    ]


def test_what_the_daemon_refuses_to_remove_is_still_counted(daemon: Daemon, uses: LastUses) -> None:
    daemon.add("a", "metaagent-env:a", age_days=99)
    daemon.refuses = {"metaagent-env:a"}
    assert disk(daemon, uses).prune(()).count == 1


def test_counting_removes_nothing(daemon: Daemon, uses: LastUses) -> None:
    daemon.add("a", "metaagent-env:a", age_days=99)
    kept = disk(daemon, uses).prune((), only_count=True)
    assert (kept.count, kept.size, kept.removed, daemon.removed) == (1, 100 * MB, 0, [])


def test_uses_are_told_by_files_of_their_own(tmp_path: Path, daemon: Daemon) -> None:
    uses = LastUses(tmp_path / "uses")
    daemon.add("a", "metaagent-env:a", age_days=-20_000)
    uses.touch("metaagent-env:a")
    for path in (tmp_path / "uses").iterdir():
        os.utime(path, (1, 1))
    assert disk(daemon, uses).prune(()).removed == 1
    assert list((tmp_path / "uses").iterdir())  # the clock's own file stays


def test_environments_of_one_tree_go_first(daemon: Daemon, uses: LastUses) -> None:
    tree = {"Labels": {NOTES_LABEL: json.dumps({"record": "{}", TREE_NOTE: "d" * 64})}}
    unreadable = {"Labels": {NOTES_LABEL: "{"}}
    daemon.add("base", "metaagent-env:base", size=100, age_days=9)
    daemon.add("tree", "metaagent-env:tree", size=150, parent="base", age_days=1, **tree)
    daemon.add("old", "metaagent-env:old", size=150, parent="base", age_days=3, **tree)
    daemon.add("odd", "metaagent-env:odd", size=150, parent="base", age_days=3, **unreadable)
    assert disk(daemon, uses).prune(()).count == 3
    assert daemon.removed == ["metaagent-env:old"]
    disk(daemon, uses, 150).prune(())
    assert daemon.removed == ["metaagent-env:old", "metaagent-env:tree"]
