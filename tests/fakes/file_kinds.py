"""The kinds of a few files, as the library `identify` names them; it is only in sandboxes."""

import os
from pathlib import Path

_BY_SUFFIX = {".py": "python", ".pyi": "pyi", ".md": "markdown", ".toml": "toml", ".txt": "plain"}


def read_kinds(path: str) -> frozenset[str]:
    """Return the kinds of a file."""
    file = Path(path)
    if file.is_symlink():
        return frozenset({"symlink"})
    found = {"file", "executable" if os.access(path, os.X_OK) else "non-executable"}
    data = file.read_bytes()
    found.add("binary" if b"\0" in data else "text")
    found.add(_BY_SUFFIX.get(file.suffix, "unknown"))
    if data.startswith(b"#!"):
        found |= {"shell", "bash"}
    return frozenset(found)
