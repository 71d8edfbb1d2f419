"""Read `make test`: the requested targets' recipes with prerequisites and variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.recipe.command import classify_command
from sandbox.recipe.files import beside, inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, read_options
from sandbox.recipe.tools.make_file import KNOWN, Makefile, MakeRule
from sandbox.recipe.tools.make_values import (
    MOST_CHARACTERS,
    SHELL,
    UNKNOWN,
    MakeExhausted,
    fill_stem,
    for_shell,
    match_stem,
)
from sandbox.types import StepKind

_NAMES = ("GNUmakefile", "makefile", "Makefile")
_VALUED = frozenset({"-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W"})
_RUNNER = {"CI": "true", "GITHUB_ACTIONS": "true"}
"""Variables of every runner that a Makefile may ask for."""
_PIECES = re.compile(r"&&|\|\||[;,()]")
_TASK = re.compile(r"[\w-]+")
"""The name of a target that is hardly a file."""
_MOST_LINES = 200
_MOST_TARGETS = 60
_DEEPEST = 20


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of make."""
    options = read_options(call.words[1:], _VALUED)
    folder = call.folder
    for value in options.values("-C", "--directory"):
        folder = inside(folder, value) or folder
    named = options.values("-f", "--file", "--makefile")[-1:] or [
        n for n in _NAMES if context.files.is_file(beside(folder, n))
    ]
    path = beside(folder, named[0]) if named else beside(folder, "Makefile")
    jobs = re.compile(r"\d+")
    if not context.files.text(path):
        context.log.dropped(call.line(), f"there is no readable {path}")
        return None
    words = [word for word in (*options.positional, *options.rest) if not jobs.fullmatch(word)]
    given = dict(
        word.split("=", 1) for word in words if re.fullmatch(r"[\w.-]+=.*", word, re.DOTALL)
    )
    environment = {**_RUNNER, **context.variables, **call.environment}
    makefile = Makefile(context, folder, environment, given, {**KNOWN, **environment, **given})
    reading = ToolReading()
    try:
        makefile.read(path)
        targets = [word for word in words if "=" not in word] or [makefile.first]
        reason = f"the commands of {', '.join(targets)} in {path} are run"
        context.log.replaced(call.line(), reason)
        patterns = [name for name in makefile.rules if "%" in name]
        run = _Run(makefile, context, folder, given, patterns)
        for target in targets:
            reading = reading.plus(run.target(target))
    except MakeExhausted:
        context.log.dropped(call.line(), "the Makefile is too large, or read too often")
        return None
    return reading if run.done else None


@dataclass
class _Run:
    makefile: Makefile
    context: ToolContext
    folder: str
    given: Mapping[str, str]
    patterns: list[str]
    """The targets with `%`."""
    seen: set[str] = field(default_factory=set)
    done: bool = False

    def target(
        self, name: str, own: Mapping[str, str] | None = None, depth: int = 0
    ) -> ToolReading:
        """Return the commands of a target, after those of its prerequisites; each once.

        Args:
            name: The target.
            own: Variables of the targets that need it.
            depth: The number of these targets.
        """
        if name in self.seen:  # targets may depend on each other in a circle
            return ToolReading()
        rule, stem = self._find(name)
        if rule is None:
            return ToolReading() if self._exists(name) else self._missing(name)
        if depth > _DEEPEST or len(self.seen) >= _MOST_TARGETS:
            raise MakeExhausted  # a part of the targets alone could hide the failing one
        self.seen.add(name)
        self.done = True
        own = {**(own or {}), **rule.variables}
        values = self.makefile.values
        needed = [fill_stem(values, one, stem) if stem else one for one in rule.prerequisites]
        reading = ToolReading()
        for prerequisite in needed:
            reading = reading.plus(self.target(prerequisite, own, depth + 1))
        automatic = {"@": name, "<": next(iter(needed), ""), "^": " ".join(needed), "*": stem}
        return reading.plus(self._recipe(rule, {**own, **automatic}))

    def _missing(self, name: str) -> ToolReading:
        """Return the obstacle of a check without a rule: its file was not read."""
        reason = "there is no such target"
        self.context.log.dropped(f"make {name}", reason)
        is_check = _TASK.fullmatch(name) and classify_command(f"make {name}") is not StepKind.OTHER
        return ToolReading(obstacles=(f"`make {name[:100]}`: {reason}",) if is_check else ())

    def _find(self, name: str) -> tuple[MakeRule | None, str]:
        """Return the rule of a target, and what the `%` of its pattern stands for."""
        exact, by_pattern = self.makefile.rules.get(name), self._by_pattern(name)
        if exact is not None and (exact.recipe or by_pattern is None):
            return exact, ""
        if by_pattern is None:
            return None, ""
        rule, stem = by_pattern
        if exact is None:
            return rule, stem
        needed = [*exact.prerequisites, *rule.prerequisites]
        return MakeRule(needed, rule.recipe, exact.variables, exact.exported), stem

    def _by_pattern(self, name: str) -> tuple[MakeRule, str] | None:
        """Return the rule with the closest pattern whose prerequisites exist or have a rule."""
        values = self.makefile.values
        values.spend(len(self.patterns))
        stems = ((pattern, match_stem(pattern, name)) for pattern in self.patterns)
        matching = [(len(stem), stem, pattern) for pattern, stem in stems if stem]
        for _, stem, pattern in sorted(matching):
            rule = self.makefile.rules[pattern]
            values.spend(len(rule.prerequisites) * len(self.patterns))
            needed = (fill_stem(values, one, stem) for one in rule.prerequisites)
            if all(self._exists(one) for one in needed):
                return rule, stem
        return None

    def _exists(self, name: str) -> bool:
        path = inside(self.folder, name)
        files = self.context.files
        is_there = path is not None and (files.is_file(path) or files.is_folder(path))
        return is_there or name in self.makefile.rules or self._is_made(name)

    def _is_made(self, name: str) -> bool:
        """Return True if a pattern without needs makes a file: chains of patterns are not read."""
        stems = ((pattern, match_stem(pattern, name)) for pattern in self.patterns)
        rules = (self.makefile.rules[one] for one, stem in stems if stem)
        return any(not rule.prerequisites for rule in rules)

    def _recipe(self, rule: MakeRule, own: Mapping[str, str]) -> ToolReading:
        """Return the commands of a target's own recipe."""
        values = self.makefile.values.with_(own)
        environment = {
            name: values.expand(f"$({name})")
            for name in sorted(self.makefile.exported | rule.exported)
            if name in values.own or name in values.variables
        }
        kept = {
            **{k: v for k, v in self.given.items() if re.fullmatch(r"[A-Za-z_]\w*", k)},
            **environment,
        }
        exported = {
            key: value for key, value in kept.items() if "$" not in value and SHELL not in value
        }
        is_one = ".ONESHELL" in self.makefile.rules
        lines = ["\n".join(rule.recipe)] if is_one else rule.recipe
        if len(rule.recipe) > _MOST_LINES:
            raise MakeExhausted
        reading = ToolReading()
        for written in lines:
            expanded = values.expand(written)
            if len(expanded) >= MOST_CHARACTERS:
                raise MakeExhausted  # what is cut off may be the check
            for text in [expanded] if is_one else expanded.splitlines():
                reading = reading.plus(self._line(text.strip(), written, exported))
        return reading

    def _line(self, text: str, written: str, exported: Mapping[str, str]) -> ToolReading:
        plain = re.sub(r"^(?:[@+-]\s*)+", "", text)
        if UNKNOWN in plain:
            reason = "only a shell knows what make computes here"
            self.context.log.dropped(written, reason)
            pieces = (piece.strip(" @-+") for piece in _PIECES.split(f"{written},{text}"))
            is_check = any(classify_command(one) is not StepKind.OTHER for one in pieces)
            return ToolReading(obstacles=(f"`{written[:100]}`: {reason}",) if is_check else ())
        if not plain:
            return ToolReading()
        tolerated = "-" in text[: len(text) - len(plain)]
        line = for_shell(plain)
        return self.context.script(f"{line} || true" if tolerated else line, self.folder, exported)
