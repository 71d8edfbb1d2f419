"""Choose the commands of a command line, and the requested tests that each of them runs."""

import posixpath

from sandbox.runners import detect_runner, detect_traits
from sandbox.runners.builds import makes_files
from sandbox.runners.steps import CommandStep, split_steps

Chosen = tuple[CommandStep, tuple[str, ...]]
"""A command with the tests to run; without any it runs its own selection."""


def choose_steps(command: str, targets: tuple[str, ...], folder: str) -> tuple[Chosen, ...]:
    """Return the commands to run.

    Asked for single tests, only the commands that know tests, and the builds before them. All if it
    is unknown which of them has the tests.

    Args:
        command: The command line.
        targets: The requested tests, relative to the checkout; empty for the whole command.
        folder: The folder of the command line, relative to the checkout.
    """
    steps = split_steps(command)
    if steps is None or all(detect_runner(step.command).name == "command" for step in steps):
        return ((CommandStep(command=command), targets),)
    testing = [n for n, step in enumerate(steps) if detect_traits(step.command).takes_targets]
    if not targets or not testing:
        return tuple((step, targets) for step in steps)
    folders = [posixpath.normpath(f"{folder}/{steps[number].folder}") for number in testing]
    named = any(detect_traits(steps[number].command).names_packages for number in testing)
    if named and len(set(folders)) > 1:
        # It is unknown which command has the tests: a command fails on packages of another module.
        return tuple((step, ()) for step in steps)
    found = _assign(folders, targets)
    chosen = {number: own for number, own in zip(testing, found, strict=True) if own}
    return tuple(
        (step, chosen.get(number, ()))
        for number, step in enumerate(steps)
        if number in chosen or (number < max(chosen) and makes_files(step.command))
    )


def _assign(plain: list[str], targets: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the targets of each folder: those below it and below no deeper one."""
    if len(set(plain)) == 1:
        return [targets for _ in plain]
    owners = {target: _owner(plain, target) for target in targets}
    if not all(owners.values()):
        return [targets for _ in plain]
    return [tuple(target for target in targets if owners[target] == one) for one in plain]


def _owner(folders: list[str], target: str) -> str:
    """Return the deepest folder that contains a test; empty if none does."""
    found = [one for one in folders if one == "." or target.startswith(f"{one}/")]
    return max(found, key=lambda one: len(one) * (one != "."), default="")
