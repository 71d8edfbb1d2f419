"""Parse a Makefile with the files that it includes: variables, rules and conditions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.recipe.files import inside
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.make_values import (
    MATCHING_STEPS,
    MOST_CHARACTERS,
    SHELL,
    MakeExhausted,
    MakeValues,
    fill_stem,
    known_words,
    match_stem,
)

_ASSIGNMENT = re.compile(r"(?:export\s+|override\s+)*([\w.-]{1,80})\s*(\?=|::?=|\+=|!=|=)\s?(.*)")
_EXPORT = re.compile(r"export\s([^:=#]*)")
_ENDS_NEEDS = re.compile(r"[;#=]")
_QUOTED_SIDES = re.compile(r"""(["'])([^"']*)\1[ \t]*(["'])([^"']*)\3""")
_DIRECTIVE = re.compile(
    r"\s*(ifeq|ifneq|ifdef|ifndef|else|endif|define|endef|-?include|sinclude|vpath|unexport)\b(.*)"
)
KNOWN = {
    "PYTHON": "python",
    "PYTHON3": "python",
    "SHELL": "/bin/sh",
    "MAKE": "make",
    "CURDIR": ".",
    "RM": "rm -f",
}
"""Variables that make, or most jobs, set."""
_MOST_LINES = 5000
_MOST_INCLUDED = 40
_DEEPEST = 8


@dataclass
class MakeRule:
    """The rule of one target."""

    prerequisites: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """The target's own variables."""
    exported: set[str] = field(default_factory=set)


@dataclass
class _Condition:
    """One `ifeq` up to its `endif`."""

    taken: bool
    """A branch was chosen: no later one is."""
    skipping: bool
    """The lines of the branch are not read, nor are the branches in it."""


@dataclass
class Makefile:
    """Variables and rules of a Makefile, parsed line by line.

    Args:
        context: The files of the checkout.
        folder: The folder in which make works.
        environment: Variables that `?=` does not override.
        given: Assignments of the command line, which take precedence.
    """

    context: ToolContext
    folder: str
    environment: Mapping[str, str]
    given: Mapping[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    rules: dict[str, MakeRule] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    first: str = ""
    _included: int = 0
    _current: list[MakeRule] = field(default_factory=list)
    """The rules to which the next commands belong."""
    _is_new: bool = True
    _conditions: list[_Condition] = field(default_factory=list)
    _define: list[str] | None = None
    """The lines of the variable that a `define` began; its name comes first."""

    @property
    def values(self) -> MakeValues:
        """Return the variables as they are now."""
        return MakeValues(self.variables, self.context.files, self.folder, self.context.budget)

    def read(self, path: str, depth: int = 0) -> None:
        """Parse a file.

        Raises:
            MakeExhausted: It expands to more than the budget allows.
        """
        text = self.context.files.text(path)
        if not self.context.budget.spend(len(text)):
            raise MakeExhausted
        self.variables["MAKEFILE_LIST"] = f"{self.variables.get('MAKEFILE_LIST', '')} {path}"
        lines = re.sub(r"\\\r?\n[ \t]*", " ", text).splitlines()
        if len(lines) > _MOST_LINES:
            raise MakeExhausted  # the check may be behind them
        for line in lines:
            self._line(line, depth)

    @property
    def _skipping(self) -> bool:
        return bool(self._conditions) and self._conditions[-1].skipping

    def _line(self, line: str, depth: int) -> None:
        if self._define is not None and not re.match(r"\s*endef\b", line):
            self._define.append(line)
        elif line.startswith("\t") and self._current:
            if not self._skipping:
                self._add_command(line.strip())
        elif (directive := _DIRECTIVE.match(line)) is not None:
            self._directive(directive[1], directive[2].strip(), depth)
        elif self._skipping or not line.strip() or line.lstrip().startswith("#"):
            return
        elif (named := _EXPORT.fullmatch(line.strip())) is not None:
            self.exported.update(known_words(self.values.expand(named[1])))
        elif (assignment := _ASSIGNMENT.fullmatch(line.strip())) is not None:
            self._assign(assignment, self.variables)
            if line.startswith("export"):
                self.exported.add(assignment[1])
            self._current = []
        else:
            self._begin_rule(line.rstrip())

    def _add_command(self, line: str) -> None:
        """Add a line to the recipes of the current targets; a later recipe replaces another one."""
        for rule in self._current:
            if self._is_new:
                rule.recipe = []
            rule.recipe.append(line)
        self._is_new = False

    def _directive(self, name: str, rest: str, depth: int) -> None:
        if name in {"define", "endef"} or "include" in name:
            self._current = []  # no command of a rule follows
        if name in {"define", "endef"}:
            self._end_define()
            self._define = [rest.rstrip(":=").strip()] if name == "define" else None
        elif name == "endif":
            del self._conditions[-1:]
        elif name == "else":
            self._else(rest)
        elif name.startswith("if"):
            holds = not self._skipping and self._holds(name, rest)
            self._conditions.append(_Condition(taken=holds, skipping=not holds))
        elif "include" in name and not self._skipping:
            self._include(rest, depth, optional=name != "include")

    def _end_define(self) -> None:
        if self._define and not self._skipping:
            name, *lines = self._define
            self.variables[name] = "\n".join(line.strip() for line in lines)[:MOST_CHARACTERS]

    def _else(self, rest: str) -> None:
        """Take the other branch, which may have a condition of its own: `else ifeq (a,b)`."""
        if not self._conditions:
            return
        condition = self._conditions.pop()
        again = _DIRECTIVE.match(rest)
        holds = not condition.taken and not self._skipping
        if holds and again is not None and again[1].startswith("if"):
            holds = self._holds(again[1], again[2].strip())
        self._conditions.append(_Condition(condition.taken or holds, skipping=not holds))

    def _holds(self, name: str, rest: str) -> bool:
        """Evaluate a condition on variables; an undecidable one holds."""
        if name in {"ifdef", "ifndef"}:
            return bool(self.variables.get(self.values.expand(rest), "")) is (name == "ifdef")
        sides = _sides(rest)
        values = {self.values.expand(side).strip() for side in sides or ()}
        if sides is None or any(SHELL in value for value in values):
            return True
        return (len(values) == 1) is (name == "ifeq")

    def _include(self, rest: str, depth: int, *, optional: bool) -> None:
        """Parse the files that an `include` names."""
        found, files = self.values.expand(rest.partition("#")[0]), self.context.files
        for name in known_words(found):
            self.values.spend(MATCHING_STEPS * len(files.names) if "*" in name else 0)
            names = files.matching(name, self.folder) if "*" in name else [name]
            for one in names:
                self._included += 1
                path = inside(self.folder, one)
                if depth >= _DEEPEST or self._included > _MOST_INCLUDED:
                    self.context.log.dropped(f"include {one}", "too many files are included")
                elif path is not None and path in files.contents:
                    self.read(path, depth + 1)
                elif not optional and one not in self.rules:
                    self.context.log.dropped(f"include {one}", "the file is not read")
        if SHELL in found and not optional:
            self.context.log.dropped(f"include {rest}", "only a shell knows its name")

    def _assign(self, found: re.Match[str], variables: dict[str, str]) -> None:
        name, operator, value = found[1], found[2], re.sub(r"\s#.*$", "", found[3]).strip()
        is_set = name in self.environment or (name in variables and name not in KNOWN)
        if name in self.given or (operator == "?=" and is_set):
            return
        if operator == "+=":
            value = f"{variables.get(name, self.variables.get(name, ''))} {value}".strip()
        elif operator == "!=":
            value = f"$(shell {value})"
        elif operator.endswith(":=") and "$" in value:
            value = self._immediate(value)
        variables[name] = value[:MOST_CHARACTERS]

    def _immediate(self, value: str) -> str:
        """Return the text of a variable that is expanded now: it may name its own old value."""
        found = self.values.expand(value)
        # What only a shell knows is expanded when it is used.
        return value if SHELL in found else found.replace("$", "$$")

    def _begin_rule(self, line: str) -> None:
        """Add a line's prerequisites, command or variable to the rules of its targets."""
        self._current, self._is_new = [], True
        written, _, rest = line.partition(":")
        if (own := _ASSIGNMENT.fullmatch(rest.strip())) is not None:
            self._add_variable(written, own, exported=rest.lstrip().startswith("export"))
            return
        head, semicolon, command = line.partition(";")
        named, is_rule, wanted = self.values.expand(head.partition("#")[0]).partition(":")
        if not is_rule or wanted.startswith("=") or "=" in named:
            return
        wanted = _ENDS_NEEDS.split(wanted.removeprefix(":"), maxsplit=1)[0]
        pattern, colon, after = wanted.partition(":")
        needs = known_words((after if colon else pattern).partition("|")[0])
        targets = known_words(named)
        self.values.spend(len(targets) * len(needs))
        for target in targets:
            rule = self.rules.setdefault(target, MakeRule())
            stem = match_stem(pattern.strip(), target) if colon else None
            rule.prerequisites += (
                needs if stem is None else [fill_stem(self.values, name, stem) for name in needs]
            )
            self._current.append(rule)
            if not self.first and not target.startswith(".") and "%" not in target:
                self.first = target
        if semicolon:
            self._add_command(command.strip())

    def _add_variable(self, targets: str, found: re.Match[str], *, exported: bool) -> None:
        for target in known_words(self.values.expand(targets)):
            rule = self.rules.setdefault(target, MakeRule())
            self._assign(found, rule.variables)
            if exported:
                rule.exported.add(found[1])


def _sides(text: str) -> tuple[str, str] | None:
    """Return what a condition compares, in `(a,b)` or `"a" "b"`; None if that is not plain."""
    if (quoted := _QUOTED_SIDES.fullmatch(text)) is not None:
        return quoted[2], quoted[4]
    if not (text.startswith("(") and text.endswith(")")):
        return None
    depth = 0
    for found in re.finditer(r"[(){},]", text[1:-1]):
        depth += (found[0] in "({") - (found[0] in ")}")
        if found[0] == "," and not depth:
            left, right = text[1 : found.start() + 1], text[found.start() + 2 : -1]
            return left.strip().strip("\"'"), right.strip().strip("\"'")
    return None
