"""Choose the commands of the failed step that are judged."""

from collections.abc import Sequence

from sandbox.recipe.command import classify_command
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import ToolCommand
from sandbox.recipe.preparing import TOLERATED, is_file_work, line_needs_node, runs_own_script
from sandbox.runners.builds import is_node_build, makes_files
from sandbox.types import StepKind

MOST_CHECKS = 120


def choose_checks(
    commands: Sequence[ToolCommand], files: CheckoutFiles
) -> tuple[list[ToolCommand], list[ToolCommand]]:
    """Return the commands that test or check, and those before the first of them."""
    judged = [command for command in commands if not command.command.endswith(TOLERATED)]
    if not judged:
        return [], list(commands)
    known = [
        command for command in judged if classify_command(command.command) is not StepKind.OTHER
    ]
    if not known:
        named = [command for command in judged if not is_file_work(command)]
        first = commands.index(named[0]) if named else 0
        return list(commands[first:]), list(commands[:first])
    checks = [number for number, command in enumerate(judged) if command in known]
    last_test = max((n for n, command in enumerate(judged) if _is_node_test(command)), default=0)
    # The step fails if its own build does, and its tests run what the build makes. A build between
    # two checks may need the first one, as that of declarations needs `tsc`. Scripts of the
    # repository behind a check are checks, or the next one needs them.
    known = [
        command
        for number, command in enumerate(judged)
        if command in known
        or (number < last_test and makes_files(command.command))
        or (checks[0] < number < checks[-1] and is_node_build(command.command))
        or (checks[0] < number and runs_own_script(command, files))
    ]
    first = commands.index(known[0])
    # A build of Node.js between two checks prepares the second one.
    early = [
        command
        for number, command in enumerate(commands)
        if command not in known and (number < first or line_needs_node(command.command))
    ]
    return known, early


def _is_node_test(command: ToolCommand) -> bool:
    line = command.command
    return classify_command(line) is StepKind.TEST and line_needs_node(line)
