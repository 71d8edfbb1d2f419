"""Floods of the service by unknown clients: memory, and how long `/healthz` takes meanwhile.

    python -m benchmarks.flood [--seconds N] [--kind KIND]

Each flood meets a fresh `metaagent serve` at `ulimit -n 1024`: 200 connections that send bodies of 25 MiB, 2,000 that
begin a request and do not go on. The bars: it grows by at most 64 MiB, and `/healthz` answers within a second.
`healthz_most_work_s` is the service's processor time while an answer was waited for, whatever else the machine does.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report
from tests.flood import HALVES, MIB, UPLOADS, flood, service

MOST_GROWN_MIB = 64
SLOWEST_S = 1.0
OPEN_FILES = 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--kind", choices=[*UPLOADS, *HALVES])
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    floods: dict[str, Any] = {}
    for kind in [arguments.kind] if arguments.kind else [*UPLOADS, *HALVES]:
        with (
            tempfile.TemporaryDirectory() as folder,
            service(Path(folder), open_files=OPEN_FILES) as target,
        ):
            seen = flood(target, kind, 200 if kind in UPLOADS else 2_000, arguments.seconds)
        unanswered = sum(count for status, count in seen.health.items() if status != 200)
        floods[kind] = {
            "grown_mib": round(seen.grown / MIB, 1),
            "healthz_slowest_s": round(seen.slowest_s, 3),
            "healthz_most_work_s": round(seen.most_work_s, 3),
            "healthz_asked": sum(seen.health.values()),
            "healthz_unanswered": unanswered,
            "most_files": seen.most_files,
            "answers": seen.answers,
            "holds": seen.grown <= MOST_GROWN_MIB * MIB
            and seen.slowest_s <= SLOWEST_S
            and not unanswered,
        }
    report("flood", {"floods": floods}, bytecode_was_off=was_off)


if __name__ == "__main__":
    main()
