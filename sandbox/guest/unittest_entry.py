"""Start unittest inside the sandbox with our result class, before any repository code.

Standard input contains the same JSON object as for `pytest_entry`; `targets` are node ids relative
to the checkout. The command's own discovery runs, and its result is filtered and ordered, so that
the tests are the command's.
"""

import importlib
import importlib.util
import os
import sys
import time
import unittest
import unittest.async_case
import unittest.main
import unittest.runner
from typing import Any, List, Optional

RESULTS = 3
HERE = os.path.dirname(os.path.abspath(__file__))
NO_TESTS = 5
NO_TESTS_SINCE = (3, 12)


def load_entry() -> Any:
    """Load `pytest_entry` by its file, hidden from `sys.path` and `sys.modules`."""
    spec = importlib.util.spec_from_file_location(
        "_metaagent_pytest_entry", os.path.join(HERE, "pytest_entry.py")
    )
    if spec is None or spec.loader is None:
        raise ImportError("pytest_entry")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class UnittestSession:
    """The request, and the recorder."""

    def __init__(self, config: Any, channel: Any, load: Any, guards: Any) -> None:
        self.config = config
        self.canaries = load("unittest_canaries")
        describer = load("failure_detail").Describer(config["root"])
        self.describer = describer
        self.limit = load("cpu_limit").CpuLimit(config["test_cpu_s"], describer.stack)
        self.recorder = load("unittest_recorder").UnittestRecorder(
            channel, describer, config["root"], self.limit, guards=guards
        )
        self.shuffled = load("order").shuffle_order
        self.modules: List[Any] = []
        self.failures = 0
        self.status: Optional[int] = None
        watch = load("hang_watch").HangWatch
        self.watch = watch(config["look_at"], lambda frame: self._hangs(channel, frame))

    def _hangs(self, channel: Any, frame: Any) -> bool:
        current = self.recorder.current
        if current is None:
            return False
        channel.send(["hang", self.recorder.index(current), self.describer.stack(frame)])
        return True

    def chosen(self, suite: Any) -> Any:
        """Return the suite, filtered and ordered if requested."""
        tests = list(flat(suite))
        names = [self.recorder.node_id(test) for test in tests]
        targets, order = self.config["targets"], self.config["order"]
        if targets:
            # In the order of the targets, as in pytest.
            ranks = [
                min(
                    (rank for rank, target in enumerate(targets) if is_meant(name, target)),
                    default=-1,
                )
                for name in names
            ]
            kept = sorted(
                (index for index, rank in enumerate(ranks) if rank >= 0), key=ranks.__getitem__
            )
            tests, names = [tests[index] for index in kept], [names[index] for index in kept]
        if order == "reversed":
            tests.reverse()
        elif order == "random":
            paths = [name.split("::")[:-1] for name in names]
            tests = [tests[index] for index in self.shuffled(paths, self.config["seed"])]
        self.recorder.collected(tests)
        self.modules = self.canaries.choose_modules(tests)
        return unittest.TestSuite(tests) if targets or order != "given" else suite


def flat(suite: Any) -> Any:
    """Yield the tests of a nested suite."""
    if isinstance(suite, unittest.TestCase):
        yield suite
        return
    try:
        members = list(suite)
    except TypeError:
        yield suite
        return
    for member in members:
        yield from flat(member)


def is_meant(name: str, target: str) -> bool:
    """Return True if a target selects this test: its id, class, file or folder."""
    return name == target or name.startswith((target + "::", target + "/", target + "["))


class Recording(unittest.TextTestResult):
    """Passes results to the recorder, then prints like the command."""

    session: Any = None

    def startTest(self, test: Any) -> None:
        """Record the start of a test."""
        if self.session.config["maxfail"] == 0:
            self.failfast = False
        super().startTest(test)
        self.session.recorder.start(test)

    def stopTest(self, test: Any) -> None:
        """Record the end of a test."""
        self.session.recorder.stop(test)
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:
        """Record a pass."""
        self.session.recorder.outcome(test, "p")
        super().addSuccess(test)

    def addFailure(self, test: Any, err: Any) -> None:
        """Record a failed assertion."""
        self.session.recorder.outcome(test, "f", err)
        self._count()
        super().addFailure(test, err)

    def addError(self, test: Any, err: Any) -> None:
        """Record another exception."""
        self.session.recorder.outcome(test, "f", err)
        self._count()
        super().addError(test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        """Record a skip."""
        self.session.recorder.outcome(test, "s")
        super().addSkip(test, reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """Record an expected failure."""
        self.session.recorder.outcome(test, "x")
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:
        """Record an unexpected success."""
        self.session.recorder.outcome(test, "u")
        self._count()
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """Record the end of a subtest."""
        self.session.recorder.part(test, err)
        super().addSubTest(test, subtest, err)

    def _count(self) -> None:
        self.session.failures += 1
        most = self.session.config["maxfail"]
        if most and self.session.failures >= most:
            self.stop()


class Quiet(unittest.TestResult):
    """The result class of canaries: records and prints nothing."""

    session: Any = None

    def startTest(self, test: Any) -> None:
        """Record the start of a test."""
        self.session.recorder.start(test)

    def stopTest(self, test: Any) -> None:
        """Record the end of a test."""
        self.session.recorder.stop(test)

    def addSuccess(self, test: Any) -> None:
        """Record a pass."""
        self.session.recorder.outcome(test, "p")

    def addFailure(self, test: Any, err: Any) -> None:
        """Record a failure."""
        self.session.recorder.outcome(test, "f", err)

    def addError(self, test: Any, err: Any) -> None:
        """Record an error."""
        self.session.recorder.outcome(test, "f", err)


class UnittestRunner(unittest.TextTestRunner):
    """The text runner with our result class and canaries before and after."""

    session: Any = None

    def run(self, test: Any) -> Any:
        """Run the tests that the command found."""
        session, run = self.session, super().run
        suite = session.chosen(test)
        # The command's discovery has imported the tests' modules by now.
        session.recorder.check_seals()
        run_canaries(session)
        session.watch.start()
        try:
            outcome = run(suite)
        finally:
            session.watch.stop()
        run_canaries(session)
        session.status = exit_status(outcome)
        session.recorder.finish(session.status)
        return outcome


def bind_class(kind: Any, session: UnittestSession, **more: Any) -> Any:
    """Create a subclass for this session."""
    return type(kind.__name__, (kind,), {"session": session, **more})


def run_canaries(session: UnittestSession) -> None:
    """Run one test that must pass and one that must fail, through the same machinery."""
    quiet = bind_class(Quiet, session)
    for number, test in session.canaries.create_canaries(
        session.modules, session.config["canaries"], flat
    ):
        session.recorder.expect(test, number)
        unittest.TestSuite([test]).run(quiet())


def exit_status(result: Any) -> int:
    """Return the exit status that the command would have."""
    if not (result.testsRun or result.skipped) and not (result.errors or result.failures):
        return NO_TESTS if sys.version_info >= NO_TESTS_SINCE else 0
    return 0 if not (result.errors or result.failures or result.unexpectedSuccesses) else 1


def main() -> int:
    """Run the session and return its status."""
    # The repository must not import our modules by accident.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    entry = load_entry()
    load = entry.load_sibling
    config = entry.read_config()
    # Look shortly before the host's timeout, while an answer can still be sent.
    config["look_at"] = time.monotonic() + config["wall_s"] - min(2.0, config["wall_s"] * 0.2)
    records, harden = load("record_channel"), load("hardened").harden_function
    callers = records.places(globals())
    channel = records.Channel(RESULTS, bytes.fromhex(config.pop("key")), callers, harden)
    compiled = load("compiled").Compiled(
        os.path.join(config["root"], target) for target in config["targets"]
    )
    guards = load("guarding").Guards(channel, callers, compiled, load)
    own = [load("unittest_recorder"), load("cpu_limit"), sys.modules[__name__]]
    guards.begin(entry.loaded(entry.JUDGING), entry.loaded(entry.COMPILING), own)
    session = UnittestSession(config, channel, load, guards)
    channel.send(["begin", "%d.%d.%d" % sys.version_info[:3], "unittest"])
    if config["python_path"]:
        os.environ["PYTHONPATH"] = config["python_path"]
    load("pytest_command").extend_sys_path(config["python_path"], adds_cwd=config["adds_cwd"])
    runner, program = (
        bind_class(UnittestRunner, session, resultclass=bind_class(Recording, session)),
        unittest.main,
    )
    sys.argv[:] = ["python -m unittest"] + config["args"]
    arguments: List[str] = list(sys.argv)
    # From here on, code of the repository runs.
    guards.arm()
    try:
        program(module=None, argv=arguments, testRunner=runner, exit=False)
    except SystemExit as error:
        # Only a rejected command line exits this way.
        status = error.code if isinstance(error.code, int) else 1
        if session.status is None:
            channel.send(["end", status, 0])
        session.status = status
    status = 1 if session.status is None else session.status
    channel.send(["exit", status])
    channel.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
