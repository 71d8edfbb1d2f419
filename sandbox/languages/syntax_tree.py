"""Parse source files with tree-sitter on the host, within limits. Nothing of them is run.

This module and those of the languages load compiled grammars. They are imported when the first such
file is met.
"""

import threading
from collections.abc import Callable, Iterator
from functools import cache, cached_property

from tree_sitter import Language, Node, Parser, Tree

from sandbox.languages import MAX_READ_CHARACTERS
from sandbox.languages.outline import Names

_STACK_BYTES = 256 << 20
"""Stack of the thread that parses.

The library recurses where a text is ambiguous: 100,000 times `[{` in Go need 8 to 16 MiB, and a
smaller stack ends the process. This is 16 times what the largest permitted text needs; the system
reserves the addresses only.
"""
_MOST_STEPS = 7_000
"""Limit of a parse, in reports of progress.

A count, because the result must not depend on the speed of the machine. The largest permitted file
of ordinary code needs 4,300, which take 0.1 s. The worst known hostile text takes 1.5 s and 250 MB.
"""
_PIECE = 1 << 16
"""Size of the pieces in which the text is read, in bytes."""
_SHOWN = 40
"""Longest quoted text, in characters."""

Grammar = Callable[[], object]
"""Returns the compiled grammar of a language."""
_stack_size = threading.Lock()
"""Held while the size of stacks is changed: it is that of all threads started then."""


class SyntaxTree:
    """The syntax tree of a text.

    Args:
        data: The text in UTF-8.
        tree: Its tree.
    """

    def __init__(self, data: bytes, tree: Tree) -> None:
        self._data = data
        # A node is valid as long as its tree.
        self._tree = tree
        self.root = tree.root_node

    def text(self, node: Node, most: int = MAX_READ_CHARACTERS) -> str:
        """Return the text of a node, or its beginning."""
        # A character has up to four bytes.
        end = min(node.end_byte, node.start_byte + 4 * most)
        return self._data[node.start_byte : end].decode(errors="replace")[:most]

    @cached_property
    def names(self) -> Names:
        """Return the names in it, of variables, attributes and types."""
        found = [
            (node.start_byte, self.text(node).removeprefix("#"))
            for node in walk(self.root)
            if node.type.endswith("identifier") and not node.child_count
        ]
        return Names(found)

    @property
    def errors(self) -> tuple[tuple[int, str], ...]:
        """Return what could not be parsed: its line, and what is unexpected or missing there."""
        if not self.root.has_error:
            return ()
        found = []
        for node in walk(self.root, into=lambda node: node.has_error):
            if node.is_missing:
                found.append((node.start_point.row + 1, f"`{node.type}` is missing"))
            elif node.is_error:
                shown = " ".join(self.text(node, 2 * _SHOWN).replace("`", "'").split())[:_SHOWN]
                found.append((node.start_point.row + 1, f"unexpected `{shown}`"))
        return tuple(found)


def parse_text(text: str, grammar: Grammar) -> SyntaxTree | None:
    """Return the syntax tree of a text; None if it is too large or takes too long.

    Args:
        text: The text; hostile.
        grammar: The grammar of its language.
    """
    if len(text) > MAX_READ_CHARACTERS:
        return None
    data = text.encode(errors="replace")
    trees: list[Tree] = []

    def run() -> None:
        steps = iter(range(_MOST_STEPS))

        def stops(_: int, has_error: bool, /) -> bool:  # noqa: FBT001  the library's signature
            del has_error
            return next(steps, None) is None

        try:
            parser = Parser(_language(grammar))
            trees.append(
                parser.parse(lambda at, _: data[at : at + _PIECE], progress_callback=stops)
            )
        except ValueError:
            return  # it was stopped

    _run_with_stack(run)
    return SyntaxTree(data, trees[0]) if trees else None


def walk(
    root: Node, into: Callable[[Node], bool] | None = None, *, deepest: int | None = None
) -> Iterator[Node]:
    """Yield a node and all nodes below it, in the order of the text, without recursion.

    Args:
        root: The first node.
        into: Returns True if the nodes below a node are wanted; None for all.
        deepest: Levels below the first node that are read; None for all.
    """
    cursor = root.walk()
    depth = 0
    while True:
        node = cursor.node
        if node is None:
            return
        yield node
        is_wanted = depth != deepest and (into is None or into(node))
        if is_wanted and cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1


def lines_of(node: Node) -> tuple[int, int]:
    """Return the first and the last line of a node, from 1."""
    end = node.end_point
    # Some nodes include the end of their line.
    last = end.row if end.column == 0 and end.row > node.start_point.row else end.row + 1
    return node.start_point.row + 1, last


def body_line(body: Node | None, line: int) -> int:
    """Return the first line inside of a body, or the definition's own line if it has none."""
    inside = body.named_children if body is not None else []
    return lines_of(inside[0])[0] if inside else line


def members(node: Node, above: frozenset[str]) -> Iterator[tuple[Node, int]]:
    """Yield the nodes directly below a node, each with its first line.

    The first line includes comments, decorators and attributes directly above.

    Args:
        node: A file, a class or a block.
        above: Types of nodes that belong to the one below them.
    """
    start = end = 0
    before = lines_of(node)[0] if node.parent is not None else 0
    for child in node.named_children:
        first, last = lines_of(child)
        if child.type in above:
            # A comment behind code does not belong to the next line.
            if first > before:
                start = start if end and first <= end + 1 else first
                end = last
            continue
        yield child, start if end and first <= end + 1 else first
        end, before = 0, last


@cache
def _language(grammar: Grammar) -> Language:
    return Language(grammar())


def _run_with_stack(run: Callable[[], None]) -> None:
    """Run a function in a thread with a large stack, and wait for it."""
    thread = threading.Thread(target=run, name="parse")
    with _stack_size:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        except RuntimeError:
            return  # the system has no room for the stack; the file is shown without its tree
        finally:
            threading.stack_size(before)
    thread.join()
