"""Entry: reads one search request from standard input, searches, and writes one JSON event a line to descriptor 3."""

import json
import os
import sys
import time
import types
from typing import Any, Dict, Optional

RESULTS = 3


def own_package() -> None:
    """Make our modules importable whatever the repository calls its own, and whatever its interpreter's path says."""
    here = os.path.dirname(os.path.realpath(__file__))
    guest = os.path.dirname(here)
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in (here, guest)]
    for name, folder in (("sandbox", os.path.dirname(guest)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module


def forget_own_package() -> None:
    """Leave the names to the repository; what we imported keeps working."""
    for name in [name for name in sys.modules if name == "sandbox" or name.startswith("sandbox.")]:
        del sys.modules[name]


class Plugin:
    """Runs the search where pytest would run the tests.

    Args:
        conductor: The search.
    """

    def __init__(self, conductor: Any) -> None:
        self.conductor = conductor
        self.reached = False
        self.failure: Optional[BaseException] = None

    def pytest_runtestloop(self, session: Any) -> bool:
        """Everything is collected: the rest is ours."""
        self.reached = True
        try:
            self.conductor.run(session)
        except BaseException as error:
            self.failure = error  # `search` tells the host
        return True


def emit(event: Dict[str, Any]) -> None:
    """Tell the host one event."""
    data = json.dumps(event).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(RESULTS, data) :]


def main() -> None:
    """Search and tell how it ended."""
    started = time.monotonic()
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    own_package()
    conductor = None
    end = {"reason": "refused", "detail": ""}
    try:
        conductor = prepare(request, started)
        end = search(request["command"], conductor)
    except SystemExit as error:
        end["detail"] = f"pytest left with {error}"
    except Exception as error:
        end["detail"] = f"{type(error).__name__}: {str(error)[:300]}"
    tried = conductor.tried if conductor else 0
    emit(dict(end, kind="done", tried=tried, seconds=time.monotonic() - started))
    os._exit(0)


def prepare(request: Dict[str, Any], started: float) -> Any:
    """Import everything of ours before the repository can shadow it."""
    from sandbox.guest.search.conductor import Conductor
    from sandbox.guest.search.ground import Request
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
        tuple(request.get("red_hunks", ())),
    )
    return Conductor(wanted, emit, load_templates(), started)


def search(command_line: str, conductor: Any) -> Dict[str, str]:
    """Let pytest collect, then search; the reason and detail of the end."""
    from sandbox.guest.pytest_command import extend_sys_path, split_pytest_command
    from sandbox.guest.search.conductor import Ended
    from sandbox.guest.search.ground import Refused
    from sandbox.guest.search.harness import OFF, Options

    command = split_pytest_command(command_line)
    if command is None:
        return {"reason": "refused", "detail": "the command is not a plain pytest command"}
    try:
        import pytest
    except ImportError as error:
        return {"reason": "refused", "detail": f"pytest cannot be imported: {error}"}
    os.environ.update(command.environment)
    extend_sys_path(os.environ.get("PYTHONPATH", ""), adds_cwd=command.adds_cwd)
    sys.argv[:] = ["pytest", *command.args]
    sys.dont_write_bytecode = True
    plugin = Plugin(conductor)
    off = [argument for name in OFF for argument in ("-p", f"no:{name}")]
    forget_own_package()
    mute()
    pytest.main([*off, *command.args, "-s", "--assert=plain", "-q"], plugins=[Options(), plugin])
    failure = plugin.failure
    if isinstance(failure, Ended):
        return {"reason": str(failure), "detail": ""}
    if isinstance(failure, Refused):
        return {"reason": "refused", "detail": str(failure)}
    if failure is not None:
        raise failure
    if not plugin.reached:
        return {"reason": "refused", "detail": "pytest could not collect the tests here"}
    return {"reason": "exhausted", "detail": ""}


def mute() -> None:
    """Nothing the repository prints is of interest, and it reads nothing."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


if __name__ == "__main__":
    main()
