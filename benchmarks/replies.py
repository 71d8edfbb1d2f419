"""Reading what a model wrote: the dearest replies and common ones, beside a pattern and a YAML parser.

python -m benchmarks.replies [--runs N]
"""

import argparse
import re
import statistics
import time
from collections.abc import Callable

import yaml

from benchmarks.measure import as_users_have_it, report, summary
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import NextStep
from tests.unit.bot.llm.protocol.noisy import HOSTILE, Noisy, replies

FENCED = re.compile(r"```(?:yaml)?\n(.*?)```", re.DOTALL)
DEMAND_MS = 50.0


def by_hand(reply: Noisy) -> bool:
    """What one would write first: the first fenced block, or all of it, through a YAML parser; whether it is right."""
    found = FENCED.search(reply.text)
    try:
        read = yaml.safe_load(found[1] if found else reply.text)
        return reply.right == (
            reply.returns.model_validate(read["payload"]) if reply.right else None
        )
    except (yaml.YAMLError, ValueError, TypeError, KeyError, RecursionError):
        return reply.right is None


def ours(reply: Noisy) -> bool:
    """Whether our reader finds what is right."""
    return extract(reply.text, reply.returns, echoed=reply.echoed).message == reply.right


def milliseconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    begun = time.process_time()
    call()
    return (time.process_time() - begun) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    was_off = as_users_have_it()
    dearest = {
        name: round(
            min(
                milliseconds(lambda text=text: extract(text, NextStep, echoed=""))
                for _ in range(runs)
            ),
            1,
        )
        for name, text in HOSTILE.items()
    }
    common = [reply for reply in replies() if len(reply.text) < 10_000]
    result = {
        "dearest_ms": dearest,
        "missed": [name for name, value in dearest.items() if value > DEMAND_MS],
        "replies": len(common),
        "ours": read(ours, common),
        "pattern_and_yaml": read(by_hand, common),
    }
    report("replies", result, bytecode_was_off=was_off)


def read(reader: Callable[[Noisy], bool], common: list[Noisy]) -> dict[str, object]:
    """How often a reader is right, and the processor milliseconds of a reply."""
    right = sum(reader(reply) for reply in common)
    spent = [
        statistics.median(milliseconds(lambda reply=reply: reader(reply)) for _ in range(3))
        for reply in common
    ]
    return {"right": right, "ms": summary(spent)}


if __name__ == "__main__":
    main()
