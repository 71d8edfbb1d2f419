"""Signs from failing tests: tracebacks, conditions, differing values, quoted names."""

from __future__ import annotations

import ast
import re
from typing import Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.locate.failure_report import FailureReport, quoted_names
from sandbox.guest.search.locate.flow import find_bindings, find_controllers
from sandbox.guest.search.locate.missed import BODY, REASON, missed_branches
from sandbox.guest.search.locate.signs import all_lines, clue_score, node_name
from sandbox.guest.search.locate.spectrum import Place
from sandbox.guest.search.locate.values import collect_clues
from sandbox.guest.search.source.functions import Unit

MOST_TELLING = 60
"""Maximum number of lines with clues in a file; with more, none is meaningful."""
FARTHER = 0.9
"""Weight of each exception in a chain relative to the previous one."""
MISSED = 1.5
"""Weight of a condition that should have led to an exception."""
MOST_SAID = 10
MOST_DERIVED = 4
"""Maximum depth of classes derived from the expected exception."""

Sign = Tuple[Place, str, float, str]
"""Place, name of the weight, share of the weight, reason."""


class Failures:
    """Finds suspicious lines from the failures of tests.

    Args:
        said: The failure of each test that raised an exception.
        files: The source files.
        units: The functions that failing tests run.
        hit: The lines that failing tests run.
    """

    def __init__(
        self,
        said: Sequence[FailureReport],
        files: Mapping[str, CodeFile],
        units: Sequence[Unit],
        hit: Set[Place],
    ) -> None:
        self._said = said
        self._files = files
        self._units = units
        self._hit = hit

    def signs(self) -> Iterator[Sign]:
        """Yield all signs."""
        share = 1.0 / max(1, len(self._said))
        for said in self._said:
            yield from self._traceback(said, share)
            for place in self._not_raised(said):
                yield from self._leading_to(
                    place, "decides whether the missing exception is raised", share * MISSED
                )
        yield from self._values()
        yield from self._quoted()
        yield from self._missed()

    def _traceback(self, said: FailureReport, share: float) -> Iterator[Sign]:
        for number, frames in enumerate(said.frames):
            inwards = dict.fromkeys((path, line) for path, line, _ in reversed(frames))
            for depth, place in enumerate(inwards):
                sign, part = ("raised", 1.0) if depth == 0 else ("frame", 1.0 / depth)
                yield place, sign, share * part * FARTHER**number, "in the traceback"
                if depth == 0:
                    yield from self._leading_to(place, "leads to the line that raises", share)

    def _not_raised(self, said: FailureReport) -> List[Place]:
        """Return the lines that could raise an exception that a test expected but did not get."""
        first = said.message.partition("\n")[0]
        wanted = re.search(r"DID NOT RAISE(.*)|^(\w+) not raised", first)
        if wanted is None:
            return []
        names = self._with_subclasses(
            {wanted[2]} if wanted[2] else set(re.findall(r"\w+", wanted[1]))
        )
        raising = [
            (
                (unit.source.path, node.lineno),
                any(node_name(inner) in names for inner in ast.walk(node)),
            )
            for unit in self._units
            for node in ast.walk(unit.node)
            if isinstance(node, ast.Raise) and node.exc is not None
        ]
        named = [place for place, is_named in raising if is_named]
        return (named or [place for place, _ in raising])[:20]

    def _with_subclasses(self, names: Set[str]) -> Set[str]:
        """Return the names of exceptions and of the classes derived from them."""
        bases = {
            piece.statement.name: {node_name(base) for base in piece.statement.bases}
            for _, file in sorted(self._files.items())
            for piece in file.pieces
            if isinstance(piece.statement, ast.ClassDef)
        }
        for _ in range(MOST_DERIVED):
            names = names | {name for name, of in bases.items() if of & names}
        return names

    def _leading_to(self, place: Place, reason: str, share: float) -> Iterator[Sign]:
        """Yield the conditions that decide whether a line runs, and bindings of its values."""
        path, line = place
        file = self._files.get(path)
        unit = file.unit_at(line) if file else None
        statement = file.statement_at(line) if file else None
        if file is None or unit is None or statement is None:
            return
        leading: Dict[int, float] = dict(find_controllers(statement, unit.node))
        for one in [statement, *filter(None, map(file.statement_at, list(leading)))]:
            for number, near in find_bindings(one, unit.node, self._methods_beside(unit)).items():
                leading.setdefault(number, near)
        for number, near in leading.items():
            if (path, number) in self._hit and number != line:
                yield (path, number), "controls", share * near, reason

    def _methods_beside(self, unit: Unit) -> List[ast.AST]:
        """Return the methods of the same class, for their bindings of `self` attributes."""
        if len(unit.names) < 2:
            return []
        return [
            u.node
            for u in self._units
            if u.source is unit.source and u.names[:-1] == unit.names[:-1]
        ]

    def _values(self) -> Iterator[Sign]:
        clues = collect_clues([pair for said in self._said[:MOST_SAID] for pair in said.pairs][:40])
        for path, file in self._files.items():
            found = {
                line: share
                for line in all_lines(file)
                if (share := clue_score(file.on(line), clues)) > 0
            }
            for line, share in found.items() if len(found) <= MOST_TELLING else ():
                if (path, line) in self._hit or file.unit_at(line) is None:
                    yield (path, line), "value", share, "a literal that explains the wrong value"

    def _quoted(self) -> Iterator[Sign]:
        names = {
            n
            for said in self._said[:MOST_SAID]
            if not said.asserted
            for n in quoted_names(said.message)
        }
        for place in sorted(self._hit) if names else ():
            file = self._files.get(place[0])
            if file and any(node_name(node) in names for node in file.on(place[1])):
                yield place, "named", 1.0, "a name that the message quotes"

    def _missed(self) -> Iterator[Sign]:
        for branch in missed_branches(self._said[:MOST_SAID], self._files, self._units, self._hit):
            yield branch.head, "missed", branch.share, REASON
            for place in branch.body:
                yield place, "missed", branch.share * BODY, REASON
