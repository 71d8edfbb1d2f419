"""The guest programs as an archive: what goes to /opt/metaagent in every image, and its hash."""

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
LIBRARY = f"{HOME}/lib"
"""On the supervisor's module path; `sandbox.guest` leads from there to the guest programs."""

START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sandbox.guest.supervisor import main; main()"
"""What the interpreter is given to become the supervisor; arguments: the library folder, the settings."""

LAYER = b"4"
"""Goes up when images are made otherwise than before from the same files."""


class GuestTree(Frozen):
    """The guest programs.

    Attributes:
        files: Path below the guest folder, and content.
    """

    files: dict[str, bytes]

    @classmethod
    def installed(cls) -> "GuestTree":
        """Those of the installed package."""
        folder = Path(__file__).resolve().parent.parent / "guest"
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return cls(files={path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})

    @property
    def digest(self) -> str:
        """Twelve hex digits that change with any file, and with how the layer is made."""
        total = hashlib.sha256(LAYER + importlib.util.MAGIC_NUMBER)
        for path, content in sorted(self.files.items()):
            total.update(f"{path}\0{len(content)}\0".encode() + content)
        return total.hexdigest()[:12]

    def layout(self) -> dict[str, bytes]:
        """Every file below HOME, the package that gives the programs their import name among them."""
        return self._placed

    @cached_property  # three hundred modules are compiled, and every local sandbox asks
    def _placed(self) -> dict[str, bytes]:
        placed = {f"guest/{path}": content for path, content in self.files.items()}
        # Of use where the Python inside is of our own version, and not looked at elsewhere.
        for path, content in self.files.items():
            if path.endswith(".py") and (code := _compiled(f"{GUEST_DIR}/{path}", content)) is not None:
                folder, name = posixpath.split(path)
                cache = f"{posixpath.splitext(name)[0]}.{sys.implementation.cache_tag}.pyc"
                placed[posixpath.join("guest", folder, "__pycache__", cache)] = code
        return {**placed, "lib/sandbox/__init__.py": b'"""The guest side only."""\n'}

    def archive(self) -> bytes:
        """A tar archive to be unpacked at /, owned by root, the same bytes for the same files."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for folder in ("opt/metaagent", "opt/metaagent/guest", "opt/metaagent/lib", "opt/metaagent/lib/sandbox"):
                tar.addfile(_member(folder, tarfile.DIRTYPE, 0o755))
            for path, content in sorted(self.layout().items()):
                member = _member(f"opt/metaagent/{path}", tarfile.REGTYPE, 0o644)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            link = _member("opt/metaagent/lib/sandbox/guest", tarfile.SYMTYPE, 0o777)
            link.linkname = "../../guest"
            tar.addfile(link)
        return buffer.getvalue()


def _compiled(path: str, source: bytes) -> bytes | None:
    """A module as the interpreter keeps it, tied to the source's hash; None for what this Python cannot compile.

    The form is that of PEP 552, unchecked: nobody inside can write either of the two files.
    """
    try:
        code = compile(source, path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return None
    head = importlib.util.MAGIC_NUMBER + (0b01).to_bytes(4, "little") + importlib.util.source_hash(source)
    return head + marshal.dumps(code, 2)  # later versions depend on how often objects are referred to


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.mode = mode
    return member
