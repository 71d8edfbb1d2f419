"""How many right answers of a scripted model are offered, and how many halves the search completes.

    python -m benchmarks.hybrid [--only NAME ...] [--limit SECONDS] [--jobs N]

A scripted oracle stands in for the model: it always gives the same answer, as edit blocks. Every bug of
`benchmarks.sets.hybrid` is tried in three ways. A fix is right if hidden tests pass with it. One line of JSON.

- half: both places are broken, and the answer repairs one. Rung 1 is climbed alone, then rung 2 without the search,
  then rung 2 as in a mission, which hands its failing change to the search.
- whole: both places are broken, and the answer repairs both. The whole ladder is climbed.
- feature: only the place is broken that is more than an edit, and the answer writes it. The whole ladder is climbed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from benchmarks.measure import as_users_have_it, report, summary
from benchmarks.sets.hybrid import HYBRID, Halved, without
from bot.clock import SystemClock
from bot.domain.account import ModelLimits
from bot.domain.diagnosis import FailureKind
from bot.domain.mission import MissionContext
from bot.domain.model import Question
from bot.domain.patch import FixAttempt, FixBudget
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from bot.fixers.ladder import climb, with_suspects
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.fixers.trials import Failure, Proposed, Tried
from bot.mission.judging.analyze import analyze_failures
from bot.ports import Fixer, Workspace
from sandbox.backends import open_backend
from sandbox.spec import SandboxSpec
from sandbox.types import ChangeAction, Checkout, FileChange, FolderSource, JobHints
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_mind import ScriptedMind

SHOWN, HIDDEN = "test_shown.py", "test_hidden.py"
COMMAND = "python -m pytest -q"
JUDGED = 5
"""How many of the fixes that are shown are judged: one right one, and the bug counts as mended."""
BLOCK = "{}\n```python\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n```\n"
REQUEST = """```yaml
type: propose_fix
version: 1
payload:
  title: this file is needed
  context:
    files: [{}]
```
"""
MODEL_S = 60.0
WAYS = ("whole", "feature")
"""Missions in which the answer is right."""
ANSWERS = ModelLimits(samples=1, rounds=1, edit_format="search_replace")
"""The oracle never says anything else."""


class WithoutSearch(SearchTrials):
    """Tries changes, and does not search on from them."""

    @override
    async def search_from(
        self, failure: Failure, start: Proposed, *, time_limit_s: float, max_candidates: int
    ) -> tuple[Tried, ...]:
        """Nothing."""
        return ()


def oracle(bug: Halved, half: str | None = None) -> ScriptedMind:
    """What stands in for a model: always the same half, the right one unless another is given."""
    path, right, wrong = bug.written
    return ScriptedMind({"fix": BLOCK.format(path, wrong, half or right)})


@asynccontextmanager
async def planted(
    sandboxes: Sandboxes, bug: Halved, broken: Mapping[str, str] | None = None
) -> AsyncIterator[SandboxWorkspace]:
    """A workspace with a broken program, in both places or as given, and the tests that everybody sees."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**(broken or bug.broken), SHOWN: bug.shown}.items():
            (Path(folder) / path).write_text(text)
        checkout = Checkout(source=FolderSource(path=folder), hints=JobHints(command=COMMAND))
        async with sandboxes.open_workspace(checkout) as workspace:
            yield workspace


async def measure(sandboxes: Sandboxes, bug: Halved, limit_s: float) -> dict[str, Any]:
    """One bug, three ways."""
    lessons = MemoryLessons()
    async with planted(sandboxes, bug) as workspace:
        failure = await failure_of(workspace, bug.name)
        search = await climbed(failure, [SearchFixer(lessons)], limit_s)
        rung = ModelFixer(oracle(bug), WithoutSearch(lessons), ANSWERS)
        half = await climbed(failure, [rung], limit_s, below=search)
        begun = time.monotonic()
        rung = ModelFixer(oracle(bug), SearchTrials(lessons), ANSWERS)
        together = await climbed(failure, [rung], limit_s, below=search)
        seconds = time.monotonic() - begun
        verdicts = [await right_ones(workspace, bug, found) for found in (search, half, together)]
    return {
        "bug": bug.name,
        "search_alone": any(verdicts[0]),
        "half_alone": any(verdicts[1]),
        "together_first": verdicts[2][:1] == [True],
        "together_shown": any(verdicts[2]),
        **_first_of("half", together),
        "shows": [len(found.candidates) for found in (search, half, together)],
        "near": len(search.near),
        "seconds": round(seconds, 2),
        "notes": [note for found in (search, half, together) for note in found.notes],
    }


async def measure_right(
    sandboxes: Sandboxes, bug: Halved, limit_s: float, *, way: str
) -> dict[str, Any]:
    """One bug with an answer that is right, climbed from the first rung on.

    Args:
        sandboxes: Where.
        bug: The bug.
        limit_s: Of the search.
        way: `whole` if both places are broken, `feature` if only what is more than an edit.
    """
    lessons = MemoryLessons()
    broken = bug.broken if way == "whole" else without(dict(bug.right), bug.written)
    mind = ScriptedMind({"fix": lambda question: _answer(question, broken, bug.right)})
    async with planted(sandboxes, bug, broken) as workspace:
        failure = await failure_of(workspace, bug.name)
        model = ModelFixer(mind, SearchTrials(lessons), ANSWERS)
        found = await climbed(failure, [SearchFixer(lessons), model], limit_s)
        verdicts = await right_ones(workspace, bug, found)
    return {
        f"{way}_asked": bool(mind.questions),
        f"{way}_right": verdicts[:1] == [True],
        f"{way}_notes": found.notes,
        **_first_of(way, found),
    }


def _answer(question: Question, broken: Mapping[str, str], right: Mapping[str, str]) -> str:
    """The answer that replaces each broken file; a request, while the prompt lacks one of them."""
    changed = [path for path, text in right.items() if broken[path] != text]
    seen = repr([gap for gap in question.gaps.values() if not isinstance(gap, str)])
    lacking = [path for path in changed if f"'{path}'" not in seen]
    if lacking:
        return REQUEST.format(", ".join(lacking))
    return "\n".join(BLOCK.format(path, broken[path], right[path]) for path in changed)


def _first_of(way: str, found: FixAttempt) -> dict[str, Any]:
    """What is said of the first fix."""
    if not found.candidates:
        return {f"{way}_offered": False}
    first = found.candidates[0]
    return {
        f"{way}_offered": first.confident,
        f"{way}_rung": int(first.rung),
        f"{way}_score": round(first.score, 3),
        f"{way}_behaviours": first.behaviours,
        f"{way}_doubts": first.warnings,
    }


async def failure_of(workspace: Workspace, name: str) -> Failure:
    """The red run, read as a mission reads it."""
    red = await workspace.run_tests()
    facts = await workspace.facts()
    diagnosis = await analyze_failures(
        red, workspace, kind=FailureKind.BUG, red_diff=facts.red_diff
    )
    context = MissionContext(
        mission_id=name,
        request=MissionRequest(mission_id=name, trigger=Trigger.COMMAND_LINE, folder=name),
        policy=RepositoryPolicy(rungs=(0, 1, 2)),
        created_at="",
        target_path=name,
        facts=facts,
        test_results=red,
    )
    return Failure(context, diagnosis, workspace)


async def climbed(
    failure: Failure, rungs: Sequence[Fixer], limit_s: float, below: FixAttempt | None = None
) -> FixAttempt:
    """Rungs of the ladder, climbed; what a climb below them came close to is known."""
    budget = FixBudget(
        time_limit_s=limit_s, model_time_limit_s=max(MODEL_S, 2 * limit_s), money_usd=1.0
    )
    context = failure.context.with_(near_misses=below.near if below else ())
    diagnosis = with_suspects(failure.diagnosis, below.suspects if below else ())
    return await climb(context, diagnosis, failure.workspace, rungs, budget, SystemClock())


async def right_ones(workspace: Workspace, bug: Halved, found: FixAttempt) -> list[bool]:
    """Of each fix that is shown whether it is right: every test passes, the hidden ones included."""
    return [await _is_right(workspace, bug, one.changes) for one in found.candidates[:JUDGED]]


async def _is_right(workspace: Workspace, bug: Halved, changes: Sequence[FileChange]) -> bool:
    hidden = FileChange(action=ChangeAction.CREATE, path=HIDDEN, content=bug.hidden)
    await workspace.apply_changes([*changes, hidden])
    try:
        return (await workspace.run_tests(f"{COMMAND} {SHOWN} {HIDDEN}")).success
    finally:
        await workspace.revert()


def summarised(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all bugs."""
    return {
        "bugs": len(rows),
        "search_alone": sum(row["search_alone"] for row in rows),
        "half_alone": sum(row["half_alone"] for row in rows),
        "together_first": sum(row["together_first"] for row in rows),
        "together_shown": sum(row["together_shown"] for row in rows),
        "only_together": sum(
            row["together_first"] and not row["search_alone"] and not row["half_alone"]
            for row in rows
        ),
        "confident": sum(row["half_offered"] for row in rows),
        **_rates(rows, "whole"),
        **_rates(rows, "feature"),
        "not_together": [row["bug"] for row in rows if not row["together_first"]],
        "together_s": summary([row["seconds"] for row in rows]),
    }


def _rates(rows: Sequence[Mapping[str, Any]], way: str) -> dict[str, Any]:
    """Of missions with a right answer: how many asked for it, were right first, and offered that."""
    tried = [row for row in rows if f"{way}_right" in row]
    right = [row for row in tried if row[f"{way}_right"]]
    return {
        f"{way}_asked": sum(row[f"{way}_asked"] for row in tried),
        f"{way}_first": len(right),
        f"{way}_offered": sum(row[f"{way}_offered"] for row in right),
        f"{way}_not_offered": [row["bug"] for row in right if not row[f"{way}_offered"]],
    }


async def run_set(
    sandboxes: Sandboxes, bugs: Sequence[Halved], limit_s: float, *, jobs: int
) -> list[dict[str, Any]]:
    """All of them, some at a time."""
    limit = asyncio.Semaphore(jobs)

    async def one(bug: Halved) -> dict[str, Any]:
        async with limit:
            row = await measure(sandboxes, bug, limit_s)
            for way in WAYS:
                row |= await measure_right(sandboxes, bug, limit_s, way=way)
        print(row, file=sys.stderr, flush=True)
        return row

    return list(await asyncio.gather(*(one(bug) for bug in bugs)))


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="of each search"
    )
    parser.add_argument("--jobs", type=int, default=1, help="bugs at the same time")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    bugs = [bug for bug in HYBRID if not arguments.only or bug.name in arguments.only]
    if not bugs:
        parser.error("no such bug")
    with tempfile.TemporaryDirectory() as data:
        spec = SandboxSpec(pool=0)
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        try:
            rows = await run_set(sandboxes, bugs, arguments.limit, jobs=arguments.jobs)
        finally:
            await sandboxes.close()
    report("hybrid", summarised(rows), bytecode_was_off=was_off)


if __name__ == "__main__":
    asyncio.run(main())
