"""Requirements of tests that a set-up may leave out if they cannot be installed."""

import re
from collections.abc import Iterable

from sandbox.errors import SetupFailed
from sandbox.recipe.command import classify_command
from sandbox.recipe.declared import Project
from sandbox.recipe.requirements import Requirements, distribution_name, normal_name
from sandbox.types import Fidelity, Recipe, StepKind

_WORD = re.compile(r"[A-Za-z0-9][\w.-]*")
_LONGEST_REASON = 120
_RUNNER = "pytest"


def find_test_only(
    wanted: Requirements, commands: Iterable[str], projects: Iterable[Project]
) -> tuple[str, ...]:
    """Return the names of the requirements that only tests need.

    Excluded are the dependencies of the projects themselves, pytest and its plugins, and what a
    command or pytest's configuration names. A command that also lints or checks types needs all:
    its findings change without a package.

    Args:
        wanted: The job's requirements.
        commands: The failing command and those before it.
        projects: The projects of the checkout that the job needs.
    """
    lines, needed = tuple(commands), set[str]()
    kinds = {classify_command(part.strip()) for line in lines for part in line.split("&&")}
    if kinds & {StepKind.LINT, StepKind.FORMAT, StepKind.TYPES}:
        return ()
    for project in projects:
        needed |= {distribution_name(line) for line in project.wanted.lines}
        lines += (project.pytest_options,)
    needed |= {distribution_name(line) for line in wanted.other_lines()}
    for word in (word for line in lines for word in _WORD.findall(line)):
        needed |= {normal_name(word), *map(normal_name, word.split("."))}
    # Only lines that are still wanted: local projects are removed from them after they are marked.
    present = set(wanted.lines)
    names = (distribution_name(line) for line in wanted.for_tests if line in present)
    return tuple(
        name for name in dict.fromkeys(names) if name not in needed and not _is_of_runner(name)
    )


def _is_of_runner(name: str) -> bool:
    return name == _RUNNER or name.startswith(f"{_RUNNER}-")


def without_requirement(recipe: Recipe, error: SetupFailed, most: int) -> Recipe | None:
    """Return the recipe without a requirement of tests that could not be installed.

    Args:
        recipe: The recipe.
        error: The failed set-up. It may name anything, so only requirements of the recipe count.
        most: Maximum number of requirements to leave out.

    Returns:
        None if the error names no such requirement, or another one needs the same package.
    """
    python = recipe.python
    names = tuple(dict.fromkeys(error.requested))
    if not names or not set(names) <= set(python.test_only) or len(python.left_out) >= most:
        return None
    name = names[0]
    why = error.message.removeprefix("Set-up failed: ").rstrip(".")[:_LONGEST_REASON]
    entry = Fidelity(
        step=f"install {name}",
        treatment="dropped",
        reason=f"left out, so that tests that need it skip or fail: {why}",
    )
    obstacle = f"the requirement {name}: it could not be installed here and was left out"
    reduced = python.with_(
        requirements=tuple(line for line in python.requirements if distribution_name(line) != name),
        test_only=tuple(one for one in python.test_only if one != name),
        left_out=(*python.left_out, name),
    )
    return recipe.with_part(reduced).with_(
        fidelity=(*recipe.fidelity, entry), obstacles=(obstacle, *recipe.obstacles)
    )
