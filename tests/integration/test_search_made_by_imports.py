"""What imports made is mended as well: closures, functions without a name, functions in blocks of their module."""

from pathlib import Path

import pytest

from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from tests.searching import new_text, searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


DECORATOR = """def raised(default, bonus):
    def around(f):
        def wrapper(x):
            return f(x) + default
        return wrapper
    return around


@raised(10, 3)
def double(x):
    return 2 * x
"""
FACTORY = """def by(number):
    return lambda item: item[0]


KEY = by(1)
"""
FALLBACK = """try:
    from no_such_module_anywhere import area
except ImportError:
    def area(width, height):
        return width + height
"""


@pytest.mark.parametrize(
    ("text", "test", "old", "new", "lane"),
    [
        (
            DECORATOR,
            "assert (m.double(5), m.double(6)) == (13, 15)",
            "f(x) + default",
            "f(x) + bonus",
            "fresh",
        ),
        (FACTORY, "assert m.KEY('abc') == 'b'", "item[0]", "item[1]", "swap"),
        (FALLBACK, "assert m.area(3, 4) == 12", "width + height", "width * height", "swap"),
    ],
)
async def test_it_is_mended_by_the_lane_that_can(
    backend: Backend, tmp_path: Path, text: str, test: str, old: str, new: str, lane: str
) -> None:
    files = {
        "m.py": text,
        "test_m.py": f"import m\n\n\ndef test_it():\n    {test}\n\n\ndef test_other():\n    assert m\n",
    }
    events = await searched(backend, tmp_path, files)
    found = {new_text(survivor, files): survivor.lane for survivor in survivors(events)}
    assert found.get(text.replace(old, new)) == lane
