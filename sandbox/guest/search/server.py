"""Entry: reads one search request from standard input, searches, and writes one JSON event a line to descriptor 3."""

import json
import os
import sys
import time
import types

RESULTS = 3


def own_package():
    """Make our modules importable whatever the repository calls its own, and whatever its interpreter's path says."""
    here = os.path.dirname(os.path.realpath(__file__))
    guest = os.path.dirname(here)
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in (here, guest)]
    for name, folder in (("sandbox", os.path.dirname(guest)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module


def forget_own_package():
    """Leave the names to the repository; what we imported keeps working."""
    for name in [name for name in sys.modules if name == "sandbox" or name.startswith("sandbox.")]:
        del sys.modules[name]


class Plugin:
    """Runs the search where pytest would run the tests."""

    def __init__(self, conductor):
        self.conductor = conductor
        self.reached = False
        self.error = None

    def pytest_runtestloop(self, session):
        """pytest has collected; the rest is ours."""
        self.reached = True
        try:
            self.conductor.run(session)
        except BaseException as error:  # told to the host by main
            self.error = error
        return True


def main():
    """Search and tell how it ended."""
    started = time.monotonic()
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    own_package()

    def emit(event):
        data = json.dumps(event).encode("utf-8") + b"\n"
        while data:
            data = data[os.write(RESULTS, data) :]

    status = {"reason": "refused", "detail": ""}
    conductor = None
    try:
        conductor = prepare(request, emit, started)
        status = search(request, conductor)
    except SystemExit as error:
        status["detail"] = "pytest left: %s" % error
    except Exception as error:
        status["detail"] = "%s: %s" % (type(error).__name__, str(error)[:300])
    tried = conductor.tried if conductor else 0
    emit(dict(status, kind="done", tried=tried, seconds=time.monotonic() - started))
    sys.stdout.flush()
    os._exit(0)


def prepare(request, emit, started):
    """Import everything of ours and of pytest before the repository can shadow it."""
    from sandbox.guest.search.conductor import Conductor, Request
    from sandbox.guest.search.templates import load_templates

    wanted = Request(
        tuple(request["failing"]),
        tuple(request.get("passing", ())),
        tuple(request.get("suspects", ())),
        dict(request.get("template_costs", {})),
        tuple(request.get("protected", ())),
        int(request.get("max_candidates", 20000)),
        int(request.get("max_survivors", 8)),
        float(request.get("time_limit_s", 60.0)),
        float(request.get("test_cpu_s", 2.0)),
        str(request.get("root") or os.getcwd()),
    )
    return Conductor(wanted, emit, load_templates(), started)


def search(request, conductor):
    """Let pytest collect, then search; the reason and detail of the end."""
    from sandbox.guest.pytest_command import extend_sys_path, split_pytest_command
    from sandbox.guest.search.conductor import Ended, Refused
    from sandbox.guest.search.harness import OFF, Options

    command = split_pytest_command(request["command"])
    if command is None:
        return {"reason": "refused", "detail": "the command is not a plain pytest command"}
    try:
        import pytest
    except ImportError as error:
        return {"reason": "refused", "detail": "pytest cannot be imported: %s" % error}
    os.environ.update(command.environment)
    extend_sys_path(os.environ.get("PYTHONPATH", ""), adds_cwd=command.adds_cwd)
    plugin = Plugin(conductor)
    args = [*[a for name in OFF for a in ("-p", "no:" + name)], *command.args, "-s", "--assert=plain", "-q"]
    sys.argv[:] = ["pytest", *command.args]
    sys.dont_write_bytecode = True
    forget_own_package()
    mute()
    pytest.main(args, plugins=[Options(), plugin])
    error = plugin.error
    if isinstance(error, Ended):
        return {"reason": str(error), "detail": ""}
    if isinstance(error, Refused):
        return {"reason": "refused", "detail": str(error)}
    if error is not None:
        raise error
    if not plugin.reached:
        return {"reason": "refused", "detail": "pytest could not collect the tests here"}
    return {"reason": "exhausted", "detail": ""}


def mute():
    """Nothing the repository prints is of interest."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        if not (descriptor == 2 and os.environ.get("METAAGENT_SEARCH_DEBUG")):
            os.dup2(null, descriptor)
    os.close(null)


if __name__ == "__main__":
    main()
