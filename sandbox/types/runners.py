"""Properties of test runners that other code may depend on."""

from sandbox.types.frozen import Frozen
from sandbox.types.locks import LOCK_RUNNER


class RunnerTraits(Frozen):
    """The properties of one runner."""

    takes_targets: bool = False
    """It reports tests by name, and single tests can be run by that name."""
    takes_order: bool = False
    """It can run the tests in another order."""
    target_command: str = ""
    """The shortest command that runs tests by name; empty if there is none."""
    is_findings: bool = False
    """Its results are the violations that a linter or type checker reports."""
    names_packages: bool = False
    """Its tests are named by their package, which does not tell their folder."""
    is_forgeable: bool = False
    """The process of the tests reports their results itself, so code in it can forge them."""
    only_tools: bool = False
    """Only a tool of rung 0 can repair what it reports."""
    searched_by: str = ""
    """The guest folder whose `server.py` searches repairs; empty if there is no search."""


RUNNER_TRAITS = {
    "pytest": RunnerTraits(
        takes_targets=True,
        takes_order=True,
        target_command="python -m pytest",
        searched_by="search",
    ),
    "unittest": RunnerTraits(takes_targets=True, takes_order=True, searched_by="search"),
    "vitest": RunnerTraits(takes_targets=True, takes_order=True),
    "jest": RunnerTraits(takes_targets=True, takes_order=True),
    "mocha": RunnerTraits(takes_targets=True, takes_order=True),
    # Each file has its own process, and Node.js runs the tests of a file as they are written.
    "node:test": RunnerTraits(takes_targets=True),
    "go test": RunnerTraits(
        takes_targets=True, takes_order=True, names_packages=True, is_forgeable=True
    ),
    "diagnostics": RunnerTraits(is_findings=True, searched_by="search/findings"),
    LOCK_RUNNER: RunnerTraits(is_findings=True, only_tools=True),
}
"""By the name of the runner, which is stored in reports. A runner that is missing here has none."""


def find_traits(runner: str) -> RunnerTraits:
    """Return the traits of a runner, also of one that only another version has."""
    return RUNNER_TRAITS.get(runner, RunnerTraits())
