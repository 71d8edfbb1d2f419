"""Edited files served to imports: nothing on disk changes, and whoever asks for source sees the same text."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.path.insert(0, {ours!r})
from sandbox.guest.search.process.overlay import Overlay
overlay = Overlay({root!r}, {{"shop.py": b"RATE = 8\\n\\n\\ndef rate():\\n    return RATE\\n", "tool.py": b"print('edited')\\n"}})
sys.path.insert(0, {root!r})
{before}
overlay.install()
import inspect, runpy, shop
print(shop.RATE, shop.rate(), inspect.getsource(shop.rate).count("return RATE"), overlay.imported())
runpy.run_path({root!r} + "/tool.py")
import other
print(other.VALUE)
"""


def ran(root: Path, before: str = "") -> list[str]:
    (root / "shop.py").write_text("RATE = 7\n")
    (root / "tool.py").write_text("print('plain')\n")
    (root / "other.py").write_text("VALUE = 'as it is'\n")
    subprocess.run([sys.executable, "-c", "import shop"], cwd=root, check=True)  # byte code on disk
    ours = str(Path(__file__).parents[6])
    program = PROGRAM.format(ours=ours, root=str(root), before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (root / "shop.py").read_text() == "RATE = 7\n"
    return done.stdout.splitlines()


def test_imports_inspection_and_run_modules_see_the_edited_text(tmp_path: Path) -> None:
    assert ran(tmp_path) == ["8 8 1 True", "edited", "as it is"]


def test_whoever_has_imported_an_edited_file_before_is_told(tmp_path: Path) -> None:
    lines = ran(
        tmp_path,
        "import shop; print(overlay.imported()); del sys.modules['shop']; print(overlay.imported())",
    )
    assert lines[:2] == ["True", "False"]
