"""What every Workspace promises: run on the fake, in Docker on a folder and on a commit, and on the host."""

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from bot.ports import Workspace
from sandbox.archive import take_archive
from sandbox.backends.base import Backend
from sandbox.errors import ChangeRejected
from sandbox.spec import SandboxSpec
from sandbox.types import (
    CHANGED,
    USUAL,
    ChangeAction,
    Checkout,
    FileChange,
    FileEdit,
    FolderSource,
    GitSource,
    JobHints,
    ProposalRequest,
    RunVerdict,
    SearchRequest,
    Surroundings,
    TestReport,
    TestStatus,
    ToolFinding,
    TrialDone,
)
from tests.fakes.fake_workspace import FakeWorkspace
from tests.integration.git_http import GitServer, commit, serve_git

FILES: dict[str, str] = {
    "calculator.py": "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n",
    "test_calculator.py": "from calculator import add, double\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "notes/windows.txt": "one\r\ntwo\r\n",
    "notes/end.txt": "no newline",
    "notes/ünï.txt": "ü\n",
    "empty.txt": "",
}
ADD = "test_calculator.py::test_add"
DOUBLE = "test_calculator.py::test_double"

Open = Callable[..., AbstractAsyncContextManager[Workspace]]


def judge(files: dict[str, str], command: str) -> TestReport:
    """What pytest would say of FILES."""
    good = "return a + b" in files["calculator.py"]
    return TestReport(
        success=good,
        failed=not good,
        exit_code=0 if good else 1,
        target=command,
        summary="",
        failure_count=0 if good else 1,
        verdict=RunVerdict.PASS if good else RunVerdict.FAIL,
        outcomes={ADD: TestStatus.PASS if good else TestStatus.FAIL, DOUBLE: TestStatus.PASS},
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GitServer, str]]:
    root = tmp_path_factory.mktemp("git")
    sha = commit(root / "calculator", dict(FILES))
    with serve_git(root) as server:
        yield server, sha


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> AsyncIterator[Backend]:
    """One daemon connection for all; it keeps no state between workspaces."""
    from sandbox.backends.docker_container import DockerBackend

    backend = DockerBackend(SandboxSpec(pool=0))
    yield backend
    await backend.close()


@pytest.fixture(scope="module")
def local() -> Iterator[Backend]:
    """Processes of this host, as an unprivileged user, in a folder that this user may enter."""
    from sandbox.backends.local_process import LocalBackend

    with tempfile.TemporaryDirectory(prefix="metaagent-local-") as folder:
        Path(folder).chmod(0o755)
        yield LocalBackend(SandboxSpec(backend="local", local_uid=65_533), cache=Path(folder))


@pytest.fixture(
    params=[
        "fake",
        pytest.param("folder", marks=[pytest.mark.docker, pytest.mark.slow]),
        pytest.param("commit", marks=[pytest.mark.docker, pytest.mark.slow]),
        pytest.param("local", marks=[pytest.mark.slow]),
    ]
)
def open_workspace(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Open:
    """Opens a fresh workspace on FILES."""
    if request.param == "fake":

        @asynccontextmanager
        async def fake(surroundings: Surroundings = USUAL) -> AsyncIterator[Workspace]:
            yield FakeWorkspace(FILES, judge=judge)  # type: ignore[arg-type]

        return fake
    from sandbox.workspace import Sandboxes

    if request.param in {"folder", "local"}:
        for name, content in FILES.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
        source: FolderSource | GitSource = FolderSource(path=str(tmp_path / "project"))
    else:
        server, sha = request.getfixturevalue("served")
        source = GitSource(url=f"{server.url}/calculator/.git", sha=sha, repository_id="calculator")
    sandboxes = Sandboxes(
        SandboxSpec(),
        request.getfixturevalue("local" if request.param == "local" else "backend"),
        tmp_path / "data",
    )
    checkout = Checkout(source=source, hints=JobHints(command="python -m pytest -q"))
    return lambda surroundings=USUAL: sandboxes.open_workspace(
        checkout.with_(surroundings=surroundings)
    )


@pytest.fixture
async def workspace(open_workspace: Open) -> AsyncIterator[Workspace]:
    async with open_workspace() as opened:
        yield opened


def replace(path: str, old: str | None, new: str) -> FileChange:
    return FileChange(action=ChangeAction.REPLACE, path=path, search_for=old, content=new)


FIX = replace("calculator.py", "a - b", "a + b")


@pytest.mark.anyio
async def test_facts_tell_the_recipe_and_stay_the_same(workspace: Workspace) -> None:
    facts = await workspace.facts()
    assert facts.recipe.command.startswith("python -m pytest")
    assert facts.files == len(FILES)
    assert await workspace.facts() == facts


@pytest.mark.anyio
async def test_files_are_listed_sorted_without_git(workspace: Workspace) -> None:
    assert await workspace.list_files() == tuple(sorted(FILES))


@pytest.mark.anyio
async def test_files_are_read_as_they_are(workspace: Workspace) -> None:
    assert {name: await workspace.read_file(name) for name in FILES} == FILES


@pytest.mark.anyio
async def test_the_archive_is_the_commit_whatever_was_edited_since(workspace: Workspace) -> None:
    await workspace.apply_changes([FIX])
    taken = await take_archive(await workspace.archive(), SandboxSpec())
    files = await taken.originals(taken.names())
    assert {name: file.content.decode() for name, file in files.items()} == FILES


@pytest.mark.anyio
async def test_a_missing_file_is_none(workspace: Workspace) -> None:
    assert await workspace.read_file("missing.py") is None
    assert await workspace.read_file("notes") is None


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b"])
@pytest.mark.anyio
async def test_nothing_outside_the_checkout_is_read(workspace: Workspace, path: str) -> None:
    try:
        content = await workspace.read_file(path)
    except ChangeRejected:
        return
    assert content is None


@pytest.mark.anyio
async def test_context_shows_the_lines_around_one(workspace: Workspace) -> None:
    context = await workspace.read_file_context("calculator.py", 2, around=1)
    assert context.success
    assert context.focus_content == "    return a - b"
    assert (context.context_before, context.context_after) == (("def add(a, b):",), ("",))
    assert "->" in context.snippet
    assert context.total_lines == 6


@pytest.mark.anyio
async def test_context_of_what_is_not_there_is_no_success(workspace: Workspace) -> None:
    assert not (await workspace.read_file_context("missing.py", 1)).success
    assert not (await workspace.read_file_context("calculator.py", 99)).success


@pytest.mark.anyio
async def test_the_one_place_of_a_text_is_replaced(workspace: Workspace) -> None:
    assert await workspace.apply_changes([FIX]) == ("calculator.py",)
    assert await workspace.read_file("calculator.py") == FILES["calculator.py"].replace(
        "a - b", "a + b"
    )


@pytest.mark.anyio
async def test_a_whole_file_is_replaced(workspace: Workspace) -> None:
    await workspace.apply_changes([replace("calculator.py", None, "x = 1\n")])
    assert await workspace.read_file("calculator.py") == "x = 1\n"


@pytest.mark.anyio
async def test_a_file_is_created_in_a_new_folder(workspace: Workspace) -> None:
    change = FileChange(action=ChangeAction.CREATE, path="new/deep/m.py", content="x = 1\n")
    assert await workspace.apply_changes([change]) == ("new/deep/m.py",)
    assert "new/deep/m.py" in await workspace.list_files()


@pytest.mark.anyio
async def test_a_file_is_deleted(workspace: Workspace) -> None:
    await workspace.apply_changes([FileChange(action=ChangeAction.DELETE, path="notes/end.txt")])
    assert await workspace.read_file("notes/end.txt") is None
    assert [(edit.path, edit.mode) for edit in await workspace.changes()] == [
        ("notes/end.txt", "deleted")
    ]


@pytest.mark.anyio
async def test_a_file_is_renamed(workspace: Workspace) -> None:
    await workspace.apply_changes(
        [FileChange(action=ChangeAction.RENAME, path="empty.txt", content="full.txt")]
    )
    assert await workspace.read_file("empty.txt") is None
    assert await workspace.read_file("full.txt") == ""


@pytest.mark.anyio
async def test_several_changes_are_all_or_nothing(workspace: Workspace) -> None:
    with pytest.raises(ChangeRejected):
        await workspace.apply_changes([FIX, replace("calculator.py", "not there", "x")])
    assert await workspace.changes() == ()


@pytest.mark.parametrize(
    "path",
    ["../x", "/abs", ".git/config", "a/../b", "", "-x", "con", "a\x00b", ".GIT/hooks/x", "a//b"],
)
@pytest.mark.anyio
async def test_an_unsafe_path_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(ChangeRejected):
        await workspace.apply_changes(
            [FileChange(action=ChangeAction.CREATE, path=path, content="x")]
        )
    assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_a_text_that_stands_twice_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ChangeRejected):
        await workspace.apply_changes([replace("calculator.py", "return a", "return b")])


@pytest.mark.anyio
async def test_a_change_of_a_missing_file_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ChangeRejected):
        await workspace.apply_changes([replace("missing.py", "a", "b")])


@pytest.mark.anyio
async def test_at_first_nothing_differs(workspace: Workspace) -> None:
    assert await workspace.changes() == ()
    assert await workspace.diff() == ""


@pytest.mark.anyio
async def test_changes_hold_whole_files(workspace: Workspace) -> None:
    await workspace.apply_changes([FIX])
    (edit,) = await workspace.changes()
    assert (edit.path, edit.mode) == ("calculator.py", "100644")
    assert edit.content.decode() == FILES["calculator.py"].replace("a - b", "a + b")


@pytest.mark.anyio
async def test_a_change_back_is_no_change(workspace: Workspace) -> None:
    await workspace.apply_changes([FIX])
    await workspace.apply_changes([replace("calculator.py", "a + b", "a - b")])
    assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_git_applies_the_diff_and_gets_the_same_bytes(
    workspace: Workspace, tmp_path: Path
) -> None:
    changes = [
        FIX,
        replace("notes/windows.txt", "two", "three"),
        replace("notes/end.txt", None, "still none"),
        replace("notes/ünï.txt", "ü", "ö"),
        FileChange(action=ChangeAction.CREATE, path="a b/new.txt", content="x"),
        FileChange(action=ChangeAction.DELETE, path="empty.txt"),
    ]
    await workspace.apply_changes(changes)
    for name, content in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    diff = (await workspace.diff()).encode()
    apply = ["git", "apply", "--whitespace=nowarn", "-"]
    await asyncio.to_thread(subprocess.run, apply, input=diff, cwd=tmp_path / "tree", check=True)
    for name in await workspace.list_files():
        assert (tmp_path / "tree" / name).read_bytes().decode() == await workspace.read_file(name)
    assert not (tmp_path / "tree" / "empty.txt").exists()


@pytest.mark.anyio
async def test_line_endings_stay_what_they_are(workspace: Workspace) -> None:
    await workspace.apply_changes([replace("notes/windows.txt", "one", "eins")])
    (edit,) = await workspace.changes()
    assert edit.content == b"eins\r\ntwo\r\n"


@pytest.mark.anyio
async def test_revert_brings_everything_back(workspace: Workspace) -> None:
    await workspace.apply_changes(
        [
            FIX,
            FileChange(action=ChangeAction.DELETE, path="notes/ünï.txt"),
            FileChange(action=ChangeAction.CREATE, path="new/m.py", content="x"),
        ]
    )
    await workspace.revert()
    assert await workspace.changes() == ()
    assert {name: await workspace.read_file(name) for name in await workspace.list_files()} == FILES


@pytest.mark.anyio
async def test_revert_before_anything_else_is_harmless(workspace: Workspace) -> None:
    await workspace.revert()
    assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_after_a_revert_changes_can_be_made_again(workspace: Workspace) -> None:
    for _ in range(2):
        assert await workspace.apply_changes([FIX]) == ("calculator.py",)
        await workspace.revert()
    assert await workspace.read_file("calculator.py") == FILES["calculator.py"]


@pytest.mark.anyio
async def test_a_red_test_turns_green_with_the_fix(workspace: Workspace) -> None:
    red = await workspace.run_tests()
    assert (red.success, red.verdict, red.failing, red.passing) == (
        False,
        RunVerdict.FAIL,
        frozenset({ADD}),
        frozenset({DOUBLE}),
    )
    await workspace.apply_changes([FIX])
    green = await workspace.run_tests()
    assert (green.success, green.verdict, green.passing) == (
        True,
        RunVerdict.PASS,
        frozenset({ADD, DOUBLE}),
    )


@pytest.mark.anyio
async def test_a_green_run_is_confirmed_and_changes_no_files(workspace: Workspace) -> None:
    await workspace.apply_changes([FIX])
    report = await workspace.run_tests(targets=(ADD,))
    confirmed = await workspace.run_tests(targets=(ADD,), confirm=True)
    assert (confirmed.success, confirmed.outcomes) == (True, report.outcomes)
    assert {edit.path for edit in await workspace.changes()} == {"calculator.py"}


@pytest.mark.anyio
async def test_only_the_targets_are_run(workspace: Workspace) -> None:
    report = await workspace.run_tests(targets=(DOUBLE,))
    assert set(report.outcomes) == {DOUBLE}


@pytest.mark.anyio
async def test_tests_run_in_the_other_order_too(workspace: Workspace) -> None:
    report = await workspace.run_tests(order="reversed")
    assert report.failing == {ADD}


@pytest.mark.anyio
async def test_a_test_run_changes_no_files(workspace: Workspace) -> None:
    await workspace.run_tests()
    assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_a_command_that_succeeds_is_ok(workspace: Workspace) -> None:
    result = await workspace.run("true")
    assert result.ok
    assert result.exit_code == 0


@pytest.mark.anyio
async def test_proposals_are_about_what_was_asked_and_change_nothing(workspace: Workspace) -> None:
    finding = ToolFinding(path="calculator.py", line=2, code="F821", message="Undefined name `b`")
    proposals = await workspace.proposals(ProposalRequest(findings=(finding,)))
    assert {(proposal.finding, edit.path) for proposal in proposals for edit in proposal.edits} <= {
        (0, "calculator.py")
    }
    assert await workspace.changes() == ()


@pytest.mark.anyio
async def test_the_last_event_of_a_search_is_its_end(workspace: Workspace) -> None:
    request = SearchRequest(
        command="python -m pytest -q", failing=(ADD,), passing=(DOUBLE,), time_limit_s=5.0
    )
    events = [event async for event in workspace.search(request)]
    assert isinstance(events[-1], TrialDone)
    assert not any(isinstance(event, TrialDone) for event in events[:-1])


@pytest.mark.anyio
async def test_methods_may_be_called_at_the_same_time(workspace: Workspace) -> None:
    listed, text, facts = await asyncio.gather(
        workspace.list_files(), workspace.read_file("calculator.py"), workspace.facts()
    )
    assert len(listed) == facts.files
    assert text == FILES["calculator.py"]


@pytest.mark.anyio
async def test_two_workspaces_do_not_see_each_other(open_workspace: Open) -> None:
    async with open_workspace() as one, open_workspace() as other:
        await one.apply_changes([FIX])
        assert await other.changes() == ()
        assert len(await one.changes()) == 1


@pytest.mark.anyio
async def test_a_new_workspace_begins_at_the_commit(open_workspace: Open) -> None:
    async with open_workspace() as one:
        await one.apply_changes([FIX])
    async with open_workspace() as other:
        assert await other.changes() == ()


@pytest.mark.anyio
async def test_a_workspace_that_was_never_used_closes(open_workspace: Open) -> None:
    async with open_workspace():
        pass


@pytest.mark.anyio
async def test_changed_surroundings_hold_the_same_files_and_tests(open_workspace: Open) -> None:
    async with open_workspace() as usual, open_workspace(CHANGED) as changed:
        assert await changed.list_files() == await usual.list_files()
        one, other = await usual.run_tests(), await changed.run_tests()
        assert (other.verdict, other.outcomes) == (one.verdict, one.outcomes)
        await changed.apply_changes([replace("calculator.py", "a - b", "a + b")])
        assert await changed.changes() == await _edited(usual)
        await changed.revert()
        assert await changed.changes() == ()


async def _edited(workspace: Workspace) -> tuple[FileEdit, ...]:
    await workspace.apply_changes([replace("calculator.py", "a - b", "a + b")])
    return await workspace.changes()


@pytest.mark.anyio
async def test_folders_list_their_entries_in_the_opposite_order_in_changed_surroundings(
    open_workspace: Open, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["open_workspace"] not in {"folder", "commit"}:
        pytest.skip("the order of folders is that of the host's file system")
    listed = []
    for surroundings in (USUAL, CHANGED):
        async with open_workspace(surroundings) as workspace:
            listed.append((await workspace.run("ls -U . && ls -U notes")).stdout.split())
    assert len(listed[0]) > 1
    assert listed[0] != listed[1]
    assert sorted(listed[0]) == sorted(listed[1])
