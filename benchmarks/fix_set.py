"""How many programs of a bug set `metaagent fix` repairs, from outside, one after the other; one line of JSON.

python -m benchmarks.fix_set FOLDER [--limit SECONDS] [--test COMMAND]: every sub-folder is one program. A program's
reference and notes (`correct/`, `meta.json`) are not shown to the command.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HIDDEN = shutil.ignore_patterns("correct", "meta.json", "__pycache__")
TESTS_HANG_AFTER_S = 20


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for each search")
    parser.add_argument("--test", default="python -m pytest -q")
    arguments = parser.parse_args()
    programs = sorted(path for path in arguments.folder.iterdir() if path.is_dir())
    with tempfile.TemporaryDirectory() as scratch:
        results = {path.name: fix(path, Path(scratch), arguments) for path in programs}
    outcomes = Counter(result["outcome"] for result in results.values())
    seconds = [result["wall_s"] for result in results.values()]
    summary = {
        "benchmark": "fix_set",
        "set": arguments.folder.name,
        "programs": len(programs),
        "limit_s": arguments.limit,
        "outcomes": dict(outcomes),
        "fixed": outcomes["FIXED"],
        "median_s": round(statistics.median(seconds), 2) if seconds else None,
        "total_s": round(sum(seconds), 1),
        "not_fixed": {
            n: [r["outcome"], r.get("reason", "")[:120]]
            for n, r in results.items()
            if r["outcome"] != "FIXED"
        },
    }
    print(json.dumps(summary))
    return 0


def fix(program: Path, scratch: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """One program: what the command says, and how long it took."""
    tree = scratch / program.name
    shutil.copytree(program, tree, ignore=HIDDEN)
    command = [sys.executable, "-m", "bot", "fix", str(tree), "--test", arguments.test, "--json"]
    command += [
        "--time-limit",
        str(arguments.limit),
        "--sandbox-test-wall-s",
        str(TESTS_HANG_AFTER_S),
    ]
    environment = {**os.environ, "METAAGENT_DATA_DIR": str(scratch / "data")}
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        result = {"outcome": "ERROR", "reason": done.stderr[-200:]}
    print(
        f"{program.name}: {result['outcome']} {result.get('template')}", file=sys.stderr, flush=True
    )
    return {**result, "wall_s": time.monotonic() - start}


if __name__ == "__main__":
    sys.exit(main())
