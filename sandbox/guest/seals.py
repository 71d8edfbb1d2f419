"""Check that functions and classes that decide a verdict were not replaced."""

import builtins
import itertools
import operator
import types
from typing import Any, Callable, FrozenSet, List, Tuple

_KINDS = (
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, staticmethod,
    classmethod, property,
)  # fmt: skip


class Seals:
    """The current functions of modules and their classes.

    Args:
        modules: The modules to seal.
        open_names: Names that projects override legitimately and that decide nothing.
        deciding: Builtins to seal, too.
        is_allowed: Returns True if a new value may replace an old one.
    """

    def __init__(
        self,
        modules: Any,
        open_names: FrozenSet[str],
        deciding: Any,
        is_allowed: Callable[[Any], bool],
    ) -> None:
        self._is_allowed = is_allowed
        self._same, self._all, self._map = operator.is_, all, map
        self._builtin_names = frozenset(vars(builtins))
        sealed = [Sealed("", builtins, [name for name in vars(builtins) if name in deciding])]
        for module in modules:
            sealed.append(Sealed(module.__name__ + ".", module, list(vars(module))))
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    names = [name for name in vars(value) if name not in open_names]
                    sealed.append(Sealed(value.__qualname__ + ".", value, names))
        self._sealed = tuple(sealed)
        self._chain, self._end = itertools.chain, (object(),)
        # These views show later changes, too.
        self._present = tuple(vars(sealed.owner).values() for sealed in self._sealed)
        self._seen = self._join_seen()

    def functions(self) -> FrozenSet[Any]:
        """Return all sealed functions."""
        found = (
            getattr(value, "__func__", value) for sealed in self._sealed for value in sealed.values
        )
        return frozenset(value for value in found if isinstance(value, types.FunctionType))

    def broken(self) -> List[str]:
        """Return the names with another value now.

        This runs for every test, so that the common case is pure C.
        """
        # A dictionary keeps its order: a removed name with a new one at the end moves others. The
        # end has a value of its own, so that equal streams are equally long.
        present = self._chain(*self._present, self._end)
        if self._all(self._map(self._same, present, self._seen)):
            return []
        found = [name for sealed in self._sealed for name in self._changed(sealed)]
        self._seen = self._join_seen()
        return found

    def _join_seen(self) -> Tuple[Any, ...]:
        return tuple(value for sealed in self._sealed for value in sealed.seen) + self._end

    def _changed(self, sealed: "Sealed") -> List[str]:
        present = vars(sealed.owner)
        if len(present) == len(sealed.seen) and self._all(
            self._map(self._same, present.values(), sealed.seen)
        ):
            return []
        changed = [
            name
            for name, value in zip(sealed.names, sealed.values)
            if present.get(name) is not value
        ]
        # A new name counts if it hides another one.
        changed += [
            name
            for name in present.keys() - sealed.known
            if isinstance(present[name], _KINDS) and self._hides(sealed.owner, name)
        ]
        if not changed:
            # Test frameworks store flags and warnings: compare with these from now on.
            sealed.seen = tuple(present.values())
        refused = [name for name in changed if not self._is_allowed(present.get(name))]
        return [sealed.title + name for name in refused]

    def _hides(self, owner: Any, name: str) -> bool:
        if owner is builtins:
            return False
        if isinstance(owner, types.ModuleType):
            return name in self._builtin_names
        return any(name in vars(base) for base in owner.__mro__[1:])


class Sealed:
    """The functions of one module or class, in a form for fast comparison."""

    __slots__ = ("known", "names", "owner", "seen", "title", "values")

    def __init__(self, title: str, owner: Any, names: List[str]) -> None:
        present = vars(owner)
        self.title = title
        self.owner = owner
        self.known = frozenset(present)
        # A module's functions include objects with `__call__`, such as `pytest.fail`.
        also_called = not isinstance(owner, type)
        self.names = tuple(
            name
            for name in names
            if isinstance(present[name], _KINDS) or (also_called and callable(present[name]))
        )
        self.values = tuple(present[name] for name in self.names)
        self.seen = tuple(present.values())
