"""Bugs that real releases mended: one hunk of a newer release put back to the text of the release before.

    python -m benchmarks.sets.releases [--folder FOLDER] [--only NAME ...] [--bugs N] [--seed N]

`releases.json` names packages and their releases, oldest first. A hunk is a bug when tests that pass in the newer
release fail without it. No source of theirs is kept in this repository: a folder that is not is filled, once, and used
again.
"""

import ast
import asyncio
import difflib
import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
from benchmarks.sets.judge import open_bug, same_program
from benchmarks.sets.mutation import compiles
from benchmarks.sets.packages import failing_with, likely_to_fail, survey
from sandbox.workspace import Sandboxes, SandboxWorkspace

KIND = "releases"
BUGS = 4
"""So many of one release at most, so that no rewrite outweighs the rest."""
DRAWS = 24
LONGEST = 8
"""A hunk of more lines of code, old or new, is no small fix."""
LONGEST_FILE = 8000
"""Lines: tables of data are not compared."""
AROUND = 3
"""Tests that execute a line so near to a hunk may depend on it."""
_NO_FIX = re.compile(r"__version__|version_info|\bwarn(ings)?\b|deprecat", re.IGNORECASE)
_IMPORT = re.compile(r"\s*(from\s+\S+\s+)?import\b")
_DEFINITION = re.compile(r"\s*(async\s+def|def|class)\s+(\w+)")


@dataclass(frozen=True)
class Hunk:
    """A place where two releases differ."""

    text: str
    """The newer file with the older text there."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    first: int
    """Number of its first line in the newer file."""

    @property
    def lines(self) -> range:
        """Its lines in the newer file and those around them."""
        return range(self.first - AROUND, self.first + len(self.new) + AROUND)

    @property
    def kind(self) -> str:
        """What the newer release did to the older."""
        old, new = (code(self.old), code(self.new))
        if not old:
            return "lines added"
        if not new:
            return "lines removed"
        return "one line changed" if len(old) == len(new) == 1 else "lines changed"


def hunks(old: str, new: str) -> Iterator[Hunk]:
    """Where two texts differ, as a diff with three lines of context parts it.

    Args:
        old: Of the older release.
        new: Of the newer one.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if max(len(before), len(after)) > LONGEST_FILE:
        return
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(
        AROUND
    ):
        changed = [step for step in group if step[0] != "equal"]
        (_, i, _, j, _), (_, _, i_end, _, j_end) = changed[0], changed[-1]
        text = "".join([*after[:j], *before[i:i_end], *after[j_end:]])
        yield Hunk(text, tuple(before[i:i_end]), tuple(after[j:j_end]), j + 1)


def may_be_a_fix(hunk: Hunk, new: str) -> bool:
    """Whether a hunk changes what a program does, by itself, and is small.

    New functions and imports alone are what other hunks call.
    """
    old_code, new_code = code(hunk.old), code(hunk.new)
    both = [*old_code, *new_code]
    if max(len(old_code), len(new_code)) > LONGEST or any(_NO_FIX.search(line) for line in both):
        return False
    if _defined(new_code) - _defined(old_code) or all(_IMPORT.match(line) for line in both):
        return False
    return compiles(hunk.text) and not same_program(
        without_annotations(hunk.text), without_annotations(new)
    )


def code(lines: tuple[str, ...]) -> list[str]:
    """Those that are neither empty nor a comment."""
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _defined(lines: list[str]) -> set[str]:
    return {found[2] for line in lines if (found := _DEFINITION.match(line))}


def without_annotations(text: str) -> str:
    """A program whose functions say nothing of types."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
    return ast.unparse(tree)


def pairs(folder: Path) -> Iterator[tuple[Built, Built]]:
    """Each release of the manifest with the one before it.

    Args:
        folder: Where releases are built.
    """
    named: list[dict[str, Any]] = json.loads((HERE / "releases.json").read_text())
    for one in named:
        rest: dict[str, Any] = {
            name: tuple(one[name]) for name in ("setup", "requirements", "drop") if name in one
        }
        built = [
            Built(folder / KIND, Package(one["name"], v["version"], v["sha256"], **rest))
            for v in one["releases"]
        ]
        yield from itertools.pairwise(built)


def built_releases(folder: Path) -> Iterator[Built]:
    """Every release that has one before it.

    Args:
        folder: Where releases are built.
    """
    return (newer for _, newer in pairs(folder))


def small_hunks(older: Built, newer: Built) -> list[tuple[str, Hunk]]:
    """Those of the package's own files that may be fixes."""
    found: list[tuple[str, Hunk]] = []
    for file in sorted(newer.tree.rglob("*.py")):
        path = str(file.relative_to(newer.tree))
        if may_be_mutated(path) and (older.tree / path).is_file():
            try:
                old, new = (older.tree / path).read_text(), file.read_text()
            except UnicodeDecodeError:
                continue
            found += [(path, hunk) for hunk in hunks(old, new) if may_be_a_fix(hunk, new)]
    return found


async def build_bugs(
    newer: Built, drawn: Iterable[tuple[str, Hunk]], workspace: SandboxWorkspace, count: int
) -> None:
    """Put hunks back until enough of them make tests fail."""
    package = newer.package
    reached = (
        one for one in drawn if any((one[0], line) in newer.covered for line in one[1].lines)
    )
    found: list[Planted] = []
    for number, (path, hunk) in enumerate(itertools.islice(reached, DRAWS)):
        if len(found) >= count:
            break
        likely = likely_to_fail(newer, path, hunk.lines)
        failing = await failing_with(newer, workspace, path=path, text=hunk.text, likely=likely)
        if failing and likely:  # tests that come there only in the older text are met by all
            failing = await failing_with(newer, workspace, path=path, text=hunk.text)
        if failing:
            about = {"kind": hunk.kind, "line": hunk.first, "new": "".join(hunk.new)}
            found.append(Planted(f"{package.version}/{number}", path, hunk.text, failing, about))
    newer.write(KIND, found)
    say(f"{package.name} {package.version}: {len(found)} bugs")


async def build(sandboxes: Sandboxes, older: Built, newer: Built, *, count: int, seed: int) -> None:
    """A release from the manifest to its bugs; what was built before stays."""
    if newer.has(KIND):
        return
    fetch(older)
    fetch(newer)
    drawn = small_hunks(older, newer)
    if not drawn:
        return
    random.Random(f"{seed}/{newer.home.name}").shuffle(drawn)  # noqa: S311 - which are taken is no secret
    async with open_bug(sandboxes, newer.as_bug(), newer.tree) as workspace:
        await survey(newer, workspace)
        if newer.is_surveyed:
            await build_bugs(newer, drawn, workspace, count)


async def main() -> None:
    """Build them."""
    parser = builder_options(__doc__)
    parser.add_argument("--bugs", type=int, default=BUGS, help="of one release")
    asked = parser.parse_args()
    await build_each(
        (
            newer.home.name,
            partial(build, older=older, newer=newer, count=asked.bugs, seed=asked.seed),
        )
        for older, newer in pairs(asked.folder)
        if not asked.only or newer.home.name.startswith(tuple(asked.only))
    )


if __name__ == "__main__":
    asyncio.run(main())
