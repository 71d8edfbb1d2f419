"""Mined fixes as bugs: the tree of a fix with the older text of its file, and the tests that tell them apart.

    python -m benchmarks.sets.mined_bugs [--half learn] [--fixes N] [--clones FOLDER] [--folder FOLDER] [--only NAME ...]

Each fix gets a tree and an environment of its own. `status.jsonl` says what became of it: `no environment`, `red` (no
test passes with the fix), `no failure` (the older text fails no test) or `bug`.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.sets.bug import COMMAND
from benchmarks.sets.built import ROOT, Built, Package, Planted, build_each, builder_options, say
from benchmarks.sets.clones import Clone
from benchmarks.sets.judge import open_bug
from benchmarks.sets.mined import Fix, load
from benchmarks.sets.packages import failing_with
from sandbox.errors import SandboxError
from sandbox.workspace import Sandboxes, SandboxWorkspace

KIND = "mined"
HALVES = ("learn", "judge")
STATUS = "status.jsonl"


def place(folder: Path, half: str) -> Path:
    """Return the folder of a half's trees.

    Args:
        folder: Where all packages are.
        half: Its name.
    """
    return folder / KIND / half


def built_fixes(folder: Path, half: str) -> Iterator[Built]:
    """Yield the trees of a half.

    Args:
        folder: Where all packages are.
        half: Its name.
    """
    return (built for _, _, built in _fixes(folder, half))


def _fixes(folder: Path, half: str) -> Iterator[tuple[str, Fix, Built]]:
    for package in load():
        for fix in package.fixes if package.half == half else ():
            command = " ".join((COMMAND, *sorted(fix.tests)))
            version = Package(package.name, fix.commit[:12], "", command)
            yield package.name, fix, Built(place(folder, half), version)


async def build(sandboxes: Sandboxes, fix: Fix, built: Built, clone: Path) -> None:
    """Make a tree and run its tests with both texts of the file, unless that was done.

    Args:
        sandboxes: Where tests run.
        fix: What to build.
        built: Its folder.
        clone: The repository.
    """
    with Clone(clone) as history:
        old = history.text(fix.parent, fix.path)
        history.write_tree(fix.commit, built.tree)
    status = "no failure"
    try:
        async with open_bug(sandboxes, built.as_bug(), built.tree) as workspace:
            tests = await _passing(workspace)
            survey = {"tests": tests, "names": [], "lines": []}
            (built.home / "survey.json").write_text(json.dumps(survey))
            failing = await failing_with(built, workspace, path=fix.path, text=old or "")
            if failing:
                about = {"kind": fix.kind, "line": fix.lines[0]}
                built.write(KIND, [Planted(fix.commit[:12], fix.path, old or "", failing, about)])
                status = "bug"
            elif not tests:
                status = "red"
    except SandboxError as error:
        say(f"{built.home.name}: {error.message} {error.advice}")
        status = "no environment"
    row = {"fix": built.home.name, "status": status}
    with (built.home.parent / STATUS).open("a") as file:
        file.write(json.dumps(row) + "\n")
    say(json.dumps(row))


async def _passing(workspace: SandboxWorkspace) -> list[str]:
    """Return the tests that pass twice."""
    first, second = await workspace.run_tests(), await workspace.run_tests(seed=1)
    return sorted(first.passing & second.passing, key=list(first.outcomes).index)


def known(folder: Path, half: str) -> dict[str, str]:
    """Return the status of each fix that was tried.

    Args:
        folder: Where all packages are.
        half: Its name.
    """
    path = place(folder, half) / STATUS
    rows: Sequence[str] = path.read_text().splitlines() if path.is_file() else ()
    return {row["fix"]: row["status"] for row in map(json.loads, rows)}


async def main() -> None:
    """Build them, and print how many became what."""
    parser = builder_options(__doc__)
    parser.add_argument("--half", choices=HALVES, default="learn")
    parser.add_argument("--fixes", type=int, default=2, help="of one package")
    parser.add_argument("--clones", type=Path, default=ROOT / "build" / "clones")
    asked = parser.parse_args()
    place(asked.folder, asked.half).mkdir(parents=True, exist_ok=True)
    done = known(asked.folder, asked.half)
    count: Counter[str] = Counter()
    builds = []
    for name, fix, built in _fixes(asked.folder, asked.half):
        count[name] += 1
        if count[name] > asked.fixes or built.home.name in done:
            continue
        if not asked.only or name.startswith(tuple(asked.only)):
            clone = asked.clones / name
            made = partial(build, fix=fix, built=built, clone=clone)
            builds.append((built.home.name, made))
    await build_each(builds)
    print(json.dumps(Counter(known(asked.folder, asked.half).values())))


if __name__ == "__main__":
    asyncio.run(main())
