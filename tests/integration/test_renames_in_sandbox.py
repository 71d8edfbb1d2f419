"""After a rename, an upgrade or a slip outside any function: found in a real sandbox, by what the exception says."""

from collections.abc import Mapping
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


async def fixes(
    backend: Backend, folder: Path, files: Mapping[str, str], *failing: str
) -> list[str]:
    """The whole new texts of what the search proposes, in the order of proposal."""
    events = await searched(
        backend, folder, files, failing=failing, time_limit_s=40.0, max_survivors=1
    )
    return [new_text(survivor, files) for survivor in survivors(events)]


RENAMED = {
    "shop/__init__.py": "",
    "shop/money.py": "def to_cents(value):\n    return round(value * 100)\n",
    "shop/bill.py": "from shop.money import as_cents\n\n\ndef total(prices):\n    return sum(as_cents(p) for p in prices)\n",
    "test_bill.py": "from shop.bill import total\n\n\ndef test_total():\n    assert total([1.5, 2]) == 350\n",
}
MOVED = {
    "flat.py": (
        "import collections\n\n\ndef depth(tree):\n    if isinstance(tree, collections.Mapping):\n"
        "        return 1 + max(map(depth, tree.values()))\n    return 0\n"
    ),
    "test_flat.py": "from flat import depth\n\n\ndef test_depth():\n    assert depth({'a': {'b': 1}}) == 2\n",
}
PATTERN = {
    "ver.py": (
        'import re\n\nVERSION = re.compile(r"^(\\d)\\.(\\d+)$")\n\n\ndef parse(text):\n'
        "    m = VERSION.match(text)\n    return tuple(map(int, m.groups())) if m else None\n"
    ),
    "test_ver.py": (
        "from ver import parse\n\n\ndef test_short():\n    assert parse('1.2') == (1, 2)\n    assert parse('.2') is None\n"
        "\n\ndef test_long():\n    assert parse('10.2') == (10, 2)\n    assert parse('123.45') == (123, 45)\n"
    ),
}
FIELD = {
    "team.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Team:\n    name: str\n    members: list = []\n",
    "test_team.py": "from team import Team\n\n\ndef test_members():\n    assert Team('a').members == []\n",
}


@pytest.mark.parametrize(
    ("files", "failing", "expected"),
    [
        (RENAMED, "test_bill.py", "from shop.money import to_cents"),
        (MOVED, "test_flat.py::test_depth", "isinstance(tree, collections.abc.Mapping)"),
        (PATTERN, "test_ver.py::test_long", r"^(\d+)\.(\d+)$"),
        (FIELD, "test_team.py", "members: list = field(default_factory=list)"),
    ],
    ids=["an import after a rename", "an API that moved", "a pattern", "a field of a record"],
)
async def test_the_first_fix_is_the_right_one(
    files: dict[str, str], failing: str, expected: str, backend: Backend, tmp_path: Path
) -> None:
    found = await fixes(backend, tmp_path, files, failing)
    assert found
    assert expected in found[0]
