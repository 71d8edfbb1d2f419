"""Seconds from the red check to the pull request, through the real service, a local GitHub and the real sandbox.

    python -m benchmarks.mission [--runs N] [--only NAME ...]

Every broken repository of the demo is played once to warm the service and then N times; beside it stands what a person
waits for one plain run of the same red tests (or of the linter) on this host. All that is played before, by a service of
its own, to set the environments up: one in which package code ran (install scripts of npm) serves one repository only.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import as_users_have_it, report, run, summary, timed
from bot.evidence.bundle import read_bundle
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import BrokenRepository, broken_repositories
from tests.demo.story import Told, problems_of, push_green, push_red, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options

TEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
LINT = (sys.executable, "-m", "ruff", "check", "--no-cache", ".")
BUNDLE = re.compile(r"sha256 ([0-9a-f]{64})")


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
    with tempfile.TemporaryDirectory() as folder:
        # Both local GitHubs number the repositories alike, so that the second finds their environments.
        first = _measured(chosen, arguments.runs, Path(folder) / "first")
        results = _measured(chosen, arguments.runs, Path(folder) / "warm")
    for name, row in results.items():
        row["first_s"] = first[name]["first_s"]
    report("mission", {"runs": arguments.runs, "repositories": results}, bytecode_was_off=was_off)


def _measured(chosen: Sequence[BrokenRepository], runs: int, folder: Path) -> dict[str, Any]:
    """Play repositories on a GitHub and a service of their own, which knows no lessons yet."""
    results = {}
    with LocalGitHub(Options()) as github, BotProcess(github, folder / "bot") as bot:
        for broken in chosen:
            told = [play(github, broken, f"owner{turn}") for turn in range(runs + 1)]
            stages = [stages_of(evidence_of(one, bot.data)) for one in told[1:] if one.pull_request]
            results[broken.name] = {
                **_numbers(broken, told[0], told[1:], folder / "trees" / broken.name),
                "stages_s": {name: round(median(s[name] for s in stages), 3) for name in stages[0]}
                if stages
                else None,
            }
    return results


def play(github: LocalGitHub, broken: BrokenRepository, owner: str) -> Told:
    """One mission, in a repository of its own: no lesson of an earlier turn is recalled."""
    name = push_green(github, broken, owner)
    wait_for_ci(github, github.store(name).ref("refs/heads/main") or "")
    return watch(github, broken, push_red(github, broken, owner), owner=owner)


def _numbers(
    broken: BrokenRepository, first: Told, told: Sequence[Told], tree: Path
) -> dict[str, Any]:
    problems = sorted({problem for one in (first, *told) for problem in problems_of(broken, one)})
    pulls = [one.seconds_to_pull_request for one in told if one.seconds_to_pull_request is not None]
    broken.write(tree)
    flaky = broken.expected["outcome"] == "FLAKY"
    plain = LINT if broken.expected.get("rung") == 0 else TEST
    return {
        "outcome": told[0].outcome,
        "problems": problems,
        "first_s": round(first.seconds_to_check, 3),
        "to_outcome_s": summary([one.seconds_to_check for one in told]),
        "to_pull_request_s": summary(pulls) if pulls else None,
        "plain_run_s": None
        if flaky
        else round(timed(lambda: run(*plain, cwd=tree, fails=True)), 3),
    }


def evidence_of(told: Told, data: Path) -> dict[str, Any]:
    """The evidence in the bundle that a pull request names."""
    body = told.pull_request.body or "" if told.pull_request else ""
    found = BUNDLE.search(body)
    if found is None:
        raise AssertionError(f"{told.name}: the pull request names no bundle")
    (path,) = (data / "blobs" / "evidence").glob(f"*/{found[1]}")
    return read_bundle(path.read_bytes()).evidence


def stages_of(evidence: dict[str, Any]) -> dict[str, float]:
    """How the mission's time was spent."""
    return {
        "mission": evidence["seconds"],
        "reproduce_once": evidence["before"]["seconds"],
        "fix": sum(rung["seconds"] for rung in evidence["cost_per_rung"].values()),
        "verify": evidence["verification"]["seconds"],
    }


if __name__ == "__main__":
    main()
