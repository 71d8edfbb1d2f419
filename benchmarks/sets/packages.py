"""Bugs in real packages, built from what pip downloads: seeded mutants, and small ones in the style of real fixes.

    python -m benchmarks.sets.packages [--folder FOLDER] [--only NAME ...] [--mutants N] [--seed N]

`packages.json` names the packages; `handmade/NAME.json` holds the small bugs as text to search and its replacement. No
source of theirs is kept in this repository: a folder that is not is filled, once, and used again.
"""

import asyncio
import json
import random
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.sets.built import (
    HERE,
    Built,
    Package,
    Planted,
    build_each,
    builder_options,
    fetch,
    may_be_mutated,
    say,
)
from benchmarks.sets.judge import open_bug
from benchmarks.sets.mutation import Mutation, compiles, mutations
from sandbox.types import ChangeAction, FileChange, TestReport, TestStatus
from sandbox.workspace import Sandboxes, SandboxWorkspace

TRACER = "bench_trace_lines"
MUTANTS = 10
DRAWS = 60
"""How many mutations of a package are tried at most."""
MOST_FAILING = 0.5
"""A mutation that breaks more of the tests than this is no bug that anybody would push."""


def built_packages(folder: Path) -> Iterator[Built]:
    """Every package of the manifest.

    Args:
        folder: Where they are built.
    """
    return (Built(folder, package) for package in Package.all())


async def survey(built: Built, workspace: SandboxWorkspace) -> None:
    """Which tests pass every time, traced too, and which lines they execute."""
    if built.is_surveyed:
        return
    first = await workspace.run_tests()
    tracer = (HERE / "trace_lines.py").read_text()
    await workspace.apply_changes(
        [FileChange(action=ChangeAction.CREATE, path=f"{TRACER}.py", content=tracer)]
    )
    second = await workspace.run_tests(f"PYTHONPATH=. {built.package.command} -p {TRACER}", seed=1)
    tests = sorted(first.passing & second.passing, key=list(first.outcomes).index)
    covered = await _covered(workspace)
    await workspace.revert()
    if not covered["lines"]:
        say(f"{built.package.name}: the traced run did not end: {second.summary}")
        return
    lines = [
        row
        for row in covered["lines"]
        if may_be_mutated(row[0]) and (built.tree / row[0]).is_file()
    ]
    found = {"tests": tests, "names": covered["tests"], "lines": lines, "summary": first.summary}
    (built.home / "survey.json").write_text(json.dumps(found))
    say(f"{built.package.name}: {len(tests)} tests of {len(first.outcomes)}, {len(lines)} lines")


async def _covered(workspace: SandboxWorkspace) -> dict[str, Any]:
    pieces: list[str] = []
    while piece := await workspace.read_file(f"covered-{len(pieces)}.json"):
        pieces.append(piece)
    found: dict[str, Any] = json.loads("".join(pieces) or '{"tests": [], "lines": []}')
    return found


async def build_mutants(
    built: Built, workspace: SandboxWorkspace, *, count: int, seed: int
) -> None:
    """Plant random mutations until enough of them make tests fail."""
    chance = random.Random(f"{seed}/{built.package.name}")  # noqa: S311 - which bugs are planted is no secret
    found = built.bugs("mutants")[:count]
    drawn = drawing(built, chance)
    for number, (path, mutation) in enumerate(drawn):
        if len(found) >= count or number >= DRAWS:
            break
        if number <= max((int(bug.about["number"]) for bug in found), default=-1):
            continue  # drawn before
        text = mutation.applied((built.tree / path).read_text())
        likely = built.covered.get((path, mutation.line), ())
        failing = await failing_with(built, workspace, path=path, text=text, likely=likely)
        if failing:
            about = {
                "number": number,
                "kind": mutation.kind,
                "line": mutation.line,
                "new": mutation.text,
            }
            found.append(Planted(f"m{len(found)}", path, text, failing, about))
            built.write("mutants", found)
    say(f"{built.package.name}: {len(found)} mutants")


def drawing(built: Built, chance: random.Random) -> Iterator[tuple[str, Mutation]]:
    """Mutations of covered lines at random: every kind is as likely as any other, then every place."""
    kinds: dict[str, list[tuple[str, Mutation]]] = {}
    lines: dict[str, set[int]] = {}
    for path, line in sorted(built.covered):
        lines.setdefault(path, set()).add(line)
    for path, covered in lines.items():
        for mutation in mutations((built.tree / path).read_text(), covered):
            kinds.setdefault(mutation.kind, []).append((path, mutation))
    for found in kinds.values():
        chance.shuffle(found)
    while kinds:
        kind = chance.choice(sorted(kinds))
        path, mutation = kinds[kind].pop()
        if not kinds[kind]:
            del kinds[kind]
        if compiles(mutation.applied((built.tree / path).read_text())):
            yield path, mutation


async def failing_with(
    built: Built, workspace: SandboxWorkspace, *, path: str, text: str, likely: Sequence[str] = ()
) -> tuple[str, ...]:
    """The tests that fail with another text of a file; none when the suite does not come to its end.

    Args:
        built: Whose file.
        workspace: With the package as it is.
        path: The file.
        text: Its other text.
        likely: The only tests that can fail, where that is known.
    """
    tests = [test for test in built.tests if not likely or test in likely]
    if not tests:
        return ()
    await workspace.apply_changes(
        [FileChange(action=ChangeAction.REPLACE, path=path, content=text)]
    )
    try:
        report: TestReport = await workspace.run_tests(targets=tuple(tests) if likely else ())
    finally:
        await workspace.revert()
    failing = [
        test for test in tests if report.outcomes.get(test) in {TestStatus.FAIL, TestStatus.ERROR}
    ]
    missing = [test for test in tests if test not in report.outcomes]
    return tuple(failing) if not missing and len(failing) <= MOST_FAILING * len(built.tests) else ()


def likely_to_fail(built: Built, path: str, lines: Collection[int]) -> tuple[str, ...]:
    """The tests that execute one of some lines; none are named where any test may depend on them."""
    covered = [built.covered[path, line] for line in lines if (path, line) in built.covered]
    if not covered or not all(covered):
        return ()
    return tuple(dict.fromkeys(test for tests in covered for test in tests))


async def build_handmade(built: Built, workspace: SandboxWorkspace) -> None:
    """Plant the small bugs that stand in the repository, and see that each makes tests fail."""
    path = HERE / "handmade" / f"{built.package.name}.json"
    known = {bug.name: bug for bug in built.bugs("handmade")}
    found: list[Planted] = []
    for row in json.loads(path.read_text()) if path.is_file() else []:
        original = (built.tree / row["path"]).read_text()
        if original.count(row["search"]) != 1:
            say(
                f"{built.package.name}/{row['name']}: its text stands there {original.count(row['search'])} times"
            )
            continue
        text = original.replace(row["search"], row["replace"])
        old = known.get(row["name"])
        first = original[: original.index(row["search"])].count("\n") + 1
        lines = range(first, first + row["search"].count("\n") + 1)
        likely = likely_to_fail(built, row["path"], lines)
        if old and old.text == text:
            failing = old.failing
        else:
            failing = await failing_with(
                built, workspace, path=row["path"], text=text, likely=likely
            )
        if failing:
            found.append(Planted(row["name"], row["path"], text, failing, {"kind": row["kind"]}))
        else:
            say(
                f"{built.package.name}/{row['name']}: no test fails, or too many, or the suite does not end"
            )
    built.write("handmade", found)
    say(f"{built.package.name}: {len(found)} bugs made by hand")


async def build(sandboxes: Sandboxes, built: Built, *, count: int, seed: int) -> None:
    """A package from the manifest to its bugs; what was built before stays."""
    fetch(built)
    async with open_bug(sandboxes, built.as_bug(), built.tree) as workspace:
        await survey(built, workspace)
        if not built.is_surveyed:
            return
        await build_handmade(built, workspace)
        await build_mutants(built, workspace, count=count, seed=seed)


async def main() -> None:
    """Build them."""
    parser = builder_options(__doc__)
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    asked = parser.parse_args()
    await build_each(
        (
            package.name,
            partial(
                build, built=Built(asked.folder, package), count=asked.mutants, seed=asked.seed
            ),
        )
        for package in Package.all()
        if not asked.only or package.name.startswith(tuple(asked.only))
    )


if __name__ == "__main__":
    asyncio.run(main())
