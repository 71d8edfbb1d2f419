"""A dump's program is told passwords where no list of processes shows them."""

import json
import sys
from pathlib import Path

import pytest

from bot.errors import StoreError
from bot.store.backup import dump

pytestmark = pytest.mark.anyio

PROGRAM = f"""#!{sys.executable}
import json, os, sys
told = {{name: value for name, value in os.environ.items() if name.startswith("PG")}}
service = told.pop("PGSERVICEFILE", None)
# The library reads it anew for each connection.
read = [open(service).read() for _ in range(2)] if service else []
json.dump({{"arguments": sys.argv[1:], "told": told, "read": read}}, open(sys.argv[-1].partition("=")[2], "w"))
"""


@pytest.fixture
def programs(tmp_path: Path) -> str:
    """A folder with a `pg_dump` that writes down what it is told."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "pg_dump").write_text(PROGRAM)
    (folder / "pg_dump").chmod(0o700)
    return str(folder)


@pytest.mark.parametrize(
    ("url", "shown", "told", "read"),
    [
        ("postgresql://db/x", "postgresql://db/x", {}, ""),
        ("postgresql://me:s%40cret@db/x", "postgresql://me@db/x", {"PGPASSWORD": "s@cret"}, ""),
        (
            "postgresql://me@db/x?password=s%40cret&a=b",
            "postgresql://me@db/x?a=b",
            {"PGPASSWORD": "s@cret"},
            "",
        ),
        (
            "postgresql://me:one@db/x?sslkey=k&sslpassword=two%20%23s",
            "postgresql://me@db/x?sslkey=k",
            {"PGPASSWORD": "one", "PGSERVICE": "metaagent"},
            "[metaagent]\nsslpassword=two #s\n",
        ),
    ],
    ids=["none", "of a user", "in the query", "of a key"],
)
async def test_no_password_is_among_the_arguments(
    tmp_path: Path, programs: str, url: str, shown: str, told: dict[str, str], read: str
) -> None:
    await dump(url, tmp_path / "kept" / "x.dump", {"PATH": programs})
    (kept,) = (tmp_path / "kept").iterdir()
    seen = json.loads(kept.read_text())
    assert seen["arguments"][:3] == ["--no-password", "--format=custom", f"--dbname={shown}"]
    assert (seen["told"], seen["read"]) == (told, [read] * 2 if read else [])


async def test_a_service_of_the_operators_own_is_not_put_aside(
    tmp_path: Path, programs: str
) -> None:
    url, target = "postgresql://db/x?sslpassword=two", tmp_path / "kept" / "x.dump"
    with pytest.raises(StoreError, match="while PGSERVICE is set"):
        await dump(url, target, {"PATH": programs, "PGSERVICE": "mine"})
    assert list(target.parent.iterdir()) == []
