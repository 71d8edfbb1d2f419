"""A pytest plugin that records the real outcome of every test, for a judge outside.

The records, each a JSON list that starts with its kind: `begin` python, pytest · `broken` why ·
`root` rootdir · `items` node ids (JSON, zlib, base64) · `start` index · `ran` index, 1 returned or
0 raised · `test` index, phases, milliseconds · `fail` index, phase, detail · `collect` node id,
detail · `skipped` node id, reason · `canary` number, phases, ran · `hang` index, frames · `patched`
names · `traced` names · `internal` text · `end` status, deselected · `exit` status.

`phases`: set-up, call, teardown: p passed, f failed, s skipped, x failed as expected, X passed
unexpectedly, r to be run again, - did not happen. `ran` is recorded directly around the test's
function (`call_witness`). A passed report without it was tampered with.
"""

import inspect
import os
from typing import Any, Dict, Generator, List, Union

import pytest
from _pytest import python as pytest_python
from _pytest import runner as pytest_runner
from _pytest import unittest as pytest_unittest
from _pytest.reports import TestReport

Hook = Generator[None, Any, None]

PHASES = ("setup", "call", "teardown")
MANY_ITEMS = 15000
EXCHANGED_TOLD = 5
# Plugin options that would make two runs differ, with their reproducible values.
COMPARABLE = {
    "numprocesses": 0, "dist": "no", "tx": [], "looponfail": False, "randomly_reorganize": False,
    "randomly_reset_seed": False, "random_order_bucket": None, "reruns": 0, "forked": False,
}  # fmt: skip


def watched_functions() -> Dict[str, Any]:
    """Return the functions that decide a verdict. There is no legitimate reason to replace them."""
    return {
        "Function.runtest": pytest_python.Function.__dict__.get("runtest"),
        "Function.setup": pytest_python.Function.__dict__.get("setup"),
        "TestCaseFunction.runtest": pytest_unittest.TestCaseFunction.__dict__.get("runtest"),
        "pytest_pyfunc_call": pytest_python.pytest_pyfunc_call,
        "call_and_report": pytest_runner.call_and_report,
        "pytest_runtest_call": pytest_runner.pytest_runtest_call,
        "CallInfo.from_call": pytest_runner.CallInfo.__dict__.get("from_call"),
        "TestReport.from_item_and_call": TestReport.__dict__.get("from_item_and_call"),
    }


class Reporter:
    """The plugin.

    Args:
        channel: Where records are written.
        describer: Converts failures to dictionaries.
        config: The host's request; see `pytest_entry`.
        guards: The guards of the session.
    """

    def __init__(self, channel: Any, describer: Any, config: Dict[str, Any], guards: Any) -> None:
        self._shuffled = config["shuffled"]
        self._send = channel.send
        self._asked = config
        self._describer = describer
        self._limit = config["limit"]
        self._watch = config["watch"](config["look_at"], self._look)
        self._run_protocol = pytest_runner.runtestprotocol
        self._compiled = guards.compiled
        self._origins = guards.origins
        self._guards = guards
        self._canary_maker = config["canary_maker"]
        self._witnessed = guards.witnessed
        self._remember, self._find_place, self._ended = (
            guards.remember,
            guards.find_place,
            guards.ended,
        )
        self._rewriting = config["rewriting"]
        self._watched = {**watched_functions(), **self._rewriting()}
        self._codes: Dict[int, Any] = {}
        self._told: List[str] = []
        self._canaries: Dict[int, Any] = {}
        self._items = 0
        self._deselected = 0
        self._current: Union[int, str, None] = None
        self._phases: Dict[str, str] = {}
        self._canary_ran: Any = None
        self._seconds = 0.0

    # --- the session ------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Hook:
        """Replace the selection after all options were parsed, so that they keep their meaning."""
        for name, value in COMPARABLE.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        asked, own = self._asked["maxfail"], config.option.maxfail
        if asked is not None:
            # Both take 0 as no limit; an explicit request overrides the command's own limit.
            config.option.maxfail = min(asked, own) if asked and own else asked
        if self._asked["targets"]:
            config.args = list(self._asked["targets"])
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: Any) -> None:
        """Record the root of node ids."""
        self._describer.rootdir = str(session.config.rootpath)
        self._compiled.config = session.config
        self._send(["root", self._describer.rootdir])
        self._watch.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> Hook:
        """Record a conftest that failed to load as a failure of its folder: no session follows."""
        outcome = yield
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if isinstance(error, Exception) and not isinstance(
            error, (pytest.UsageError, pytest.exit.Exception)
        ):
            detail = self._describer.describe_exception(error)
            self._record_collection_error(os.path.dirname(str(getattr(error, "path", ""))), detail)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Hook:
        """Record a module that failed to collect, and where, or that skips itself."""
        outcome = yield
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        if report.failed:
            cause = getattr(getattr(report, "call", None), "excinfo", None)
            self._record_collection_error(report.nodeid, self._describer.describe(report, cause))
        elif report.skipped and isinstance(report.longrepr, tuple):
            name = self._describer.node_id(report.nodeid)
            self._send(["skipped", name, str(report.longrepr[-1])[:300]], detail=True)

    def _record_collection_error(self, place: str, detail: Dict[str, Any]) -> None:
        name = self._describer.node_id(place) or "."
        if not self._send(["collect", name, detail], detail=True):
            self._send(["collect", name, {}])

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: Any) -> None:
        """Store the code of a test before it can be replaced."""
        self._codes[id(item)] = find_code(item)

    def pytest_deselected(self, items: List[Any]) -> None:
        """Count deselected tests."""
        self._deselected += len(items)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Hook:
        """Record the tests that will run, in order, and run the canaries before and after."""
        if self._asked["order"] == "reversed":
            session.items.reverse()
        elif self._asked["order"] == "random":
            paths = [[id(node) for node in item.listchain()[1:-1]] for item in session.items]
            session.items[:] = [
                session.items[index] for index in self._shuffled(paths, self._asked["seed"])
            ]
        self._record_items(session)
        self._check_seals()
        if session.testsfailed or session.config.option.collectonly:
            yield
            return
        self._run_canaries(session)
        yield
        # Again with the names of real tests, against code that spares some tests by name.
        self._run_canaries(session, named=True)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Hook:
        """Record the session's own status."""
        yield
        self._watch.stop()
        self._check_seals()
        self._send(["end", int(session.exitstatus), self._deselected])

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        """Record an internal error of pytest or a plugin."""
        self._send(["internal", str(excrepr)[-4000:]])

    def _check_seals(self) -> None:
        """Report replaced functions at once, each name once."""
        present = {**watched_functions(), **self._rewriting()}
        self._report_changes(
            [name for name, function in present.items() if function is not self._watched[name]]
        )
        self._report_changes(self._guards.call_seals.broken() + self._guards.other_seals.broken())

    def _report_changes(self, changed: List[str]) -> None:
        new = [name for name in changed if name not in self._told]
        if new and len(self._told) < EXCHANGED_TOLD:
            self._told += new
            self._send(["patched", new[:EXCHANGED_TOLD]])

    def _record_items(self, session: Any) -> None:
        names = []
        for index, item in enumerate(session.items):
            names.append(self._describer.node_id(item.nodeid))
            path = str(getattr(item, "path", None) or getattr(item, "fspath", ""))
            inner = [name for name in item.nodeid.split("[")[0].split("::")[1:] if name != "()"]
            self._remember(item, index, path, "::".join(inner))
        self._items = len(names)
        self._send(["items", self._describer.pack_names(names)])

    # --- one test ---------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Hook:
        """Record the start and the end of a test."""
        place = self._find_place(item)
        index = place[0] if place is not None else self._describer.node_id(item.nodeid)
        self._current, self._phases, self._seconds = index, {}, 0.0
        if self._items <= MANY_ITEMS:
            self._send(["start", index])
        yield
        phases = "".join(self._phases.get(phase, "-") for phase in PHASES)
        self._send(["test", index, phases, int(self._seconds * 1000)], held=True)
        self._current = None

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Hook:
        """Limit fixtures, too."""
        with self._limit:
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Hook:
        """Limit the teardown of fixtures, too."""
        with self._limit:
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Hook:
        """Record how the test's function ends, from below every hook."""
        self._check_identity(item)
        original, obj, limit = item.runtest, item.__dict__.get("_obj"), self._limit
        is_function = isinstance(item, pytest.Function)
        call = (
            self._witnessed(item.obj, item, self._check_call, self._after) if is_function else None
        )

        def runtest() -> None:
            limit.__enter__()
            try:
                original()
            except BaseException:
                self._record_end(item, 0)
                raise
            finally:
                limit.__exit__()
            # A unittest case keeps its exceptions until the report is made.
            if getattr(item, "_excinfo", None):
                self._record_end(item, 0)
            elif call is None:
                self._record_end(item, 1)

        item.runtest = runtest
        case = asynchronous_case(item) if call is not None else None
        if case is not None:
            case.__dict__[item.name] = call
        elif call is not None:
            item.obj = call
        yield
        item.__dict__.pop("runtest", None)
        if case is not None:
            case.__dict__.pop(item.name, None)
        elif call is not None:
            item.obj = obj

    def _after(self, item: Any, function: Any, returned: int) -> None:
        self._check_call(item, function)
        self._record_end(item, returned)

    def _record_end(self, item: Any, returned: int) -> None:
        if not self._ended(item, returned):
            self._canary_ran = returned

    def _check_call(self, item: Any, function: Any) -> None:
        """Check before and after the call that the function is its file's and not traced."""
        self._guards.report_tracing()
        place = self._find_place(item)
        if place is not None and self._origins.differs(function, place[1], place[2]):
            self._report_changes(["%s was exchanged" % self._describer.node_id(item.nodeid)[:200]])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Hook:
        """Describe a failure while the exception is available."""
        outcome = yield
        if outcome.excinfo is not None or id(item) in self._canaries:
            return
        report = outcome.get_result()
        if self._limit.stopped:  # whatever caught it, and even if another failure was expected
            report.outcome = "failed"
            report.__dict__.pop("wasxfail", None)
            report.longrepr = report.longrepr or self._limit.stopped
        if report.failed and self._current is not None:
            detail = self._limit.mark(self._describer.describe(report, call.excinfo))
            self._send(["fail", self._current, call.when, detail], detail=True, held=True)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> Hook:
        """Record the phases of the running test; a failed subtest fails its test."""
        letter = phase_letter(report)
        if report.when in PHASES and self._phases.get(report.when) != "f":
            self._phases[report.when] = letter
        self._seconds += getattr(report, "duration", 0.0) or 0.0
        yield

    def _check_identity(self, item: Any) -> None:
        """Check the identity of a test.

        Plugins that wrap its function set `__wrapped__`; an exchange does not.
        """
        exchanged = id(item) in self._codes and self._codes[id(item)] is not find_code(item)
        exchanged = exchanged or (id(item) not in self._canaries and self._origins.exchanged(item))
        if exchanged or "runtest" in item.__dict__:
            self._report_changes(["%s was exchanged" % self._describer.node_id(item.nodeid)[:200]])
        self._report_changes(self._guards.call_seals.broken())

    # --- canaries ---------------------------------------------------------------------------------

    def _run_canaries(self, session: Any, *, named: bool = False) -> None:
        """Run a test that must pass and one that must fail, unknown to other plugins."""
        for item in self._canary_maker.beside(session):
            for number in (0, 1):
                name = getattr(item, "originalname", None) if named else None
                try:
                    self._run_canary(item, number, name or self._asked["canaries"][number])
                except Exception as error:
                    self._send(["canary", number, "---", None, type(error).__name__])

    def _run_canary(self, beside: Any, number: int, name: str) -> None:
        for item in self._canary_maker.collected(beside, number, name):
            self._canaries[id(item)] = item
            self._canary_ran = None
            reports = self._run_protocol(item, log=False, nextitem=None)
            phases: Dict[str, str] = {str(report.when): phase_letter(report) for report in reports}
            letters = "".join(phases.get(phase, "-") for phase in PHASES)
            self._send(["canary", number, letters, self._canary_ran])

    # --- tests that do not end --------------------------------------------------------------------

    def _look(self, frame: Any) -> bool:
        """Record the frames of the running test shortly before its time limit."""
        if self._current is not None:
            self._send(["hang", self._current, self._describer.stack(frame)])
        return self._current is not None

    def stop_watching(self) -> None:
        """Stop the timer.

        It must not outlive the session: its signal would kill the interpreter during shutdown.
        """
        self._watch.stop()


class Ready:
    """A plugin beside the reporter that arms the watch.

    After pytest has read the reporter's functions, no further read is legitimate.
    """

    def __init__(self, reporter: Reporter, arm: Any) -> None:
        self._reporter = reporter
        self._arm = arm

    def pytest_plugin_registered(self, plugin: Any) -> None:
        """Start to watch our functions."""
        if plugin is self._reporter:
            self._arm()


def find_code(item: Any) -> Any:
    """Return the code object of a test's function; None for tests without one."""
    function = getattr(item, "_obj", None) if isinstance(item, pytest.Function) else None
    try:
        return getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    except ValueError:
        return None


def asynchronous_case(item: Any) -> Any:
    """Return the instance of an asynchronous unittest test, which calls the method by name."""
    if not isinstance(item, pytest_unittest.TestCaseFunction) or not inspect.iscoroutinefunction(
        item.obj
    ):
        return None
    return getattr(item, "_testcase", None) or getattr(item, "_instance", None)


def phase_letter(report: Any) -> str:
    """Return the outcome of one phase as one letter."""
    if hasattr(report, "wasxfail"):
        return {"skipped": "x", "passed": "X"}.get(report.outcome, "f")
    return {"passed": "p", "failed": "f", "skipped": "s", "rerun": "r"}.get(report.outcome, "f")
