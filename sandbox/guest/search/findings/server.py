"""Read findings from stdin and write one proposal per line, as JSON, to descriptor 3.

It runs no repository code. The environment's ruff is asked for its fixes.
"""

import json
import os
import stat
import sys
import time
import types
from functools import partial
from typing import Any, Dict, List, Optional

RESULTS = 3
MAX_BYTES = 400_000
SECONDS = 10.0
"""Maximum time for one finding, in seconds."""


def own_package() -> None:
    """Make our modules importable with any interpreter path."""
    here = os.path.dirname(os.path.realpath(__file__))
    guest = os.path.dirname(os.path.dirname(here))
    sys.path[:] = [
        entry for entry in sys.path if os.path.realpath(entry or ".") not in (here, os.getcwd())
    ]
    for name, folder in (("sandbox", os.path.dirname(guest)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module


def read(root: str, path: str) -> Optional[bytes]:
    """Return a regular file of the checkout, or None; symbolic links are not followed."""
    root = os.path.realpath(root)
    full = os.path.normpath(os.path.join(root, path))
    if os.path.realpath(full) != full or not full.startswith(root + os.sep):
        return None
    try:
        # O_NONBLOCK: opening a FIFO must not block.
        handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        return file.read(MAX_BYTES)


def emit(event: Dict[str, Any]) -> None:
    """Write one event for the host."""
    data = json.dumps(event).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(RESULTS, data) :]


def answer(request: Dict[str, Any]) -> None:
    """Emit proposals for every finding until the time is up."""
    from sandbox.guest.search.candidates.broken.child import in_child
    from sandbox.guest.search.findings import propose
    from sandbox.guest.search.findings.model import SourceFinding
    from sandbox.guest.search.findings.ruff_fixes import find_ruff

    ruff = find_ruff(sys.executable, request["root"])
    until = time.monotonic() + float(request["time_limit_s"])
    said: List[Dict[str, Any]] = request["findings"]
    for number, each in enumerate(said):
        left = until - time.monotonic()
        if left <= 0:
            return
        finding = SourceFinding(
            each["path"], each["line"], each["column"], each["code"], each["message"]
        )
        source = read(request["root"], finding.path)
        if source is None:
            continue
        found = in_child(partial(propose, source, finding, ruff), min(SECONDS, left))
        for proposal in found[: int(request["most"])]:
            edits = [
                {"path": finding.path, "start": e.start, "end": e.end, "text": e.text}
                for e in proposal.edits
            ]
            emit({
                "finding": number, "template": proposal.template, "cost": proposal.cost,
                "doubt": proposal.doubt or None, "edits": edits,
                "description": proposal.description[:200],
            })  # fmt: skip


if __name__ == "__main__":
    sent = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    own_package()
    answer(sent)
