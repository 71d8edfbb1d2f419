"""An exception as plain data: its type, message, frames and context."""

from __future__ import annotations

import contextlib
import os
import types
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.session.failures.callees import call_details, uncalled
from sandbox.guest.search.session.failures.frames import (
    Frame,
    expression_span,
    iterate_frames,
    relative,
)
from sandbox.guest.search.session.failures.inert import instance_dict
from sandbox.guest.search.session.failures.owners import (
    attribute_details,
    files_named,
    import_details,
    key_details,
    quoted_in,
)

MOST_FRAMES = 60
MOST_EARLIER = 3
"""Maximum number of causes that are recorded."""


class FailureRecord(NamedTuple):
    """The exception of a test or an import. Every value can be written as JSON."""

    kind: str
    """The bare name of the exception's type."""
    message: str
    frames: Tuple[Tuple[str, int, str], ...]
    """Path (relative inside the checkout), line and function; the innermost frame is last."""
    extra: Dict[str, Any]
    """Optional details of the failure:

    `name` and `owner` (type, module, file, names) of a missing name or attribute; `callee`
    (signature of the called function); `keys` of a dictionary that lacks one; `locals` and `spans`
    by frame; `bases` of the exception; `earlier` failures that caused this one.
    """

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> FailureRecord:
        """Read a failure from JSON data."""
        kind, message, frames, extra = value
        return cls(
            str(kind),
            str(message),
            tuple((str(p), int(n), str(f)) for p, n, f in frames),
            dict(extra),
        )

    def is_a(self, *kinds: str) -> bool:
        """Return True if it is of one of these types or derives from one."""
        return self.kind in kinds or any(base in kinds for base in self.extra.get("bases", ()))


def describe_exception(
    exc: BaseException, tb: Optional[types.TracebackType], root: str, depth: int = 0
) -> FailureRecord:
    """Describe an exception in the process that saw it, from dictionaries and code objects alone.

    Args:
        exc: The exception; one that pytest wrapped around an import error is unwrapped.
        tb: Its traceback.
        root: Absolute path of the checkout.
        depth: Number of exceptions that follow from this one.
    """
    inner = _unwrap(exc)
    if inner is not exc:
        exc, tb = inner, inner.__traceback__
    frames = list(iterate_frames(tb))[-MOST_FRAMES:]
    extra: Dict[str, Any] = {"bases": [c.__name__ for c in type(exc).__mro__[1:-1]]}
    message = _message(exc)
    with contextlib.suppress(Exception):
        extra["spans"] = [expression_span(frame, lasti, line) for frame, lasti, line in frames]
        extra["locals"] = _describe_locals(frames, root)
    if frames:
        with contextlib.suppress(Exception):
            extra["files"] = files_named(message, frames, root)
        with contextlib.suppress(Exception):
            extra.update(_details(exc, message, frames, root))
    earlier = [e for e in (exc.__cause__, exc.__context__) if e is not None][:1]
    if earlier and depth < MOST_EARLIER:
        extra["earlier"] = [
            list(describe_exception(earlier[0], earlier[0].__traceback__, root, depth + 1))
        ]
    told = tuple(
        (relative(f.f_code.co_filename, root), line, f.f_code.co_name) for f, _, line in frames
    )
    return FailureRecord(type(exc).__name__, message, told, extra)


def _unwrap(exc: BaseException) -> BaseException:
    for _ in range(3):
        name = type(exc).__name__
        inner = exc.__cause__ if name in ("CollectError", "ConftestImportFailure") else None
        inner = inner or (getattr(exc, "cause", None) if name == "ConftestImportFailure" else None)
        if not isinstance(inner, BaseException):
            break
        exc = inner
    return exc


def _message(exc: BaseException) -> str:
    if type(exc).__str__ in (
        BaseException.__str__,
        OSError.__str__,
        KeyError.__str__,
        SyntaxError.__str__,
        ImportError.__str__,
    ):
        with contextlib.suppress(Exception):
            return str(exc)[:2000]
    return " ".join(a for a in exc.args if type(a) is str)[:2000]


def _describe_locals(frames: Sequence[Frame], root: str) -> Dict[str, Any]:
    """Return the types of local names in the last frames, and which expressions were None."""
    found: Dict[str, Any] = {}
    ours = [
        i
        for i, (f, _, _) in enumerate(frames)
        if not os.path.isabs(relative(f.f_code.co_filename, root))
    ]
    for index in ours[-5:]:
        frame = frames[index][0]
        if frame.f_code.co_name == "<module>":
            continue
        kinds, none = {}, []
        for name, value in list(frame.f_locals.items())[:60]:
            kinds[name] = type(value).__name__
            if value is None:
                none.append(name)
            elif name in ("self", "cls"):
                own = instance_dict(value)
                none += [
                    f"{name}.{key}"
                    for key, inner in own.items()
                    if inner is None and isinstance(key, str)
                ]
        found[str(index)] = {"types": kinds, "none": none[:60]}
    return found


def _details(
    exc: BaseException, message: str, frames: Sequence[Frame], root: str
) -> Dict[str, Any]:
    last = frames[-1]
    if isinstance(exc, ImportError):
        return import_details(exc, root)
    if isinstance(exc, NameError):
        return {"name": getattr(exc, "name", None) or quoted_in(message)}
    if isinstance(exc, AttributeError):
        return attribute_details(exc, message, frames, root)
    if isinstance(exc, KeyError) and len(exc.args) == 1:
        return key_details(exc.args[0], last)
    if isinstance(exc, TypeError):
        return call_details(message, last, root)
    if isinstance(exc, AssertionError):
        return {"uncalled": uncalled(last, root)}
    return {}
