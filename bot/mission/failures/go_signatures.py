"""Read messages of Go about parts of the environment that are missing. Pure."""

import re
from collections.abc import Collection

from bot.mission.failures.parts import compile_signs, describe_part

_PACKAGE = re.compile(
    r"(?:no required module provides package|cannot find module providing package"
    r"|missing go\.sum entry for module providing package) ([^\s;:]{1,200})"
)
_HOSTS_OF_ORGANISATIONS = ("github.com", "gitlab.com", "bitbucket.org")
_PARTS = {
    "it needs another Go: {0}": (
        r"(requires go >= \d[^\s()]{0,20})"
        r"|(module requires Go \d[^\s,;)]{0,20})"
    ),
    "`vendor` does not fit `go.mod`": r"go: inconsistent vendoring in ",
    "the modules of `go.mod` are not downloaded": r"module lookup disabled by GOPROXY=off",
    "the C compiler `{0}` is not in the image": r"cgo: C compiler \"([^\"\n]{1,60})\" not found",
    "the header `{0}` is not in the image": r"fatal error: ([\w/.+-]{1,100}\.h): No such file",
    "the library `{0}` is not in the image": (
        r"Package ([\w.+-]{1,80}) was not found in the pkg-config search path"
        r"|exec: \"(pkg-config)\": executable file not found"
    ),
}
_SIGNS = compile_signs(_PARTS)


def missing_go_part(text: str, packages: Collection[str]) -> str | None:
    """Describe what of Go a message misses; None if it names nothing that is known.

    Args:
        text: The message.
        packages: Packages of the checkout; one beside them is a bug, not a missing part.
    """
    if found := _PACKAGE.search(text):
        own = {_repository(package) for package in packages}
        if _repository(found[1]) in own:
            return None
        return f"no module that `go.mod` and `go.sum` name has the package `{found[1]}`"
    return describe_part(text, _SIGNS)


def _repository(package: str) -> tuple[str, ...]:
    """Return the start of an import path that all packages of a repository share."""
    parts = package.split("/")
    return tuple(parts[: 3 if parts[0] in _HOSTS_OF_ORGANISATIONS else 2])
