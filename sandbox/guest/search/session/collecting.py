"""Let pytest or unittest collect in this process, and run the search in place of the tests."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any, List, Optional, Sequence, Tuple

from sandbox.guest.failure_detail import Describer
from sandbox.guest.pytest_command import (
    extend_sys_path,
    split_pytest_command,
    split_unittest_command,
)
from sandbox.guest.search.session.collected import (
    BrokenFile,
    Collected,
    Inside,
    NothingCollected,
    SuiteCommand,
)
from sandbox.guest.search.session.harness import OFF, IgnoredOptions
from sandbox.guest.search.session.hypothesis_inputs import settle_inputs
from sandbox.guest.search.session.stand_ins import stand_ins
from sandbox.guest.search.session.unittest_session import collect_unittest


def read_command(line: str, root: str) -> Optional[SuiteCommand]:
    """Return the parsed command line, or None if it starts neither runner."""
    for runner, split in (("pytest", split_pytest_command), ("unittest", split_unittest_command)):
        parts = split(line)
        if parts is not None:
            return SuiteCommand(runner, parts, os.path.realpath(root))
    return None


def prepare_process(command: SuiteCommand) -> None:
    """Set up this process like the command's own, before anything of the checkout is imported."""
    extend_sys_path(os.environ.get("PYTHONPATH", ""), adds_cwd=command.parts.adds_cwd)
    first = "pytest" if command.runner == "pytest" else "python -m unittest"
    sys.argv[:] = [first, *command.parts.args]
    sys.dont_write_bytecode = True
    os.environ.setdefault(
        "HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "hypothesis")
    )


def collect(
    command: SuiteCommand, inside: Inside, files: Optional[Sequence[str]] = None
) -> Tuple[BrokenFile, ...]:
    """Collect, and call `inside` with the result.

    Args:
        command: The test command.
        inside: Called while the session is open; its exceptions are raised here.
        files: Collect only these, relative to the checkout; None collects what the command selects.

    Returns:
        The errors that prevented the collection; empty if `inside` was called.
    """
    if command.runner == "unittest":
        return collect_unittest(command, inside)
    return _collect_pytest(command, inside, files)


class Plugin:
    """Takes over at the point where pytest would run the tests."""

    def __init__(
        self, command: SuiteCommand, inside: Inside, files: Optional[Sequence[str]]
    ) -> None:
        self._inside = inside
        self._files = files
        self._describer = Describer(command.root)
        self._root = command.root
        self.broken: List[BrokenFile] = []
        self.reached = False
        self.failure: Optional[BaseException] = None

    def pytest_configure(self, config: Any) -> None:
        """Replace the selection after all options were read, so that they keep their meaning."""
        if self._files is not None:
            config.args = [os.path.join(self._root, file) for file in self._files]

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        """Record a file that could not be collected, with its error."""
        if not hasattr(node, "runtest") and call.excinfo is not None:
            self._describer.rootdir = str(node.config.rootpath)
            self.broken.append(BrokenFile(self._describer.node_id(node.nodeid), call.excinfo.value))

    def pytest_internalerror(self, excinfo: Any) -> None:
        """Record that the session failed before anything could run."""
        self.broken.append(BrokenFile("", excinfo.value))

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the search in place of the tests."""
        self.reached = True
        settle_inputs(session.items)
        try:
            self._inside(Collected(session, tuple(self.broken)))
        except BaseException as error:
            self.failure = error
        return True


def _collect_pytest(
    command: SuiteCommand, inside: Inside, files: Optional[Sequence[str]]
) -> Tuple[BrokenFile, ...]:
    from _pytest import config as pytest_config

    plugin = Plugin(command, inside, files)
    off = [argument for name in OFF for argument in ("-p", f"no:{name}")]
    arguments = [*off, *command.parts.args, "-s", "--assert=plain", "-q"]
    try:
        config = pytest_config._prepareconfig(arguments, [IgnoredOptions(), stand_ins(), plugin])
        try:
            config.hook.pytest_cmdline_main(config=config)
        finally:
            config._ensure_unconfigure()
    except BaseException as error:
        if plugin.failure is None and not plugin.reached:
            return (*plugin.broken, BrokenFile("", unwrap_cause(error)))
    if plugin.failure is not None:
        raise plugin.failure
    return (
        ()
        if plugin.reached
        else (*plugin.broken, BrokenFile("", NothingCollected("the tests could not be collected")))
    )


def unwrap_cause(error: BaseException) -> BaseException:
    """Return the exception behind pytest's error for a conftest that could not be imported."""
    inner = getattr(error, "cause", None) or getattr(error, "excinfo", None)
    if isinstance(inner, tuple) and len(inner) > 1:
        inner = inner[1]
    return inner if isinstance(inner, BaseException) else error
