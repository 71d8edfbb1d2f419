"""Small fixes in the histories of popular packages: where they are, without their code.

    python -m benchmarks.sets.mined mine --clones FOLDER OWNER/NAME ...
    python -m benchmarks.sets.mined reach --clones FOLDER [--label NAME] PACKAGE ...
    python -m benchmarks.sets.mined table [--label NAME] ...

A fix is a commit that changes one small hunk of product code and at least one test function. `mined.json` names the
fixes. A clone is a bare one in a folder with the package's name. Packages are split in halves by a hash of their names:
templates may be written from the half `learn`; of the half `judge`, totals alone are kept and printed.
"""

import argparse
import ast
import difflib
import hashlib
import io
import json
import re
import time
import tokenize
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.sets.built import HERE, ROOT
from benchmarks.sets.clones import Clone, Commit
from benchmarks.sets.releases import code
from benchmarks.sets.syntax_changes import (
    changes_behaviour,
    classify,
    differences,
    equal_ends,
    normalized_tree,
)

MANIFEST = HERE / "mined.json"
SINCE, COMMITS = "2019-01-01", 4000
"""Older commits may need a Python that is no longer in use."""
MOST = 15
"""Fixes of one package at most."""
SECONDS = 16.0
"""Processor time for one package."""
LONGEST = 6
"""Lines of code of a hunk, before and after."""
LONGEST_FILE = 8000
MOST_TESTS = 20
"""A commit that changes more test functions is no small fix."""
SEEN = ("releases.json", "packages.json")
"""Sets of packages whose bugs were looked at: these are in the half `learn`."""
_NO_FIX = re.compile(r"__version__|version_info|\bwarn(ings)?\b|deprecat|__all__", re.IGNORECASE)
_IMPORT = re.compile(r"\s*(from\s+\S+\s+)?import\b")
_DEFINITION = re.compile(r"\s*(async\s+def|def|class)\s+(\w+)")
_NOT_PRODUCT = frozenset((
    "test", "tests", "testing", "docs", "doc", "examples", "example", "benchmarks", "benchmark",
    "tools", "scripts", "ci", "bench", "tasks", "fuzz", "news", "changes",
))  # fmt: skip
_NOT_PRODUCT_FILES = frozenset(
    ("setup.py", "noxfile.py", "tasks.py", "conftest.py", "release.py", "__about__.py")
)
_OTHER_CODE = (".pyx", ".c", ".h", ".rs", ".js", ".ts", ".html", ".lark", ".css", ".json")


@dataclass(frozen=True)
class Fix:
    """Where a fix is."""

    commit: str
    parent: str
    date: str
    path: str
    lines: tuple[int, int]
    """First and last line in the parent; of an insertion, the lines around it."""
    tests: dict[str, list[str]]
    """Names of the changed test functions by path."""
    kind: str


@dataclass
class Package:
    """A package and its fixes."""

    name: str
    repository: str
    half: str
    fixes: list[Fix] = field(default_factory=list)


def half_of(name: str) -> str:
    """Return the half of a package.

    Args:
        name: Its name.
    """
    seen = {one["name"] for file in SEEN for one in json.loads((HERE / file).read_text())}
    if {name, name.removeprefix("python-"), name.removesuffix(".py"), f"{name}2"} & seen:
        return "learn"
    return "judge" if hashlib.sha256(name.encode()).digest()[0] % 2 else "learn"


def load() -> list[Package]:
    """Read the manifest."""
    if not MANIFEST.is_file():
        return []
    return [
        Package(
            one["name"], one["repository"], one["half"],
            [Fix(**{**fix, "lines": tuple(fix["lines"])}) for fix in one["fixes"]],
        )
        for one in json.loads(MANIFEST.read_text())
    ]  # fmt: skip


def save(packages: list[Package]) -> None:
    """Write the manifest, one line for each fix."""
    written = []
    for package in sorted(packages, key=lambda one: one.name):
        head = json.dumps({**asdict(package), "fixes": []})[:-2]
        lines = ",\n".join(f"  {json.dumps(asdict(fix))}" for fix in package.fixes)
        written.append(f"{head}\n{lines}\n]}}" if lines else f"{head}]}}")
    MANIFEST.write_text("[\n" + ",\n".join(written) + "\n]\n")


def mine(clone: Clone) -> Iterator[Fix]:
    """Yield the fixes of a history, newest first.

    Args:
        clone: The repository.
    """
    seen: set[tuple[str, str]] = set()
    for commit in clone.commits(SINCE, COMMITS):
        path = product_path(commit)
        fix = _examine(clone, commit, path) if path else None
        # The same change on another branch has the same tests.
        if fix is not None and (fix.path, json.dumps(fix.tests)) not in seen:
            seen.add((fix.path, json.dumps(fix.tests)))
            yield fix


def product_path(commit: Commit) -> str | None:
    """Return the only product file that a commit changes beside tests, or None.

    Args:
        commit: The commit.
    """
    tests = [path for _, path in commit.changes if is_test(path)]
    rest = [(letter, path) for letter, path in commit.changes if not is_test(path)]
    product = [(letter, path) for letter, path in rest if path.endswith(".py")]
    product = [(letter, path) for letter, path in product if _is_product(path)]
    if any(path.endswith(_OTHER_CODE) for _, path in rest) or not tests:
        return None
    return product[0][1] if len(product) == 1 and product[0][0] == "M" else None


def is_test(path: str) -> bool:
    """Return True for a file of a test suite.

    Args:
        path: Its path.
    """
    *folders, name = path.split("/")
    named = name.startswith("test_") or name.endswith(("_test.py", "_tests.py"))
    return named or name in ("conftest.py", "tests.py") or bool({"test", "tests"} & set(folders))


def _is_product(path: str) -> bool:
    *folders, name = path.split("/")
    return not _NOT_PRODUCT & set(folders) and name not in _NOT_PRODUCT_FILES


def _examine(clone: Clone, commit: Commit, path: str) -> Fix | None:
    """Return a commit's fix, or None if it is not one."""
    old, new = clone.text(commit.parent, path), clone.text(commit.name, path)
    if old is None or new is None:
        return None
    change = small_change(old, new)
    if change is None:
        return None
    right, first, last = change
    found = differences(normalized_tree(old), normalized_tree(right))
    tests = _changed_tests(clone, commit) if changes_behaviour(found) else {}
    if not tests or sum(map(len, tests.values())) > MOST_TESTS:
        return None
    return Fix(commit.name, commit.parent, commit.date, path, (first, last), tests, classify(found))


@dataclass(frozen=True)
class _Hunk:
    """Lines that differ, as indices, with the lines between them."""

    old: tuple[int, int]
    new: tuple[int, int]


def small_change(old: str, new: str) -> tuple[str, int, int] | None:
    """Return the text with the one change of behaviour, and its first and last line in `old`.

    Hunks that change comments, docstrings or annotations alone are left out. None if there is no such change, or if
    it is large, or if there are several and not just two single tokens.

    Args:
        old: A file before.
        new: The file after.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if max(len(before), len(after)) > LONGEST_FILE:
        return None
    hunks = [
        hunk
        for hunk in _hunks(before, after)
        if code(tuple(before[slice(*hunk.old)])) != code(tuple(after[slice(*hunk.new)]))
    ]
    if not 0 < len(hunks) <= 5:
        return None
    try:
        start = ast.dump(normalized_tree(old))
        effective = [
            hunk
            for hunk in hunks
            if ast.dump(normalized_tree(_apply(before, after, [hunk]))) != start
        ]
    except (SyntaxError, ValueError, RecursionError):
        return None
    if not effective or not _is_small(before, after, effective):
        return None
    right = _apply(before, after, effective)
    first, last = effective[0].old[0] + 1, effective[-1].old[1]
    return right, min(first, max(last, 1)), max(first, last)


def _is_small(before: list[str], after: list[str], hunks: list[_Hunk]) -> bool:
    sides = [(tuple(before[slice(*hunk.old)]), tuple(after[slice(*hunk.new)])) for hunk in hunks]
    if len(sides) > 2 or (len(sides) == 2 and not all(map(_is_one_token, sides))):
        return False
    old_code, new_code = code(sides[0][0]), code(sides[0][1])
    both = [*old_code, *new_code]
    if max(len(old_code), len(new_code)) > LONGEST or any(map(_NO_FIX.search, both)):
        return False
    defined = [
        {m[2] for line in one if (m := _DEFINITION.match(line))} for one in (old_code, new_code)
    ]
    return not defined[1] - defined[0] and not all(map(_IMPORT.match, both))


def _is_one_token(sides: tuple[tuple[str, ...], tuple[str, ...]]) -> bool:
    try:
        old, new = (
            [
                t.string
                for t in tokenize.generate_tokens(io.StringIO("".join(side).strip()).readline)
            ]
            for side in sides
        )
    except (tokenize.TokenError, IndentationError):
        return False
    return len(old) == len(new) and sum(a != b for a, b in zip(old, new, strict=True)) == 1


def _hunks(before: list[str], after: list[str]) -> list[_Hunk]:
    """Return where two texts differ, as a diff with three lines of context parts it."""
    head, tail = equal_ends(before, after)
    one, other = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(one), len(other)) > 1500:
        return []
    found: list[_Hunk] = []
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = (head + i, head + i_end), (head + j, head + j_end)
        if found and old[0] - found[-1].old[1] <= 3:
            found[-1] = _Hunk((found[-1].old[0], old[1]), (found[-1].new[0], new[1]))
        else:
            found.append(_Hunk(old, new))
    return found


def _apply(before: list[str], after: list[str], hunks: list[_Hunk]) -> str:
    lines = list(before)
    for hunk in reversed(hunks):
        lines[slice(*hunk.old)] = after[slice(*hunk.new)]
    return "".join(lines)


def _changed_tests(clone: Clone, commit: Commit) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for letter, path in commit.changes:
        if letter in "AM" and path.endswith(".py") and is_test(path):
            old = clone.text(commit.parent, path) if letter == "M" else ""
            new = clone.text(commit.name, path)
            names = changed_functions(old or "", new or "")
            found.update({path: names} if names else {})
    return found


def changed_functions(old: str, new: str) -> list[str]:
    """Return the names of test functions that are new or changed.

    Args:
        old: A test file before.
        new: The test file after.
    """
    try:
        before, after = _functions(ast.parse(old)), _functions(ast.parse(new))
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [name for name, dump in after.items() if before.get(name) != dump]


def _functions(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith(
                "test"
            ):
                found[prefix + one.name] = ast.dump(one)
    return found


def mine_packages(repositories: list[str], clones: Path) -> None:
    """Mine repositories and keep their fixes in the manifest."""
    for repository in repositories:
        packages = {one.name: one for one in load()}
        name = repository.rpartition("/")[2].lower()
        package = Package(name, repository, half_of(name))
        end = time.process_time() + SECONDS
        with Clone(clones / name) as clone:
            for fix in mine(clone):
                package.fixes.append(fix)
                if len(package.fixes) == MOST or time.process_time() > end:
                    break
        packages[name] = package
        save(list(packages.values()))
        print(f"{name}: {package.half}, {len(package.fixes)} fixes", flush=True)


def main() -> None:
    """Mine, or look at what was mined."""
    from benchmarks.sets import mined_reach  # it reads this module

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=Path, default=ROOT / "build" / "clones")
    parser.add_argument("--label", action="append", help="name of a measurement")
    parser.add_argument("what", choices=("mine", "reach", "table"))
    parser.add_argument("names", nargs="*")
    asked: Any = parser.parse_intermixed_args()
    labels = asked.label or ["now"]
    if asked.what == "mine":
        mine_packages(asked.names, asked.clones)
    elif asked.what == "reach":
        for package in load():
            if package.name in asked.names:
                mined_reach.measure(package, asked.clones, labels[0])
    else:
        mined_reach.print_tables(load(), labels)


if __name__ == "__main__":
    main()
