"""Bug sets of single programs: QuixBugs and HumanEvalFix, as folders or as one file of JSON lines."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sets.bug import Bug, relative
from benchmarks.sets.halves import without

SETS = ("quixbugs", "humanevalfix")
_REFERENCE = "correct/"
_NOT_SHOWN = (_REFERENCE, "meta.json")


def programs_of(folder: Path) -> Iterator[Bug]:
    """Every program of a set, by name.

    Args:
        folder: Holds `programs.jsonl`, or a folder for each program with its `meta.json`.
    """
    for name, files in sorted(_read(folder)):
        yield _program(name, files)


def case_of(test: str) -> str:
    """Programs hide every parameter set for itself."""
    return test


def _read(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    packed = folder / "programs.jsonl"
    if packed.is_file():
        for line in packed.read_text().splitlines():
            program = json.loads(line)
            yield program["id"], program["files"]
    for meta in folder.glob("*/meta.json"):
        files = [p for p in meta.parent.rglob("*") if p.is_file() and p.suffix in {".py", ".json"}]
        yield meta.parent.name, {str(p.relative_to(meta.parent)): p.read_text() for p in files}


def _program(name: str, files: Mapping[str, str]) -> Bug:
    meta: dict[str, Any] = json.loads(files["meta.json"])
    test_file = next(path for path in sorted(files) if path.startswith("test_"))
    failing = list(meta["failing"])
    numbered = [f"test_{number:02}" for number in range(int(meta["n_tests"]))]
    passing = meta.get("passing", [test for test in numbered if test not in failing])
    right = {
        p.removeprefix(_REFERENCE): text for p, text in files.items() if p.startswith(_REFERENCE)
    }
    tests = sorted([*failing, *passing], key=_place)
    stem = next(path for path in right).removesuffix(".py")
    return Bug(
        name=name,
        right=right,
        tests=tuple(f"{test_file}::{test}" for test in tests),
        failing=frozenset(f"{test_file}::{test}" for test in failing),
        plant=_Planted(files, test_file),
        targets=(f"{stem}:{meta.get('entry_point', stem)}",),
        repository="local:bench-programs",
        about={"cases": "cases.json" in files, "type": meta.get("bug_type", "")},
    )


def _place(test: str) -> tuple[str, int, str]:
    """In the order of the parameter sets, where they are numbered."""
    name, _, parameters = test.partition("[")
    digits = "".join(c for c in parameters.partition("-")[0] if c.isdigit())
    return name, int(digits) if digits and parameters.startswith("input_data") else 0, test


@dataclass(frozen=True)
class _Planted:
    """Writes a program and the tests that may be seen, never its reference."""

    files: Mapping[str, str]
    test_file: str

    def __call__(self, folder: Path, hidden: Collection[str]) -> None:
        for path, text in self.files.items():
            if not path.startswith(_NOT_SHOWN):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(self._cut(path, text, hidden))

    def _cut(self, path: str, text: str, hidden: Collection[str]) -> str:
        if path == "cases.json" and any("[" in test for test in hidden):
            numbers = {_place(test.partition("::")[2])[1] for test in hidden}
            lines = text.splitlines(keepends=True)
            return "".join(line for number, line in enumerate(lines) if number not in numbers)
        if path == self.test_file and hidden and not any("[" in test for test in hidden):
            return without(text, {relative(test)[1] for test in hidden})
        return text
