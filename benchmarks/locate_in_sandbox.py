"""Runs inside the sandbox: plants bugs one after the other and tells what the tracing of each tells, without a search.

python locate_in_sandbox.py GUEST_DIR survey            the tests that pass, and the lines they run
python locate_in_sandbox.py GUEST_DIR mutants BUGS N    the raw observations of the first N that make tests fail
"""

import importlib
import json
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST_FAILING = 0.5
WAIT_S = 240.0


def own_package(guest: str) -> None:
    """Make the modules of the search importable."""
    for name, folder in (("sandbox", str(Path(guest).parent)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module


def cpu() -> float:
    """CPU seconds of this process's children."""
    used = os.times()
    return used.children_user + used.children_system


class Plugin:
    """Runs where pytest would run the tests.

    Args:
        work: Called with the session.
    """

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.told: Any = None

    def pytest_runtestloop(self, session: Any) -> bool:
        """Everything is collected."""
        self.told = self.work(session)
        return True


def outcomes(search: Any, items: Any) -> Any:
    """How every test ends here, and how long it takes."""

    def work(limiter: Any, report: Any) -> None:
        runner = search.harness.Runner(items.all, limiter)
        for index in range(len(items.all)):
            before = time.process_time()
            outcome = runner.run(index, 3.0)
            report([index, outcome, time.process_time() - before])
        runner.close()

    return search.forked.collect(work, WAIT_S)


def survey(search: Any, session: Any) -> dict[str, Any]:
    """The tests that pass, and the lines they run."""
    items = search.harness.find_items(session, str(Path.cwd()), (), ())
    ended = outcomes(search, items)
    green = [i for i, outcome, _ in ended if outcome == "pass"]
    seconds = {i: s for i, _, s in ended}
    baseline = search.baseline.SuiteBaseline(
        items._replace(failing=green, passing=[]), seconds, frozenset(), isolated=True
    )
    search.observe.MOST_RED = 100_000
    reach = search.baseline.EditablePaths(str(Path.cwd()), ())
    lines: dict[str, set[int]] = {}
    for told in search.observe.raw_observations(baseline, reach, WAIT_S):
        if told[0] == "test":
            for path, numbers in told[4].items():
                lines.setdefault(path, set()).update(numbers)
    return {
        "green": [items.names[i] for i in green],
        "covered": {p: sorted(n) for p, n in lines.items()},
    }


def observed(search: Any, session: Any, green: list[str]) -> dict[str, Any] | None:
    """What tracing tells of a planted bug; None when no test notices it, or too many do."""
    items = search.harness.find_items(session, str(Path.cwd()), (), ())
    ended = outcomes(search, items)
    known = set(green)
    red = [i for i, o, _ in ended if items.names[i] in known and o in ("fail", "timeout")]
    passing = [i for i, o, _ in ended if items.names[i] in known and o == "pass"]
    if not red or len(red) > MOST_FAILING * len(known):
        return None
    seconds = {i: s for i, _, s in ended}
    hung = frozenset(i for i, o, _ in ended if o == "timeout")
    baseline = search.baseline.SuiteBaseline(
        items._replace(failing=red, passing=passing), seconds, hung, isolated=False
    )
    reach = search.baseline.EditablePaths(str(Path.cwd()), ())
    order = search.observe.select_tests(baseline)

    def plain(limiter: Any, report: Any) -> None:
        runner = search.harness.Runner(items.all, limiter)
        for index in order:
            report(runner.run(index, 0.1 if index in hung else 5.0))

    start = cpu()
    search.forked.collect(plain, WAIT_S)
    middle = cpu()
    reports = search.observe.raw_observations(baseline, reach, WAIT_S)
    end = cpu()
    return {
        "reports": reports, "plain_s": middle - start, "traced_s": end - middle, "names": items.names, "failing": red,
        "passing": len(passing), "mentioned": sorted(search.baseline.names_in(items.all, red)),
        "literals": search.baseline.collect_literals(items.all, red)[1], "known": search.located.imported_here(reach),
    }  # fmt: skip


def one(guest: str, work: Callable[[Any, Any], Any]) -> Any:
    """Collect here and work."""
    own_package(guest)
    names = (
        "session.harness",
        "process.forked",
        "session.baseline",
        "locate.observe",
        "locate.located",
    )
    search = types.SimpleNamespace(
        **{
            name.split(".")[-1]: importlib.import_module(f"sandbox.guest.search.{name}")
            for name in names
        }
    )
    import pytest

    plugin = Plugin(lambda session: work(search, session))
    off = [argument for name in search.harness.OFF for argument in ("-p", f"no:{name}")]
    for name in [n for n in sys.modules if n == "sandbox" or n.startswith("sandbox.")]:
        del sys.modules[name]
    sys.path.insert(0, str(Path.cwd()))
    pytest.main(
        [*off, "-s", "--assert=plain", "-q"], plugins=[search.harness.IgnoredOptions(), plugin]
    )
    return plugin.told


def mutants(guest: str, bugs: str, most: int) -> list[dict[str, Any]]:
    """Each bug in a process of its own."""
    green = json.loads(Path("survey.json").read_text())["green"]
    Path("green.json").write_text(json.dumps(green))
    found = []
    for bug in json.loads(Path(bugs).read_text()):
        target = Path(bug["path"])
        before = target.read_text()
        target.write_text(bug["text"])
        try:
            subprocess.run(
                [sys.executable, "-B", __file__, guest, "one"], timeout=WAIT_S, check=False
            )
            told = json.loads(Path("one.json").read_text())
        except (OSError, ValueError, subprocess.TimeoutExpired):
            told = None
        finally:
            target.write_text(before)
            Path("one.json").unlink(missing_ok=True)
        if told:
            found.append({"bug": bug["number"], **told})
        if len(found) >= most:
            break
    return found


def main() -> None:
    """Write what is asked for beside this file."""
    guest, what, *rest = sys.argv[1:]
    out = Path(f"{what}.json").resolve()
    if what == "survey":
        told = one(guest, survey)
    elif what == "one":
        told = one(
            guest,
            lambda search, session: observed(
                search, session, json.loads(Path("green.json").read_text())
            ),
        )
    else:
        told = mutants(guest, rest[0], int(rest[1]))
    out.write_text(json.dumps(told))


if __name__ == "__main__":
    main()
