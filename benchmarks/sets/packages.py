"""Bugs in real packages, built from what pip downloads: seeded mutants, and small ones in the style of real fixes.

    python -m benchmarks.sets.packages [--folder FOLDER] [--only NAME ...] [--mutants N] [--seed N]

`packages.json` names the packages; `handmade/NAME.json` holds the small bugs as text to search and its replacement. No
source of theirs is kept in this repository: a folder that is not is filled, once, and used again.
"""

import argparse
import asyncio
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.sets.bug import COMMAND, Bug, relative
from benchmarks.sets.halves import without
from benchmarks.sets.judge import open_bug
from benchmarks.sets.mutation import Mutation, compiles, mutations
from bot.fixers.rung1_search.request import PROTECTED
from sandbox.backends import open_backend
from sandbox.changes import is_protected
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import ChangeAction, FileChange, TestReport, TestStatus
from sandbox.workspace import Sandboxes, SandboxWorkspace

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TRACER = "bench_trace_lines"
MUTANTS = 10
DRAWS = 60
"""How many mutations of a package are tried at most."""
MOST_FAILING = 0.5
"""A mutation that breaks more of the tests than this is no bug that anybody would push."""


@dataclass(frozen=True)
class Package:
    """A package as the manifest names it."""

    name: str
    version: str
    sha256: str
    command: str = COMMAND
    setup: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """What its tests need and its own files do not say."""
    drop: tuple[str, ...] = ()
    """Test files that cannot run in a sandbox without a network, or take minutes."""

    @classmethod
    def all(cls) -> list["Package"]:
        """Every package of the manifest."""
        named: list[dict[str, Any]] = json.loads((HERE / "packages.json").read_text())
        lists = ("setup", "requirements", "drop")
        return [cls(**{**one, **{name: tuple(one.get(name, ())) for name in lists}}) for one in named]


@dataclass(frozen=True)
class Planted:
    """A bug that was tried: it makes tests fail."""

    name: str
    path: str
    text: str
    """The file, broken."""
    failing: tuple[str, ...]
    about: dict[str, Any]


class Built:
    """A package's folder: its tree, its survey and its bugs.

    Args:
        folder: Where all packages are.
        package: Which one.
    """

    def __init__(self, folder: Path, package: Package) -> None:
        self.package = package
        self.home = folder / f"{package.name}-{package.version}"
        self.tree = self.home / "tree"

    @property
    def is_surveyed(self) -> bool:
        """Whether its tests were run."""
        return (self.home / "survey.json").is_file()

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that pass as it is, every time."""
        return tuple(self._survey["tests"])

    @cached_property
    def covered(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """Path and line to the tests that execute it; none are named where all may depend on it."""
        found = self._survey
        names = found["names"]
        return {(path, line): tuple(names[test] for test in tests) for path, line, tests in found["lines"]}

    @cached_property
    def _survey(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "survey.json").read_text())
        return found

    def has(self, kind: str) -> bool:
        """Whether bugs of a kind were built, be it none."""
        return (self.home / f"{kind}.json").is_file()

    def bugs(self, kind: str) -> list[Planted]:
        """Those that were built."""
        path = self.home / f"{kind}.json"
        rows = json.loads(path.read_text()) if self.has(kind) else []
        return [Planted(**{**row, "failing": tuple(row["failing"])}) for row in rows]

    def write(self, kind: str, bugs: Sequence[Planted]) -> None:
        """Keep them."""
        (self.home / f"{kind}.json").write_text(json.dumps([asdict(bug) for bug in bugs]))

    def as_bug(self, planted: Planted | None = None) -> Bug:
        """A bug of it; None is the package as it is."""
        right = {planted.path: (self.tree / planted.path).read_text()} if planted else {}
        broken = {planted.path: planted.text} if planted else {}
        return Bug(
            name=f"{self.package.name}/{planted.name}" if planted else self.package.name,
            right=right,
            tests=self.tests if planted else (),
            failing=frozenset(planted.failing) if planted else frozenset(),
            plant=_Tree(self.tree, broken),
            command=self.package.command,
            repository=f"local:bench-{self.package.name}",
            setup=self.package.setup,
            about=planted.about if planted else {},
        )


@dataclass(frozen=True)
class _Tree:
    """Writes a package's tree with a bug in it, without the hidden tests."""

    tree: Path
    broken: Mapping[str, str]

    def __call__(self, folder: Path, hidden: Collection[str]) -> None:
        shutil.copytree(self.tree, folder, dirs_exist_ok=True)
        for path, text in self.broken.items():
            (folder / path).write_text(text)
        for path in sorted({relative(test)[0] for test in hidden}):
            if path.endswith(".py") and (folder / path).is_file():
                names = {relative(test)[1] for test in hidden if relative(test)[0] == path}
                (folder / path).write_text(without((folder / path).read_text(), names))


def built_packages(folder: Path) -> Iterator[Built]:
    """Every package of the manifest.

    Args:
        folder: Where they are built.
    """
    return (Built(folder, package) for package in Package.all())


def fetch(built: Built) -> None:
    """Download and unpack a package, unless that was done.

    Raises:
        ValueError: what came is not what the manifest names.
    """
    if built.tree.is_dir():
        return
    package = built.package
    wanted = f"{package.name}=={package.version}"
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", package.name, wanted]
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
            command = ["pip", *command[3:]]
        subprocess.run([*command, "-d", scratch], check=True)
        (archive,) = Path(scratch).iterdir()
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != package.sha256:
            raise ValueError(f"{archive.name} has the hash {found}, not the manifest's")
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        (unpacked,) = [path for path in Path(scratch).iterdir() if path.is_dir()]
        for name in package.drop:
            (unpacked / name).unlink()
        if package.requirements:
            (unpacked / "requirements-test.txt").write_text("".join(f"{line}\n" for line in package.requirements))
        built.home.mkdir(parents=True, exist_ok=True)
        shutil.move(unpacked, built.tree)


async def survey(built: Built, workspace: SandboxWorkspace) -> None:
    """Which tests pass every time, traced too, and which lines they execute."""
    if built.is_surveyed:
        return
    first = await workspace.run_tests()
    tracer = (HERE / "trace_lines.py").read_text()
    await workspace.apply_changes([FileChange(action=ChangeAction.CREATE, path=f"{TRACER}.py", content=tracer)])
    second = await workspace.run_tests(f"PYTHONPATH=. {built.package.command} -p {TRACER}", seed=1)
    tests = sorted(first.passing & second.passing, key=list(first.outcomes).index)
    covered = await _covered(workspace)
    await workspace.revert()
    lines = [row for row in covered["lines"] if may_be_mutated(row[0]) and (built.tree / row[0]).is_file()]
    found = {"tests": tests, "names": covered["tests"], "lines": lines, "summary": first.summary}
    (built.home / "survey.json").write_text(json.dumps(found))
    say(f"{built.package.name}: {len(tests)} tests of {len(first.outcomes)}, {len(lines)} lines")


async def _covered(workspace: SandboxWorkspace) -> dict[str, Any]:
    pieces: list[str] = []
    while piece := await workspace.read_file(f"covered-{len(pieces)}.json"):
        pieces.append(piece)
    found: dict[str, Any] = json.loads("".join(pieces) or '{"tests": [], "lines": []}')
    return found


def may_be_mutated(path: str) -> bool:
    """Whether a file is the package's own program."""
    return path.endswith(".py") and not is_protected(path) and not any(Path(path).match(name) for name in PROTECTED)


async def build_mutants(built: Built, workspace: SandboxWorkspace, *, count: int, seed: int) -> None:
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
            about = {"number": number, "kind": mutation.kind, "line": mutation.line, "new": mutation.text}
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
    await workspace.apply_changes([FileChange(action=ChangeAction.REPLACE, path=path, content=text)])
    try:
        report: TestReport = await workspace.run_tests(targets=tuple(tests) if likely else ())
    finally:
        await workspace.revert()
    failing = [test for test in tests if report.outcomes.get(test) in {TestStatus.FAIL, TestStatus.ERROR}]
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
            say(f"{built.package.name}/{row['name']}: its text stands there {original.count(row['search'])} times")
            continue
        text = original.replace(row["search"], row["replace"])
        old = known.get(row["name"])
        first = original[: original.index(row["search"])].count("\n") + 1
        lines = range(first, first + row["search"].count("\n") + 1)
        likely = likely_to_fail(built, row["path"], lines)
        if old and old.text == text:
            failing = old.failing
        else:
            failing = await failing_with(built, workspace, path=row["path"], text=text, likely=likely)
        if failing:
            found.append(Planted(row["name"], row["path"], text, failing, {"kind": row["kind"]}))
        else:
            say(f"{built.package.name}/{row['name']}: no test fails, or too many, or the suite does not end")
    built.write("handmade", found)
    say(f"{built.package.name}: {len(found)} bugs made by hand")


def say(text: str) -> None:
    """Tell whoever builds."""
    print(text, file=sys.stderr, flush=True)


async def build(sandboxes: Sandboxes, built: Built, *, count: int, seed: int) -> None:
    """A package from the manifest to its bugs; what was built before stays."""
    fetch(built)
    async with open_bug(sandboxes, built.as_bug(), built.tree) as workspace:
        await survey(built, workspace)
        await build_handmade(built, workspace)
        await build_mutants(built, workspace, count=count, seed=seed)


async def main() -> None:
    """Build them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    spec = SandboxSpec(pool=0)
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        try:
            for package in Package.all():
                if not arguments.only or package.name in arguments.only:
                    try:
                        built = Built(arguments.folder, package)
                        await build(sandboxes, built, count=arguments.mutants, seed=arguments.seed)
                    except SandboxError as error:
                        say(f"{package.name}: {error.message} {error.advice}")
        finally:
            await sandboxes.close()


if __name__ == "__main__":
    asyncio.run(main())
