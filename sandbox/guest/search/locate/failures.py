"""What the failing tests say, as signs: tracebacks, what leads to a raise, values that differ, names in messages."""

from __future__ import annotations

import ast
import re
from typing import Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.locate.flow import controllers, makers_of
from sandbox.guest.search.locate.said import Said, quoted_names
from sandbox.guest.search.locate.signs import clue, lines_of, name_of
from sandbox.guest.search.locate.spectrum import Place
from sandbox.guest.search.locate.values import clues_of
from sandbox.guest.search.source.functions import Unit

MOST_TELLING = 60
"""A file whose lines hold more clues than this holds none."""
FARTHER = 0.9
"""What each exception further along a chain counts of the one before."""
MISSED = 1.5
"""How much more a condition counts that should have led to an exception."""
MOST_SAID = 10
MOST_DERIVED = 4
"""How far down classes are derived from the one that was waited for."""

Sign = Tuple[Place, str, float, str]
"""Where, the name of its weight, how much of it, and in words."""


class Failures:
    """Reads what the failing tests said.

    Args:
        said: Of each failing test that failed with an exception.
        files: The files in question.
        units: The functions that failing tests run.
        hit: The lines that failing tests run.
    """

    def __init__(
        self, said: Sequence[Said], files: Mapping[str, CodeFile], units: Sequence[Unit], hit: Set[Place]
    ) -> None:
        self._said = said
        self._files = files
        self._units = units
        self._hit = hit

    def signs(self) -> Iterator[Sign]:
        """All signs."""
        share = 1.0 / max(1, len(self._said))
        for said in self._said:
            yield from self._traceback(said, share)
            for place in self._not_raised(said):
                yield from self._leading_to(place, "decides whether the missing exception is raised", share * MISSED)
        yield from self._values()
        yield from self._quoted()

    def _traceback(self, said: Said, share: float) -> Iterator[Sign]:
        for number, frames in enumerate(said.frames):
            inwards = dict.fromkeys((path, line) for path, line, _ in reversed(frames))
            for depth, place in enumerate(inwards):
                sign, part = ("raised", 1.0) if depth == 0 else ("frame", 1.0 / depth)
                yield place, sign, share * part * FARTHER**number, "in the traceback"
                if depth == 0:
                    yield from self._leading_to(place, "leads to the line that raises", share)

    def _not_raised(self, said: Said) -> List[Place]:
        """Lines that raise what a test waited for in vain, in functions that failing tests run; else all that raise."""
        first = said.message.partition("\n")[0]
        wanted = re.search(r"DID NOT RAISE(.*)|^(\w+) not raised", first)
        if wanted is None:
            return []
        names = self._with_kinds_of({wanted[2]} if wanted[2] else set(re.findall(r"\w+", wanted[1])))
        raising = [
            ((unit.source.path, node.lineno), any(name_of(inner) in names for inner in ast.walk(node)))
            for unit in self._units
            for node in ast.walk(unit.node)
            if isinstance(node, ast.Raise) and node.exc is not None
        ]
        named = [place for place, is_named in raising if is_named]
        return (named or [place for place, _ in raising])[:20]

    def _with_kinds_of(self, names: Set[str]) -> Set[str]:
        """Names of exceptions, and of the classes that are derived from them."""
        bases = {
            piece.statement.name: {name_of(base) for base in piece.statement.bases}
            for _, file in sorted(self._files.items())
            for piece in file.pieces
            if isinstance(piece.statement, ast.ClassDef)
        }
        for _ in range(MOST_DERIVED):
            names = names | {name for name, of in bases.items() if of & names}
        return names

    def _leading_to(self, place: Place, reason: str, share: float) -> Iterator[Sign]:
        """What decides whether a line runs, and what makes the values that it and these conditions use."""
        path, line = place
        file = self._files.get(path)
        unit = file.unit_at(line) if file else None
        statement = file.statement_at(line) if file else None
        if file is None or unit is None or statement is None:
            return
        leading: Dict[int, float] = dict(controllers(statement, unit.node))
        for one in [statement, *filter(None, map(file.statement_at, list(leading)))]:
            for number, near in makers_of(one, unit.node, self._methods_beside(unit)).items():
                leading.setdefault(number, near)
        for number, near in leading.items():
            if (path, number) in self._hit and number != line:
                yield (path, number), "controls", share * near, reason

    def _methods_beside(self, unit: Unit) -> List[ast.AST]:
        """The methods of the same class, for what they bind of `self`."""
        if len(unit.names) < 2:
            return []
        return [u.node for u in self._units if u.source is unit.source and u.names[:-1] == unit.names[:-1]]

    def _values(self) -> Iterator[Sign]:
        clues = clues_of([pair for said in self._said[:MOST_SAID] for pair in said.pairs][:40])
        for path, file in self._files.items():
            found = {line: share for line in lines_of(file) if (share := clue(file.on(line), clues)) > 0}
            for line, share in found.items() if len(found) <= MOST_TELLING else ():
                if (path, line) in self._hit or file.unit_at(line) is None:
                    yield (path, line), "value", share, "a literal that explains the wrong value"

    def _quoted(self) -> Iterator[Sign]:
        names = {n for said in self._said[:MOST_SAID] if not said.asserted for n in quoted_names(said.message)}
        for place in sorted(self._hit) if names else ():
            file = self._files.get(place[0])
            if file and any(name_of(node) in names for node in file.on(place[1])):
                yield place, "named", 1.0, "a name that the message quotes"
