"""Composed changes do what the two do one after the other; a tree stands where a step wants it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.mission.tree import Tree, compose
from bot.ports import Workspace
from sandbox.changes import apply
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange
from tests.fakes.scripted_workspace import ScriptedWorkspace, World
from tests.unit.bot.mission.world import honest

FILES = {"a.py": "one two", "b.py": "three"}


def replace(path: str, content: str, search_for: str | None = None) -> FileChange:
    return FileChange(
        action=ChangeAction.REPLACE, path=path, content=content, search_for=search_for
    )


def result(*sets: tuple[FileChange, ...]) -> dict[str, bytes] | None:
    """The files after sets of changes, each applied to the result of the one before."""
    files = {path: text.encode() for path, text in FILES.items()}
    try:
        for changes in sets:
            for edit in apply(changes, files.get):
                if edit.mode == "deleted":
                    del files[edit.path]
                else:
                    files[edit.path] = edit.content
    except ChangeRejected:
        return None
    return files


def test_two_whole_contents_of_one_file_become_one() -> None:
    assert compose((replace("a.py", "x"),), (replace("a.py", "y"),)) == (replace("a.py", "y"),)


def test_a_search_in_a_whole_content_becomes_a_whole_content() -> None:
    assert compose((replace("a.py", "x y"),), (replace("a.py", "z", "y"),)) == (
        replace("a.py", "x z"),
    )


def test_a_created_file_stays_created() -> None:
    made = FileChange(action=ChangeAction.CREATE, path="c.py", content="1")
    assert compose((made,), (replace("c.py", "2"),)) == (made.with_(content="2"),)


PATHS = st.sampled_from(["a.py", "b.py", "c.py"])
WORDS = st.sampled_from(["one", "two", "three", "x one", ""])
CHANGES = st.one_of(
    st.builds(replace, PATHS, WORDS),
    st.builds(replace, PATHS, WORDS, WORDS),
    st.builds(
        lambda path, text: FileChange(action=ChangeAction.CREATE, path=path, content=text),
        PATHS,
        WORDS,
    ),
    st.builds(lambda path: FileChange(action=ChangeAction.DELETE, path=path), PATHS),
    st.builds(
        lambda path, to: FileChange(action=ChangeAction.RENAME, path=path, content=to), PATHS, PATHS
    ),
)
SETS = st.lists(CHANGES, max_size=3).map(tuple)


@given(first=SETS, second=SETS)
def test_a_composition_does_what_both_do(
    first: tuple[FileChange, ...], second: tuple[FileChange, ...]
) -> None:
    apart = result(first, second)
    if apart is not None:
        assert result(compose(first, second)) == apart


def a_tree(workspace: ScriptedWorkspace) -> Tree:
    async def enter() -> Workspace:
        return workspace

    return Tree(enter)


@pytest.mark.anyio
async def test_a_tree_goes_from_changes_to_changes_and_back() -> None:
    workspace = ScriptedWorkspace(World(files=FILES, run=honest), "head")
    tree = a_tree(workspace)
    await tree.at((replace("a.py", "x"),))
    assert workspace.texts()["a.py"] == "x"
    await tree.at((replace("b.py", "y"),))
    assert workspace.texts() == {"a.py": "one two", "b.py": "y"}
    await tree.at()
    assert workspace.texts() == FILES


@pytest.mark.anyio
async def test_a_touched_tree_is_put_back() -> None:
    workspace = ScriptedWorkspace(World(files=FILES, run=honest), "head")
    tree = a_tree(workspace)
    await tree.at()
    await workspace.apply_changes([replace("a.py", "somebody else")])
    tree.touched()
    await tree.at()
    assert workspace.texts() == FILES
