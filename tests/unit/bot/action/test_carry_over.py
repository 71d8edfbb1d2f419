"""A patch is applied strictly to the commit it is published on, whoever made it, or not at all."""

import pytest

from bot.action.carry_over import carry_over
from bot.domain.mission import MissionContext
from sandbox.diffs import Original, write_diff
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit, LockRepair
from tests.builders import (
    DIFF,
    FIXED_SOURCE,
    SOURCE,
    a_mission,
    a_verification,
    an_iteration,
    facts,
)

pytestmark = pytest.mark.anyio


def mission(diff: str = DIFF, edits: tuple[FileEdit, ...] | None = None) -> MissionContext:
    verification = a_verification(diff=diff, **({} if edits is None else {"edits": edits}))
    return a_mission().with_(iterations=(an_iteration(verification=verification),))


async def carried(
    context: MissionContext, files: dict[str, str], folder: str = ""
) -> tuple[tuple[FileEdit, ...], str, list[str]]:
    asked: list[str] = []

    async def read(path: str) -> bytes | None:
        asked.append(path)
        return files[path].encode() if path in files else None

    found = (await carry_over(context, read, folder=folder)).fix
    assert found is not None
    return found[1].edits, found[1].diff, asked


async def test_it_comes_out_as_whole_files_of_that_commit() -> None:
    """Lines that only the other commit has are kept; what the patch brought along is not believed."""
    lied = (FileEdit(path="calculator.py", mode="100644", content=b"import os\n"),)
    edits, diff, asked = await carried(
        mission(edits=lied), {"calculator.py": SOURCE + "\n\nMORE = 1\n"}
    )
    assert edits == (
        FileEdit(
            path="calculator.py", mode="100644", content=(FIXED_SOURCE + "\n\nMORE = 1\n").encode()
        ),
    )
    assert "+    return a + b" in diff
    assert asked == ["calculator.py"]


async def test_a_project_below_the_top_is_found_there() -> None:
    edits, diff, asked = await carried(mission(), {"api/calculator.py": SOURCE}, folder="api/")
    assert [edit.path for edit in edits] == asked == ["api/calculator.py"]
    assert "--- a/api/calculator.py" in diff


async def test_an_executable_stays_one() -> None:
    edits, _, _ = await carried(
        mission(edits=(FileEdit(path="calculator.py", mode="100755", content=b"x"),)),
        {"calculator.py": SOURCE},
    )
    assert edits[0].mode == "100755"


@pytest.mark.parametrize(
    ("diff", "files"),
    [
        (DIFF, {}),
        (DIFF, {"calculator.py": "def add(a, b):\n    return b - a\n"}),
        (DIFF.replace("calculator.py", "../calculator.py"), {"../calculator.py": SOURCE}),
        (
            DIFF.replace("calculator.py", ".github/workflows/ci.yml"),
            {".github/workflows/ci.yml": SOURCE},
        ),
        (
            DIFF.replace("calculator.py", "tests/test_calculator.py"),
            {"tests/test_calculator.py": SOURCE},
        ),
        (DIFF.replace("calculator.py", "conftest.py"), {"conftest.py": SOURCE}),
        (DIFF.replace("return a + b", "import os; os._exit(0)"), {"calculator.py": SOURCE}),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n",
            {},
        ),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", {"x": "y"}),
        (
            "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n",
            {"x": "y\n"},
        ),
        ("nothing of the kind", {}),
        ("", {}),
    ],
)
async def test_what_is_no_plain_change_of_what_stands_there_is_refused(
    diff: str, files: dict[str, str]
) -> None:
    with pytest.raises(ChangeRejected):
        await carried(mission(diff=diff), files)


async def test_a_file_that_is_there_cannot_be_made_anew_behind_our_back() -> None:
    diff = "--- /dev/null\n+++ b/calculator.py\n@@ -0,0 +1 @@\n+ALL = 1\n"
    with pytest.raises(ChangeRejected, match="diff --git"):
        await carried(mission(diff=diff), {"calculator.py": SOURCE})


async def test_a_patch_of_a_thousand_files_asks_for_few_of_them() -> None:
    diff = "".join(DIFF.replace("calculator.py", f"m{number}.py") for number in range(1000))
    asked: list[str] = []

    async def read(path: str) -> bytes | None:
        asked.append(path)
        return SOURCE.encode()

    with pytest.raises(ChangeRejected):
        await carry_over(mission(diff=diff), read)
    assert len(asked) <= 21


async def test_a_mission_without_a_fix_is_carried_as_it_is() -> None:
    async def read(path: str) -> bytes | None:
        raise AssertionError(path)

    context = a_mission().with_(iterations=())
    assert await carry_over(context, read) is context


@pytest.mark.parametrize("is_own", [True, False], ids=["this process", "another job"])
async def test_only_a_mission_of_this_process_replaces_a_lock_file(*, is_own: bool) -> None:
    """A report of another job could name any lock file as the manager's own."""
    repair = LockRepair(
        path="bun.lock", content="new\n", program="", command="", refused="", refusal=""
    )
    written = (FileEdit(path="bun.lock", mode="100644", content=b"new\n"),)
    original = {"bun.lock": Original(content=b"old\n")}
    context = mission(write_diff(written, original), written).with_(facts=facts(lock_repair=repair))

    async def read(path: str) -> bytes | None:
        return b"old\n" if path == "web/bun.lock" else None

    if is_own:
        found = (await carry_over(context, read, folder="web/", is_own=True)).fix
        assert found is not None
        assert [(edit.path, edit.content) for edit in found[1].edits] == [
            ("web/bun.lock", b"new\n")
        ]
    else:
        with pytest.raises(ChangeRejected, match="protected"):
            await carry_over(context, read, folder="web/")
