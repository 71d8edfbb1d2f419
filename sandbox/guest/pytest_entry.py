"""Start pytest inside the sandbox with our reporter, before anything of the repository can be imported.

Standard input carries one JSON object: `key` (hex, signs the records), `args`, `targets` (absolute node ids that
replace the selection), `order`, `seed`, `maxfail`, `adds_cwd`, `python_path`, `root` (the checkout), `canaries` (two
names), `wall_s`, `test_cpu_s`. File descriptor 3 takes the records. Everything the repository could shadow is imported
first.
"""

import importlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Dict

RESULTS = 3
HERE = os.path.dirname(os.path.abspath(__file__))


def load_sibling(name: str) -> Any:
    """A guest module by its file: no folder of ours on `sys.path`, no name of ours that the repository could miss."""
    spec = importlib.util.spec_from_file_location("_metaagent_" + name, os.path.join(HERE, name + ".py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_config() -> Dict[str, Any]:
    """The configuration from standard input, which is then closed to the tests."""
    config: Dict[str, Any] = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return config


def import_pytest() -> Any:
    """Import pytest and all its own plugins while only the environment is on `sys.path`."""
    import pytest
    from _pytest import config

    for name in config.default_plugins:
        importlib.import_module("_pytest." + name)
    return pytest


def main() -> int:
    """Run the session and leave with its status."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    config = read_config()
    # Shortly before the host ends us, the reporter looks where a test hangs.
    config["look_at"] = time.monotonic() + config["wall_s"] - min(2.0, config["wall_s"] * 0.2)
    channel = load_sibling("record_channel").Channel(RESULTS, bytes.fromhex(config.pop("key")), HERE)
    try:
        pytest = import_pytest()
    except ImportError as error:
        channel.send(["broken", "pytest cannot be imported in this environment: %s" % error])
        sys.stderr.write("No module named pytest\n")
        return 1
    describer = load_sibling("failure_detail").Describer(config["root"])
    config["origins"] = load_sibling("identity")
    config["shuffled"] = load_sibling("order").shuffled
    config["watch"] = load_sibling("hang_watch").HangWatch
    config["limit"] = load_sibling("cpu_limit").CpuLimit(config["test_cpu_s"], describer.stack)
    reporter = load_sibling("pytest_reporter").Reporter(channel, describer, config)
    channel.send(["begin", "%d.%d.%d" % sys.version_info[:3], pytest.__version__])
    if config["python_path"]:
        os.environ["PYTHONPATH"] = config["python_path"]
    load_sibling("pytest_command").extend_sys_path(config["python_path"], adds_cwd=config["adds_cwd"])
    # A cache of its own for every run: nothing lands in the checkout and no run remembers the last one.
    cache = tempfile.mkdtemp(prefix="pytest-cache-")
    sys.argv[:] = ["pytest"] + config["args"]
    try:
        status = int(pytest.main(["-o", "cache_dir=" + cache] + config["args"], plugins=[reporter]))
    finally:
        reporter.stop_watching()
        shutil.rmtree(cache, ignore_errors=True)
    channel.send(["exit", status])
    channel.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
