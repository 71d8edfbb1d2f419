"""Entry: reads one search request from standard input, searches, and writes one JSON event a line to descriptor 3."""

import json
import os
import sys
import time
import types
from typing import Any, Dict

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


def emit(event: Dict[str, Any]) -> None:
    """Tell the host one event."""
    data = json.dumps(event).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(RESULTS, data) :]


def main() -> None:
    """Search and tell how it ended."""
    started = time.monotonic()
    if sys.argv[1:] == ["--put-back"]:
        own_package()
        put_back()
        return
    sent = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    own_package()
    end: Dict[str, Any] = {"reason": "refused", "detail": ""}
    try:
        end = search(sent, started)
    except SystemExit as error:
        end["detail"] = f"left with {error}"
    except Exception as error:
        end["detail"] = f"{type(error).__name__}: {str(error)[:300]}"
    told = {"kind": "done", "tried": 0, **end, "seconds": time.monotonic() - started}
    emit(told)
    os._exit(0)


def put_back() -> None:
    """What an interrupted search left changed is as it was."""
    from sandbox.guest.search.process import tree_memory

    tree_memory.put_back()


def search(sent: Dict[str, Any], started: float) -> Dict[str, Any]:
    """Import everything of ours before the repository can shadow it, then search; the reason and detail of the end."""
    from sandbox.guest.search.context.ground import Request
    from sandbox.guest.search.session.collecting import read_command
    from sandbox.guest.search.supervisor import Keeper

    request = Request.read(sent)
    command = read_command(sent["command"], request.root)
    if command is None:
        return {"reason": "refused", "detail": "the command is not a plain pytest or unittest command"}
    os.environ.update(command.parts.environment)
    if command.runner == "pytest":
        try:
            import pytest  # noqa: F401
        except ImportError as error:
            return {"reason": "refused", "detail": f"pytest cannot be imported: {error}"}
    return Keeper(command, request, emit=emit, forget=forget_own_package, started=started).run()


if __name__ == "__main__":
    main()
