"""Where a user's data goes, and that git does not see it."""

import subprocess
from pathlib import Path

import pytest

from bot.settings import load
from bot.store.opening import open_database
from bot.user_folder import EARLIER, default_data_dir, keep_out_of_commits


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a user's project."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"XDG_DATA_HOME": "/x/data", "HOME": "/home/x"}, "/x/data/metaagent"),
        ({"XDG_DATA_HOME": "", "HOME": "/home/x"}, "/home/x/.local/share/metaagent"),
        (
            {"XDG_DATA_HOME": "relative/is/ignored", "HOME": "/home/x"},
            "/home/x/.local/share/metaagent",
        ),
        ({"HOME": "/home/x"}, "/home/x/.local/share/metaagent"),
        ({}, ".metaagent"),
    ],
)
def test_data_goes_where_xdg_says(here: Path, variables: dict[str, str], wanted: str) -> None:
    assert str(default_data_dir(variables)) == wanted
    assert str(load({}, environment=variables).data_dir) == wanted
    assert list(here.iterdir()) == []


def test_what_is_said_wins(here: Path) -> None:
    variables = {"XDG_DATA_HOME": "/x/data", "METAAGENT_DATA_DIR": "/srv/bot"}
    assert load({}, environment=variables).data_dir == Path("/srv/bot")
    assert load({"data_dir": "elsewhere"}, environment=variables).data_dir == Path("elsewhere")


@pytest.mark.parametrize("name", ["app.json", "engine.sqlite", "metaagent.sqlite"])
def test_a_folder_of_an_earlier_version_goes_on_where_it_is_the_users_own(
    here: Path, name: str
) -> None:
    EARLIER.mkdir()
    assert default_data_dir({"HOME": "/home/x"}) != EARLIER, (
        "an empty folder holds nothing to go on with"
    )
    (EARLIER / name).touch(mode=0o600)
    assert default_data_dir({"HOME": "/home/x"}) == EARLIER
    (EARLIER / name).chmod(0o644)
    assert default_data_dir({"HOME": "/home/x"}) != EARLIER, "a clone brings files like this"


def statuses(folder: Path) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=all"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_git_does_not_see_a_data_directory(here: Path) -> None:
    subprocess.run(["git", "init", "-q", str(here)], check=True)
    for folder in (here, here / "deeper"):
        database = open_database(f"sqlite:///{folder / '.metaagent' / 'engine.sqlite'}")
        database.open()
        database.close()
        assert (folder / ".metaagent" / "metaagent.sqlite").is_file()
    assert statuses(here) == ""


def test_a_folder_of_an_earlier_version_is_hidden_later(here: Path) -> None:
    subprocess.run(["git", "init", "-q", str(here)], check=True)
    EARLIER.mkdir()
    (EARLIER / "metaagent.sqlite").touch()
    assert ".metaagent/metaagent.sqlite" in statuses(here)
    keep_out_of_commits(EARLIER)
    assert statuses(here) == ""


def test_a_project_that_was_named_by_mistake_is_not_hidden(here: Path) -> None:
    (here / ".metaagent").mkdir()
    (here / ".metaagent" / ".gitignore").write_text("mine\n")
    keep_out_of_commits(here)
    keep_out_of_commits(here / ".metaagent")
    assert not (here / ".gitignore").exists()
    assert (here / ".metaagent" / ".gitignore").read_text() == "mine\n"
