"""A pytest plugin that records what really happened to every test, for a judge outside who trusts nobody inside.

The records, each a JSON list that starts with its kind:

`begin` python, pytest · `broken` why · `root` rootdir · `items` node ids (JSON, zlib, base64) · `start` index ·
`test` index, phases, raw, milliseconds · `fail` index, phase, detail · `collect` node id, detail · `canary` number,
phases, raw · `hang` index, frames · `patched` names · `internal` text · `end` status, deselected · `exit` status.

`phases` is one letter for set-up, call and teardown: p passed, f failed, s skipped, x failed as expected, X passed
though expected to fail, r to be run again, - did not happen. `raw` is what the test itself did, seen below every hook:
1 it returned, 0 it raised, null it was not called. A report that says passed over a raw 0 was tampered with.
"""

import base64
import inspect
import json
import os
import zlib
from typing import Any, Dict, Generator, List, Union

import pytest
from _pytest import python as pytest_python
from _pytest import runner as pytest_runner
from _pytest import unittest as pytest_unittest
from _pytest.fixtures import FuncFixtureInfo

Hook = Generator[None, Any, None]

PHASES = ("setup", "call", "teardown")
MANY_ITEMS = 15000
CANARY_FOLDERS = 8
EXCHANGED_TOLD = 5
# Options of plugins that would make two runs differ, with the value that makes them alike.
COMPARABLE = {
    "numprocesses": 0, "dist": "no", "tx": [], "looponfail": False, "randomly_reorganize": False,
    "randomly_reset_seed": False, "random_order_bucket": None, "reruns": 0, "forked": False,
}  # fmt: skip


def canary_passes() -> None:
    """A test that must pass."""


def canary_fails() -> None:
    """A test that must fail."""
    raise AssertionError("this one has to fail")


def watched_functions() -> Dict[str, Any]:
    """The functions that carry a verdict; nobody has a reason to replace them."""
    return {
        "Function.runtest": pytest_python.Function.__dict__.get("runtest"),
        "Function.setup": pytest_python.Function.__dict__.get("setup"),
        "TestCaseFunction.runtest": pytest_unittest.TestCaseFunction.__dict__.get("runtest"),
        "pytest_pyfunc_call": pytest_python.pytest_pyfunc_call,
        "call_and_report": pytest_runner.call_and_report,
        "pytest_runtest_call": pytest_runner.pytest_runtest_call,
        "CallInfo.from_call": pytest_runner.CallInfo.__dict__.get("from_call"),
        "TestReport.from_item_and_call": pytest.TestReport.__dict__.get("from_item_and_call"),
    }


class Reporter:
    """The plugin.

    Args:
        channel: Where records go.
        describer: Turns failures into dictionaries.
        config: What the host asked for; see `pytest_entry`.
    """

    def __init__(self, channel: Any, describer: Any, config: Dict[str, Any]) -> None:
        self._shuffled = config["shuffled"]
        self._send = channel.send
        self._asked = config
        self._describer = describer
        self._limit = config["limit"]
        self._watch = config["watch"](config["look_at"], self._look)
        self._run_protocol = pytest_runner.runtestprotocol
        self._rewriting = config["origins"].rewriting
        self._exchanged = config["origins"].Origins().exchanged
        self._watched = {**watched_functions(), **self._rewriting()}
        self._codes: Dict[int, Any] = {}
        self._replaced: List[str] = []
        self._canaries: Dict[int, Any] = {}
        self._indexes: Dict[int, int] = {}
        self._deselected = 0
        self._current: Union[int, str, None] = None
        self._phases: Dict[str, str] = {}
        self._raw: Dict[int, int] = {}
        self._seconds = 0.0

    # --- the session ------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Hook:
        """Replace the selection after every option was read, so that all options keep their meaning."""
        for name, value in COMPARABLE.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        asked, own = self._asked["maxfail"], config.option.maxfail
        if asked is not None:
            config.option.maxfail = min(asked, own) if own else asked
        if self._asked["targets"]:
            config.args = list(self._asked["targets"])
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: Any) -> None:
        """Tell where node ids start from."""
        self._describer.rootdir = str(session.config.rootpath)
        self._send(["root", self._describer.rootdir])
        self._watch.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> Hook:
        """Record a conftest that could not be loaded, as a failure of its folder: there is no session then."""
        outcome = yield
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if isinstance(error, Exception) and not isinstance(error, (pytest.UsageError, pytest.exit.Exception)):
            detail = self._describer.describe_exception(error)
            self._collected_badly(os.path.dirname(str(getattr(error, "path", ""))), detail)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Hook:
        """Record a module that could not be collected, and where it broke."""
        outcome = yield
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        if report.failed:
            call = getattr(report, "call", None)
            self._collected_badly(report.nodeid, self._describer.describe(report, getattr(call, "excinfo", None)))

    def _collected_badly(self, place: str, detail: Dict[str, Any]) -> None:
        name = self._describer.node_id(place) or "."
        if not self._send(["collect", name, detail], detail=True):
            self._send(["collect", name, {}])

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: Any) -> None:
        """Remember what a test is made of, before anybody can exchange it."""
        self._codes[id(item)] = code_of(item)

    def pytest_deselected(self, items: List[Any]) -> None:
        """Count what was left out."""
        self._deselected += len(items)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Hook:
        """Record what is going to run, in order; run the canaries before and after."""
        if self._asked["order"] == "reversed":
            session.items.reverse()
        elif self._asked["order"] == "random":
            paths = [[id(node) for node in item.listchain()[1:-1]] for item in session.items]
            session.items[:] = [session.items[index] for index in self._shuffled(paths, self._asked["seed"])]
        self._record_items(session)
        if session.testsfailed or session.config.option.collectonly:
            yield
            return
        self._run_canaries(session)
        yield
        # Once more under the names of real tests: who spares some tests by name spares these, too.
        self._run_canaries(session, named=True)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Hook:
        """The session's own idea of its status."""
        yield
        self._watch.stop()
        changed = [name for name, function in self._present().items() if function is not self._watched[name]]
        changed += self._replaced
        if changed:
            self._send(["patched", changed])
        self._send(["end", int(session.exitstatus), self._deselected])

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        """Pytest itself, or a plugin, broke."""
        self._send(["internal", str(excrepr)[-4000:]])

    def _present(self) -> Dict[str, Any]:
        return {**watched_functions(), **self._rewriting()}

    def _record_items(self, session: Any) -> None:
        names = []
        for index, item in enumerate(session.items):
            self._indexes[id(item)] = index
            names.append(self._describer.node_id(item.nodeid))
        self._send(["items", base64.b64encode(zlib.compress(json.dumps(names).encode("ascii"), 6)).decode("ascii")])

    # --- one test ---------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Hook:
        """One record when a test starts, one when it is over."""
        index = self._indexes.get(id(item), self._describer.node_id(item.nodeid))
        self._current, self._phases, self._raw, self._seconds = index, {}, {}, 0.0
        if len(self._indexes) <= MANY_ITEMS:
            self._send(["start", index])
        yield
        phases = "".join(self._phases.get(phase, "-") for phase in PHASES)
        self._send(["test", index, phases, self._raw.get(id(item)), int(self._seconds * 1000)], held=True)
        self._current = None

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Hook:
        """Fixtures have to end, too."""
        with self._limit:
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Hook:
        """What they do afterwards as well."""
        with self._limit:
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Hook:
        """See what the test does from below every hook."""
        self._check_identity(item)
        original = item.runtest
        raw = self._raw

        def runtest() -> None:
            try:
                with self._limit:
                    original()
            except BaseException:
                raw[id(item)] = 0
                raise
            # A unittest case keeps its exceptions to itself until the report is made.
            raw[id(item)] = 0 if getattr(item, "_excinfo", None) else 1

        item.runtest = runtest
        yield
        item.__dict__.pop("runtest", None)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Hook:
        """Describe a failure while the exception is at hand."""
        outcome = yield
        if outcome.excinfo is not None or id(item) in self._canaries:
            return
        report = outcome.get_result()
        if self._limit.stopped:  # whoever caught it, and though nothing else was expected
            report.outcome = "failed"
            report.__dict__.pop("wasxfail", None)
            report.longrepr = report.longrepr or self._limit.stopped
        if report.failed and self._current is not None:
            detail = self._limit.mark(self._describer.describe(report, call.excinfo))
            self._send(["fail", self._current, call.when, detail], detail=True, held=True)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> Hook:
        """Remember the phases of the running test; a failed subtest fails its test."""
        letter = phase_letter(report)
        if report.when in PHASES and self._phases.get(report.when) != "f":
            self._phases[report.when] = letter
        self._seconds += getattr(report, "duration", 0.0) or 0.0
        yield

    def _check_identity(self, item: Any) -> None:
        """Plugins wrap a test's function and say so (`__wrapped__`); who exchanges it does not."""
        exchanged = id(item) in self._codes and self._codes[id(item)] is not code_of(item)
        exchanged = exchanged or (id(item) not in self._canaries and self._exchanged(item))
        if (exchanged or "runtest" in item.__dict__) and len(self._replaced) < EXCHANGED_TOLD:
            self._replaced.append("%s was exchanged" % self._describer.node_id(item.nodeid)[:200])

    # --- canaries ---------------------------------------------------------------------------------

    def _run_canaries(self, session: Any, *, named: bool = False) -> None:
        """One test that must pass and one that must fail, beside the real ones, told to nobody but us."""
        parents: Dict[str, Any] = {}
        names: Dict[int, str] = {}
        for item in session.items:
            if isinstance(item, pytest.Function):
                module = item.getparent(pytest.Module)
                if module is not None:
                    parents.setdefault(os.path.dirname(module.nodeid.split("::")[0]), module)
                    names[id(module)] = item.name
            if len(parents) >= CANARY_FOLDERS:
                break
        for parent in list(parents.values()) or [session]:
            for number, function in enumerate((canary_passes, canary_fails)):
                try:
                    name = names.get(id(parent)) if named else None
                    self._run_canary(parent, number, function, name or self._asked["canaries"][number])
                except Exception as error:
                    self._send(["canary", number, "---", None, type(error).__name__])

    def _run_canary(self, parent: Any, number: int, function: Any, name: str) -> None:
        bare = FuncFixtureInfo(argnames=(), initialnames=(), names_closure=[], name2fixturedefs={})
        item = pytest.Function.from_parent(parent, name=name, callobj=function, fixtureinfo=bare)
        self._canaries[id(item)] = item
        self._raw = {}
        reports = self._run_protocol(item, log=False, nextitem=None)
        phases: Dict[str, str] = {str(report.when): phase_letter(report) for report in reports}
        self._send(["canary", number, "".join(phases.get(phase, "-") for phase in PHASES), self._raw.get(id(item))])

    # --- tests that do not end --------------------------------------------------------------------

    def _look(self, frame: Any) -> bool:
        """Shortly before the time is over: where the running test spends it (as far as it uses the CPU)."""
        if self._current is not None:
            self._send(["hang", self._current, self._describer.stack(frame)])
        return self._current is not None

    def stop_watching(self) -> None:
        """The timer must not outlive the session: the interpreter would die of its signal while it shuts down."""
        self._watch.stop()


def code_of(item: Any) -> Any:
    """The code object a test's function comes down to; None for tests that are no functions."""
    function = getattr(item, "_obj", None) if isinstance(item, pytest.Function) else None
    try:
        return getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    except ValueError:
        return None


def phase_letter(report: Any) -> str:
    """How one phase ended, as one letter."""
    if hasattr(report, "wasxfail"):
        return {"skipped": "x", "passed": "X"}.get(report.outcome, "f")
    return {"passed": "p", "failed": "f", "skipped": "s", "rerun": "r"}.get(report.outcome, "f")
