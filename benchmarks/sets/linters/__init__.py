"""Findings for `benchmarks.linters`: a small file for each rule of a usual configuration.

The files were written by hand, before anything was run on them. A rule is in the half `learn` or
`judge` by the hash of its name. What stayed unrepaired in the first run was looked at in both halves,
and two causes were repaired: fixes of ruff that cause another finding, and messages of several lines.
So no half is unseen any more.
"""

import hashlib
import re
from pathlib import Path
from typing import Literal, NamedTuple

Half = Literal["learn", "judge"]
_FOLDER = Path(__file__).parent
_RULE = re.compile(r"^==== (\S+)\n", re.MULTILINE)


class LinterSet(NamedTuple):
    """Rules of one configuration.

    Attributes:
        name: The set's name, and that of its file.
        suffix: Of the linted files.
        command: The check of a file.
        fix: What a user would run on it instead.
        files: Configuration, by path.
        packages: Packages of Node.js.
    """

    name: str
    suffix: str
    command: str
    fix: str
    files: dict[str, str]
    packages: tuple[str, ...] = ()


class Sample(NamedTuple):
    """A file with a finding of one rule."""

    rule: str
    text: str

    @property
    def half(self) -> Half:
        """The half of the rule."""
        digest = hashlib.sha256(self.rule.encode()).digest()
        return "learn" if digest[0] % 2 else "judge"


_RUFF = "--select E,F,B,SIM,UP,C4,RET --target-version py311"
SETS = (
    LinterSet(
        name="ruff",
        suffix=".py",
        command=f"ruff check {_RUFF}",
        fix=f"ruff check {_RUFF} --fix",
        files={"requirements.txt": "ruff\npytest\n"},
    ),
    LinterSet(
        name="eslint",
        suffix=".js",
        command="npx eslint",
        fix="npx eslint --fix",
        files={
            "eslint.config.mjs": 'import js from "@eslint/js";\n\n'
            "export default [js.configs.recommended];\n"
        },
        packages=("eslint@10", "@eslint/js@10"),
    ),
    LinterSet(
        name="typescript",
        suffix=".ts",
        command="npx eslint",
        fix="npx eslint --fix",
        files={
            "eslint.config.mjs": 'import ts from "typescript-eslint";\n\n'
            "export default ts.config(ts.configs.recommended);\n"
        },
        packages=("eslint@9", "typescript@5.9.3", "typescript-eslint@8"),
    ),
)


def read_samples(chosen: LinterSet) -> tuple[Sample, ...]:
    """Return the samples of a set."""
    _, *parts = _RULE.split((_FOLDER / f"{chosen.name}.txt").read_text())
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return tuple(Sample(rule, text) for rule, text in pairs)
