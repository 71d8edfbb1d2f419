"""The sets by name."""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.sets import mined_bugs
from benchmarks.sets.bug import Bug, unit_of
from benchmarks.sets.built import Built, Planted
from benchmarks.sets.packages import built_packages
from benchmarks.sets.programs import case_of, programs_of
from benchmarks.sets.releases import KIND, built_releases
from benchmarks.sets.web_projects import web_bugs

PROGRAMS = ("quixbugs", "humanevalfix")
PLANTED = ("mutants", "handmade", KIND)
MINED = {"mined": "learn", "mined_judge": "judge"}
"""Sets of mined fixes, each with the half of its packages."""
WEB = "web"
SETS = (*PROGRAMS, *PLANTED, *MINED, WEB)


def bugs_of(name: str, data: Path, packages: Path) -> Iterator[Bug]:
    """The bugs of a set.

    Args:
        name: One of SETS.
        data: Where the program sets are.
        packages: Where real packages were built.
    """
    if name in PROGRAMS:
        return programs_of(data / name)
    if name == WEB:
        return web_bugs()
    return (built.as_bug(planted) for built, planted in planted_of(name, packages))


def planted_of(name: str, packages: Path) -> Iterator[tuple[Built, Planted]]:
    """The bugs of a set of real packages, as far as they were built."""
    if name in MINED:
        found, kind = mined_bugs.built_fixes(packages, MINED[name]), mined_bugs.KIND
    else:
        found, kind = (built_releases if name == KIND else built_packages)(packages), name
    for built in found:
        if built.is_surveyed:
            yield from ((built, planted) for planted in built.bugs(kind))


def unit_of_set(name: str) -> Callable[[str], str]:
    """What is hidden together: a parameter set of a program, a test function of a package."""
    return case_of if name in PROGRAMS else unit_of
