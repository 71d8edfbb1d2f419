"""How often the first prompt for a fix holds the lines that the known fix changes: one line of JSON.

    python -m benchmarks.prompt [--set NAME ...] [--only BUG ...] [--count N] [--tokens N] [--rows FILE]

No model is asked. Every bug is planted in a sandbox, its tests run and its failure is analysed as in a mission. A search
that may try nothing only traces the failing tests, so that its suspects are known as they are to rung 2. A bug counts
as shown if every line that the known fix changes may be edited by the answer to that prompt. `hybrid` are the bugs in
two places of `benchmarks.sets.hybrid`; the other sets are those of `benchmarks.repair`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.hybrid import COMMAND, SHOWN, failure_of
from benchmarks.measure import as_users_have_it, report, summary
from benchmarks.sets.bug import Bug
from benchmarks.sets.catalogue import PLANTED, PROGRAMS, bugs_of
from benchmarks.sets.hybrid import HYBRID, Halved
from benchmarks.sets.judge import open_bug
from bot.domain.account import ModelLimits
from bot.domain.patch import FixBudget, RungNote
from bot.fixers.ladder import with_suspects
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung2_model.context import Brief, build_brief
from bot.fixers.rung2_model.rounds import build_question
from bot.fixers.trials import Failure
from bot.llm.estimate import CHARACTERS_PER_TOKEN
from bot.llm.prompts.render import render_question
from sandbox.backends import open_backend
from sandbox.diffs import line_changes
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.fakes.memory_lessons import MemoryLessons

ROOT = Path(__file__).resolve().parents[1]
SHARE, TOKENS = 0.9, 6_000
"""What is demanded: this share of the bugs in prompts of at most so many tokens."""
TRACE_S = 30.0


@asynccontextmanager
async def opened(sandboxes: Sandboxes, bug: Bug | Halved) -> Any:
    """A sandbox on the broken program with the tests that a mission sees."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(bug, Halved):
            for path, text in {**bug.broken, SHOWN: bug.shown}.items():
                (Path(folder) / path).write_text(text)
            checkout = Checkout(source=FolderSource(path=folder), hints=JobHints(command=COMMAND))
            async with sandboxes.open_workspace(checkout) as workspace:
                yield workspace
            return
        bug.plant(Path(folder), ())
        async with open_bug(sandboxes, bug, Path(folder)) as workspace:
            yield workspace


async def traced(failure: Failure) -> Failure:
    """The failure with the suspects that the search knows before its first candidate."""
    budget = FixBudget(time_limit_s=TRACE_S, max_candidates=1)
    about = (failure.context, failure.diagnosis, failure.workspace)
    async for said in SearchFixer(MemoryLessons()).propose(*about, budget):
        if isinstance(said, RungNote) and said.suspects:
            diagnosis = with_suspects(failure.diagnosis, said.suspects)
            return Failure(failure.context, diagnosis, failure.workspace)
    return failure


def changed_lines(broken: str, right: str) -> Iterator[int]:
    """The lines of the broken text that the known fix replaces, or stands before."""
    before, after = broken.splitlines(), right.splitlines()
    for first, last, *_ in line_changes(before, after):
        yield from range(first + 1, max(last, first + 1) + 1)


def is_shown(brief: Brief, path: str, line: int) -> bool:
    """Whether an answer may edit a line."""
    return any(
        file.path == path and file.editable and first <= line <= last + 1
        for file in brief.sent
        for first, last in file.regions
    )


async def measure(sandboxes: Sandboxes, bug: Bug | Halved, tokens: int) -> dict[str, Any]:
    """The first prompt of one bug."""
    async with opened(sandboxes, bug) as workspace:
        failure = await traced(await failure_of(workspace, bug.name))
        red = failure.context.test_results
        if red is None or not red.failing:
            return {"bug": bug.name, "lost": "nothing fails by name"}
        brief = await build_brief(failure, red, tokens)
        prompt = render_question(build_question("fix", brief.gaps(), 0, 2_000))
        missing = await missed(brief, workspace, bug.right)
    size = len(prompt.system) + len(prompt.user)
    parts = {part.value: sum(len(one.text) for one in shown) for part, shown in brief.parts.items()}
    return {
        "bug": bug.name,
        "tokens": round(size / CHARACTERS_PER_TOKEN),
        "missing": missing,
        "characters": {name: size for name, size in parts.items() if size},
    }


async def missed(brief: Brief, workspace: SandboxWorkspace, right: Mapping[str, str]) -> list[str]:
    """The changed lines that the prompt does not show."""
    found = []
    for path, text in right.items():
        broken = await workspace.read_file(path) or ""
        found += [
            f"{path}:{line}"
            for line in changed_lines(broken, text)
            if not is_shown(brief, path, line)
        ]
    return found


def summarised(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all bugs."""
    told = [row for row in rows if "tokens" in row]
    shown = [row for row in told if not row["missing"]]
    suffices = [row for row in shown if row["tokens"] <= TOKENS]
    share = round(len(suffices) / len(told), 3) if told else None
    return {
        "bugs": len(told),
        "shown": len(shown),
        "shown_in_few_tokens": len(suffices),
        "share": share,
        "tokens": summary([row["tokens"] for row in told], digits=0) if told else None,
        "not_shown": [row["bug"] for row in told if row["missing"]],
        "lost": {row["bug"]: row["lost"] for row in rows if "lost" in row},
        "demanded": {"share": SHARE, "tokens": TOKENS},
        "missed": [] if share is not None and share >= SHARE else ["share"],
    }


def chosen_bugs(arguments: argparse.Namespace) -> Iterator[Bug | Halved]:
    """The bugs of the chosen sets, so many of each."""
    for name in arguments.set:
        bugs: Sequence[Bug | Halved] = (
            HYBRID if name == "hybrid" else tuple(bugs_of(name, arguments.data, arguments.packages))
        )
        chosen = [bug for bug in bugs if not arguments.only or bug.name in arguments.only]
        yield from chosen[: arguments.count]


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    sets = (*PROGRAMS, *PLANTED, "hybrid")
    parser.add_argument("--set", nargs="*", default=sets, choices=sets, metavar="NAME")
    parser.add_argument("--only", nargs="*", default=[], metavar="BUG", help="names of bugs")
    parser.add_argument("--count", type=int, default=None, metavar="N", help="of each set")
    parser.add_argument(
        "--tokens", type=int, default=ModelLimits().context_tokens, help="limit of a prompt"
    )
    parser.add_argument("--rows", type=Path, help="file for one line of JSON for each bug")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--packages", type=Path, default=ROOT / "build" / "bench")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    rows = []
    with tempfile.TemporaryDirectory() as data:
        spec = SandboxSpec(pool=0)
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        try:
            for bug in chosen_bugs(arguments):
                try:
                    rows.append(await measure(sandboxes, bug, arguments.tokens))
                except SandboxError as error:
                    rows.append({"bug": bug.name, "lost": error.message})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        finally:
            await sandboxes.close()
    if arguments.rows:
        arguments.rows.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    report("prompt", summarised(rows), bytecode_was_off=was_off)


if __name__ == "__main__":
    asyncio.run(main())
