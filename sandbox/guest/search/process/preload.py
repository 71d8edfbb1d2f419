"""Import modules from outside the checkout before forking.

Otherwise every child would import them again.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any, Iterator, List, Optional, Sequence

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.peek import peek
from sandbox.guest.search.process.threads import own_threads

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS",
)
"""Variables that set the number of threads of numerical libraries when they are loaded."""
MOST = 3000


def modules_beside(root: str) -> List[str]:
    """Return the modules of this process from outside the checkout, in import order."""
    return [
        name
        for name, module in list(sys.modules.items())
        if not _belongs_to(root, module) and name != "__main__"
    ]


def _belongs_to(root: str, module: Any) -> bool:
    """Return True if a module comes from the checkout, or if its origin is unknown."""
    try:
        places = (
            [str(module.__file__)]
            if peek(module, "__file__")
            else [str(p) for p in module.__path__]
        )
    except (AttributeError, TypeError):
        return peek(module, "__spec__") is None
    inside = [p for p in map(os.path.realpath, places) if p == root or p.startswith(root + os.sep)]
    return any("site-packages" not in place for place in inside)


def preload(names: Sequence[str], root: str) -> Optional[str]:
    """Import these modules until one starts a thread; then check that none is from the checkout.

    Returns:
        The top-level package that must not be preloaded, or None if all are safe.
    """
    for name in names:
        if name not in sys.modules and _imports(name) and own_threads() > 1:
            return name.split(".")[0]
    return next(iter(modules_inside(root)), None)


def modules_inside(root: str) -> List[str]:
    """Return the modules of this process whose file is in the checkout, in import order."""
    return [
        name
        for name, module in list(sys.modules.items())
        if _belongs_to(root, module) and _has_file(module)
    ]


def _has_file(module: Any) -> bool:
    return peek(module, "__file__") is not None


def _imports(name: str) -> bool:
    try:
        with _alone():
            importlib.import_module(name)
    except BaseException:
        return False
    return True


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Prevent libraries from starting threads: only a process with one thread may fork."""
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


def import_test_modules(names: Sequence[str], root: str, wait_s: float) -> None:
    """Import the modules from outside the checkout that tests import while they run.

    Args:
        names: Modules in the order of their import.
        root: The checkout, whose modules are not imported.
        wait_s: Timeout of the child that tries each import first, in seconds.
    """

    def work(_limiter: Limiter, report: Report) -> None:
        inside = modules_inside(root)
        for name in import_each(names):
            if modules_inside(root) != inside:
                return
            report(name)

    for name in collect(work, wait_s) if names else ():
        if isinstance(name, str) and name in names:
            _imports(name)


def import_each(names: Sequence[str]) -> Iterator[str]:
    """Import these modules until one starts a thread; yield those that could be imported."""
    for name in names[:MOST]:
        if name in sys.modules or not _imports(name):
            continue
        if own_threads() > 1:
            return
        yield name
