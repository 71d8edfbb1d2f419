"""Bounded details of a failure: exception, message, frames in the checkout, text, output."""

import base64
import json
import os
import traceback
import zlib
from types import FrameType
from typing import Any, Dict, List, Optional

Frame = List[Any]
"""File relative to the checkout, line, function."""

MESSAGE = 2000
TEXT = 12000
OUTPUT = 4000
FRAMES = 40
FULL_DETAILS = 60


class Describer:
    """Converts a report and its exception to a small dictionary.

    Args:
        root: Absolute path of the checkout; only its frames are included.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._inside: Dict[str, Optional[str]] = {}
        self._nodes: Dict[str, str] = {}
        self._described = 0
        self.rootdir = self._root

    def describe(self, report: Any, excinfo: Any) -> Dict[str, Any]:
        """Return the details of one failed report."""
        self._described += 1
        frames: List[Frame] = []
        name = message = None
        if excinfo is not None:
            exception = _original_exception(excinfo.value)
            name = type(exception).__name__
            message = _text(exception)
            frames = self._frames(exception)
        detail: Dict[str, Any] = {
            "error": name,
            "message": clip(message or "", MESSAGE),
            "frames": frames,
        }
        if self._described <= FULL_DETAILS:
            detail["text"] = clip(
                _text(report.longrepr) if report.longrepr is not None else "", TEXT
            )
            detail["output"] = clip(self._output(report), OUTPUT)
        return detail

    def describe_exception(self, error: BaseException) -> Dict[str, Any]:
        """Return the details of an exception without a report."""
        exception = _original_exception(error)
        text = "".join(
            traceback.format_exception(type(exception), exception, exception.__traceback__)
        )
        return {
            "error": type(exception).__name__,
            "message": clip(_text(exception), MESSAGE),
            "frames": self._frames(exception),
            "text": clip(text, TEXT),
        }

    def stack(self, frame: Optional[FrameType]) -> List[Frame]:
        """Return the running frames in the checkout, outermost first."""
        found: List[Frame] = []
        while frame is not None:
            self._add(found, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
            frame = frame.f_back
        return _bound(found[::-1])

    def pack_names(self, names: List[str]) -> str:
        """Return node ids as compressed JSON in base 64."""
        packed = zlib.compress(json.dumps(names).encode("ascii"), 6)
        return base64.b64encode(packed).decode("ascii")

    def node_id(self, nodeid: str) -> str:
        """Return a node id relative to the checkout, independent of pytest's root directory."""
        path, separator, rest = str(nodeid).partition("::")
        if path not in self._nodes:
            full = os.path.realpath(os.path.join(self.rootdir, path))
            inside = full == self._root or full.startswith(self._root + os.sep)
            self._nodes[path] = os.path.relpath(full, self._root) if inside and path else path
        return self._nodes[path] + separator + rest

    def _frames(self, exception: BaseException) -> List[Frame]:
        found: List[Frame] = []
        step = exception.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            self._add(found, code.co_filename, step.tb_lineno, code.co_name)
            step = step.tb_next
        if isinstance(exception, SyntaxError) and exception.filename:
            self._add(found, str(exception.filename), exception.lineno or 1, "<module>")
        return _bound(found)

    def _add(self, found: List[Frame], code_file: str, line: Optional[int], function: str) -> None:
        if code_file not in self._inside:
            full = os.path.realpath(code_file)
            relative = os.path.relpath(full, self._root)
            outside = not full.startswith(self._root + os.sep) or "site-packages" in relative.split(
                os.sep
            )
            outside = outside or code_file.startswith(
                "<"
            )  # code without a file: `<frozen importlib._bootstrap>`
            self._inside[code_file] = None if outside else relative
        inside = self._inside[code_file]
        if inside is not None:
            found.append([inside, int(line or 1), str(function)[:200]])

    def _output(self, report: Any) -> str:
        parts = []
        for title, content in getattr(report, "sections", []):
            if str(title).startswith("Captured"):
                parts.append("--- %s ---\n%s" % (str(title)[:60], clip(str(content), OUTPUT)))
        return "\n".join(parts)


def clip(text: str, limit: int) -> str:
    """Shorten a text to `limit` characters: a third from the start, the rest from the end."""
    if len(text) <= limit:
        return text
    return "%s\n[... %d characters cut ...]\n%s" % (
        text[: limit // 3],
        len(text) - limit,
        text[-(limit - limit // 3) :],
    )


def _original_exception(exception: BaseException) -> BaseException:
    """Return the original exception behind pytest's own for an import error."""
    inner: Any = None
    if type(exception).__name__ == "CollectError":
        inner = exception.__cause__
    elif type(exception).__name__ == "ConftestImportFailure":
        inner = getattr(exception, "cause", None) or getattr(exception, "excinfo", (None, None))[1]
    return inner if isinstance(inner, BaseException) else exception


def _text(value: object) -> str:
    try:
        return str(value)
    except BaseException as error:
        return "<text of %s raised %s>" % (type(value).__name__, type(error).__name__)


def _bound(frames: List[Frame]) -> List[Frame]:
    return (
        frames
        if len(frames) <= FRAMES
        else frames[: FRAMES // 4] + frames[-(FRAMES - FRAMES // 4) :]
    )
