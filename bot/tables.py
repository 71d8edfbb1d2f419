"""Tables of settings from several origins made one, and what is wrong in them told with where it came from."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.errors import SettingsError


def read(path: Path) -> dict[str, Any]:
    """A file's tables.

    Raises:
        SettingsError: it cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror})", "check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}", "correct the file") from error


def merge(into: dict[str, Any], values: Mapping[str, Any], origins: dict[str, str], origin: str) -> None:
    """Put all of a file's values in, and note where they came from."""
    for name, value in values.items():
        into[name] = dict(value) if isinstance(value, Mapping) else value
        origins[name] = origin
        if isinstance(value, Mapping):
            origins.update({f"{name}.{inner}": origin for inner in value})


def put(into: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    """Put one value in, at its place.

    Raises:
        SettingsError: there is a value where its table belongs.
    """
    for name in path[:-1]:
        into = into.setdefault(name, {})
        if not isinstance(into, dict):
            raise SettingsError(f"setting {name} is a table of settings, not a value", f"write [{name}] in the file")
    into[path[-1]] = value


def explained(error: ValidationError, origins: Mapping[str, str]) -> str:
    """What is wrong with which setting, and where it came from; never the value."""
    sentences = []
    for problem in error.errors(include_input=False, include_url=False):
        key = ".".join(str(part) for part in problem["loc"])
        sentences.append(f"setting {key} ({origins.get(key, 'default')}): {problem['msg']}")
    return "; ".join(sentences)
