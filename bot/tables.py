"""Merges settings from several sources, and reports invalid ones with their source."""

import json
import logging
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from bot.errors import SettingsError

PREFIX = "METAAGENT_"
"""First part of the name of every environment variable of ours."""

log = logging.getLogger(__name__)


class Leaf(BaseModel):
    """A setting and its names."""

    path: tuple[str, ...]
    kind: str
    default: str
    description: str
    any_file: bool
    """Accepted from a file found in the current folder."""
    is_secret: bool = False  # no option: other users can read command lines

    @property
    def option(self) -> str:
        """Return the option, `--sandbox-memory-bytes`."""
        return "--" + "-".join(self.path).replace("_", "-")

    @property
    def variable(self) -> str:
        """Return the variable, `METAAGENT_SANDBOX__MEMORY_BYTES`."""
        return PREFIX + "__".join(self.path).upper()

    @property
    def key(self) -> str:
        """Return the key in the file, `sandbox.memory_bytes`."""
        return ".".join(self.path)


def read(path: Path) -> dict[str, Any]:
    """Read the tables of a TOML file.

    Raises:
        SettingsError: the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read ({error.strerror})", "check --config"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}", "correct the file") from error


def read_private_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file that only its owner may read.

    Raises:
        SettingsError: the file is readable by other users, or cannot be read.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise SettingsError(
                f"{path} holds the App's key and is readable by other users", f"chmod 600 {path}"
            )
        stored = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be read ({type(error).__name__})", "run `metaagent setup` again"
        ) from error
    return stored if isinstance(stored, dict) else {}


def merge(
    into: dict[str, Any], values: Mapping[str, Any], origins: dict[str, str], origin: str
) -> None:
    """Merge a file's values, and record their source."""
    for name, value in values.items():
        into[name] = dict(value) if isinstance(value, Mapping) else value
        origins[name] = origin
        if isinstance(value, Mapping):
            origins.update({f"{name}.{inner}": origin for inner in value})


def set_value(into: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    """Set one value at its path.

    Raises:
        SettingsError: the path leads through a value.
    """
    for name in path[:-1]:
        into = into.setdefault(name, {})
        if not isinstance(into, dict):
            raise SettingsError(
                f"setting {name} is a table of settings, not a value", f"write [{name}] in the file"
            )
    into[path[-1]] = value


def current_name(given: str, old_keys: Mapping[str, str]) -> str:
    """Return the name of a key today, and report a former one."""
    key = old_keys.get(given, given)
    if key != given:
        log.warning("setting %s is deprecated: write %s", given, key)
    return key


def adopt_old_names(
    into: dict[str, Any],
    origins: dict[str, str],
    variables: Mapping[str, str],
    *,
    leaf: Leaf,
    old_keys: Mapping[str, str],
) -> None:
    """Read a setting under its former names, from the file or the environment."""
    for old in (old for old, key in old_keys.items() if key == leaf.key):
        former = leaf.model_copy(update={"path": tuple(old.split("."))})
        table = into.get(former.path[0])
        if isinstance(table, dict) and former.path[-1] in table:
            current_name(old, old_keys)
            table.setdefault(leaf.path[-1], table.pop(former.path[-1]))
            origins[leaf.key] = origins.pop(old)
        if former.variable in variables:
            log.warning("%s is deprecated: set %s", former.variable, leaf.variable)
            set_value(into, leaf.path, variables[former.variable])
            origins[leaf.key] = former.variable


def describe(error: ValidationError, origins: Mapping[str, str]) -> str:
    """Describe the invalid settings and their sources, without their values."""
    sentences = []
    for problem in error.errors(include_input=False, include_url=False):
        key = ".".join(str(part) for part in problem["loc"])
        known = f"setting {key} ({origins.get(key, 'default')}): {problem['msg']}"
        unknown = f"there is no setting {key}; `metaagent settings` lists them"
        sentences.append(unknown if problem["type"] == "extra_forbidden" else known)
    return "; ".join(sentences)


def keys_by_host(text: SecretStr | None) -> dict[str, SecretStr | None]:
    """Return the keys of a list `HOST=KEY, …`.

    Raises:
        SettingsError: it is malformed.
    """
    keys: dict[str, SecretStr | None] = {}
    entries = text.get_secret_value().split(",") if text is not None else ()
    for entry in filter(None, map(str.strip, entries)):
        host, found, key = entry.partition("=")
        if not (found and host.strip() and key.strip()):
            raise SettingsError(
                "setting model_keys cannot be read", "write HOST=KEY, with commas between several"
            )
        keys[host.strip().lower()] = SecretStr(key.strip())
    return keys
