"""The operator's token: from a setting, or in a private file that the first start creates."""

import os
import secrets
from pathlib import Path

from pydantic import SecretStr

from bot.domain.dashboard import DashboardOptions
from bot.errors import SettingsError

FILE = "dashboard.token"
"""Name of the file in the data directory; readable by its owner only."""


def operator_token(options: DashboardOptions, data_dir: Path, *, create: bool) -> SecretStr | None:
    """Return the token that admits the operator, or None if there is none.

    Args:
        options: The options of the dashboard.
        data_dir: The data directory.
        create: Create a file if no token is set; for a single process only.

    Raises:
        SettingsError: the file cannot be read or created.
    """
    if options.token is not None:
        return options.token if options.token.get_secret_value() else None
    path = data_dir / FILE
    try:
        if create and not path.exists():
            data_dir.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        text = path.read_text(encoding="ascii").strip() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} cannot be used ({type(error).__name__})", "set METAAGENT_DASHBOARD__TOKEN"
        ) from error
    return SecretStr(text) if text else None
