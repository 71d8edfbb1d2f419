"""The variables of a script that is followed without running it."""

import re
from collections.abc import Iterator, Mapping
from posixpath import join, normpath

from typing_extensions import override

from sandbox.recipe.shell.words import ShellExpression
from sandbox.types import USUAL

_RUNNER = {
    "CI": "true",
    "GITHUB_ACTIONS": "true",
    "GITHUB_WORKSPACE": USUAL.workdir,
    "RUNNER_OS": "Linux",
    "RUNNER_ARCH": "X64",
    "RUNNER_ENVIRONMENT": "github-hosted",
    "OSTYPE": "linux-gnu",
}
"""Variables of every Linux runner with the same value, enough for common conditions."""
_RUNNERS_NAMES = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SHLVL", "HOSTNAME", "TERM", "TMPDIR"),
        *("LANG", "LANGUAGE", "DISPLAY", "OLDPWD", "IFS", "UID", "EUID", "PPID", "RANDOM"),
        *("SECONDS", "LINENO", "REPLY", "HOSTTYPE", "MACHTYPE", "OPTARG", "OPTIND", "EDITOR"),
        *("ImageOS", "ImageVersion", "AGENT_TOOLSDIRECTORY", "DEBIAN_FRONTEND", "VIRTUAL_ENV"),
        *("pythonLocation", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CONDA", "VCPKG_ROOT"),
        *("CHROME_BIN", "EDGEWEBDRIVER", "CHROMEWEBDRIVER", "GECKOWEBDRIVER", "ANT_HOME"),
        *("GRADLE_HOME", "SWIFT_PATH", "SELENIUM_JAR_PATH", "INIT_CWD", "GOPATH", "GOFLAGS"),
    }
)
"""Variables of a runner, of its shell, and of the actions that set up a language.

Their values differ from run to run.
"""
_RUNNERS_PREFIXES = re.compile(
    r"(?:GITHUB|RUNNER|ACTIONS|INPUT|STATE|BASH|LC|XDG|GOROOT|JAVA_HOME|ANDROID|PIPX|NVM|CONDA"
    r"|Python\d?|HOMEBREW|npm|NODE|UV)_"
)
_SETTABLE = re.compile(r"(?<![\w$])(?<!\$\{)[A-Za-z_]\w{0,99}")
_LIST = re.compile(r"\[[@*]\]$")


class ShellVariables(Mapping[str, str]):
    """Values by name. A name that nothing sets is empty, as in a shell.

    Args:
        given: The environment of the script. A value that only a shell or GitHub knows is a
            `ShellExpression`.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._known = {**_RUNNER, **given}
        self._exported = dict[str, None]()
        self._is_complete = True
        self._forgotten = set[str]()

    @override
    def __getitem__(self, name: str) -> str:
        if name in self._known:
            return self._known[name]
        if not self._is_complete or _is_of_runner(name):
            raise KeyError(name)
        return ""

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    @override
    def __len__(self) -> int:
        return len(self._known)

    @property
    def known(self) -> Mapping[str, str]:
        """Return the values without the names that nothing sets."""
        return self._known

    @property
    def exported(self) -> dict[str, str]:
        """Return the variables that the script's programs see in addition to their environment."""
        return {name: self._known[name] for name in self._exported if name in self._known}

    def assign(self, name: str, value: str) -> None:
        """Set a variable; it stays exported if it was."""
        self._known[name] = value

    def export(self, name: str, value: str | None = None) -> None:
        """Set a variable and export it. Without a value, export a variable that is set."""
        if value is not None:
            self._known[name] = value
        if name in self._known:
            self._exported[name] = None

    def unset(self, name: str) -> None:
        """Remove a variable."""
        self._known.pop(name, None)
        self._exported.pop(name, None)

    def enter(self, folder: str | None) -> None:
        """Note the folder that the script is in now; None outside of the checkout."""
        here = normpath(join(USUAL.workdir, folder or "."))
        self._known["PWD"] = ShellExpression("${PWD}") if folder is None else here

    def forget(self, text: str) -> None:
        """Treat every variable that a part of the script may set as unknown."""
        if text not in self._forgotten:
            self._forgotten.add(text)
            for name in _SETTABLE.findall(text):
                self._known[name] = ShellExpression(f"${{{name}}}")

    def forget_all(self) -> None:
        """Treat every variable that the script has not set itself as unknown."""
        self._is_complete = False

    def named_in(self, text: str) -> dict[str, str]:
        """Return the variables of the script that a text uses, with their values."""
        names = re.findall(r"\$\{?([A-Za-z_]\w{0,99})", text)
        return {
            name: self._known[name]
            for name in names
            if name in self._known and name not in _RUNNER and name != "PWD"
        }


def _is_of_runner(name: str) -> bool:
    plain = _LIST.sub("", name)
    return plain != name or plain in _RUNNERS_NAMES or _RUNNERS_PREFIXES.match(plain) is not None
