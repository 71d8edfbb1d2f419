"""A checkout's folder is named after its repository, whatever the repository calls itself."""

import pytest

from sandbox.types import CHANGED, USUAL, Checkout, FolderSource, beside

FIT = ("shop", "Shop.js", ".github", "-x", "a" * 100, "repo", "prepared", "import", "...", "venvs")
UNFIT = (
    "", ".", "..", "a/b", "../x", "a b", "a\n", "shop\n", "@x", "é", "a" * 101, "$(id)", "a'b",
    "repo.git", ".git", "site-packages", "my-dist-packages", "venv", ".venv", ".tox", "node_modules",
)  # fmt: skip


@pytest.mark.parametrize("name", FIT)
def test_a_name_is_the_last_part_of_the_path_in_both_sandboxes(name: str) -> None:
    assert USUAL.named(name).workdir == f"/work/{name}"
    assert CHANGED.named(name).workdir == f"/build/7f/{name}"
    assert CHANGED.named(name).with_(workdir=CHANGED.workdir) == CHANGED


@pytest.mark.parametrize("name", UNFIT)
def test_a_name_that_is_not_fit_changes_nothing(name: str) -> None:
    assert (USUAL.named(name), CHANGED.named(name)) == (USUAL, CHANGED)


def test_a_checkout_may_have_any_name_and_its_surroundings_stay() -> None:
    checkout = Checkout(source=FolderSource(path="."), name="../../etc")
    assert checkout.surroundings is USUAL


def test_no_checkout_is_named_like_a_file_of_ours() -> None:
    ours = beside(USUAL.workdir, "prepared")
    assert ours == "/work/@prepared"
    assert USUAL.named(ours.rpartition("/")[2]) == USUAL


def test_the_usual_path_means_the_folder_with_the_name() -> None:
    assert USUAL.named("shop").folder_moves(USUAL) == {"/work/repo": "/work/shop"}
    assert USUAL.named("repo").folder_moves(USUAL) == {}
