"""Modules beside the checkout that are imported before anything is forked: else every child imports them anew."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any, Iterator, List, Optional, Sequence

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.threads import own_threads

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "BLIS_NUM_THREADS")
"""By these, libraries of numbers are told when they are loaded how many threads to start."""
MOST = 3000


def modules_beside(root: str) -> List[str]:
    """Modules of this process that are not of the checkout, in the order of their import."""
    return [name for name, module in list(sys.modules.items()) if not _is_of(root, module) and name != "__main__"]


def _is_of(root: str, module: Any) -> bool:
    """Whether a module comes from the checkout; what cannot be told is taken to."""
    try:
        places = [str(module.__file__)] if getattr(module, "__file__", None) else [str(p) for p in module.__path__]
    except (AttributeError, TypeError):
        return getattr(module, "__spec__", None) is None
    inside = [p for p in map(os.path.realpath, places) if p == root or p.startswith(root + os.sep)]
    return any("site-packages" not in place for place in inside)


def preload(names: Sequence[str], root: str) -> Optional[str]:
    """Import all of these; the first one that starts a thread or brings in the checkout ends it.

    Returns:
        The top-level package that must not be preloaded, or None when all went well.
    """
    for name in names:
        if name not in sys.modules and _imports(name) and own_threads() > 1:
            return name.split(".")[0]
    return next(iter(_modules_inside(root)), None)


def _modules_inside(root: str) -> List[str]:
    """Modules of this process that stand in a file of the checkout."""
    return [name for name, module in list(sys.modules.items()) if _is_of(root, module) and _has_file(module)]


def _has_file(module: Any) -> bool:
    return getattr(module, "__file__", None) is not None


def _imports(name: str) -> bool:
    try:
        with _alone():
            importlib.import_module(name)
    except BaseException:
        return False
    return True


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Inside, libraries start no threads by themselves: only a process with one may fork."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def warm(names: Sequence[str], root: str, wait_s: float) -> None:
    """Import what tests import as they run, where a child that tries it first starts no thread by it.

    Args:
        names: Modules, in the order of their import.
        root: The checkout, whose modules are left alone.
        wait_s: How long the child may take.
    """

    def work(_limiter: Limiter, report: Report) -> None:
        inside = _modules_inside(root)
        for name in names[:MOST]:
            if name in sys.modules or not _imports(name):
                continue
            if own_threads() > 1 or _modules_inside(root) != inside:
                return
            report(name)

    for name in collect(work, wait_s) if names else ():
        if isinstance(name, str) and name in names:
            _imports(name)
