"""What tests import as they run is imported once before anything is forked, unless that would do harm."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from sandbox.guest.search.process.preload import import_test_modules
import_test_modules(json.loads(sys.argv[3]), sys.argv[2], 20.0)
print(json.dumps({"there": [n for n in json.loads(sys.argv[3]) if n in sys.modules], "environ": dict(os.environ)}))
"""
BESIDE = {
    "plain": "import os\nTOLD = os.environ['OMP_NUM_THREADS']\nassert TOLD == '1'\n",
    "threaded": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
    "leaves": "raise SystemExit(3)\n",
    "dies": "import os\nos._exit(9)\n",
    "reaches_in": "import project\n",
    "later": "",
}


@pytest.mark.parametrize(
    ("names", "there"),
    [
        (["plain", "later"], ["plain", "later"]),
        (["plain", "threaded", "later"], ["plain"]),
        (["leaves", "no_such_module", "later"], ["later"]),
        (["plain", "dies", "later"], ["plain"]),
        (["plain", "reaches_in", "later"], ["plain"]),
        ([], []),
    ],
)
def test_only_what_does_no_harm_is_imported(
    tmp_path: Path, names: list[str], there: list[str]
) -> None:
    beside, root = tmp_path / "beside", tmp_path / "checkout"
    for folder, modules in ((beside, BESIDE), (root, {"project": ""})):
        folder.mkdir()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-c", PROGRAM, str(beside), str(root), json.dumps(names)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(told.stdout)
    assert found["there"] == there
    assert "OMP_NUM_THREADS" not in found["environ"], "the environment is as it was"


PRELOAD = """
import json, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from sandbox.guest.search.process.preload import modules_beside, preload
told = preload(json.loads(sys.argv[3]), sys.argv[2])
beside = [n for n in modules_beside(sys.argv[2]) if n in json.loads(sys.argv[4])]
print(json.dumps({"told": told, "beside": beside}))
"""


@pytest.mark.parametrize(
    ("names", "told", "beside"),
    [
        (["later", "plain", "no_such_module"], None, ["later", "plain"]),
        (["plain", "threaded", "later"], "threaded", ["plain", "threaded"]),
        (["plain", "reaches_in"], "project", ["plain", "reaches_in"]),
    ],
)
def test_who_must_not_be_preloaded_is_told_by_name(
    tmp_path: Path, names: list[str], told: str | None, beside: list[str]
) -> None:
    """Modules of the checkout are none that are imported beside it, in the order of their import."""
    folder, root = tmp_path / "beside", tmp_path / "checkout"
    for place, modules in ((folder, BESIDE), (root, {"project": ""})):
        place.mkdir()
        for name, text in modules.items():
            (place / f"{name}.py").write_text(text)
    known = json.dumps([*BESIDE, "project"])
    command = [sys.executable, "-c", PRELOAD, str(folder), str(root), json.dumps(names), known]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(ran.stdout) == {"told": told, "beside": beside}
