"""Parse a model's address and choose its key; a provider's key is sent to that provider only."""

import ipaddress
import re
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.domain.model import ANY_HOST
from bot.errors import SettingsError
from bot.llm.providers.options import ChatOptions

_ADDRESS = re.compile(r"@(?=https?:)")
_KEY = re.compile(r"[!-~]+")


def addressed(
    kind: str, rest: str, options: ChatOptions, *, usual: str = ""
) -> tuple[str, str, SecretStr | None]:
    """Return a model, its address and the key for that address.

    Args:
        kind: Kind of model.
        rest: `MODEL[@URL]`.
        options: Keys.
        usual: The provider's own address.

    Raises:
        SettingsError: The address or key is invalid, or the key would be sent unencrypted.
    """
    model, *addresses = _ADDRESS.split(rest, maxsplit=1)
    address = _check(kind, addresses[0]) if addresses else ""
    host = urlsplit(address or usual).hostname or ""
    key = (
        # A key by kind is sent only to the provider's own address.
        options.keys.get(host)
        or (None if address else options.keys.get(kind))
        or options.keys.get(ANY_HOST)
    )
    if key is not None:
        _check_key(key, kind)
        if address.startswith("http:") and not (options.allow_plain_http or is_loopback(host)):
            message = f"the key of {kind}:{model} would be sent unencrypted"
            raise SettingsError(message, "use an https address, or allow plain HTTP for models")
    return model, address, key


def is_loopback(host: str) -> bool:
    """Return True if a host is this machine.

    Args:
        host: A name or address.
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(setting: str) -> bool:
    """Return True if every model of a setting is at a loopback or private address.

    Names other than `localhost` are not looked up.

    Args:
        setting: Models, separated by commas.
    """
    parts = [_ADDRESS.split(part.strip(), maxsplit=1) for part in setting.split(",")]
    return all(len(part) > 1 and _is_near(part[1]) for part in parts)


def _is_near(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _check(kind: str, text: str) -> str:
    """Validate `https://host[:port][/path]` and remove a trailing slash."""
    advice = "write https://host[:port][/path], without user, query or fragment"
    try:
        parts = urlsplit(text)
        sound = parts.hostname and not (
            parts.query or parts.fragment or "@" in parts.netloc or parts.port == 0
        )
    except ValueError:
        sound = False
    if not sound or not text.isascii() or not text.isprintable() or " " in text:
        raise SettingsError(f"the address of {kind} is invalid", advice)
    return text.rstrip("/")


def _check_key(key: SecretStr, kind: str) -> None:
    """Reject a newline and the like: the HTTP library's error would show the key."""
    if not _KEY.fullmatch(key.get_secret_value()):
        raise SettingsError(
            f"the key of {kind} is empty or has invalid characters", "copy it again"
        )
