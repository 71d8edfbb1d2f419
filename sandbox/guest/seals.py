"""Check that functions and classes that decide a verdict were not replaced."""

import builtins
import operator
import types
from typing import Any, Callable, FrozenSet, List

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

    def functions(self) -> FrozenSet[Any]:
        """Return all sealed functions."""
        found = (
            getattr(value, "__func__", value) for sealed in self._sealed for value in sealed.values
        )
        return frozenset(value for value in found if isinstance(value, types.FunctionType))

    def broken(self) -> List[str]:
        """Return the names with another value now.

        This runs twice a test, so that the common case is pure C.
        """
        found: List[str] = []
        same, every, apply = self._same, self._all, self._map
        for sealed in self._sealed:
            present = vars(sealed.owner)
            try:
                if len(present) == sealed.size and every(
                    apply(same, sealed.read(present), sealed.values)
                ):
                    continue
            except KeyError:
                pass
            found += self._changed(sealed, present)
        return found

    def _changed(self, sealed: "Sealed", present: Any) -> List[str]:
        names = [
            name
            for name, value in zip(sealed.names, sealed.values)
            if present.get(name) is not value and not self._is_allowed(present.get(name))
        ]
        # A new name counts if it hides another one.
        for name in present.keys() - sealed.known:
            if isinstance(present[name], _KINDS) and self._hides(sealed.owner, name):
                names += [] if self._is_allowed(present[name]) else [name]
        return [sealed.title + name for name in names]

    def _hides(self, owner: Any, name: str) -> bool:
        if owner is builtins:
            return False
        if isinstance(owner, types.ModuleType):
            return name in self._builtin_names
        return any(name in vars(base) for base in owner.__mro__[1:])


class Sealed:
    """The functions of one module or class, in a form for fast comparison."""

    __slots__ = ("known", "names", "owner", "read", "size", "title", "values")

    def __init__(self, title: str, owner: Any, names: List[str]) -> None:
        present = vars(owner)
        self.title = title
        self.owner = owner
        self.known = frozenset(present)
        self.size = len(present)
        # A module's functions include objects with `__call__`, such as `pytest.fail`.
        also_called = not isinstance(owner, type)
        self.names = tuple(
            name
            for name in names
            if isinstance(present[name], _KINDS) or (also_called and callable(present[name]))
        )
        self.values = tuple(present[name] for name in self.names)
        # An itemgetter of one name returns no tuple.
        self.read: Any = (
            operator.itemgetter(*self.names, *self.names[:1]) if self.names else lambda _: ()
        )
        self.values += self.values[:1]
