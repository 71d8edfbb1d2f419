"""A proxy of Go modules on this machine, with one small module, and the lines of its `go.sum`."""

import base64
import hashlib
import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from typing_extensions import override

NAME, VERSION = "example.org/rebates", "v1.2.0"
FILES = {
    "go.mod": f"module {NAME}\n\ngo 1.21\n",
    "rebates.go": "package rebates\n\n// Percent is what is paid.\nconst Percent = 90\n",
}


def sums() -> str:
    """The module's lines of `go.sum`."""
    whole = {f"{NAME}@{VERSION}/{name}": text for name, text in FILES.items()}
    return (
        f"{NAME} {VERSION} {_hashed(whole)}\n"
        f"{NAME} {VERSION}/go.mod {_hashed({'go.mod': FILES['go.mod']})}\n"
    )


def _hashed(files: dict[str, str]) -> str:
    """The `h1:` digest of Go's dirhash over some files."""
    lines = [f"{hashlib.sha256(files[n].encode()).hexdigest()}  {n}\n" for n in sorted(files)]
    digest = hashlib.sha256("".join(lines).encode()).digest()
    return f"h1:{base64.b64encode(digest).decode()}"


class _Quiet(SimpleHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def serve_module(folder: Path) -> Iterator[str]:
    """Serve the module, and yield the proxy's address."""
    home = folder / NAME / "@v"
    home.mkdir(parents=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"{NAME}@{VERSION}/{name}", text)
    (home / f"{VERSION}.zip").write_bytes(buffer.getvalue())
    (home / f"{VERSION}.mod").write_text(FILES["go.mod"])
    (home / f"{VERSION}.info").write_text(
        f'{{"Version": "{VERSION}", "Time": "2024-01-01T00:00:00Z"}}'
    )
    (home / "list").write_text(f"{VERSION}\n")
    handler = partial(_Quiet, directory=str(folder))
    # Go never connects to `localhost` or 127.0.0.1 through a proxy, which is the set-up's only way out.
    name = socket.gethostname()
    server = ThreadingHTTPServer((socket.gethostbyname(name), 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{name}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
