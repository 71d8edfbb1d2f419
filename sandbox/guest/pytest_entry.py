"""Start pytest inside the sandbox with our reporter, before any repository code is imported.

Standard input contains one JSON object: `key` (hex, signs the records), `args`, `targets` (absolute
node ids that replace the selection), `order`, `seed`, `maxfail`, `adds_cwd`, `python_path`, `root`
(the checkout), `canaries` (two names), `wall_s`, `test_cpu_s`. Records are written to file
descriptor 3. Everything that the repository could shadow is imported first.
"""

import importlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Dict, Iterable, List

RESULTS = 3
# Modules whose functions decide how a test ends, and modules that compile its text.
JUDGING = (
    "_pytest.runner", "_pytest.python", "_pytest.unittest", "_pytest.reports", "_pytest.skipping",
    "_pytest.nodes",
    "_pytest.outcomes", "_pytest.python_api", "_pytest.raises", "pluggy._callers",
    "pluggy._execution", "pluggy._hooks",
    "pluggy._result", "pluggy.callers", "pluggy.hooks", "unittest.case", "unittest.suite",
    "unittest.async_case", "_pytest.recwarn", "pytest",
)  # fmt: skip
COMPILING = (
    "_pytest.assertion",
    "_pytest.assertion.rewrite",
    "ast",
    "unittest.loader",
    "pluggy._manager",
)
HERE = os.path.dirname(os.path.abspath(__file__))
LOADED: Dict[str, Any] = {}


def load_sibling(name: str) -> Any:
    """Load a guest module by its file, hidden from `sys.path` and `sys.modules`."""
    if name in LOADED:
        return LOADED[name]
    spec = importlib.util.spec_from_file_location(
        "_metaagent_" + name, os.path.join(HERE, name + ".py")
    )
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = LOADED[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_config() -> Dict[str, Any]:
    """Read the configuration from standard input, and close it to the tests."""
    config: Dict[str, Any] = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return config


def import_pytest() -> Any:
    """Import pytest and all its own plugins while only the environment is in `sys.path`."""
    import pytest
    from _pytest import config

    for name in config.default_plugins:
        importlib.import_module("_pytest." + name)
    return pytest


def loaded(names: Iterable[str]) -> List[Any]:
    """Return the modules that this version of pytest has."""
    return [sys.modules[name] for name in names if name in sys.modules]


def main() -> int:
    """Run the session and return its status."""
    # Tests must not be able to import our modules.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    config = read_config()
    # The reporter samples a hanging test shortly before the host kills the process.
    config["look_at"] = time.monotonic() + config["wall_s"] - min(2.0, config["wall_s"] * 0.2)
    records, harden = load_sibling("record_channel"), load_sibling("hardened").harden_function
    callers = records.places(globals())
    channel = records.Channel(RESULTS, bytes.fromhex(config.pop("key")), callers, harden)
    try:
        pytest = import_pytest()
    except ImportError as error:
        channel.send(["broken", "pytest cannot be imported in this environment: %s" % error])
        sys.stderr.write("No module named pytest\n")
        return 1
    describer = load_sibling("failure_detail").Describer(config["root"])
    config["shuffled"] = load_sibling("order").shuffle_order
    config["watch"] = load_sibling("hang_watch").HangWatch
    config["limit"] = load_sibling("cpu_limit").CpuLimit(config["test_cpu_s"], describer.stack)
    config["rewriting"] = load_sibling("identity").compiling_functions
    config["canary_maker"] = load_sibling("canaries")
    compiled = load_sibling("compiled").Compiled(config["targets"])
    compiled.install_rewriter()
    guards = load_sibling("guarding").Guards(channel, callers, compiled, load_sibling)
    module = load_sibling("pytest_reporter")
    guards.begin(loaded(JUDGING), loaded(COMPILING), [module, load_sibling("cpu_limit")])
    reporter = module.Reporter(channel, describer, config, guards)
    plugins = [reporter, module.Ready(reporter, guards.arm)]
    channel.send(["begin", "%d.%d.%d" % sys.version_info[:3], pytest.__version__])
    if config["python_path"]:
        os.environ["PYTHONPATH"] = config["python_path"]
    load_sibling("pytest_command").extend_sys_path(
        config["python_path"], adds_cwd=config["adds_cwd"]
    )
    # Each run has its own cache: the checkout stays clean, and runs do not influence each other.
    cache = tempfile.mkdtemp(prefix="pytest-cache-")
    sys.argv[:] = ["pytest"] + config["args"]
    try:
        status = int(pytest.main(["-o", "cache_dir=" + cache] + config["args"], plugins=plugins))
    finally:
        reporter.stop_watching()
        shutil.rmtree(cache, ignore_errors=True)
    channel.send(["exit", status])
    channel.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
