"""Write the selection of a hook's files as options of `hook_files`, which chooses in the sandbox.

Patterns are regular expressions of the repository, which could take forever on this host.
"""

import shlex
from urllib.parse import quote

from sandbox.types import Frozen
from sandbox.types.launchers import FILE_SELECTOR

_PLAIN = "^$|()[]{}*+?.\\/,:=!<>-_~#@"


class Selection(Frozen):
    """The files of a hook: all patterns apply, and kinds as pre-commit combines them."""

    files: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    types_or: tuple[str, ...] = ()
    exclude_types: tuple[str, ...] = ()
    names: bool = True
    """False if the command runs without names, once there is a file."""

    def command(self, command: str) -> str:
        """Return the command line that runs a command on these files."""
        words = [
            *(f"--files={_encode(one)}" for one in self.files),
            *(f"--exclude={_encode(one)}" for one in self.exclude),
        ]
        for option, kinds in (
            ("--types", self.types),
            ("--types-or", self.types_or),
            ("--exclude-types", self.exclude_types),
        ):
            words += [f"{option}={','.join(map(_encode, kinds))}"] if kinds else []
        words += [] if self.names else ["--no-names"]
        return " ".join((FILE_SELECTOR, *map(shlex.quote, words), "--", command))


def _encode(text: str) -> str:
    """Return a pattern without spaces, quotes and separators of commands."""
    return quote(text, safe=_PLAIN)
