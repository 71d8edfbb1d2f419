"""What a candidate leaves behind in its process: noticed, and put back as it was."""

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

from sandbox.guest.search.session import contents
from sandbox.guest.search.session.contents import CELL, COPIES, FIXED, Derived, differ

MOST_CONTAINERS = 20_000
"""How many containers are looked into at the most."""
LOOK_S = 40e-6
"""What looking may cost for each candidate, on average."""
NOT_OURS = ("site-packages", "dist-packages", "/.venv/", "/venv/", "/.tox/", "/node_modules/")
LRU_CACHE = type(functools.lru_cache()(lambda: None))
CLASS_NOISE = (
    "__doc__", "__annotations__", "__annotate__", "__annotations_cache__", "__abstractmethods__",
    "tearDown_exceptions", "_class_cleanups", "_classSetupFailed",
)  # fmt: skip
"""What Python and unittest note in classes as they go."""
SAME, RESTORED, LOST = "same", "restored", "lost"


class Leftovers:
    """The state of the repository's modules, as it is now.

    Args:
        root: Modules below this folder belong to the repository.
        more: Other objects that tests share, such as their parameters.
    """

    def __init__(self, root: str, more: Iterable[Any] = ()) -> None:
        self._root, self._more = root, [*more]
        self._containers: List[Tuple[Any, Any]] = []
        self._derived: List[Derived] = []
        self._places = contents.Places()
        self._bare: List[Dict[str, Any]] = []
        """The attributes of functions that have none."""
        self._classes: List[Tuple[type, Dict[str, Any]]] = []
        self._caches: List[Tuple[Any, int, int]] = []
        """With their misses and sizes."""
        self._bases: Dict[int, Tuple[Optional[type], Sequence[Any]]] = {}
        """By the ids of classes: what containers stand on, and the slots of objects of the repository."""
        self._modules = {id(m): m for m in list(sys.modules.values()) if _belongs(m, root)}
        self._walk([*self._more, *self._modules.values()])
        self._process = _Process(draws=any(_draws(vars(m)) for m in self._modules.values()))
        began = time.perf_counter()
        self._same()
        spent = time.perf_counter() - began
        self.every = max(1, min(64, int(spent / LOOK_S)))
        """After how many candidates it is worth looking."""

    def now(self, more: Iterable[Any]) -> Leftovers:
        """The same as it is at this moment, with other objects beside."""
        return Leftovers(self._root, [*self._more, *more])

    def put_back(self) -> str:
        """Look, and restore what is not as it was: SAME, RESTORED, or LOST when that is impossible."""
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
        except Exception:  # what cannot be compared with what it was is not the same
            return False

    def _same(self) -> bool:
        for container, copy in self._containers:
            if container != copy:
                return False
        if any(self._bare) or any(derived.differs() for derived in self._derived) or not self._places.same():
            return False
        for kind, copy in self._classes:
            if vars(kind) != copy and _class_state(kind) != {n: v for n, v in copy.items() if n not in CLASS_NOISE}:
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
                # What it held cannot be put back, but is worked out again when somebody asks.
                cache.cache_clear()
                self._caches[place] = (cache, 0, 0)
        self._process.restore()

    # --- what there is -----------------------------------------------------------------------------

    def _walk(self, roots: Sequence[Any]) -> None:
        """Breadth first, so that what is near is watched when there is too much."""
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
            return () if kind is bytearray else contents.parts_of(thing)
        if kind in FIXED:
            return contents.parts_of(thing)
        return self._look_behind(thing, kind)

    def _look_behind(self, thing: Any, kind: type) -> Iterable[Any]:
        """What is no plain container."""
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
        if isinstance(thing, type):
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
            self._bases[id(kind)] = (contents.base_of(kind), contents.slots_of(kind) if self._is_ours(kind) else ())
        base, slots = self._bases[id(kind)]
        found = [self._places.add(slot, thing) for slot in slots]
        if base is not None:
            copy = contents.plain_copy(thing, base)
            found += contents.parts_of(copy)
            if base not in FIXED:
                self._derived.append(Derived(thing, base, copy))
        if base is not None or self._is_ours(kind):
            names = getattr(thing, "__dict__", None)
            found += [names] if type(names) is dict else []
        return found

    def _namespace(self, names: Dict[str, Any]) -> Iterator[Any]:
        self._containers.append((names, dict(names)))
        yield from [value for name, value in list(names.items()) if name != "__builtins__"]

    def _class(self, kind: type) -> Iterator[Any]:
        names = dict(vars(kind))
        self._classes.append((kind, names))
        yield from [value for name, value in names.items() if name not in ("__dict__", "__weakref__")]

    def _is_ours(self, kind: type) -> bool:
        module = sys.modules.get(getattr(kind, "__module__", "") or "")
        return module is not None and id(module) in self._modules


def _belongs(module: Any, root: str) -> bool:
    if type(module) is not types.ModuleType:
        return False
    path = vars(module).get("__file__")
    if not isinstance(path, str) or not path.startswith(root + os.sep):
        return False
    return not any(part in path for part in NOT_OURS)


def _draws(names: Dict[str, Any]) -> bool:
    """Whether a module uses the shared source of random numbers."""
    source = sys.modules.get("random")
    shared = getattr(source, "_inst", None)
    if shared is None:
        return False
    return any(v is source or getattr(v, "__self__", None) is shared for v in list(names.values()))


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
    """What the interpreter itself holds for everybody.

    Args:
        draws: Whether somebody uses the shared source of random numbers.
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
        """Whether everything is as it was."""
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
        return threading.active_count() <= self._threads and len(sys.modules) >= self._modules

    def restore(self) -> None:
        """Put back what can be."""
        for now, copy in self._lists:
            now[:] = copy
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
