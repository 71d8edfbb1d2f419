"""Run code of ours inside a real pytest session, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BEGIN = """
import json, os, sys
sys.path[:0] = [sys.argv[1], os.getcwd()]
import pytest
"""
END = """

class Plugin:
    def pytest_runtestloop(self, session):
        found.update(work(session, *map(json.loads, sys.argv[2:])))
        return True


found = {}
pytest.main(["-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly"], plugins=[Plugin()])
sys.stderr.write(json.dumps(found))
sys.stderr.flush()
os._exit(0)
"""


def work_in_session(folder: Path, program: str, *arguments: Any) -> dict[str, Any]:
    """Return what a program's `work` finds in the session of a folder's tests.

    Args:
        folder: The folder with the tests.
        program: Source code with a function `work(session, *arguments)`, which returns a dict.
        arguments: Arguments that JSON can hold.
    """
    command = [sys.executable, "-c", BEGIN + program + END, str(ROOT), *map(json.dumps, arguments)]
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    found: dict[str, Any] = json.loads(ran.stderr.splitlines()[-1])
    return found
