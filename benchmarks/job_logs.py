"""How often the excerpt of a job's log shows the cause of its failure; one line of JSON.

    python -m benchmarks.job_logs [--data FOLDER] [--missed]

Logs that were recorded elsewhere (with `#=MATCH=# ` in front of the cause) and the learned half of `tests.job_logs`
were in view when the rules were written; the judged half was not. A tool counts as right when its cause is shown in
every scene.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, as_users_have_it, report
from bot.mission.triage.rates import interval
from sandbox.ci_log import read_log
from tests.job_logs import MARK, JobLog, job_logs, outputs

_DEMAND = 0.95
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ?")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_QUOTES = str.maketrans("", "", "\u2039\u203a")
"""Around the words that made a person choose the line."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data" / "github" / "logs"
    )
    parser.add_argument(
        "--missed", action="store_true", help="name the logs whose cause is not shown"
    )
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    learned = [*recorded(arguments.data), *_in_every_scene("learned")]
    parts = {"learned": figures(learned), "judged": figures(_in_every_scene("judged"))}
    if not arguments.missed:
        for part in parts.values():
            part.pop("missed_logs")
    met = all(part["share"] >= _DEMAND for part in parts.values())
    report("job_logs", {**parts, "demand": _DEMAND, "met": met}, bytecode_was_off=was_off)


def recorded(folder: Path) -> Iterator[JobLog]:
    """Yield the marked logs of a folder."""
    for path in sorted(folder.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").split("\n")
        marked = next((line for line in lines if line.startswith(MARK)), None)
        if marked is None:
            continue
        cause = _STAMP.sub("", _ANSI.sub("", marked.removeprefix(MARK))).translate(_QUOTES)
        plain = [
            line.removeprefix(MARK).translate(_QUOTES)
            for line in lines
            if not line.startswith("#=SOURCE=#")
        ]
        yield JobLog(path.stem, "recorded", "\n".join(plain), cause, None)


def _in_every_scene(half: str) -> list[JobLog]:
    return [log for output in outputs(half) for log in job_logs(output)]


def figures(logs: Iterable[JobLog]) -> dict[str, Any]:
    """Return how many tools and logs show their cause, with Wilson's interval over the tools."""
    scenes: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    wrong: list[str] = []
    names = set()
    for log in logs:
        names.add(log.name)
        scenes[log.scene] += 1
        right = log.cause.strip()[:200] in read_log(log.text, hint=log.hint).excerpt
        shown[log.scene] += right
        if not right:
            wrong.append(f"{log.name}/{log.scene}")
    right_tools = len(names) - len({name.rpartition("/")[0] for name in wrong})
    low, high = interval(right_tools, len(names))
    return {
        "sources": len(names),
        "right": right_tools,
        "share": round(right_tools / len(names), 4),
        "interval": [round(low, 4), round(high, 4)],
        "logs": scenes.total(),
        "logs_right": shown.total(),
        "scenes": {scene: f"{shown[scene]} of {count}" for scene, count in scenes.items()},
        "missed_logs": wrong,
    }


if __name__ == "__main__":
    main()
