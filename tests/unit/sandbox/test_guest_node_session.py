"""The frames of an error as the reporters inside the sandbox read them; needs Node.js."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import sandbox
from tests.missing import missing

SESSION = Path(sandbox.__file__).parent / "guest_node" / "session.cjs"
READ = (
    "const { describe } = require(process.argv[1]);"
    "const found = describe({ stack: process.argv[2], message: 'x' }, '/work/repo');"
    "process.stdout.write(JSON.stringify(found.frames))"
)


@pytest.fixture
def node() -> str:
    """The program; without it nothing here can run."""
    return shutil.which("node") or missing("Node.js is missing")


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("check (/work/repo/src/(app)/[id]/my page/x.js:1:65)",
         ["src/(app)/[id]/my page/x.js", 1, "check"]),
        ("Context.<anonymous> (file:///work/repo/a%20b/%5Bid%5D/x.mjs:2:45)",
         ["a b/[id]/x.mjs", 2, "Context.<anonymous>"]),
        ("file:///work/repo/100%/x.mjs:2:45", ["100%/x.mjs", 2, ""]),
        ("async /work/repo/app/$id/(g) x.ts:7:1", ["app/$id/(g) x.ts", 7, ""]),
        ("a%20b (/work/repo/a%20b.js:7:1)", ["a%20b.js", 7, "a%20b"]),
        ("eval (eval at f (/work/repo/x.js:1:1), <anonymous>:1:1)", None),
        ("f (/work/repo/node_modules/(a)/x.js:1:1)", None),
        ("f (/work/other/x.js:1:1)", None),
        (f"f (/work/repo/{'a' * 2000}.js:1:1)", None),
    ],
)  # fmt: skip
def test_frames_of_routes_are_inside_of_the_checkout(
    node: str, frame: str, expected: list[object] | None
) -> None:
    stack = f"Error: x\n    at {frame}"
    command = [node, "-e", READ, str(SESSION), stack]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == ([] if expected is None else [expected])
