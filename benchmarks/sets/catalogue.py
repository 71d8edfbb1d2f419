"""The sets by name."""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.sets.bug import Bug, unit_of
from benchmarks.sets.programs import case_of, programs_of

PROGRAMS = ("quixbugs", "humanevalfix")
SETS = (*PROGRAMS, "mutants", "handmade")


def bugs_of(name: str, data: Path, packages: Path) -> Iterator[Bug]:
    """The bugs of a set.

    Args:
        name: One of SETS.
        data: Where the program sets are.
        packages: Where real packages were built.
    """
    if name in PROGRAMS:
        return programs_of(data / name)
    from benchmarks.sets.packages import bugs_of_packages

    return bugs_of_packages(packages, name)


def unit_of_set(name: str) -> Callable[[str], str]:
    """What is hidden together: a parameter set of a program, a test function of a package."""
    return case_of if name in PROGRAMS else unit_of
