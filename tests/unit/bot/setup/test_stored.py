"""The App's keys lie in one file that only its owner reads, and that is never written over."""

import json
import stat
from pathlib import Path

import pytest

from bot.errors import SettingsError
from bot.github.manifest import NewApp
from bot.settings import load
from bot.setup.stored import make_room, store_app

APP = NewApp.model_validate(
    {
        "id": 5,
        "slug": "fixer",
        "html_url": "https://github.com/apps/fixer",
        "client_id": "Iv1.1",
        "client_secret": "quiet",
        "webhook_secret": "hush",
        "pem": "-----BEGIN RSA PRIVATE KEY-----\nx\n",
    }
)
API = "https://github.example/api/v3/"


def test_what_is_stored_becomes_settings(tmp_path: Path) -> None:
    path = store_app(tmp_path, APP, webhook_secret="hush", api_url=API)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings = load({"data_dir": str(tmp_path)}, environment={})
    assert (settings.app_id, settings.app_slug, settings.github_api_url) == ("5", "fixer", API)
    assert settings.signing_key.get_secret_value() == APP.pem.get_secret_value()
    assert settings.webhook_secret is not None
    assert settings.webhook_secret.get_secret_value() == "hush"


def test_a_stored_app_is_never_written_over(tmp_path: Path) -> None:
    first = store_app(tmp_path, APP, webhook_secret="first", api_url=API).read_text()
    with pytest.raises(SettingsError, match="cannot be written"):
        store_app(tmp_path, APP, webhook_secret="second", api_url=API)
    assert (tmp_path / "app.json").read_text() == first
    assert [path.name for path in tmp_path.iterdir()] == ["app.json"], "no draft is left"
    with pytest.raises(SettingsError, match="holds an App already"):
        make_room(tmp_path)


def test_a_link_laid_in_the_way_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "app.json").symlink_to(elsewhere)
    with pytest.raises(SettingsError):
        store_app(tmp_path, APP, webhook_secret="hush", api_url=API)
    assert not elsewhere.exists()


def test_room_is_made_for_the_owner_only_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data"
    make_room(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []


def test_no_room_is_told_before_github_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="is not writable"):
        make_room(tmp_path / "file" / "data")


def test_secrets_do_not_show_in_what_is_printed() -> None:
    shown = f"{APP!r} {APP}"
    assert not [secret for secret in ("hush", "quiet", "PRIVATE") if secret in shown]
    assert "quiet" in json.dumps(APP.client_secret.get_secret_value())
