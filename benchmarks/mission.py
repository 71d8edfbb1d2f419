"""Seconds from the red check to the pull request, through the real service, a local GitHub and the real sandbox.

    python -m benchmarks.mission [--runs N] [--only NAME ...]

Every broken repository of the demo is played once to warm its environment and then N times; beside it stands what a
person waits for one plain run of the same red tests (or of the linter) on this host.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import as_users_have_it, report, run, summary, timed
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import BrokenRepository, broken_repositories
from tests.demo.story import Told, problems_of, push_green, push_red, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options

TEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
LINT = (sys.executable, "-m", "ruff", "check", "--no-cache", ".")
EVIDENCE = re.compile(r"Evidence as JSON</summary>\s+(`{3,})json\n(.*?)\n\1", re.DOTALL)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="names of repositories; all by default")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    chosen = [b for b in broken_repositories() if not arguments.only or b.name in arguments.only]
    if not chosen:
        parser.error("no such repository")
    results = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalGitHub(Options()) as github,
        BotProcess(github, Path(folder) / "bot"),
    ):
        for broken in chosen:
            told = [_play(github, broken, f"owner{turn}") for turn in range(arguments.runs + 1)]
            results[broken.name] = _numbers(broken, told[0], told[1:], Path(folder) / "trees" / broken.name)
    report("mission", {"runs": arguments.runs, "repositories": results}, bytecode_was_off=was_off)


def _play(github: LocalGitHub, broken: BrokenRepository, owner: str) -> Told:
    """One mission, in a repository of its own: no lesson of an earlier turn is recalled."""
    name = push_green(github, broken, owner)
    wait_for_ci(github, github.store(name).ref("refs/heads/main") or "")
    return watch(github, broken, push_red(github, broken, owner), owner=owner)


def _numbers(broken: BrokenRepository, first: Told, told: Sequence[Told], tree: Path) -> dict[str, Any]:
    problems = sorted({problem for one in (first, *told) for problem in problems_of(broken, one)})
    pulls = [one.seconds_to_pull_request for one in told if one.seconds_to_pull_request is not None]
    stages = [stages_of(one.pull_request.body or "") for one in told if one.pull_request is not None]
    broken.write(tree)
    flaky = broken.expected["outcome"] == "FLAKY"
    plain = LINT if broken.expected.get("rung") == 0 else TEST
    return {
        "outcome": told[0].outcome,
        "problems": problems,
        "first_s": round(first.seconds_to_check, 3),
        "to_outcome_s": summary([one.seconds_to_check for one in told]),
        "to_pull_request_s": summary(pulls) if pulls else None,
        "stages_s": {name: round(median(s[name] for s in stages), 3) for name in stages[0]} if stages else None,
        "plain_run_s": None if flaky else round(timed(lambda: run(*plain, cwd=tree, fails=True)), 3),
    }


def stages_of(body: str) -> dict[str, float]:
    """How the mission's time was spent, from the evidence in its pull request."""
    found = EVIDENCE.search(body)
    if found is None:
        return {"mission": 0.0, "reproduce_once": 0.0, "fix": 0.0, "verify": 0.0}
    evidence = json.loads(found.group(2))
    return {
        "mission": evidence["seconds"],
        "reproduce_once": evidence["before"]["seconds"],
        "fix": sum(rung["seconds"] for rung in evidence["cost_per_rung"].values()),
        "verify": evidence["verification"]["seconds"],
    }


if __name__ == "__main__":
    main()
