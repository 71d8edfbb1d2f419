"""Read tox's configuration from tox.ini, setup.cfg, pyproject.toml or tox.toml."""

import configparser
import re
import shlex
from collections.abc import Mapping
from typing import Any

from sandbox.changes.ini import parse_ini
from sandbox.recipe.files import CheckoutFiles, beside, mapping, section, words
from sandbox.recipe.tools.base import ReadingBudget
from sandbox.recipe.tools.tox_names import (
    MOST_CHARACTERS,
    choose_lines,
    expand_names,
    expand_table,
    parse_python,
)

_ALIASES = {
    "envlist": "env_list",
    "setenv": "set_env",
    "changedir": "change_dir",
    "basepython": "base_python",
    "usedevelop": "use_develop",
    "skipsdist": "no_package",
    "setupdir": "package_root",
    "install_commands": "install_command",
}
_SITE_PACKAGES = ("envsitepackagesdir", "env_site_packages_dir", "env_site_packages_dir_plat")
_PLAIN_WORD = re.compile(r"[\w@%+=:,./{}\[\]-]+|\{posargs[^{}]*\}")
_MOST_FILLED = 2000
"""Characters of the longest `{...}` that is substituted."""
_DEEPEST = 8
_STEPS_OF_A_SECTION = 10
_MARKS = re.compile(r"\\[{}:#]|\{")

Sections = dict[str, dict[str, str]]


class ToxConfig:
    """Sections with raw values from any of the files.

    Args:
        sections: `tox`, `testenv`, `testenv:NAME` and others, with current option names.
        folder: The folder of the file.
        path: The path of the file, for the log.
        budget: Limits the work, because values may refer to each other many times.
    """

    def __init__(self, sections: Sections, folder: str, path: str, budget: ReadingBudget) -> None:
        self.sections = sections
        self.folder = folder
        self.path = path
        self.budget = budget
        self.packages = "$PWD_OF_TOX"
        """The folder from which the project is imported, because it counts as installed."""
        self.env_list = expand_names(sections.get("tox", {}).get("env_list", ""))
        """The environments that tox runs by default."""
        self._named: dict[str, list[str]] = {}
        for name in list(sections)[:300]:
            kind, colon, pattern = name.partition(":")
            if colon and kind == "testenv" and budget.spend(len(pattern)):
                for env in expand_names(pattern):
                    self._named.setdefault(env, []).append(name)

    def has_section(self, env: str) -> bool:
        """Return True if an environment has its own section."""
        return env in self._named

    def raw(self, env: str, key: str) -> str | None:
        """Return an environment's option from its own section, its bases, or `testenv`."""
        seen, left = set[str](), [*self._named.get(env, ()), "testenv"]
        while left and len(seen) < _DEEPEST * 4:
            name = left.pop(0)
            if name in seen:
                continue
            seen.add(name)
            options = self.sections.get(name, {})
            if not self.budget.spend(_STEPS_OF_A_SECTION + len(options.get("base", ""))):
                return None
            if key in options:
                return options[key]
            # The bases of a section take precedence over `testenv`.
            left = [
                base.strip()
                for base in re.split(r"[,\n]", options.get("base", ""))[:10]
                if base.strip()
            ] + left
        return None

    def lines(
        self, env: str, key: str, posargs: tuple[str, ...], environment: Mapping[str, str]
    ) -> list[str]:
        """Return the lines of an option that apply to an environment, with substitutions."""
        raw = self.raw(env, key)
        if raw is None:
            return []
        chosen = choose_lines(raw, env, self.budget)
        filled = _Filler(self, env, posargs, environment).fill(chosen)
        # substituted text may contain conditions of its own
        joined = re.sub(r"\\\n\s*", " ", choose_lines(filled, env, self.budget))
        return [line.strip() for line in joined.split("\n") if line.strip()][:200]

    def text(self, env: str, key: str) -> str:
        """Return an option of one line."""
        return next(iter(self.lines(env, key, (), {})), "")


def read_tox(
    files: CheckoutFiles, folder: str, budget: ReadingBudget, asked: str | None = None
) -> ToxConfig | None:
    """Read the configuration in a folder; None if there is none."""
    key = ("tox", folder, asked or "")
    return files.remember(key, lambda: _read_tox(files, folder, budget, asked))


def _read_tox(
    files: CheckoutFiles, folder: str, budget: ReadingBudget, asked: str | None
) -> ToxConfig | None:
    for name in (asked,) if asked else ("tox.ini", "setup.cfg", "pyproject.toml", "tox.toml"):
        path = beside(folder, name)
        sections = (
            _toml(files, path)
            if path.endswith(".toml")
            else _ini(files.ini(path), setup=path.endswith(".cfg"))
        )
        if sections:
            config = ToxConfig(sections, path.rpartition("/")[0] or ".", path, budget)
            if files.is_folder(beside(config.folder, "src")):
                config.packages += "/src"
            return config
    return None


def _ini(parser: configparser.ConfigParser, *, setup: bool) -> Sections:
    found: Sections = {}
    for name in parser.sections()[:300]:
        options = {
            _key(option): _strip_comments(parser.get(name, option) or "")
            for option in parser.options(name)[:200]
        }
        found["tox" if name == "tox:tox" else name] = options
    if setup and "tox:tox" not in parser:
        return {}
    return found if any(name == "tox" or name.startswith("testenv") for name in found) else {}


def _strip_comments(value: str) -> str:
    lines = value[:MOST_CHARACTERS].split("\n")
    return "\n".join(
        re.sub(r"(?:^|\s)#(?!egg=).*", "", line) if "#" in line else line for line in lines
    )


def _key(name: str) -> str:
    return _ALIASES.get(name, name)


def _toml(files: CheckoutFiles, path: str) -> Sections:
    table: Mapping[str, Any] = files.toml(path)
    if path.endswith("pyproject.toml"):
        table = section(table, "tool", "tox")
    legacy = table.get("legacy_tox_ini")
    if isinstance(legacy, str):
        parser = parse_ini(legacy)
        if parser is None:
            files.log.dropped(path, "its legacy_tox_ini is not a valid configuration")
            return {}
        return _ini(parser, setup=False)
    found: Sections = {}
    if table:
        found["tox"] = {
            _key(name): _plain(name, value)
            for name, value in table.items()
            if not isinstance(value, dict)
        }
        found["testenv"] = {
            _key(k): _plain(k, v) for k, v in mapping(table.get("env_run_base")).items()
        }
        for env, options in list(mapping(table.get("env")).items())[:300]:
            found[f"testenv:{env}"] = {_key(k): _plain(k, v) for k, v in mapping(options).items()}
        python = mapping(mapping(table.get("gh")).get("python"))
        if python:
            found["gh"] = {
                "python": "\n".join(
                    f"{key} = {', '.join(words(value))}" for key, value in python.items()
                )
            }
    return found


def _plain(name: str, value: object) -> str:
    """Convert a TOML value to the text of an ini file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        if name in {"set_env", "setenv"}:
            return "\n".join(
                f"{key} = {item}" for key, item in value.items() if isinstance(item, str | int)
            )
        return _convert_replacement(value)
    if not isinstance(value, list):
        return str(value)[:MOST_CHARACTERS]
    lines = []
    for item in value[:300]:
        if isinstance(item, list):
            lines.append(" ".join(_word(part) for part in item[:300]))
        elif isinstance(item, dict):
            is_list_of_names = _key(name) == "env_list"
            lines.append(expand_table(item) if is_list_of_names else _convert_replacement(item))
        else:
            lines.append(str(item))
    return "\n".join(lines)[:MOST_CHARACTERS]


def _word(part: object) -> str:
    if isinstance(part, dict):
        return _convert_replacement(part)
    text = str(part)
    # A substitution that stands for several words is not quoted.
    return text if _PLAIN_WORD.fullmatch(text) else shlex.quote(text)


def _convert_replacement(table: Mapping[str, Any]) -> str:
    """Convert `{replace = "posargs", default = [...]}` to ini syntax."""
    default = table.get("default")
    given = shlex.join(words(default)) if isinstance(default, list) else str(default or "")
    kind = table.get("replace")
    if kind == "posargs":
        return f"{{posargs:{given}}}"
    if kind == "env":
        return f"{{env:{table.get('name')}:{given}}}"
    if kind == "ref":
        of = words(table.get("of"))
        if len(of) > 1 and of[0] in {"env_run_base", "env"}:
            where = "testenv" if of[0] == "env_run_base" else f"testenv:{of[1]}"
            return f"{{[{where}]{of[-1]}}}"
    return ""


class _Filler:
    """Substitutes `{...}`."""

    def __init__(
        self, config: ToxConfig, env: str, posargs: tuple[str, ...], environment: Mapping[str, str]
    ) -> None:
        self._config, self._env = config, env
        self._posargs, self._environment = posargs, environment
        self._left = 300

    def fill(self, text: str, depth: int = 0) -> str:
        """Substitute everything that is known."""
        if not self._config.budget.spend(len(text)):
            return ""
        ends = _closings(text)
        found, length, index = [], 0, 0
        for mark in _MARKS.finditer(text):
            start = mark.start()
            if start < index or length >= MOST_CHARACTERS:
                continue
            end = ends.get(start) if mark[0] == "{" and self._left > 0 else None
            parts = [text[index:start]]
            index = mark.end()
            if end is not None:
                self._left -= 1
                parts.append(self._value(text[start + 1 : end], depth))
                index = end + 1
            else:
                parts.append(mark[0][-1])
            found += parts
            length += sum(map(len, parts))
        return ("".join(found) + text[index:])[: 2 * MOST_CHARACTERS]

    def _value(self, inner: str, depth: int) -> str:
        if depth >= _DEEPEST:
            return ""
        name, colon, default = inner.partition(":")
        if name == "posargs":
            return shlex.join(self._posargs) if self._posargs else self.fill(default, depth + 1)
        if name == "env":
            variable, _, default = default.partition(":")
            return self._environment.get(variable) or self.fill(default, depth + 1)
        if name == "tty":
            return self.fill(default.partition(":")[2], depth + 1)
        reference = re.fullmatch(r"\[([^\[\]{}]{1,100})\]([\w.-]{1,60})", inner)
        if reference is not None:
            value = self._config.sections.get(reference[1], {}).get(_key(reference[2]))
            if value is None and reference[1].startswith("testenv"):
                value = self._config.raw(reference[1].partition(":")[2], _key(reference[2]))
            chosen = choose_lines(value or "", self._env, self._config.budget)
            return self.fill(chosen, depth + 1)
        return self._builtin_value(inner, colon)

    def _builtin_value(self, inner: str, colon: str) -> str:
        """Substitute tox's own names."""
        fixed = {
            "toxinidir": "$PWD_OF_TOX",
            "tox_root": "$PWD_OF_TOX",
            "envname": self._env,
            "env_name": self._env,
            "envpython": "python",
            "env_python": "python",
            "envbindir": "",
            "env_bin_dir": "",
            "basepython": "python",
            "base_python": "python",
            "/": "/",
            ":": ":",
            "homedir": "$HOME",
            "py_dot_ver": parse_python(self._env) or "3",
            "packages": ".",
            **dict.fromkeys(_SITE_PACKAGES, self._config.packages),
        }
        if inner in fixed:
            return fixed[inner]
        if inner in {
            "envtmpdir",
            "env_tmp_dir",
            "temp_dir",
            "envlogdir",
            "env_log_dir",
            "envdir",
            "env_dir",
            "toxworkdir",
            "work_dir",
            "distdir",
        }:
            # A separate folder in the sandbox, because pytest empties its --basetemp.
            return "/tmp/tox"  # noqa: S108
        own = {"changedir": "change_dir", "change_dir": "change_dir"}.get(inner)
        if own is not None:
            return self._config.raw(self._env, own) or "$PWD_OF_TOX"
        value = (
            self._config.raw(self._env, _key(inner))
            if re.fullmatch(r"[a-z_]{3,30}", inner) and not colon
            else None
        )
        return self.fill(value, _DEEPEST - 1) if value is not None else f"{{{inner}}}"


def _closings(text: str) -> dict[int, int]:
    """Return the index of the matching closing brace for each opening one that is near to it."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for mark in re.finditer(r"[{}]", text):
        if mark[0] == "{":
            opened.append(mark.start())
        elif opened:
            start = opened.pop()
            if mark.start() < start + _MOST_FILLED:
                found[start] = mark.start()
    return found
