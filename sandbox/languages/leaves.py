"""The leaves of a syntax tree in their order, without gaps, and the comments between them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from tree_sitter import Node

from sandbox.languages.syntax_tree import Grammar, SyntaxTree, parse_text

Form = tuple[tuple[object, ...], tuple[object, ...]]
"""The tokens and the comments of a program."""
BLANK = b" \t\r\n\f\v"
PUNCTUATION = frozenset({";", ",", "(", ")"})
"""Tokens that a formatter may add or remove. They do not count in the place of a comment."""
_DOUBTFUL_ENDS = re.compile("\r(?!\n)|[\u2028\u2029]")
"""Line ends of some languages and tools only."""
_LINE_ENDS = frozenset("\n\r\u2028\u2029")


class Step(Enum):
    """A step of the walk over a tree."""

    OPEN = "open"
    LEAF = "leaf"
    CLOSE = "close"


@dataclass(frozen=True, eq=False, slots=True)
class Visit:
    """One step at one node."""

    step: Step
    kind: str
    start: int
    end: int
    node: Node | None
    """None for a text that is no node of the tree."""
    parent: "Visit | None"

    @property
    def above(self) -> str:
        """Return the kind of the parent, empty for the root."""
        return self.parent.kind if self.parent is not None else ""


Part = tuple[str, int, int, Node | None]
"""A child: its kind, its place, its node."""


def parts_of(node: Node) -> list[Part]:
    """Return the children of a node."""
    return [(one.type, one.start_byte, one.end_byte, one) for one in node.children]


class Walk:
    """All visits of a tree.

    Args:
        tree: A tree without errors.
        is_whole: Returns True for a node that counts with its exact text.
        parts: Returns the children of a node.
        comments: Kinds of comments.
    """

    def __init__(
        self,
        tree: SyntaxTree,
        data: bytes,
        *,
        is_whole: Callable[[Node], bool],
        comments: frozenset[str],
        parts: Callable[[Node], Iterable[Part]] = parts_of,
    ) -> None:
        self._tree = tree
        self._data = data
        self._comments = comments
        self.visits: list[Visit] = []
        self._visit(is_whole, parts)
        self.leaves = [
            one for one in self.visits if one.step is Step.LEAF and not self.is_comment(one)
        ]
        self._number = {id(one): number for number, one in enumerate(self.leaves)}

    def _visit(
        self, is_whole: Callable[[Node], bool], parts: Callable[[Node], Iterable[Part]]
    ) -> None:
        root = self._tree.root
        waiting: list[tuple[Part, Visit | None, Visit | None]] = [
            ((root.type, root.start_byte, root.end_byte, root), None, None)
        ]
        while waiting:
            (kind, start, end, node), parent, opened = waiting.pop()
            if opened is not None:
                self.visits.append(Visit(Step.CLOSE, kind, start, end, node, opened))
            elif node is None or not node.child_count or is_whole(node):
                if self._data[start:end].strip(BLANK) or node is None:
                    self.visits.append(Visit(Step.LEAF, kind, start, end, node, parent))
            else:
                one = Visit(Step.OPEN, kind, start, end, node, parent)
                self.visits.append(one)
                waiting.append(((kind, start, end, node), parent, one))
                waiting += [(part, one, None) for part in reversed(list(parts(node)))]

    @property
    def has_gaps(self) -> bool:
        """Return True if a text between two leaves is more than white space."""
        before = 0
        for one in self.visits:
            if one.step is Step.LEAF:
                if self._data[before : one.start].strip(BLANK):
                    return True
                before = max(before, one.end)
        return bool(self._data[before:].strip(BLANK))

    def text(self, visit: Visit) -> str:
        """Return the exact text of a visit."""
        return self._data[visit.start : visit.end].decode()

    def is_comment(self, visit: Visit) -> bool:
        """Return True for a comment."""
        return visit.kind in self._comments

    def near(self, leaf: Visit, step: int) -> Visit | None:
        """Return the leaf so many steps away, comments not counted."""
        number = self._number[id(leaf)] + step
        return self.leaves[number] if 0 <= number < len(self.leaves) else None

    def near_text(self, leaf: Visit, step: int) -> str:
        """Return the text of the leaf so many steps away, empty if there is none."""
        found = self.near(leaf, step)
        return self.text(found) if found is not None else ""

    def breaks_after(self, leaf: Visit) -> bool:
        """Return True if the line ends between a leaf and the next one."""
        after = self.near(leaf, 1)
        return self.breaks_between(leaf.end, after.start if after is not None else len(self._data))

    def breaks_before(self, leaf: Visit) -> bool:
        """Return True if the line ends between the leaf before and this one."""
        before = self.near(leaf, -1)
        return before is None or self.breaks_between(before.end, leaf.start)

    def breaks_between(self, start: int, end: int) -> bool:
        """Return True if a line ends between two places."""
        return not _LINE_ENDS.isdisjoint(self._data[start:end].decode())

    def blank_line_between(self, start: int, end: int) -> bool:
        """Return True if an empty line is between two places."""
        return self._data[start:end].count(b"\n") > 1

    def column(self, visit: Visit) -> int:
        """Return the number of bytes before it in its line."""
        return visit.start - self._data.rfind(b"\n", 0, visit.start) - 1

    def starts_line(self, visit: Visit) -> bool:
        """Return True if there is only white space before it in its line."""
        return not self._data[visit.start - self.column(visit) : visit.start].strip(BLANK)

    def has(self, visit: Visit, sign: bytes) -> bool:
        """Return True if a sign is in the text of a visit."""
        return self._data.find(sign, visit.start, visit.end) >= 0


def parse_clean(text: str, grammar: Grammar) -> tuple[SyntaxTree, bytes] | None:
    """Return the tree of a text with its bytes; None if it has an error or a doubtful line end."""
    if _DOUBTFUL_ENDS.search(text):
        return None
    tree = parse_text(text, grammar)
    if tree is None or tree.root.has_error:
        return None
    try:
        return tree, text.encode()
    except UnicodeEncodeError:
        return None
