"""A folder becomes a checkout."""

from pathlib import Path

import pytest

from bot.intake.folder import folder_checkout

pytestmark = pytest.mark.anyio


async def test_a_checkout_has_the_name_of_its_folder_however_the_folder_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    (folder / "api").mkdir(parents=True)
    monkeypatch.chdir(folder / "api")
    for given in (str(folder), f"{folder}/", "..", "../api/.."):
        assert (await folder_checkout(given, "pytest"))[1].name == "shop"
    assert (await folder_checkout(".", "pytest"))[1].name == "api"
    assert (await folder_checkout("/", "pytest"))[1].name == ""
