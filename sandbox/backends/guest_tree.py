"""The guest programs as an archive: the content of /opt/metaagent in every image, and its hash."""

import hashlib
import importlib.util
import io
import marshal
import posixpath
import sys
import tarfile
from functools import cached_property
from pathlib import Path

from sandbox.types import Frozen

HOME = "/opt/metaagent"
GUEST_DIR = f"{HOME}/guest"
NODE = "node/"
"""Folder of the programs for Node.js below the guest folder."""
LIBRARY = f"{HOME}/lib"
"""The supervisor's module path; `sandbox.guest` leads from there to the guest programs."""

START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from sandbox.guest.supervisor import main; "
    "main()"
)
"""Python code that starts the supervisor. Arguments: the library folder, the settings."""

LAYER = b"5"
"""Version of the layer's layout; a higher number rebuilds the images."""


class GuestTree(Frozen):
    """The guest programs.

    Attributes:
        files: Content by path below the guest folder.
    """

    files: dict[str, bytes]

    @classmethod
    def installed(cls) -> "GuestTree":
        """Return the programs of the installed package."""
        sandbox = Path(__file__).resolve().parent.parent
        return cls(files={**_read(sandbox / "guest"), **_read(sandbox / "guest_node", NODE)})

    @property
    def digest(self) -> str:
        """Return twelve hex digits that depend on every file and on the layer's layout."""
        # The layer contains bytecode, whose format depends on this Python.
        total = hashlib.sha256(LAYER + importlib.util.MAGIC_NUMBER)
        for path, content in sorted(self.files.items()):
            total.update(f"{path}\0{len(content)}\0".encode() + content)
        return total.hexdigest()[:12]

    def layout(self) -> dict[str, bytes]:
        """Return every file below HOME, with the package that makes the programs importable."""
        return self._placed

    @cached_property  # this compiles three hundred modules, and every local sandbox needs it
    def _placed(self) -> dict[str, bytes]:
        placed = {f"guest/{path}": content for path, content in self.files.items()}
        # Only a Python of our own version inside uses the bytecode.
        for path, content in self.files.items():
            if (
                path.endswith(".py")
                and (code := _compile(f"{GUEST_DIR}/{path}", content)) is not None
            ):
                folder, name = posixpath.split(path)
                cache = f"{posixpath.splitext(name)[0]}.{sys.implementation.cache_tag}.pyc"
                placed[posixpath.join("guest", folder, "__pycache__", cache)] = code
        return {**placed, "lib/sandbox/__init__.py": b'"""The guest side only."""\n'}

    def archive(self) -> bytes:
        """Return a tar archive to unpack at /, owned by root, with reproducible bytes."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for folder in (
                "opt/metaagent",
                "opt/metaagent/guest",
                "opt/metaagent/lib",
                "opt/metaagent/lib/sandbox",
            ):
                tar.addfile(_member(folder, tarfile.DIRTYPE, 0o755))
            for path, content in sorted(self.layout().items()):
                member = _member(f"opt/metaagent/{path}", tarfile.REGTYPE, 0o644)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            link = _member("opt/metaagent/lib/sandbox/guest", tarfile.SYMTYPE, 0o777)
            link.linkname = "../../guest"
            tar.addfile(link)
        return buffer.getvalue()


def _read(folder: Path, prefix: str = "") -> dict[str, bytes]:
    """Return the files of a folder by their path inside."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {prefix + path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _compile(path: str, source: bytes) -> bytes | None:
    """Return the bytecode file of a module; None if this Python cannot compile it.

    The format is PEP 552's unchecked hash: nothing inside can write to source or bytecode.
    """
    try:
        code = compile(source, path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return None
    head = (
        importlib.util.MAGIC_NUMBER
        + (0b01).to_bytes(4, "little")
        + importlib.util.source_hash(source)
    )
    return head + marshal.dumps(code, 2)  # later marshal versions depend on reference counts


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.mode = mode
    return member
