"""Undefined names: use a similar name, or add the missing import."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Dict, Iterator, List, Tuple

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FindingPlace
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({
    "F821", "E0602", "name-defined", "reportUndefinedVariable", "unresolved-reference", "F822",
    "E0603", "used-before-def", "reportUnboundVariable", "possibly-undefined", "E0601", "E0606",
})  # fmt: skip
CHANGES = (
    (
        "length = 1\nx = lenght\n",
        (2, 5, "F821", "Undefined name `lenght`"),
        "length = 1\nx = length\n",
    ),
    ("x = os.getcwd()\n", (1, 5, "F821", "Undefined name `os`"), "import os\nx = os.getcwd()\n"),
    (
        '"""Say."""\n\nimport re\n\nx: Optional[re.Pattern]\n',
        (5, 4, "name-defined", 'Name "Optional" is not defined'),
        '"""Say."""\n\nimport re\nfrom typing import Optional\n\nx: Optional[re.Pattern]\n',
    ),
    (
        "x = Path('a')\n",
        (1, 5, "E0602", "Undefined variable 'Path'"),
        "from pathlib import Path\nx = Path('a')\n",
    ),
    (
        "class A:\n    x = 1\n    def f(self):\n        return x\n",
        (4, 16, "reportUndefinedVariable", '"x" is not defined'),
        "class A:\n    x = 1\n    def f(self):\n        return self.x\n",
    ),
    (
        "class A:\n    def f(self) -> A:\n        return self\n",
        (2, 20, "F821", "Undefined name `A`"),
        'class A:\n    def f(self) -> "A":\n        return self\n',
    ),
)
UNTOUCHED = (("x = zzqqyy\n", (1, 5, "F821", "Undefined name `zzqqyy`")),)
HOMES: Dict[str, str] = {
    **dict.fromkeys(
        (
            "Any", "Callable", "ClassVar", "Dict", "Final", "Generic", "Iterable", "Iterator",
            "List", "Literal", "Mapping", "NamedTuple", "NoReturn", "Optional", "Protocol",
            "Sequence", "Set", "Tuple", "Type", "TypeVar", "TypedDict", "Union", "cast", "overload",
            "TYPE_CHECKING", "Awaitable", "Generator", "IO", "TextIO",
        ),
        "typing",
    ),
    **dict.fromkeys(("dataclass", "field", "asdict", "astuple", "fields"), "dataclasses"),
    **dict.fromkeys(
        ("defaultdict", "OrderedDict", "Counter", "deque", "namedtuple", "ChainMap"), "collections"
    ),
    **dict.fromkeys(
        ("wraps", "partial", "lru_cache", "reduce", "cached_property", "total_ordering"),
        "functools",
    ),
    **dict.fromkeys(
        ("chain", "product", "combinations", "permutations", "groupby", "islice", "count"),
        "itertools",
    ),
    **dict.fromkeys(("datetime", "timedelta", "timezone", "date"), "datetime"),
    **dict.fromkeys(
        ("contextmanager", "suppress", "closing", "ExitStack", "redirect_stdout"), "contextlib"
    ),
    **dict.fromkeys(("ABC", "abstractmethod", "ABCMeta"), "abc"),
    **dict.fromkeys(("Enum", "IntEnum", "auto", "Flag", "IntFlag"), "enum"),
    **dict.fromkeys(("itemgetter", "attrgetter", "methodcaller"), "operator"),
    **dict.fromkeys(("StringIO", "BytesIO"), "io"),
    **dict.fromkeys(("deepcopy",), "copy"),
    "Path": "pathlib", "PurePath": "pathlib", "Decimal": "decimal", "Fraction": "fractions",
    "dedent": "textwrap", "indent": "textwrap", "urlparse": "urllib.parse",
    "urljoin": "urllib.parse", "Thread": "threading", "Lock": "threading", "sleep": "time",
    "NamedTemporaryFile": "tempfile", "TemporaryDirectory": "tempfile", "pprint": "pprint",
    "sqrt": "math", "ceil": "math", "floor": "math", "SimpleNamespace": "types", "glob": "glob",
}  # fmt: skip
"""The modules of well-known names of the standard library."""
_MODULES = frozenset((
    "abc", "argparse", "ast", "asyncio", "base64", "bisect", "collections", "contextlib", "copy",
    "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "functools", "glob", "gzip",
    "hashlib", "heapq", "html", "http", "inspect", "io", "itertools", "json", "logging", "math",
    "operator", "os", "pathlib", "pickle", "platform", "pprint", "queue", "random", "re", "shlex",
    "shutil", "signal", "socket", "sqlite3", "ssl", "stat", "statistics", "string", "struct",
    "subprocess", "sys", "tempfile", "textwrap", "threading", "time", "traceback", "types",
    "typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "weakref", "xml", "zipfile",
    "zlib",
))  # fmt: skip
_NAME = re.compile(r"[`'\"]([A-Za-z_]\w*)[`'\"]|(?:variable|name) (\w+)")


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Correct the spelling, add an import, use an attribute of `self`, or quote a later type."""
    match = _NAME.search(place.message)
    if match is None:
        return
    name = match.group(1) or match.group(2)
    nodes = [n for n in place.here(ast.Name) if isinstance(n, ast.Name) and n.id == name]
    if name in HOMES and not place.binds(name):
        yield FixDraft(
            0.2, place.typing(name) if HOMES[name] == "typing" else _imported(place, name)
        )
    if name in _MODULES and any(_is_base(place, node) for node in nodes):
        yield FixDraft(0.2, place.importing(f"import {name}"))
    for node in nodes[:2]:
        for cost, text in _others(place, node, name):
            yield place.replace(cost, node, text)
            if len(nodes) > 1:
                edits = tuple(place.source.replacement(one, text) for one in nodes)
                yield FixDraft(cost + 0.1, tuple(sorted(set(edits))))
        if any(isinstance(n, ast.ClassDef) and n.name == name for n in place.nodes):
            yield place.rewrite(0.3, node, f'"{name}"')


def _imported(place: FindingPlace, name: str) -> Tuple[TextEdit, ...]:
    return place.importing(f"from {HOMES[name]} import {name}")


def _is_base(place: FindingPlace, node: ast.AST) -> bool:
    parent = place.source.places[node].parent
    return isinstance(parent, ast.Attribute)


def _others(place: FindingPlace, node: ast.Name, name: str) -> Iterator[Tuple[float, str]]:
    """Return similar names of the file, and the object's own attribute."""
    function = place.function(node)
    owner = function.args.args[0].arg if function is not None and function.args.args else ""
    if owner in {"self", "cls"} and _has_attribute(place, name):
        yield 0.2, f"{owner}.{name}"
    known: List[str] = [one for one in place.names() if one != name]
    for rank, other in enumerate(difflib.get_close_matches(name, known, n=4, cutoff=0.6)):
        yield 0.3 + 0.15 * rank, other
    folded = [one for one in known if one.lower().replace("_", "") == name.lower().replace("_", "")]
    for other in folded:
        yield 0.2, other


def _has_attribute(place: FindingPlace, name: str) -> bool:
    for node in place.nodes:
        if (
            isinstance(node, ast.Attribute)
            and node.attr == name
            and getattr(node.value, "id", "") == "self"
        ):
            return True
        if isinstance(node, ast.ClassDef):
            for step in node.body:
                names = [t.id for t in getattr(step, "targets", []) if isinstance(t, ast.Name)]
                if name in names or getattr(step, "name", None) == name:
                    return True
    return False
