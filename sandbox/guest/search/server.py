"""Read one search request from stdin, run it, and write one JSON event per line to descriptor 3."""

import json
import os
import sys
import time
import types
from typing import Any, Dict

RESULTS = 3


def own_package() -> None:
    """Make our modules importable.

    The repository may have a package of the same name, and its interpreter may have another path.
    """
    here = os.path.dirname(os.path.realpath(__file__))
    guest = os.path.dirname(here)
    # Our own folders must not shadow modules of the repository.
    sys.path[:] = [
        entry for entry in sys.path if os.path.realpath(entry or ".") not in (here, guest)
    ]
    for name, folder in (("sandbox", os.path.dirname(guest)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module


def forget_own_package() -> None:
    """Remove our packages from `sys.modules`, so that the repository can use the names.

    Modules that were imported keep working.
    """
    for name in [name for name in sys.modules if name == "sandbox" or name.startswith("sandbox.")]:
        del sys.modules[name]


def emit(event: Dict[str, Any]) -> None:
    """Write one event for the host."""
    data = json.dumps(event).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(RESULTS, data) :]


def main() -> None:
    """Run the search and report how it ended."""
    started = time.monotonic()
    if sys.argv[1:] == ["--put-back"]:
        own_package()
        restore_checkout()
        return
    sent = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    own_package()
    end: Dict[str, Any] = {"reason": "refused", "detail": ""}
    try:
        end = search(sent, started)
    except SystemExit as error:
        end["detail"] = f"the search exited with {error}"
    except Exception as error:
        end["detail"] = f"{type(error).__name__}: {str(error)[:300]}"
    told = {"kind": "done", "tried": 0, **end, "seconds": time.monotonic() - started}
    emit(told)
    os._exit(0)


def restore_checkout() -> None:
    """Restore the files that an interrupted search left changed."""
    from sandbox.guest.search.process import tree_memory

    tree_memory.restore_from_journal()


def search(sent: Dict[str, Any], started: float) -> Dict[str, Any]:
    """Import all our modules before the repository can shadow them, then search.

    Return the reason and detail of the end.
    """
    from sandbox.guest.search.context.suite_facts import SearchJob
    from sandbox.guest.search.session.collecting import read_command
    from sandbox.guest.search.supervisor import SearchSupervisor

    request = SearchJob.read(sent)
    command = read_command(sent["command"], request.root)
    if command is None:
        return {
            "reason": "refused",
            "detail": "the command is not a plain pytest or unittest command",
        }
    os.environ.update(command.parts.environment)
    if command.runner == "pytest":
        try:
            import pytest  # noqa: F401
        except ImportError as error:
            return {"reason": "refused", "detail": f"pytest cannot be imported: {error}"}
    return SearchSupervisor(
        command, request, emit=emit, forget=forget_own_package, started=started
    ).run()


if __name__ == "__main__":
    main()
