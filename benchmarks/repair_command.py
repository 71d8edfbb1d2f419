"""How `metaagent repair` ends on every bug of a set, as a person types it; one line of JSON for each set.

    python -m benchmarks.repair_command [--set releases ...] [--limit SECONDS] [--only NAME ...]

`benchmarks.repair` calls the search itself, so it does not see errors of the command around it. An ending other than a
fix shown (status 0) or none (status 1) is an error, and `missed` names its bug.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, as_users_have_it, report
from benchmarks.sets.bug import Bug
from benchmarks.sets.catalogue import SETS, bugs_of

ENDS = {"FOUND": 0, "NONE": 1}
"""The exit status of each outcome of a bug that could be searched."""
SET_UP_S = 1200.0
"""Time for the environment, the first run of the tests and the end, beside the search."""


def ended(bug: Bug, limit_s: float) -> dict[str, Any]:
    """Run the command on one bug.

    Args:
        bug: Which one.
        limit_s: Time limit of the search.

    Returns:
        The outcome, `ERROR` if the command did not end as it must, with the end of its output.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / bug.name.replace("/", "-")
        bug.plant(folder, ())
        if bug.setup:
            (folder / ".github").mkdir(exist_ok=True)
            policy = json.dumps({"setup": list(bug.setup)})  # JSON is YAML
            (folder / ".github" / "metaagent.yml").write_text(policy)
        words = ("repair", str(folder), "--test", bug.command, "--time-limit", str(limit_s))
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "bot", *words, "--json"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=SET_UP_S + limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"bug": bug.name, "outcome": "ERROR", "end": "did not end"}
        seconds = round(time.monotonic() - begun, 1)
    return {"bug": bug.name, "seconds": seconds, **read(done.returncode, done.stdout, done.stderr)}


def read(status: int, printed: str, complaints: str) -> dict[str, Any]:
    """Return the outcome of a run, and its output if it is an error."""
    try:
        found = json.loads(printed)
    except ValueError:
        found = {}
    outcome = str(found.get("outcome", ""))
    if ENDS.get(outcome) == status:
        return {"outcome": outcome, "tried": found["tried"]}
    return {"outcome": "ERROR", "status": status, "end": f"{printed}\n{complaints}"[-1500:]}


def summarised(name: str, rows: Sequence[dict[str, Any]], limit_s: float) -> dict[str, Any]:
    """Count the outcomes of a set."""
    errors = [row["bug"] for row in rows if row["outcome"] == "ERROR"]
    outcomes = dict(Counter(row["outcome"] for row in rows))
    return {"set": name, "limit_s": limit_s, "bugs": len(rows), **outcomes, "missed": errors}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", nargs="+", choices=SETS, default=["releases"], dest="sets")
    parser.add_argument("--limit", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="NAME", help="beginnings of bugs' names"
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--packages", type=Path, default=ROOT / "build" / "bench")
    asked = parser.parse_args()
    was_off = as_users_have_it()
    for name in asked.sets:
        rows = []
        for bug in bugs_of(name, asked.data, asked.packages):
            if bug.name.startswith(tuple(asked.only)):
                rows.append(ended(bug, asked.limit))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        report("repair_command", summarised(name, rows, asked.limit), bytecode_was_off=was_off)


if __name__ == "__main__":
    main()
