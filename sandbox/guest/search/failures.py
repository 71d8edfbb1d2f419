"""An exception as plain data: its kind, its message, where it came from, and what was around it."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import re
import sys
import types
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

MOST_FRAMES = 60
MOST_NAMES = 500
"""Attributes of an object, names of a module, keys of a dictionary that are kept."""
IS_ABSTRACT = 1 << 20
"""The flag of a type that still has abstract methods."""
MOST_CLASSES = 20_000
MOST_EARLIER = 3
"""Exceptions behind the exception."""
NOT_OURS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/")

Span = Tuple[int, int, int, int]
"""First line, last line, first column, last column (UTF-8)."""


class Failure(NamedTuple):
    """What a test or an import died of. Everything in it can be written as JSON."""

    kind: str
    """The exception's type, by its bare name."""
    message: str
    frames: Tuple[Tuple[str, int, str], ...]
    """Path (relative to the checkout where it lies in it), line and function; the innermost is the last."""
    extra: Dict[str, Any]
    """`name`, `owner` (type, module, file, names of what lacked it), `callee` (parameters of what was called),
    `keys` (of the dictionary that lacked one), `locals` and `spans` by frame, `bases` (kinds it derives from),
    `earlier` (failures behind this one)."""

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Failure:
        """What JSON makes of it, read back."""
        kind, message, frames, extra = value
        return cls(str(kind), str(message), tuple((str(p), int(n), str(f)) for p, n, f in frames), dict(extra))

    def is_a(self, *kinds: str) -> bool:
        """Whether it is of one of these kinds, or derives from one."""
        return self.kind in kinds or any(base in kinds for base in self.extra.get("bases", ()))


def failure_of(exc: BaseException, tb: Optional[types.TracebackType], root: str, depth: int = 0) -> Failure:
    """Describe an exception in the process that saw it, from dictionaries and code objects alone.

    Args:
        exc: The exception; one that pytest wrapped around an import error is unwrapped.
        tb: Its traceback.
        root: Absolute path of the checkout.
        depth: How many exceptions stand before this one.
    """
    inner = _unwrapped(exc)
    if inner is not exc:
        exc, tb = inner, inner.__traceback__
    frames = list(_frames(tb))[-MOST_FRAMES:]
    extra: Dict[str, Any] = {"bases": [c.__name__ for c in type(exc).__mro__[1:-1]]}
    message = _message(exc)
    with contextlib.suppress(Exception):
        extra["spans"] = [_span(frame, lasti, line) for frame, lasti, line in frames]
        extra["locals"] = _locals_of(frames, root)
    if frames:
        with contextlib.suppress(Exception):
            extra["files"] = _files_named(message, frames, root)
        with contextlib.suppress(Exception):
            extra.update(_details(exc, message, frames, root))
    earlier = [e for e in (exc.__cause__, exc.__context__) if e is not None][:1]
    if earlier and depth < MOST_EARLIER:
        extra["earlier"] = [list(failure_of(earlier[0], earlier[0].__traceback__, root, depth + 1))]
    told = tuple((_relative(f.f_code.co_filename, root), line, f.f_code.co_name) for f, _, line in frames)
    return Failure(type(exc).__name__, message, told, extra)


def _unwrapped(exc: BaseException) -> BaseException:
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


Frame = Tuple[types.FrameType, int, int]
"""A frame, the instruction and the line it stood at."""


def _frames(tb: Optional[types.TracebackType]) -> Iterator[Frame]:
    while tb is not None:
        yield tb.tb_frame, tb.tb_lasti, tb.tb_lineno
        tb = tb.tb_next


def _relative(filename: str, root: str) -> str:
    path = os.path.realpath(filename) if os.path.isabs(filename) else filename
    top = os.path.realpath(root)
    if path.startswith(top + os.sep) and not any(part in path for part in NOT_OURS):
        return os.path.relpath(path, top)
    return filename


def _span(frame: types.FrameType, lasti: int, line: int) -> Optional[Span]:
    """The bytes of the expression that was at work; known from Python 3.11 on."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return None
    found = None
    for offset, position in enumerate(positions()):
        if offset * 2 == lasti:
            found = position
            break
    if not found or None in found or found[0] > line or found[1] < line:
        return None
    return (found[0], found[1], found[2], found[3])


def _locals_of(frames: Sequence[Frame], root: str) -> Dict[str, Any]:
    """Types of local names in the last frames of the checkout, and which expressions were None."""
    found: Dict[str, Any] = {}
    ours = [i for i, (f, _, _) in enumerate(frames) if not os.path.isabs(_relative(f.f_code.co_filename, root))]
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
                own = _instance_dict(value)
                none += [f"{name}.{key}" for key, inner in own.items() if inner is None and isinstance(key, str)]
        found[str(index)] = {"types": kinds, "none": none[:60]}
    return found


def _instance_dict(value: Any) -> Dict[Any, Any]:
    with contextlib.suppress(Exception):
        own = object.__getattribute__(value, "__dict__")
        if type(own) in (dict, types.MappingProxyType):
            return dict(list(own.items())[:MOST_NAMES])
    return {}


# --- what the exception is about --------------------------------------------------------------------


def _details(exc: BaseException, message: str, frames: Sequence[Frame], root: str) -> Dict[str, Any]:
    last = frames[-1]
    if isinstance(exc, ImportError):
        return _import_details(exc, root)
    if isinstance(exc, NameError):
        return {"name": getattr(exc, "name", None) or _quoted(message)}
    if isinstance(exc, AttributeError):
        return _attribute_details(exc, message, frames, root)
    if isinstance(exc, KeyError) and len(exc.args) == 1:
        return _key_details(exc.args[0], last)
    if isinstance(exc, TypeError):
        return _call_details(message, last, root)
    if isinstance(exc, AssertionError):
        return {"uncalled": _uncalled(last, root)}
    return {}


def _quoted(message: str) -> str:
    found = re.search(r"'([^']+)'", message)
    return found.group(1) if found else ""


def _import_details(exc: ImportError, root: str) -> Dict[str, Any]:
    details: Dict[str, Any] = {"module": exc.name or "", "path": _relative(exc.path or "", root)}
    found = re.match(r"cannot import name '([^']+)'", str(exc.args[0]) if exc.args else "")
    if found:
        details["name"] = found.group(1)
        module = sys.modules.get(exc.name or "")
        if module is not None:
            details["owner"] = _owner(module, root)
    return details


def _attribute_details(exc: AttributeError, message: str, frames: Sequence[Frame], root: str) -> Dict[str, Any]:
    name = getattr(exc, "name", None)
    if not isinstance(name, str):
        found = re.findall(r"'([^']+)'", message)
        name = found[-1] if found else ""
    owner = getattr(exc, "obj", None)
    for frame in reversed(frames[-3:] if owner is None else ()):
        owner = _holder_of(name, message, frame) if owner is None else owner
    return {"name": name, "owner": _owner(owner, root) if owner is not None else {"type": _quoted(message)}}


def _holder_of(name: str, message: str, last: Frame) -> Any:
    """The object that lacks an attribute, before exceptions carried it."""
    module = re.match(r"(?:partially initialized )?module '([^']+)'", message)
    if module and module.group(1) in sys.modules:
        return sys.modules[module.group(1)]
    for node in _nodes_at(last):
        if isinstance(node, ast.Attribute) and node.attr == name:
            found = _resolve(node.value, last[0])
            if found is not None:
                return found
    return None


def _owner(value: Any, root: str) -> Dict[str, Any]:
    """What is known about an object that lacks something; its own code is never asked."""
    is_module, is_type = isinstance(value, types.ModuleType), isinstance(value, type)
    kind = value if is_type else type(value)
    names: Dict[str, None] = {}
    if is_module:
        names = dict.fromkeys(str(n) for n in list(vars(value)))
        names.update(dict.fromkeys(_slots_of_type(type(value))) if type(value) is not types.ModuleType else {})
    else:
        names = dict.fromkeys([*map(str, _instance_dict(value)), *_slots_of_type(kind)])
    module = value.__name__ if is_module else type.__getattribute__(kind, "__module__")
    home = sys.modules.get(module) if isinstance(module, str) else None
    file = getattr(home, "__file__", None) if home is not None else None
    return {
        "type": "module" if is_module else kind.__name__,
        "kind": "module" if is_module else "class" if is_type else "object",
        "module": module if isinstance(module, str) else "",
        "bases": [c.__name__ for c in type.__getattribute__(kind, "__mro__")][:20] if not is_module else [],
        "file": _relative(file, root) if isinstance(file, str) else "",
        "names": list(names)[:MOST_NAMES],
        "inner": _inner(value) if is_module else {},
    }


def _slots_of_type(kind: type) -> List[str]:
    names: List[str] = []
    for one in type.__getattribute__(kind, "__mro__"):
        names += [n for n in type.__getattribute__(one, "__dict__") if isinstance(n, str)]
    return names


def _inner(module: types.ModuleType) -> Dict[str, List[str]]:
    """Public classes of a module that share its last name, with their attributes: `datetime.datetime`."""
    last = module.__name__.rpartition(".")[2].lower()
    classes = {n: v for n, v in vars(module).items() if isinstance(v, type) and not n.startswith("_")}
    near = {n: v for n, v in classes.items() if n.lower() == last} or dict(list(classes.items())[:6])
    return {n: _slots_of_type(v)[:200] for n, v in near.items()}


def _key_details(key: Any, last: Frame) -> Dict[str, Any]:
    details: Dict[str, Any] = {"key": repr(key)[:200] if type(key) in (str, int, float, bytes, tuple) else ""}
    for node in _nodes_at(last):
        holder = None
        if isinstance(node, ast.Subscript):
            holder = _resolve(node.value, last[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            holder = _resolve(node.func.value, last[0])
        if isinstance(holder, dict) and not dict.__contains__(holder, key):
            plain = [k for k in list(dict.keys(holder))[:MOST_NAMES] if type(k) in (str, int, float, bytes)]
            details["keys"] = [repr(k)[:80] for k in plain]
            break
    return details


NAMED = re.compile(r"<([\w.]+)\.\w+ object|(?:bound method|function|generator object|coroutine object) ([\w.]+)")


def _files_named(message: str, frames: Sequence[Frame], root: str) -> List[str]:
    """Files of the checkout that hold what a message shows: the class of an object, a function, a generator."""
    found: Dict[str, None] = {}
    for module, name in NAMED.findall(message)[:12]:
        values: List[Any] = [sys.modules.get(module)] if module else []
        values += [frame.f_globals.get(name.split(".")[0]) for frame, _, _ in frames[-4:]] if name else []
        for value in values:
            function = _function_of(value)
            home = sys.modules.get(str(getattr(value, "__module__", ""))) if isinstance(value, type) else value
            file = function.__code__.co_filename if function is not None else getattr(home, "__file__", None)
            if isinstance(file, str):
                found[_relative(file, root)] = None
    return [path for path in found if not os.path.isabs(path)]


# --- what was called ----------------------------------------------------------------------------------


def _call_details(message: str, last: Frame, root: str) -> Dict[str, Any]:
    abstract = re.match(r"Can't instantiate abstract class (\w+)", message)
    if abstract:
        named = [t for t in _classes() if t.__flags__ & IS_ABSTRACT and t.__name__ == abstract.group(1)]
        owners = [_owner(t, root) for t in named]
        owners.sort(key=lambda owner: not owner["file"] or os.path.isabs(owner["file"]))
        return {"owner": owners[0]} if owners else {}
    found = re.match(r"([\w.<>]+)\(\) (?:got|missing|takes|argument)", message)
    if not found:
        return {}
    name = found.group(1)
    target = None
    for node in _nodes_at(last):
        if isinstance(node, ast.Call):
            value = _function_of(_resolve(node.func, last[0]))
            if value is not None and _is_called(value, name):
                target = value
                break
    if target is None:
        target = _by_qualified_name(name)
    return {"callee": _signature(target, root)} if target is not None else {}


def _function_of(value: Any) -> Optional[types.FunctionType]:
    """The plain function behind a function, a method or a class."""
    if isinstance(value, type):
        for one in type.__getattribute__(value, "__mro__"):
            own = type.__getattribute__(one, "__dict__")
            for name in ("__init__", "__new__"):
                maker = own.get(name)
                maker = getattr(maker, "__func__", maker) if isinstance(maker, staticmethod) else maker
                if isinstance(maker, types.FunctionType):
                    return maker
        return None
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, types.MethodType):
        value = value.__func__
    return value if isinstance(value, types.FunctionType) else None


def _is_called(function: types.FunctionType, name: str) -> bool:
    return function.__qualname__ == name or function.__name__ == name.rpartition(".")[2]


def _by_qualified_name(name: str) -> Optional[types.FunctionType]:
    """A function of this name in the modules and classes there are; None when there are several."""
    owner, _, last = name.rpartition(".")
    values = [_static(one, last) for one in _classes() if not owner or one.__name__ == owner.rpartition(".")[2]]
    if not owner:
        modules = [sys.modules[key] for key in sorted(sys.modules)]
        values += [vars(m).get(last) for m in modules if type(m) is types.ModuleType]
    found: Dict[Tuple[str, int], types.FunctionType] = {}
    for value in values:
        function = _function_of(value) if not isinstance(value, type) else None
        if function is not None and _is_called(function, name):
            found[function.__code__.co_filename, function.__code__.co_firstlineno] = function
    return next(iter(found.values())) if len(found) == 1 else None


def _classes() -> List[type]:
    """Every class there is, parents first: the list of the garbage collector lacks what was frozen before a fork."""
    found: Dict[int, type] = {}
    waiting: List[type] = [object]
    while waiting and len(found) < MOST_CLASSES:
        one = waiting.pop(0)
        if id(one) not in found:
            found[id(one)] = one
            waiting += type.__subclasses__(one)
    return list(found.values())


def _signature(function: types.FunctionType, root: str) -> Dict[str, Any]:
    code = function.__code__
    plain = list(code.co_varnames[: code.co_argcount])
    only = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    defaults = len(function.__defaults__ or ())
    return {
        "name": function.__name__,
        "qualname": function.__qualname__,
        "parameters": plain,
        "keyword_only": only,
        "required": plain[: len(plain) - defaults],
        "varargs": bool(code.co_flags & 4),
        "kwargs": bool(code.co_flags & 8),
        "file": _relative(code.co_filename, root),
        "line": code.co_firstlineno,
        "module": str(function.__module__),
    }


def _uncalled(last: Frame, root: str) -> List[Dict[str, Any]]:
    """Functions of the checkout that a failed assertion names without calling them."""
    nodes = _nodes_at(last)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    named = [n for n in nodes if isinstance(n, ast.Attribute) and n not in called]
    values = [_resolve(node, last[0]) for node in named]
    told = [_signature(value, root) for value in values if isinstance(value, types.FunctionType)]
    return [function for function in told if not os.path.isabs(function["file"])][:4]


# --- looking without running ----------------------------------------------------------------------------


def _nodes_at(last: Frame) -> List[ast.AST]:
    """The expressions of the line an exception came from; the one at work alone, where that is known."""
    frame, lasti, line = last
    filename = frame.f_code.co_filename
    text = "".join(linecache.getlines(filename, frame.f_globals))
    if not text or len(text) > 2_000_000:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    span = _span(frame, lasti, line)
    exact = [n for n in nodes if span and (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == span]
    return [*exact, *(n for n in nodes if n not in exact)]


def _resolve(node: ast.AST, frame: types.FrameType) -> Any:
    """The value of a name or a chain of attributes, by dictionary only; None when unknown."""
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in space:
                return space[node.id]
        return None
    if isinstance(node, ast.Attribute):
        made = node.value
        if isinstance(made, ast.Call):  # `Thing(...).name`: what the class has under this name
            maker = _resolve(made.func, frame)
            return _static(maker, node.attr) if isinstance(maker, type) else None
        value = _resolve(made, frame)
        return None if value is None else _static(value, node.attr)
    return None


def _static(value: Any, name: str) -> Any:
    if isinstance(value, types.ModuleType):
        return vars(value).get(name)
    own = _instance_dict(value) if not isinstance(value, type) else {}
    if name in own:
        return own[name]
    for one in type.__getattribute__(value if isinstance(value, type) else type(value), "__mro__"):
        space = type.__getattribute__(one, "__dict__")
        if name in space:
            return space[name]
    return None
