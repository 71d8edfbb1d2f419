"""A package index on loopback: tiny source distributions made here, and wheels of what builds them."""

import hashlib
import io
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from typing_extensions import override

HOST = "127.0.0.1"


def sdist(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """Write a source distribution."""
    path = folder / f"{name}-{version}.tar.gz"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def wheel(folder: Path, name: str, version: str, files: dict[str, str], *requires: str) -> Path:
    """Write a wheel."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def download(folder: Path, *wanted: str) -> None:
    """Wheels of what builds source distributions, from the package index of this host."""
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        pip = ["pip"]
    folder.mkdir(parents=True, exist_ok=True)
    argv = [*pip, "download", "--quiet", "--only-binary", ":all:", "--dest", str(folder), *wanted]
    subprocess.run(argv, check=True, capture_output=True)


def write_pages(root: Path) -> None:
    """The pages of an index for the files in `root/files`."""
    pages: dict[str, list[str]] = {}
    for file in sorted((root / "files").iterdir()):
        name = file.name.split("-")[0].lower().replace("_", "-").replace(".", "-")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        pages.setdefault(name, []).append(
            f'<a href="../../files/{file.name}#sha256={digest}">{file.name}</a>'
        )
    for name, links in pages.items():
        page = root / "simple" / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>")


class _Quiet(SimpleHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve a folder; gives its address."""
    with ThreadingHTTPServer((HOST, 0), partial(_Quiet, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
