"""Find changes that a candidate left in its process, and restore the original state."""

from __future__ import annotations

import collections
import functools
import os
import sys
import threading
import time
import types
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.process.peek import is_a, peek
from sandbox.guest.search.session import contents
from sandbox.guest.search.session.contents import CELL, COPIES, FIXED, Derived, differ

MOST_CONTAINERS = 20_000
"""Maximum number of watched containers."""
LOOK_S = 40e-6
"""Target cost of the check per candidate, in seconds."""
NOT_OURS = ("site-packages", "dist-packages", "/.venv/", "/venv/", "/.tox/", "/node_modules/")
LRU_CACHE = type(functools.lru_cache()(lambda: None))
CLASS_NOISE = (
    "__doc__", "__annotations__", "__annotate__", "__annotations_cache__", "__abstractmethods__",
    "tearDown_exceptions", "_class_cleanups", "_classSetupFailed",
)  # fmt: skip
"""Class attributes that Python and unittest set while tests run."""
SAME, RESTORED, LOST = "same", "restored", "lost"


class StateSnapshot:
    """A snapshot of the state of the repository's modules.

    Args:
        root: Modules below this folder belong to the repository.
        more: Other objects that tests share, such as their parameters.
    """

    def __init__(self, root: str, more: Iterable[Any] = ()) -> None:
        self._root, self._more = root, [*more]
        self._containers: List[Tuple[Any, Any]] = []
        self._derived: List[Derived] = []
        self._places = contents.ValuePlaces()
        self._bare: List[Dict[str, Any]] = []
        """The attribute dictionaries of functions without attributes."""
        self._classes: List[Tuple[type, Dict[str, Any]]] = []
        self._caches: List[Tuple[Any, int, int]] = []
        """Each cache with its misses and its size."""
        self._bases: Dict[int, Tuple[Optional[type], Sequence[Any]]] = {}
        """By class id: the plain container base, and the slots of the repository's classes."""
        self._modules = {id(m): m for m in list(sys.modules.values()) if _belongs(m, root)}
        self._walk([*self._more, *self._modules.values()])
        self._process = _Process(draws=any(_draws(vars(m)) for m in self._modules.values()))
        began = time.perf_counter()
        self._same()
        spent = time.perf_counter() - began
        self.every = max(1, min(64, int(spent / LOOK_S)))
        """Number of candidates between two checks, so that a check is worth its cost."""

    def now(self, more: Iterable[Any]) -> StateSnapshot:
        """Return a new snapshot of the present state that includes more objects."""
        return StateSnapshot(self._root, [*self._more, *more])

    def restore(self) -> str:
        """Restore the snapshot if the state differs.

        Return SAME, RESTORED, or LOST if that is impossible.
        """
        try:
            if self._looks_same():
                return SAME
            self._restore()
            return RESTORED if self._same() else LOST
        except Exception:
            return LOST

    def _looks_same(self) -> bool:
        try:
            return self._same()
        except Exception:  # a state that cannot be compared counts as changed
            return False

    def _same(self) -> bool:
        for container, copy in self._containers:
            if container != copy:
                return False
        if (
            any(self._bare)
            or any(derived.differs() for derived in self._derived)
            or not self._places.same()
        ):
            return False
        for kind, copy in self._classes:
            if vars(kind) != copy and _class_state(kind) != {
                n: v for n, v in copy.items() if n not in CLASS_NOISE
            }:
                return False
        for cache, misses, size in self._caches:
            info = cache.cache_info()
            if info.misses != misses or info.currsize != size:
                return False
        return self._process.same()

    def _restore(self) -> None:
        for container, copy in self._containers:
            if differ(container, copy):
                contents.refill(container, copy)
        for derived in self._derived:
            if derived.differs():
                derived.refill()
        self._places.restore()
        for names in self._bare:
            names.clear()
        for kind, state in self._classes:
            if differ(vars(kind), state):
                _restore_class(kind, state)
        for place, (cache, misses, size) in enumerate(self._caches):
            info = cache.cache_info()
            if info.misses != misses or info.currsize != size:
                # The cached values are lost, but they are computed again on demand.
                cache.cache_clear()
                self._caches[place] = (cache, 0, 0)
        self._process.restore()

    # --- objects to watch ------------------------------------------------------------------------

    def _walk(self, roots: Sequence[Any]) -> None:
        """Visit objects breadth first, so that the limit cuts off the most distant ones."""
        seen: Set[int] = set()
        waiting = collections.deque(roots)
        while waiting and len(self._containers) < MOST_CONTAINERS:
            thing = waiting.popleft()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            waiting.extend(self._look_into(thing))

    def _look_into(self, thing: Any) -> Iterable[Any]:
        kind = type(thing)
        if kind in COPIES:
            self._containers.append((thing, COPIES[kind](thing)))
            return () if kind is bytearray else contents.list_parts(thing)
        if kind in FIXED:
            return contents.list_parts(thing)
        return self._look_behind(thing, kind)

    def _look_behind(self, thing: Any, kind: type) -> Iterable[Any]:
        """Watch an object that is no plain container; return what it refers to."""
        if kind is types.ModuleType:
            return self._namespace(vars(thing)) if id(thing) in self._modules else ()
        if kind is types.FunctionType:
            return self._function(thing)
        if kind is types.CellType:
            return (self._places.add(CELL, thing),)
        if kind in (staticmethod, classmethod):
            return (thing.__func__,)
        if kind is LRU_CACHE:
            info = thing.cache_info()
            self._caches.append((thing, info.misses, info.currsize))
            return (getattr(thing, "__wrapped__", None),)
        if is_a(thing, type):
            return self._class(thing) if self._is_ours(thing) else ()
        return self._object(thing, kind)

    def _function(self, function: Any) -> Iterable[Any]:
        names = function.__dict__
        if not names:
            self._bare.append(names)
        return [
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
            *(function.__closure__ or ()),
            names or None,
        ]

    def _object(self, thing: Any, kind: type) -> Iterable[Any]:
        if id(kind) not in self._bases:
            self._bases[id(kind)] = (
                contents.find_base(kind),
                contents.list_slots(kind) if self._is_ours(kind) else (),
            )
        base, slots = self._bases[id(kind)]
        found = [self._places.add(slot, thing) for slot in slots]
        if base is not None:
            copy = contents.plain_copy(thing, base)
            found += contents.list_parts(copy)
            if base not in FIXED:
                self._derived.append(Derived(thing, base, copy))
        if base is not None or self._is_ours(kind):
            names = peek(thing, "__dict__")
            found += [names] if type(names) is dict else []
        return found

    def _namespace(self, names: Dict[str, Any]) -> Iterator[Any]:
        self._containers.append((names, dict(names)))
        yield from [value for name, value in list(names.items()) if name != "__builtins__"]

    def _class(self, kind: type) -> Iterator[Any]:
        names = dict(vars(kind))
        self._classes.append((kind, names))
        yield from [
            value for name, value in names.items() if name not in ("__dict__", "__weakref__")
        ]

    def _is_ours(self, kind: type) -> bool:
        module = sys.modules.get(str(peek(kind, "__module__", "")))
        return module is not None and id(module) in self._modules


def _belongs(module: Any, root: str) -> bool:
    if type(module) is not types.ModuleType:
        return False
    path = vars(module).get("__file__")
    if not isinstance(path, str) or not path.startswith(root + os.sep):
        return False
    return not any(part in path for part in NOT_OURS)


def _draws(names: Dict[str, Any]) -> bool:
    """Return True if a module uses the shared random number generator."""
    source = sys.modules.get("random")
    shared = getattr(source, "_inst", None)
    if shared is None:
        return False
    return any(
        v is source or (type(v) is types.MethodType and v.__self__ is shared)
        for v in list(names.values())
    )


def _class_state(kind: type) -> Dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if name not in CLASS_NOISE}


def _restore_class(kind: type, copy: Dict[str, Any]) -> None:
    now = dict(vars(kind))
    for name in now:
        if name not in copy and name not in CLASS_NOISE:
            type.__delattr__(kind, name)
    for name, value in copy.items():
        if name not in CLASS_NOISE and (name not in now or now[name] is not value):
            type.__setattr__(kind, name, value)


class _Process:
    """A snapshot of the interpreter's global state.

    Args:
        draws: A module uses the shared random number generator.
    """

    def __init__(self, *, draws: bool) -> None:
        logging = sys.modules.get("logging")
        lists = [sys.path, sys.argv, sys.meta_path, sys.path_hooks, warnings.filters]
        self._lists = [(found, list(found)) for found in lists if isinstance(found, list)]
        if logging is not None:
            self._lists.append((logging.root.handlers, list(logging.root.handlers)))
        self._root = (logging.root, logging.root.level) if logging is not None else None
        self._environment = dict(os.environ)
        self._raw = dict(getattr(os.environ, "_data", {}))
        self._folder = os.getcwd()
        self._limit = sys.getrecursionlimit()
        self._streams = (sys.stdin, sys.stdout, sys.stderr)
        self._modules = len(sys.modules)
        self._threads = threading.active_count()
        self._random: Any = sys.modules.get("random") if draws else None
        self._drawn: Any = self._random and self._random.getstate()

    def same(self) -> bool:
        """Return True if the state is unchanged."""
        return (
            all(now == copy for now, copy in self._lists)
            and getattr(os.environ, "_data", {}) == self._raw
            and os.getcwd() == self._folder
            and (sys.stdin, sys.stdout, sys.stderr) == self._streams
            and sys.getrecursionlimit() == self._limit
            and (self._root is None or self._root[0].level == self._root[1])
            and (self._random is None or self._random.getstate() == self._drawn)
            and self._alone()
        )

    def _alone(self) -> bool:
        # A module that disappeared or a thread that runs on cannot be undone.
        return threading.active_count() <= self._threads and len(sys.modules) >= self._modules

    def restore(self) -> None:
        """Restore the state as far as possible."""
        for now, copy in self._lists:
            now[:] = copy
        # The warnings module caches decisions of its filters.
        getattr(warnings, "_filters_mutated", lambda: None)()
        for name in [name for name in os.environ if name not in self._environment]:
            del os.environ[name]
        os.environ.update({n: v for n, v in self._environment.items() if os.environ.get(n) != v})
        os.chdir(self._folder)
        sys.stdin, sys.stdout, sys.stderr = self._streams
        sys.setrecursionlimit(self._limit)
        if self._root is not None:
            self._root[0].setLevel(self._root[1])
        if self._random is not None:
            self._random.setstate(self._drawn)
