"""Bugs that need new code: a rule is missing, as in the bugs in two places, without their slip."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sets.bug import Bug
from benchmarks.sets.hybrid import HYBRID, Halved, without

RULES = "rules"
SHOWN, HIDDEN = "test_shown.py", "test_hidden.py"


def rule_bugs() -> Iterator[Bug]:
    """Yield each bug of the hybrid set with its written half missing; its own tests stay hidden."""
    for halved in HYBRID:
        path = halved.written[0]
        shown = _tests(SHOWN, halved.shown)
        yield Bug(
            name=halved.name,
            right={path: halved.right[path]},
            tests=(*shown, *_tests(HIDDEN, halved.hidden)),
            # Every test shown runs through the missing rule.
            failing=frozenset(shown),
            plant=_Planted(halved, without(dict(halved.right), halved.written)),
            repository="local:bench-programs",
            about={"cases": True, "hidden": _tests(HIDDEN, halved.hidden)},
        )


def _tests(path: str, text: str) -> tuple[str, ...]:
    names = (one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef))
    return tuple(f"{path}::{name}" for name in names if name.startswith("test"))


@dataclass(frozen=True)
class _Planted:
    """Writes the program without the rule, and the tests that may be seen."""

    halved: Halved
    broken: Mapping[str, str]

    def __call__(self, folder: Path, hidden: Collection[str]) -> None:
        files = {**self.broken, SHOWN: self.halved.shown}
        if not hidden:
            files[HIDDEN] = self.halved.hidden
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
