"""Entry: reads findings from standard input and writes one proposal a line, as JSON, to descriptor 3; runs nothing."""

import json
import os
import stat
import sys
import time
import types
from typing import Any, Dict, List, Optional

RESULTS = 3
MAX_BYTES = 400_000
SECONDS = 10.0
"""For one finding at most."""


def own_package() -> None:
    """Make our modules importable whatever the interpreter's path says."""
    here = os.path.dirname(os.path.realpath(__file__))
    guest = os.path.dirname(os.path.dirname(here))
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in (here, os.getcwd())]
    for name, folder in (("sandbox", os.path.dirname(guest)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module


def read(root: str, path: str) -> Optional[bytes]:
    """A regular file of the checkout, reached through no symbolic link; None for any other."""
    root = os.path.realpath(root)
    full = os.path.normpath(os.path.join(root, path))
    if os.path.realpath(full) != full or not full.startswith(root + os.sep):
        return None
    try:
        handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        return file.read(MAX_BYTES)


def emit(event: Dict[str, Any]) -> None:
    """Tell the host one event."""
    data = json.dumps(event).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(RESULTS, data) :]


def answer(request: Dict[str, Any]) -> None:
    """Proposals for every finding, as long as time is left."""
    from sandbox.guest.search.candidates.broken.child import in_child
    from sandbox.guest.search.findings import propose
    from sandbox.guest.search.findings.model import Finding

    until = time.monotonic() + float(request["time_limit_s"])
    said: List[Dict[str, Any]] = request["findings"]
    for number, each in enumerate(said):
        left = until - time.monotonic()
        if left <= 0:
            return
        finding = Finding(each["path"], each["line"], each["column"], each["code"], each["message"])
        source = read(request["root"], finding.path)
        if source is None:
            continue
        data = source
        found = in_child(lambda data=data, one=finding: propose(data, one), min(SECONDS, left))  # type: ignore[misc]
        for proposal in found[: int(request["most"])]:
            edits = [{"path": finding.path, "start": e.start, "end": e.end, "text": e.text} for e in proposal.edits]
            emit({
                "finding": number, "template": proposal.template, "cost": proposal.cost, "edits": edits,
                "description": proposal.description[:200],
            })  # fmt: skip


if __name__ == "__main__":
    sent = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    own_package()
    answer(sent)
