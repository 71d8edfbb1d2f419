"""A real package in a folder: downloaded and checked, what its tests execute, and the bugs planted in it."""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.sets.bug import COMMAND, Bug, relative
from benchmarks.sets.halves import without
from bot.fixers.rung1_search.request import PROTECTED
from sandbox.backends import open_backend
from sandbox.changes import is_protected
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.workspace import Sandboxes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


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
        return [
            cls(**{**one, **{name: tuple(one.get(name, ())) for name in lists}}) for one in named
        ]


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
        return {
            (path, line): tuple(names[test] for test in tests)
            for path, line, tests in found["lines"]
        }

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
            plant=Tree(self.tree, broken),
            command=self.package.command,
            repository=f"local:bench-{self.package.name}",
            setup=self.package.setup,
            about=planted.about if planted else {},
        )


@dataclass(frozen=True)
class Tree:
    """Writes a package's tree with a bug in it, without the hidden tests."""

    tree: Path
    broken: Mapping[str, str]

    def __call__(self, folder: Path, hidden: Collection[str]) -> None:
        """Write it."""
        shutil.copytree(self.tree, folder, dirs_exist_ok=True)
        for path, text in self.broken.items():
            (folder / path).write_text(text)
        for path in sorted({relative(test)[0] for test in hidden}):
            if path.endswith(".py") and (folder / path).is_file():
                names = {relative(test)[1] for test in hidden if relative(test)[0] == path}
                (folder / path).write_text(without((folder / path).read_text(), names))


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
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            package.name,
            wanted,
        ]
        if subprocess.run(
            [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
        ).returncode:
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
            (unpacked / name).unlink(missing_ok=True)
        if package.requirements:
            (unpacked / "requirements-test.txt").write_text(
                "".join(f"{line}\n" for line in package.requirements)
            )
        built.home.mkdir(parents=True, exist_ok=True)
        shutil.move(unpacked, built.tree)


def may_be_mutated(path: str) -> bool:
    """Whether a file is the package's own program."""
    return (
        path.endswith(".py")
        and not is_protected(path)
        and not any(Path(path).match(name) for name in PROTECTED)
    )


def say(text: str) -> None:
    """Tell whoever builds."""
    print(text, file=sys.stderr, flush=True)


def builder_options(doc: str | None) -> argparse.ArgumentParser:
    """What every builder of a set is asked with; one adds its own."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="names, or what they begin with"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


async def build_each(builds: Iterable[tuple[str, Callable[[Sandboxes], Awaitable[None]]]]) -> None:
    """Build one after the other; what has no sandbox, or breaks it, is named and passed over.

    Args:
        builds: Names, and what builds them.
    """
    spec = SandboxSpec(pool=0)
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        try:
            for name, build in builds:
                try:
                    await build(sandboxes)
                except SandboxError as error:
                    say(f"{name}: {error.message} {error.advice}")
        finally:
            await sandboxes.close()
