"""Builtin exceptions that are named twice, or by a name of Python 2."""

import ast
import builtins
from collections.abc import Iterator, Sequence

from bot.improve.rules.source import PythonFile, Rule, SpliceEdit

_OLD_NAMES = ("IOError", "EnvironmentError")
_NAMES = tuple(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)


def _caught_twice(source: PythonFile) -> Iterator[SpliceEdit]:
    for handler in source.nodes:
        if not isinstance(handler, ast.ExceptHandler) or not isinstance(handler.type, ast.Tuple):
            continue
        kept = _without_covered(handler.type.elts, source)
        start, end = source.span(handler.type)
        text = source.content[start:end]
        # `except(A, B):` has no space that would separate a single name.
        is_plain = text.startswith(b"(") and source.content[start - 1 : start].isspace()
        if kept is None or not is_plain or set(b"\n\r#") & set(text):
            continue
        new = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        yield SpliceEdit(start=start, end=end, text=new.encode())


def _without_covered(caught: Sequence[ast.expr], source: PythonFile) -> list[str] | None:
    """Return the exceptions that are not covered by another one; None if all are needed."""
    names = [one.id for one in caught if isinstance(one, ast.Name)]
    if len(names) != len(caught) or not all(source.is_builtin(one, *_NAMES) for one in caught):
        return None
    # The class itself has its present name: IOError is OSError.
    classes = list(dict.fromkeys(getattr(builtins, name) for name in names))
    kept = [
        one
        for one in classes
        if not any(other is not one and issubclass(one, other) for other in classes)
    ]
    is_known = all(one.__name__ in names or one.__name__ not in source.bound for one in kept)
    return [one.__name__ for one in kept] if len(kept) < len(names) and is_known else None


def _old_names(source: PythonFile) -> Iterator[SpliceEdit]:
    if "OSError" in source.bound:
        return
    # Beside OSError, the new name would stand there twice.
    tuples = [node for node in source.nodes if isinstance(node, ast.Tuple)]
    beside = {id(one) for node in tuples for one in node.elts}
    for node in source.outside_strings:
        if (
            isinstance(node, ast.Name)
            and id(node) not in beside
            and source.is_builtin(node, *_OLD_NAMES)
        ):
            start, end = source.span(node)
            yield SpliceEdit(start=start, end=end, text=b"OSError")


RULES = (
    Rule(
        "caught-twice",
        "shorten {things}",
        "list of caught exceptions",
        "the file never rebinds these builtin exceptions, and each one removed is a subclass of "
        "one that stays, or the same class",
        _caught_twice,
        plural="lists of caught exceptions",
    ),
    Rule(
        "old-exception-name",
        "replace {things}",
        "old name of OSError",
        "IOError and EnvironmentError are other names of the class OSError, and the file rebinds "
        "none of them",
        _old_names,
        plural="old names of OSError",
    ),
)
