"""Names of the standard library, the modules that export them, and conventional import aliases."""

from __future__ import annotations

import sys
from typing import Dict, FrozenSet, List, Tuple

_COMMON = (
    "abc argparse array ast asyncio base64 bisect calendar cmath codecs collections "
    "colorsys concurrent configparser contextlib contextvars copy csv ctypes dataclasses "
    "datetime decimal difflib dis email enum errno fnmatch fractions functools gc "
    "getpass gettext glob gzip hashlib heapq hmac html http importlib inspect io "
    "ipaddress itertools json keyword locale logging math mimetypes multiprocessing "
    "numbers operator os pathlib pickle pkgutil platform pprint queue random re sched "
    "secrets select shlex shutil signal socket sqlite3 ssl stat statistics string struct "
    "subprocess sys sysconfig tarfile tempfile textwrap threading time timeit token "
    "tokenize traceback types typing unicodedata unittest urllib uuid warnings weakref "
    "xml zipfile zlib zoneinfo"
)
STANDARD_MODULES: FrozenSet[str] = frozenset(getattr(sys, "stdlib_module_names", _COMMON.split()))
"""Modules of the standard library; before Python 3.10, the common ones."""

_EXPORTS = {
    "collections": (
        "defaultdict OrderedDict Counter deque namedtuple ChainMap UserDict UserList UserString"
    ),
    "collections.abc": (
        "Mapping MutableMapping Sequence MutableSequence MutableSet Iterable Iterator "
        "Callable Hashable Sized Container Collection KeysView ValuesView ItemsView "
        "Awaitable Coroutine AsyncIterator AsyncIterable ByteString Reversible Generator"
    ),
    "typing": (
        "Any Optional Union List Dict Tuple Set FrozenSet Type Callable Iterable Iterator "
        "Sequence Mapping MutableMapping Generator TypeVar Generic NamedTuple ClassVar cast "
        "overload TYPE_CHECKING Protocol Literal Final TypedDict NoReturn Pattern Match IO "
        "TextIO BinaryIO DefaultDict Deque AnyStr get_type_hints get_origin get_args "
        "Annotated ParamSpec Concatenate TypeAlias Self override runtime_checkable Awaitable "
        "Coroutine AsyncIterator AsyncGenerator"
    ),
    "functools": (
        "partial reduce wraps lru_cache cache cached_property total_ordering singledispatch "
        "partialmethod cmp_to_key update_wrapper singledispatchmethod"
    ),
    "itertools": (
        "chain islice product permutations combinations groupby zip_longest count cycle "
        "repeat takewhile dropwhile tee starmap accumulate compress filterfalse "
        "combinations_with_replacement pairwise batched"
    ),
    "dataclasses": (
        "dataclass field fields asdict astuple replace is_dataclass InitVar MISSING "
        "FrozenInstanceError"
    ),
    "datetime": "datetime date timedelta timezone tzinfo time",
    "contextlib": (
        "contextmanager suppress closing ExitStack redirect_stdout redirect_stderr "
        "nullcontext asynccontextmanager AsyncExitStack AbstractContextManager "
        "ContextDecorator"
    ),
    "pathlib": "Path PurePath PosixPath PurePosixPath WindowsPath PureWindowsPath",
    "enum": "Enum IntEnum Flag IntFlag auto unique StrEnum EnumMeta",
    "abc": "ABC abstractmethod ABCMeta",
    "copy": "deepcopy copy",
    "decimal": (
        "Decimal ROUND_HALF_UP ROUND_DOWN ROUND_HALF_EVEN InvalidOperation getcontext localcontext"
    ),
    "fractions": "Fraction",
    "operator": "itemgetter attrgetter methodcaller",
    "math": "ceil floor sqrt isclose isnan isinf gcd log log10 log2 pi inf nan factorial hypot",
    "io": "StringIO BytesIO TextIOWrapper",
    "textwrap": "dedent indent wrap fill shorten",
    "os.path": (
        "join exists isfile isdir basename dirname abspath splitext expanduser realpath relpath"
    ),
    "heapq": "heappush heappop heapify nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left",
    "time": "sleep monotonic perf_counter strftime time",
    "warnings": "warn catch_warnings simplefilter",
    "types": (
        "SimpleNamespace ModuleType FunctionType MethodType MappingProxyType GeneratorType "
        "TracebackType CodeType"
    ),
    "inspect": (
        "signature isclass isfunction ismethod getmembers Parameter Signature "
        "iscoroutinefunction isgenerator"
    ),
    "threading": "Thread Lock RLock Event local Condition Semaphore Timer",
    "concurrent.futures": "ThreadPoolExecutor ProcessPoolExecutor as_completed Future",
    "urllib.parse": (
        "urlparse urlencode quote unquote urljoin parse_qs parse_qsl urlsplit urlunsplit urlunparse"
    ),
    "html": "escape unescape",
    "shlex": "quote",
    "uuid": "uuid4 UUID uuid1 uuid5",
    "weakref": "WeakKeyDictionary WeakValueDictionary WeakSet ref proxy",
    "string": (
        "ascii_letters ascii_lowercase ascii_uppercase digits punctuation Template "
        "whitespace hexdigits"
    ),
    "statistics": "mean median stdev variance",
    "numbers": "Number Integral Real Rational",
    "ast": "literal_eval",
    "json": "JSONDecodeError",
    "tempfile": "TemporaryDirectory NamedTemporaryFile mkdtemp",
    "pprint": "pprint pformat",
    "logging": "getLogger",
    "importlib": "import_module reload",
    "traceback": "format_exc print_exc",
    "zoneinfo": "ZoneInfo",
    "hashlib": "sha256 md5 sha1",
    "difflib": "SequenceMatcher get_close_matches",
    "fnmatch": "fnmatch fnmatchcase",
    "glob": "glob iglob",
    "queue": "Queue PriorityQueue LifoQueue Empty",
    "struct": "pack unpack calcsize",
}


def _homes() -> Dict[str, Tuple[str, ...]]:
    homes: Dict[str, Tuple[str, ...]] = {}
    for module, names in _EXPORTS.items():
        for name in names.split():
            homes[name] = (*homes.get(name, ()), module)
    return homes


HOMES = _homes()
"""Modules that export a name, most likely first."""

USUAL_ALIASES = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "sa": "import sqlalchemy as sa",
    "nx": "import networkx as nx",
    "tf": "import tensorflow as tf",
    "sp": "import scipy as sp",
    "ET": "import xml.etree.ElementTree as ET",
    "dt": "import datetime as dt",
}
"""Import lines of conventional aliases."""


def import_lines(name: str) -> List[str]:
    """Return import lines that would bind a name, from knowledge of the standard library."""
    lines = [f"from {home} import {name}" for home in HOMES.get(name, ())]
    if name in STANDARD_MODULES:
        lines.insert(0, f"import {name}")
    return [*lines, *([USUAL_ALIASES[name]] if name in USUAL_ALIASES else [])]
