"""Storage of the App's keys: a private file in the data directory, never overwritten."""

import contextlib
import json
import os
from pathlib import Path

from bot.errors import SettingsError
from bot.github.manifest import NewApp
from bot.private import make_private_folder
from bot.settings import APP_FILE

_OWNER_ONLY = 0o600


def make_room(folder: Path) -> None:
    """Check that the App can be stored before GitHub creates it, since its key is shown only once.

    Raises:
        SettingsError: an App is stored already, or the folder is not writable.
    """
    if (folder / APP_FILE).exists():
        raise SettingsError(
            f"{folder / APP_FILE} holds an App already", "move it away to set up another one"
        )
    try:
        make_private_folder(folder)
        probe = folder / f"{APP_FILE}.probe"
        probe.touch(_OWNER_ONLY)
        probe.unlink()
    except OSError as error:
        raise SettingsError(
            f"{folder} is not writable ({error.strerror})", "set METAAGENT_DATA_DIR"
        ) from error


def store_app(folder: Path, app: NewApp, *, webhook_secret: str, api_url: str) -> Path:
    """Store the App atomically, unless there is one already.

    Args:
        folder: The data directory.
        app: The App, as GitHub created it.
        webhook_secret: The secret of its webhooks.
        api_url: The API of its GitHub server.

    Raises:
        SettingsError: an App is stored already, or the file cannot be written.
    """
    content = {
        "app_id": str(app.id),
        "app_slug": app.slug,
        "github_api_url": api_url,
        "private_key": app.pem.get_secret_value(),
        "webhook_secret": webhook_secret,
        "client_id": app.client_id,
        "client_secret": app.client_secret.get_secret_value(),
        "html_url": app.html_url,
        "owner": app.owner.login if app.owner else "",
    }
    path, draft = folder / APP_FILE, folder / f"{APP_FILE}.{os.getpid()}"
    try:
        descriptor = os.open(
            draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, _OWNER_ONLY
        )
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        # A link never replaces a file, so of two concurrent calls the first one wins.
        os.link(draft, path)
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be written ({error.strerror})", "check that it does not exist yet"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return path
