"""What the benchmarks share: many runs become a few numbers, and one line of JSON is printed."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


def as_users_have_it() -> bool:
    """Let Python keep its compiled modules, in this process and its children; whether this machine forbids it."""
    return os.environ.pop(NO_BYTECODE, None) is not None


def summary(values: Sequence[float], *, digits: int = 3) -> dict[str, float]:
    """Median, 99th percentile and extremes."""
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), digits),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], digits),
        "min": round(ordered[0], digits),
        "max": round(ordered[-1], digits),
    }


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def run(
    *words: str | Path, cwd: Path | None = None, timeout: float = 120, fails: bool = False
) -> str:
    """Run a program and return what it prints.

    Raises:
        RuntimeError: it fails though it must not, or the other way round; carries the end of its output.
    """
    done = subprocess.run(
        words, cwd=cwd or ROOT, capture_output=True, text=True, timeout=timeout, check=False
    )
    if bool(done.returncode) is not fails:
        raise RuntimeError(
            f"{words[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}"
        )
    return done.stdout


def report(benchmark: str, result: Mapping[str, Any], *, bytecode_was_off: bool) -> None:
    """Print the one line."""
    machine = {
        "cpus": os.cpu_count(),
        "load_1m": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "bytecode": "kept (the machine forbids it; unset for the measurement)"
        if bytecode_was_off
        else "kept",
    }
    sys.stdout.write(json.dumps({"benchmark": benchmark, **result, "machine": machine}) + "\n")
