"""Read a script against a few files, as the readers of tools do for a job's step."""

from dataclasses import replace
from textwrap import dedent

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import ToolReading
from sandbox.recipe.tools.interpret import new_context, read_script
from sandbox.types import Fidelity


class Read:
    """What a script asks for.

    Args:
        script: The script.
        files: Path to text.
        python: The job's Python.
        folder: Where the script starts.
        environment: What it sees.
    """

    def __init__(
        self,
        script: str,
        files: dict[str, str] | None = None,
        *,
        python: str | None = "3.11",
        folder: str = ".",
        environment: dict[str, str] | None = None,
    ) -> None:
        contents = {
            name: dedent(text).lstrip("\n").encode() for name, text in (files or {}).items()
        }
        self._log = FidelityLog()
        context = new_context(CheckoutFiles(contents, None, self._log), python)
        context = replace(context, variables=environment or {})
        reading, walked = read_script(context, dedent(script), folder, environment or {})
        self.reading: ToolReading = reading
        self.later = walked.environment

    @property
    def commands(self) -> list[str]:
        """Each command, with the folder it runs in where that is not the top."""
        return [
            command.command
            if command.working_directory == "."
            else f"{command.working_directory}: {command.command}"
            for command in self.reading.commands
        ]

    @property
    def lines(self) -> list[str]:
        """Requirement lines."""
        return list(self.reading.wanted.lines)

    @property
    def projects(self) -> list[str]:
        """Local projects, as `folder[extra,extra]`."""
        return [
            f"{local.folder}[{','.join(local.extras)}]" if local.extras else local.folder
            for local in self.reading.wanted.local
        ]

    @property
    def notes(self) -> tuple[Fidelity, ...]:
        """What was noted."""
        return self._log.entries()
