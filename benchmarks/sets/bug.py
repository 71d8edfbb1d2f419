"""What a bug of a set is: a broken tree, the right one, and which tests tell them apart."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

COMMAND = "python -m pytest -q"


@dataclass(frozen=True)
class Bug:
    """One bug of a set.

    Attributes:
        name: Names it within its set.
        right: Path to the right text of every file that is broken.
        tests: Names of the tests that pass with the right text.
        failing: Those of them that fail with the broken text.
        plant: Writes the broken tree.
        command: How the tests are run.
        targets: `module:function`, what is compared with the reference; empty when the broken files tell.
        repository: Whose environment it is.
        setup: What its environment needs besides what the tree says.
    """

    name: str
    right: Mapping[str, str]
    tests: Sequence[str]
    failing: frozenset[str]
    plant: "Plant"
    command: str = COMMAND
    targets: Sequence[str] = ()
    repository: str = "local"
    setup: Sequence[str] = ()
    about: Mapping[str, object] = field(default_factory=dict)


class Plant(Protocol):
    """Writes a bug's tree."""

    def __call__(self, folder: Path, hidden: Collection[str]) -> None:
        """Write it, without the hidden tests and without anything that tells of them."""
        ...


def unit_of(test: str) -> str:
    """What is hidden or shown together: a test function, however many parameters it has."""
    return test.partition("[")[0]


def relative(test: str) -> tuple[str, str]:
    """The file of a test, and its name in there without parameters: `TestIt.test_this`."""
    file, _, name = unit_of(test).partition("::")
    return file, name.replace("::", ".")
