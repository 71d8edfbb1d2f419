"""What lessons change: a stream of missions over repositories whose authors repeat their mistakes; one line of JSON.

Every mission is played twice, with the lessons of the repository's earlier missions and without any. The author
merges a fix that is the right one, chooses it if it is asked for, and closes any other. Real loop, real sandbox.

    python -m benchmarks.learning [--repositories 4] [--seed 1]
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report
from benchmarks.sets.habits import Broken, missions
from bot.clock import SystemClock
from bot.domain.lesson import Lesson
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Choice
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import Feedback, MissionRequest, RepositoryRef, Trigger
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.lessons.reflect import reflect
from bot.lessons.stored import StoredLessons
from bot.mission.loop import MissionPorts, run_mission
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from bot.store.opening import open_database
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FileEdit, FolderSource
from sandbox.workspace import Sandboxes

_PROBE = """
import json, sys
names = {}
exec(sys.argv[1], names)
for probe in json.loads(sys.argv[2]):
    try:
        print(repr(eval(probe, names)))
    except Exception as error:
        print(type(error).__name__)
"""
"""Runs a module of ours with an edit of ours or of the search, which only writes expressions."""
MOST_AGAIN = 10
"""Candidates that the same failure may take the second time."""


async def measure(folder: Path, repositories: int, seed: int) -> dict[str, Any]:
    """Play the stream, and compare."""
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), folder / "data")
    with closing(open_database(f"sqlite:///{folder / 'engine.sqlite'}")) as database:
        lessons = StoredLessons(database)
        rows = []
        for repository in range(repositories):
            for broken in missions(repository, seed):
                tree = folder / f"{repository}-{broken.number}"
                for path, text in broken.files.items():
                    (tree / path).parent.mkdir(parents=True, exist_ok=True)
                    (tree / path).write_text(text)
                row: dict[str, Any] = {"repository": repository, "mission": broken.number}
                # A repository of its own each time has no lessons.
                alone = 10_000 + 10 * repository + broken.number
                for mode, key in (("with", 1 + repository), ("without", alone)):
                    # The first mission has no lessons in either mode.
                    if mode == "with" or broken.number:
                        context = await _play(tree, key, broken, sandboxes, lessons)
                    row[mode] = _figures(context, broken)
                rows.append(row)
                sys.stderr.write(f"{row}\n")
    return {"missions": len(rows), **compare(rows), "rows": rows}


async def _play(  # noqa: PLR0917 - one mission and its world
    tree: Path, key: int, broken: Broken, sandboxes: Sandboxes, lessons: StoredLessons
) -> MissionContext:
    """Run one mission, and let the author decide about its fix."""
    repository = RepositoryRef(id=key, owner="author", name=f"r{key}")
    request = MissionRequest(
        mission_id=f"mission:{key}:{broken.number}",
        trigger=Trigger.CHECK_RUN,
        repository=repository,
        head_branch="main",
    )
    ports = MissionPorts(
        open_workspace=sandboxes.open_workspace,
        fixers=(*tool_fixers(), SearchFixer(lessons)),
        recall=lessons,
        checkpoint=MemoryCheckpoint(through_json=True),
        progress=SilentProgress(),
        clock=SystemClock(),
    )
    checkout = Checkout(source=FolderSource(path=str(tree), repository_id=str(key)))
    context = await run_mission(request, RepositoryPolicy(), checkout, ports)
    _, lesson = reflect(context, Publication(mission_id=context.mission_id), context.lessons)
    await lessons.remember(_with_choice(lesson, context, broken))
    if context.fix is not None:
        told = "merged" if context.outcome is Outcome.FIXED else "answered"
        await lessons.feed_back(
            Feedback(
                repository=repository,
                pull_request=0,
                merged=False,
                branch="main",
                mission_id=context.mission_id,
                fate=told if _takes(context, broken) else "closed",  # type: ignore[arg-type]
            )
        )
    return context


def _with_choice(lesson: Lesson, context: MissionContext, broken: Broken) -> Lesson:
    """Return the lesson with the change that the author chooses instead of the first, if any."""
    choice = _right_choice(context, broken)
    if choice is None or lesson.fix is None or _is_right(context, broken):
        return lesson
    chosen = lesson.fix.with_(diff=choice.diff, title=choice.title, alike=choice.alike)
    return lesson.with_(template=choice.template, fix=chosen)


def _right_choice(context: MissionContext, broken: Broken) -> Choice | None:
    return next((one for one in context.choices if _behaves(one.edits, broken)), None)


def _takes(context: MissionContext, broken: Broken) -> bool:
    """Return True if the author merges the fix, or finds the right one among the choices."""
    return _is_right(context, broken) or _right_choice(context, broken) is not None


def _is_right(context: MissionContext, broken: Broken) -> bool:
    """Return True if the fix is the right one."""
    return _behaves(context.fix[1].edits if context.fix else (), broken)


def _behaves(edits: Sequence[FileEdit], broken: Broken) -> bool:
    """Return True if the module behaves like the right one on inputs near those of the tests."""
    texts = {edit.path: edit.content.decode() for edit in edits}
    if set(texts) != {broken.path}:
        return False
    probes = json.dumps(broken.probes)
    fixed, right = (
        subprocess.run(
            (sys.executable, "-I", "-c", _PROBE, source, probes),
            capture_output=True, text=True, timeout=20, check=False,
        ).stdout
        for source in (texts[broken.path], broken.right)
    )  # fmt: skip
    return fixed == right != ""


def _figures(context: MissionContext, broken: Broken) -> dict[str, Any]:
    return {
        "outcome": str(context.outcome),
        "candidates": context.candidates_tried,
        "search_s": round(sum(i.attempt.seconds for i in context.iterations if i.attempt), 2),
        "mission_s": round(context.seconds, 1),
        "shown": context.fix is not None,
        "right": _is_right(context, broken),
        "unasked": context.outcome is Outcome.FIXED,
        "recalled": bool(context.fix and context.fix[0].recalled_from),
        "repeated": broken.is_repeated,
    }


def compare(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the bars' figures: medians over the stream, shares, and the second time of the same failure."""
    result: dict[str, Any] = {}
    for mode in ("without", "with"):
        played = [row[mode] for row in rows]
        result[mode] = {
            **{
                key: round(statistics.median(one[key] for one in played), 2)
                for key in ("candidates", "search_s", "mission_s")
            },
            **{
                f"{key}_share": round(sum(one[key] for one in played) / len(played), 3)
                for key in ("shown", "right", "unasked")
            },
        }
    again = [row["with"]["candidates"] for row in rows if row["with"]["repeated"]]
    return {**result, "candidates_the_second_time": again, "at_most": MOST_AGAIN}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bytecode_was_off = as_users_have_it()
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measure(Path(folder), options.repositories, options.seed))
    report("learning", result, bytecode_was_off=bytecode_was_off)


if __name__ == "__main__":
    main()
