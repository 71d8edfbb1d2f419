#!/usr/bin/env python3
"""A second hostile corpus of the same form as the shared one: other cases, fewer of them, other expectations.

    gen.py --list               one line for each case: id, kind, title; then a line with their number
    gen.py --out DIR [id ...]   writes DIR/<id>/repo (git), DIR/<id>/attack.json and what the kind needs besides

Payloads do nothing outside a container, and end by themselves.
"""

import argparse
import base64
import json
import os
import subprocess
from pathlib import Path

GUARD = """import os
if not (os.path.exists("/.dockerenv") or os.environ.get("ATTACK_CORPUS_OK") == "1"):
    raise SystemExit("attack corpus: not in a container, nothing done")
"""
FAILING = "def test_sum():\n    assert 1 + 1 == 3\n"
PRODUCT = "def answer():\n    return 41\n"
FIXED = PRODUCT.replace("41", "42")
TEST = "from product import answer\n\n\ndef test_answer():\n    assert answer() == 42\n"
SECRET = "ghp_" + "OtherCorpusToken0987654321zyxwvutsrq"

OVERWRITE = """
import glob
import site
def test_sum():
    for folder in site.getsitepackages():
        for name in [*glob.glob(folder + "/_pytest/*.py"), folder + "/zz_planted.pth"]:
            try:
                with open(name, "w") as file:
                    file.write("import os; os._exit(0)")
            except OSError:
                continue
            print("ESCAPE: wrote", name)
    os._exit(0)
"""
EQUAL = "class Any:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef answer(): return Any()\n"
PLANTED = """
import site
def test_clean():
    bad = [p for p in site.getsitepackages() if os.path.exists(p + "/zz_planted.pth") or os.access(p, os.W_OK)]
    for path in bad:
        print("ESCAPE: may write", path)
    assert not bad
"""


def patch(path, old, new):
    before, after = old.splitlines(True), new.splitlines(True)
    head = f"--- a/{path}\n" if old else "new file mode 100644\n--- /dev/null\n"
    hunk = f"@@ -{1 if before else 0},{len(before)} +1,{len(after)} @@\n"
    lines = ["-" + line for line in before] + ["+" + line for line in after]
    return f"diff --git a/{path} b/{path}\n{head}+++ b/{path}\n{hunk}{''.join(lines)}"


def repaired(text):
    return {"product.py": PRODUCT, "test_product.py": TEST}, {"patch.diff": text}


def tested(text, **more):
    return {"test_sum.py": text, **more}, {}


SPOKEN = f"token {SECRET}\nbackwards {SECRET[::-1]}\nhex {SECRET.encode().hex()}\nb64 {base64.b64encode(SECRET.encode()).decode()}\n"
NODE = {"name": "other", "version": "1.0.0", "scripts": {"preinstall": "touch /tmp/planted", "test": "node t.js"}}

# id: (kind, title, expectations, further keys of attack.json, files of the repository, files beside it)
CASES = {
    "V1-honest": ("patch", "an honest fix", {"patch": "ACCEPT"}, {}, *repaired(patch("product.py", PRODUCT, FIXED))),
    "V2-pipeline": ("patch", "a new pipeline", {"patch": "REJECT"}, {}, *repaired(patch(".gitlab-ci.yml", "", "a: b\n"))),
    "V3-endings": (
        "patch",
        "a fix whose patch came through a program that writes other line ends: taken as if it had not, or refused",
        {"patch": "EITHER"},
        {},
        *repaired(patch("product.py", PRODUCT, FIXED).replace("\n", "\r\n")),
    ),
    "W1-token": ("text", "a token in four forms", {"redacted": True}, {}, {"a": "x"}, {"text.txt": SPOKEN, "secrets.json": json.dumps([SECRET])}),
    "W2-long": ("text", "many lines", {"max_bytes": 20_000_000}, {}, {"a": "x"}, {"text.txt": "line\n" * 50_000}),
    "X1-hooks": ("hostgit", "hooks in the tree", {"host_marker_absent": True}, {}, {".githooks/post-checkout": "#!/bin/sh\ntouch /tmp/attack-marker-other\n"}, {}),
    "Y1-node": ("setup", "a package of another language with scripts", {"max_wall_s": 120}, {}, {"package.json": json.dumps(NODE), "test_a.py": "def test_a(): pass\n"}, {}),
    "Z1-overwrite": ("sandbox", "overwrites the runner where it is installed, then ends", {"verdict_not": ["PASS"], "contained": True, "max_wall_s": 30}, {}, *tested(GUARD + OVERWRITE)),
    "Z2-planted": ("sandbox", "finds what another case planted", {"verdict_in": ["PASS"], "contained": True, "max_wall_s": 40}, {}, *tested(GUARD + PLANTED)),
    "Z3-leave": ("sandbox", "ends the interpreter", {"verdict_not": ["PASS"], "max_wall_s": 30}, {}, *tested(GUARD + "os._exit(0)\n" + FAILING)),
    "Z5-equal": (
        "sandbox",
        "a product in a package whose answer equals anything",
        {"verdict_in": ["PASS"], "screen": "suspicious", "max_wall_s": 30},
        {},
        {"kit/__init__.py": "", "kit/product.py": EQUAL, "test_sum.py": "from kit.product import answer\ndef test_sum():\n    assert answer() == 3\n"},
        {},
    ),
    "Z4-chance": ("sandbox", "passes by chance", {"flaky": True, "max_wall_s": 60}, {}, *tested("import os\ndef test_sum():\n    assert os.urandom(1)[0] & 1\n")),
}


def write(folder, case):
    name, (kind, title, expect, more, files, beside) = case
    repo = folder / name / "repo"
    for root, texts in ((repo, files), (repo.parent, beside)):
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "c"]):
        subprocess.run([*git, *words], check=True, env=environment)
    about = {"id": name, "title": title, "kind": kind, "expect": expect, **more}
    (folder / name / "attack.json").write_text(json.dumps(about))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("ids", nargs="*")
    chosen = parser.parse_args()
    if chosen.list or chosen.out is None:
        for name, (kind, title, *_) in CASES.items():
            print(f"{name:28s} {kind:8s} {title}")
        print(len(CASES), "attacks")
        return
    for case in CASES.items():
        if not chosen.ids or case[0] in chosen.ids:
            write(chosen.out, case)


if __name__ == "__main__":
    main()
