"""Edited files, served to imports in place of those on disk; the checkout stays as it is."""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
import sys
from typing import Any, Dict, Mapping, Optional


class Overlay:
    """Edited bytes by absolute path; installed in a process that has imported none of these files.

    Args:
        root: The checkout.
        files: Path relative to it, to whole new bytes.
    """

    def __init__(self, root: str, files: Mapping[str, bytes]) -> None:
        self._files = {os.path.realpath(os.path.join(root, path)): data for path, data in files.items()}
        self._names = {os.path.basename(path) for path in self._files}
        self._known: Dict[str, Optional[bytes]] = {}

    def data(self, path: Any) -> Optional[bytes]:
        """The edited bytes of a file, or None when it is not edited."""
        if not isinstance(path, str) or os.path.basename(path) not in self._names:
            return None
        if path not in self._known:
            self._known[path] = self._files.get(os.path.realpath(path))
        return self._known[path]

    def install(self) -> None:
        """From now on imports, runpy, inspect and tracebacks see the edited files."""
        loader: Any = importlib.machinery.SourceFileLoader
        get_data, get_code, open_code = loader.get_data, loader.get_code, io.open_code
        find = self.data

        def data_of(self: Any, path: str) -> bytes:
            edited = find(path)
            return edited if edited is not None else get_data(self, path)

        def code_of(self: Any, fullname: str) -> Any:
            # Byte code on disk belongs to the file on disk.
            path = self.get_filename(fullname)
            edited = find(path)
            return self.source_to_code(edited, path) if edited is not None else get_code(self, fullname)

        def opened(path: str) -> Any:
            edited = find(path)
            return io.BytesIO(edited) if edited is not None else open_code(path)

        loader.get_data, loader.get_code, io.open_code = data_of, code_of, opened
        update = linecache.updatecache

        def lines_of(filename: str, module_globals: Any = None) -> Any:
            edited = find(filename)
            if edited is None:
                return update(filename, module_globals)
            try:
                with io.TextIOWrapper(io.BytesIO(edited), "utf-8", newline=None) as text:
                    lines = text.readlines()
            except UnicodeDecodeError:
                return []
            linecache.cache[filename] = (len(edited), None, lines, filename)
            return lines

        linecache.updatecache = lines_of
        for path in self._files:
            linecache.cache.pop(path, None)

    def imported(self) -> bool:
        """Whether some module of this process comes from an edited file already: then the overlay is too late."""
        return any(self.data(getattr(module, "__file__", None)) is not None for module in list(sys.modules.values()))
