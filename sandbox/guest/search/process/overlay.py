"""Serve edited files to imports in place of those on disk; the checkout stays unchanged."""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
import sys
from typing import Any, Dict, Mapping, Optional

from sandbox.guest.search.process.peek import peek


class Overlay:
    """Edited files by absolute path, for a process that has imported none of them.

    Args:
        root: The checkout.
        files: Relative path to the full new content.
    """

    def __init__(self, root: str, files: Mapping[str, bytes]) -> None:
        self._files = {
            os.path.realpath(os.path.join(root, path)): data for path, data in files.items()
        }
        self._names = {os.path.basename(path) for path in self._files}
        self._known: Dict[str, Optional[bytes]] = {}

    def data(self, path: Any) -> Optional[bytes]:
        """Return the edited content of a file, or None if it is not edited."""
        if not isinstance(path, str) or os.path.basename(path) not in self._names:
            return None
        if path not in self._known:
            self._known[path] = self._files.get(os.path.realpath(path))
        return self._known[path]

    def install(self) -> None:
        """Make imports, runpy, inspect and tracebacks see the edited files."""
        loader: Any = importlib.machinery.SourceFileLoader
        get_data, get_code, open_code = loader.get_data, loader.get_code, io.open_code
        find = self.data

        def read_data(self: Any, path: str) -> bytes:
            edited = find(path)
            return edited if edited is not None else get_data(self, path)

        def load_code(self: Any, fullname: str) -> Any:
            # Byte code on disk belongs to the unedited file.
            path = self.get_filename(fullname)
            edited = find(path)
            return (
                self.source_to_code(edited, path)
                if edited is not None
                else get_code(self, fullname)
            )

        # `runpy` reads scripts by `io.open_code`.
        def opened(path: str) -> Any:
            edited = find(path)
            return io.BytesIO(edited) if edited is not None else open_code(path)

        loader.get_data, loader.get_code, io.open_code = read_data, load_code, opened
        update = linecache.updatecache

        def update_lines(filename: str, module_globals: Any = None) -> Any:
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

        linecache.updatecache = update_lines
        for path in self._files:
            linecache.cache.pop(path, None)

    def imported(self) -> bool:
        """Return True if a module of this process comes from an edited file.

        The overlay is then too late.
        """
        return any(
            self.data(peek(module, "__file__")) is not None for module in list(sys.modules.values())
        )
