"""Choose the commands of the failed step that are judged."""

import re
from collections.abc import Sequence

from sandbox.recipe.command import bare_command, classify_command, split_command
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import ToolCommand
from sandbox.recipe.preparing import TOLERATED, is_file_work, line_needs_node, packs, prepares
from sandbox.runners.builds import makes_files
from sandbox.types import StepKind

MOST_CHECKS = 120
_PRINTS = frozenset({"--version", "-V", "-v", "version", "--help", "-h", "help"})
_ASIDE = frozenset({"husky", "lefthook", "simple-git-hooks", "patch-package", "is-ci", "eval"})
_SENDS = re.compile(
    r"(?<![a-z])(?:re-?)?(?:deploy|publish|upload|release|notify|push|login|coveralls?|codecov|gh-pages)"
    r"(?![a-z])"
)
"""Words in what a command is asked to do: it sends something, and checks nothing."""


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
    places = [number for number, command in enumerate(judged) if command in known]
    last_test = max((n for n, command in enumerate(judged) if _is_node_test(command)), default=0)
    # The step fails if its own build does, and its tests run what the build makes. A program that
    # is not known may be what failed. Only what makes files for the first check is no check itself.
    known = [
        command
        for number, command in enumerate(judged)
        if command in known
        or (number < last_test and makes_files(command.command))
        or may_fail(command, files, is_behind=number > places[0])
    ]
    first = commands.index(judged[places[0]])
    # A build of Node.js between two checks prepares the second one.
    early = [
        command
        for number, command in enumerate(commands)
        if command not in known and (number < first or line_needs_node(command.command))
    ]
    return known, early


def may_fail(command: ToolCommand, files: CheckoutFiles, *, is_behind: bool) -> bool:
    """Return True if a command that is not known may be what failed the step.

    Args:
        command: A command of the failed step.
        files: The files of the checkout.
        is_behind: A check comes before it, so that it does not prepare the first one.
    """
    if is_file_work(command) or packs(command) or only_informs(command.command):
        return False
    return is_behind or not prepares(command, files)


def only_informs(command: str) -> bool:
    """Return True if a command only prints something, or sends something elsewhere."""
    words = split_command(bare_command(command))
    plain = [word for word in words if not word.startswith("-")]
    if words[:1] == ["git"] and "|" not in words:
        return True
    if words[:1] and (words[0].startswith("$") or words[0] in _ASIDE):
        return True  # only a shell knows which program it is, or it prepares what is installed
    asked = " ".join([*(word.rpartition("/")[2] for word in plain[:1]), *plain[1:3]])
    is_printing = bool(words[1:]) and _PRINTS.issuperset(words[1:])
    return is_printing or _SENDS.search(asked) is not None


def _is_node_test(command: ToolCommand) -> bool:
    line = command.command
    return classify_command(line) is StepKind.TEST and line_needs_node(line)
