"""The description of one autofix tool: a row of the tables in this folder."""

import shlex
from collections.abc import Sequence

from sandbox.types import Frozen

_ONE, _MANY = "=", "..."


class Tool(Frozen):
    """An autofix tool: how a failing command runs it, and how it fixes the files that it named."""

    name: str
    """Name shown to people, such as `ruff check`."""
    runs: str
    """Words with which the failing command starts: the program, and its subcommand if any."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of the files it fixes; empty for any file."""
    fix: str = ""
    """Words after the program that make it fix."""
    checks: str = ""
    """Options of which a command needs one to be a check; empty if it is one without them."""
    options: str = ""
    """Options of the failing command that the fix keeps: those that choose rules and style.

    `NAME=` takes a value, `NAME...` takes all words up to the next option.
    """
    whole_project: bool = False
    """True if it takes no files. All arguments but `drops` are kept; edits of other files are
    not."""
    drops: str = ""
    """Arguments that a whole-project tool does not keep."""
    statuses: frozenset[int] = frozenset({0, 1})
    """Exit statuses of a fix that ran. A status other than 0 says that findings remain."""
    check: str = ""
    """Words after the program that check the format without a change.

    A tool that has them is a companion: files that pass before another tool's fix pass afterwards.
    """
    version: str = "--version"
    """Words after the program that print its version."""

    @property
    def program(self) -> str:
        """Return the name of the program."""
        return self.runs.split()[0]

    def is_check(self, arguments: Sequence[str]) -> bool:
        """Return True if these arguments make the tool fail for findings."""
        if not self.checks:
            return True
        given = {word.partition("=")[0] for word in arguments}
        return not given.isdisjoint(self.checks.split())

    def kept(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments of a failing command that its fix keeps."""
        if self.whole_project:
            dropped = self.drops.split()
            return [word for word in arguments if word.partition("=")[0] not in dropped]
        return select_options(arguments, self.options)

    def fits(self, path: str) -> bool:
        """Return True if the tool fixes files with such a name."""
        return not self.suffixes or path.endswith(self.suffixes)


class ToolCall(Frozen):
    """One run of a tool in a failing command line."""

    tool: Tool
    start: tuple[str, ...]
    """Variables, launcher and program."""
    arguments: tuple[str, ...] = ()
    """The words after `Tool.runs`."""
    folder: str = "."
    """Relative to the working directory."""
    line: str = ""
    """The command as it was written."""

    @property
    def fix_command(self) -> str:
        """Return the command line that fixes; file names are appended."""
        return self._join(self.tool.fix, with_files=not self.tool.whole_project)

    @property
    def check_command(self) -> str:
        """Return the command line that checks the format; file names are appended."""
        return self._join(self.tool.check, with_files=not self.tool.whole_project)

    @property
    def version_command(self) -> str:
        """Return the command line that prints the version."""
        return shlex.join([*self.start, *self.tool.version.split()])

    def in_folder(self, command: str) -> str:
        """Return a command line that runs in the call's folder."""
        return command if self.folder == "." else f"cd {shlex.quote(self.folder)} && {command}"

    def _join(self, words: str, *, with_files: bool) -> str:
        kept = self.tool.kept(self.arguments)
        # No name of a file may be read as an option.
        end = ["--"] if with_files else []
        return shlex.join([*self.start, *words.split(), *kept, *end])


def select_options(arguments: Sequence[str], options: str) -> list[str]:
    """Return the known options among arguments, with their values."""
    values = {
        one.removesuffix(_MANY).removesuffix(_ONE): one[len(one.rstrip("=.")) :]
        for one in options.split()
    }
    kept: list[str] = []
    waiting = ""
    for word in arguments:
        name, equals, _ = word.partition("=")
        short = word[:2] if word[:1] == "-" and word[:2] != "--" else ""
        if waiting and not (waiting == _MANY and word.startswith("-")):
            kept.append(word)
            waiting = waiting if waiting == _MANY else ""
        elif name in values:
            kept.append(word)
            waiting = "" if equals else values[name]
        elif len(word) > len(short) and values.get(short) == _ONE:
            kept.append(word)  # a value without a space, as in `-l100`
            waiting = ""
        else:
            waiting = ""
    return kept
