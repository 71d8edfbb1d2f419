"""The program uses all of its own code: nothing is kept alive by its tests alone."""

import re

from tests.architecture.sources import SOURCES, read
from tests.architecture.tracked import text_of, tracked

OTHERS = tracked("bot/**.html", "benchmarks/**.py", "scripts/*", "pyproject.toml")
USED_ELSEWHERE = {
    "CHANGES": "the tables of a template are its tests",
    "UNTOUCHED": "the tables of a template are its tests",
    "OLD_ONLY": "the tables of a template are its tests",
    "RecordingChat": "docs/howto/models.md tells how to record answers with it",
    "down_revision": "Alembic reads it",
    "pedantic": "tests of a repository call it on the stand-in for `benchmark`",
    "used_bytes": "what the tests of the memory limit measure",
}
"""Names that no code of ours uses, and why they are there."""
HOOK = re.compile(r"(?:pytest|visit|handle)_\w+|__\w+__")
"""Methods that a library calls by their names."""


def test_no_code_is_used_by_tests_only() -> None:
    used = {name for path in SOURCES for name in read(path).used}
    used |= {word for path in OTHERS for word in re.findall(r"\w+", text_of(path))}
    unused = {
        name
        for path in SOURCES
        for name in read(path).defined
        if name not in used and not HOOK.fullmatch(name)
    }
    assert unused == USED_ELSEWHERE.keys(), "use it or remove it, or take it off the list"
