"""The languages whose source files this project reads and edits."""

from fnmatch import fnmatchcase

from sandbox.types import Frozen


class Language(Frozen):
    """One programming language."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of source files that run."""
    stub_suffixes: tuple[str, ...] = ()
    """Suffixes of files that only declare types."""
    test_files: tuple[str, ...] = ()
    """Patterns of the names of test files, in lower case."""
    lock_files: tuple[str, ...] = ()
    """Patterns of the names of files that pin dependencies, in lower case."""


PYTHON = Language(
    name="python",
    suffixes=(".py",),
    stub_suffixes=(".pyi",),
    test_files=("test.py", "tests.py", "test_*.py", "test_*.pyi", "*_test.py", "*_tests.py"),
    lock_files=(
        "requirements*.txt",
        "requirements*.in",
        "*-requirements.txt",
        "*-requirements.in",
        "constraints*.txt",
        "pylock*.toml",
    ),
)
LANGUAGES = (PYTHON,)
"""Languages whose tests are searched."""
JAVASCRIPT = Language(name="javascript", suffixes=(".js", ".jsx", ".mjs", ".cjs"))
TYPESCRIPT = Language(name="typescript", suffixes=(".ts", ".tsx", ".mts", ".cts"))
GO = Language(name="go", suffixes=(".go",))
RUST = Language(name="rust", suffixes=(".rs",))
CHECKED = (*LANGUAGES, JAVASCRIPT, TYPESCRIPT)
"""Languages whose type checkers' and linters' findings are repaired."""
READ = (*LANGUAGES, JAVASCRIPT, TYPESCRIPT, GO, RUST)
"""Languages whose source is read: for models, for proofs of layout, and to copy tests."""
MAX_READ_CHARACTERS = 200_000
"""Larger files are not read, proved or copied, except those in Python."""


def find_language(path: str) -> Language | None:
    """Return the language of a source file, or None if it is none of ours."""
    return next((one for one in READ if path.endswith(one.suffixes)), None)


def is_source(path: str) -> bool:
    """Return True if a path names a source file of a language whose tests are searched."""
    return find_language(path) in LANGUAGES


def is_read_source(path: str) -> bool:
    """Return True if a path names a source file that is read for models."""
    return find_language(path) is not None


def is_checked_source(path: str) -> bool:
    """Return True if a path names a source file or a stub whose findings are repaired."""
    return any(path.endswith((*one.suffixes, *one.stub_suffixes)) for one in CHECKED)


def is_test_file(path: str) -> bool:
    """Return True if a path is named like a test file of a searched language."""
    name = path.lower().rsplit("/", 1)[-1]
    return any(fnmatchcase(name, pattern) for one in LANGUAGES for pattern in one.test_files)
