"""Replace definitions by name in languages that tree-sitter reads, as in Python by `ast`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.fixers.rung2_model.edits.apply import PlacedEdits
from bot.fixers.rung2_model.edits.lines import Splice
from bot.fixers.rung2_model.edits.match import indentation
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.snippet import FenceRejected, Snippet
from bot.fixers.rung2_model.edits.symbols import is_named
from bot.fixers.rung2_model.edits.values import Reason
from sandbox.changes.syntax import is_python
from sandbox.diffs import line_changes
from sandbox.languages import GO, RUST, Language, find_language
from sandbox.languages.outline import Definition, Import, Outline, Span
from sandbox.languages.reading import new_syntax_error, read_outline

_KEYWORD = re.compile(
    r"\b(?:class|enum|impl|interface|mod|module|namespace|struct|trait|type|union)\b"
)
_COMMENTS = ("//", "/*", "*", "package ")
_WRAPPERS: dict[Language | None, tuple[str, ...]] = {GO: (), RUST: ("impl X {",)}
"""Lines in front of a method that is sent without its class, by language."""
_CLASS = ("class X {",)
_VISIBLE = re.compile(r"\s*((?:export\s+(?:default\s+)?|pub(?:\([^)]{1,60}\))?\s+))")
_EXACT_LAYOUT = re.compile(r"`|r#|\"\"\"")
"""Marks of texts that may go over several lines, so that their indentation counts."""
_ATTRIBUTES = ("@", "#[")
_WORD = re.compile(r"\w+")
_MOST_SENT = 100
"""Maximum number of definitions, and of imports, in a fence."""
_MOST_IMPORTS = 100
"""Number of a file's imports that are read."""
_MOST_PRESENT = 5_000
"""Maximum number of definitions in a file."""
_LINE_READ = 300
"""Beginning of a line that is searched for a keyword, in characters."""
_IMPORTS = ""
"""The key of imports, in the place of a definition."""


@dataclass(frozen=True)
class _Code:
    """The code of a fence, read in the language of a file."""

    lines: tuple[str, ...]
    """With the lines of a wrapper."""
    outline: Outline
    wrapped: int
    """Number of lines of the wrapper in front."""
    end: tuple[str, ...] = ()
    """Lines of the wrapper behind."""

    @property
    def outer(self) -> list[Definition]:
        """Return the definitions that are in no other of the fence."""
        return _outermost([one for one in self.outline.definitions if one.first > self.wrapped])

    def inside(self, owner: Definition) -> list[Definition]:
        """Return the members of a class."""
        return _outermost(
            [one for one in self.outline.definitions if owner.line < one.first <= owner.last]
        )


def _outermost(definitions: Sequence[Definition]) -> list[Definition]:
    return [
        one
        for one in definitions
        if not any(other.first < one.first <= one.last <= other.last for other in definitions)
    ]


def place_definitions(
    snippet: Snippet, earlier: Mapping[tuple[str, str], PlacedEdits]
) -> dict[tuple[str, str], PlacedEdits] | None:
    """Return edits by file and definition; None if the fence holds anything but known definitions.

    Args:
        snippet: The fence.
        earlier: Edits by the fences before; their imports are kept.

    Raises:
        FenceRejected: The target is ambiguous or may not be edited.
    """
    if snippet.path and snippet.labelled is None:
        return None
    codes: dict[str, _Code | None] = {}
    found = []
    for file in snippet.files:
        suffix = file.path.rpartition(".")[2]
        if is_python(file.path) or not snippet.is_for(file.path):
            continue
        if suffix not in codes:
            codes[suffix] = _read(snippet.fence.lines, file.path)
        code = codes[suffix]
        if code is None or len(file.outline.definitions) > _MOST_PRESENT:
            continue
        if (pairs := _match(snippet, code, file)) is not None:
            found.append((file, code, pairs))
    if not found:
        return None
    if len(found) > 1:
        names = " or ".join(file.path for file, *_ in found[:5])
        raise FenceRejected(Reason.AMBIGUOUS, f"it may be for {names}: name the file above it")
    file, code, pairs = found[0]
    snippet.check(file)
    splices = {f"{old.name} {old.line}": _replaced(file, code, new, old) for new, old in pairs}
    before = earlier.get((file.path, _IMPORTS))
    splices[_IMPORTS] = _imported(file, code, before.splices if before is not None else ())
    # Models often show the old version, too.
    return {
        (file.path, name): PlacedEdits(path=file.path, splices=changes)
        for name, changes in splices.items()
        if changes
    }


def _match(
    snippet: Snippet, code: _Code, file: ParsedFile
) -> list[tuple[Definition, Definition]] | None:
    """Return each definition with the one that it replaces; None if one is new."""
    if not _covers(code, (code.wrapped + 1, len(code.lines) - bool(code.end)), code.outer):
        return None
    pairs = []
    for new in code.outer:
        found = _pairs(snippet, new, code, file)
        if found is None or any(_shares_lines(old, file.outline) for _, old in found):
            return None
        pairs += found
    return pairs


def _pairs(
    snippet: Snippet, new: Definition, code: _Code, file: ParsedFile
) -> list[tuple[Definition, Definition]] | None:
    """Match a definition, or the members of a partial class; return None if one is new.

    Raises:
        FenceRejected: Several definitions match, or a class is incomplete.
    """
    found = _find(snippet, new, code, file)
    if new.is_class and found:
        # One by one, so that comments and attributes that were left out are kept.
        inside = code.inside(new)
        is_plain = _covers(code, (new.line + 1, new.last - 1), inside)
        pairs = [_pairs(snippet, one, code, file) for one in inside]
        if is_plain and pairs and None not in pairs:
            return [pair for each in pairs if each is not None for pair in each]
        if not _members(file.outline, found[0]) <= _members(code.outline, new):
            message = f"`{new.name}` is incomplete, and contains more than existing methods"
            raise FenceRejected(Reason.INCOMPLETE, message, file.path)
    if len(found) > 1:
        message = f"`{new.name}` is defined {len(found)} times: add `@@ Class.method` before it"
        raise FenceRejected(Reason.AMBIGUOUS, message, file.path)
    return [(new, found[0])] if found else None


def _read(lines: tuple[str, ...], path: str) -> _Code | None:
    """Read the code of a fence, also a method without its class."""
    for start in dict.fromkeys(((), _WRAPPERS.get(find_language(path), _CLASS))):
        end = ("}",) if start else ()
        package = ("package x",) if path.endswith(GO.suffixes) and not _has_package(lines) else ()
        whole = (*start, *package, *lines, *end)
        text = "\n".join((*whole, ""))
        outline = read_outline(path, text)
        if outline is None or new_syntax_error(path, "", text) is not None:
            continue
        if max(len(outline.definitions), len(outline.imports)) > _MOST_SENT:
            return None
        code = _Code(whole, outline, len(start) + len(package), end)
        if code.outer:
            return code
    return None


def _has_package(lines: Sequence[str]) -> bool:
    return any(line.startswith("package ") for line in lines)


def _covers(code: _Code, lines: Span, definitions: Sequence[Definition]) -> bool:
    """Return True if every line belongs to a definition or an import, or is a comment."""
    spans = [(one.first, one.last) for one in definitions]
    spans += [(one.first, one.last) for one in code.outline.imports]
    return all(
        any(first <= number <= last for first, last in spans)
        or not (line := code.lines[number - 1].strip())
        or line.startswith(_COMMENTS)
        for number in range(lines[0], lines[1] + 1)
    )


def _find(snippet: Snippet, new: Definition, code: _Code, file: ParsedFile) -> list[Definition]:
    """Return the definitions that another one may replace."""
    # The name of a wrapper is no part of a method's name.
    name = new.name.removeprefix("X.") if code.end else new.name
    word = _keyword(code.lines, new)
    # In Go, a method has its receiver in its own first line.
    is_whole = find_language(file.path) == GO
    found = [
        one
        for one in file.outline.definitions
        if one.kind == new.kind
        and (one.name == name if is_whole else is_named(one.name, name))
        and (not one.is_class or _keyword(file.text.bodies, one) == word)
    ]
    anchor = snippet.fence.label.anchor
    anchored = [one for one in found if anchor and is_named(one.name, anchor)]
    found = anchored or [one for one in found if one.name == name] or found
    alike = [one for one in found if one.arguments == new.arguments]
    # A getter and a setter have one name; methods of two classes are not guessed.
    is_pair = len({one.name for one in found}) == 1
    return alike if is_pair and len(alike) == 1 else found


def _keyword(lines: Sequence[str], one: Definition) -> str:
    found = _KEYWORD.search(lines[one.line - 1][:_LINE_READ])
    return found[0] if found is not None else ""


def _shares_lines(one: Definition, outline: Outline) -> bool:
    """Return True if other code is on the same lines, so that whole lines cannot be replaced."""
    names = {each.name for each in outline.definitions}
    constants = [span for name, span in outline.constants if name not in names]
    if any(first <= one.last and one.line <= last for first, last in constants):
        return True
    return any(
        other.first <= one.last
        and one.line <= other.last
        and other is not one
        and not (other.line < one.line and one.last < other.last)
        and not other.name.startswith(f"{one.name}.")
        for other in outline.definitions
    )


def _members(outline: Outline, owner: Definition) -> set[str]:
    return {
        one.last_name
        for one in outline.definitions
        if owner.first <= one.first <= one.last <= owner.last and one.name != owner.name
    }


def _replaced(
    file: ParsedFile, code: _Code, new: Definition, old: Definition
) -> tuple[Splice, ...]:
    """Return the changed lines; comments and attributes above that are left out are kept."""
    bodies = file.text.bodies
    above, present = code.lines[new.first - 1 : new.line - 1], bodies[old.first - 1 : old.line - 1]
    # Of a comment alone, it is not known where it belongs among attributes.
    replaced = above and (_has_attributes(above) or not _has_attributes(present))
    start, first = (old.first, new.first) if replaced else (old.line, new.line)
    lines = list(code.lines[first - 1 : new.last])
    at = new.line - first
    kept = _VISIBLE.match(bodies[old.line - 1])
    if kept is not None and _VISIBLE.match(lines[at]) is None:
        indent = indentation(lines[at])
        lines[at] = f"{indent}{kept[1]}{lines[at][len(indent) :]}"
    lines = _indented(lines, indentation(bodies[old.line - 1]), indentation(lines[at]))
    return tuple(
        Splice(start=start - 1 + a, end=start - 1 + b, lines=tuple(lines[c:d]))
        for a, b, c, d in line_changes(list(bodies[start - 1 : old.last]), lines)
    )


def _indented(lines: list[str], wanted: str, present: str) -> list[str]:
    """Return lines indented as in the file, unless a text could change."""
    if wanted == present or any(map(_EXACT_LAYOUT.search, lines)):
        return lines
    return [
        f"{wanted}{line[len(present) :]}" if line.startswith(present) and line.strip() else line
        for line in lines
    ]


def _has_attributes(lines: Sequence[str]) -> bool:
    """Return True if there are decorators or attributes."""
    return any(line.strip().startswith(_ATTRIBUTES) for line in lines)


def _imported(file: ParsedFile, code: _Code, earlier: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return the imports that the file lacks.

    An import with further names replaces the file's own, because most languages refuse two
    imports of one name.

    Args:
        file: The file.
        code: The fence.
        earlier: The imports of the fences before.
    """
    bodies = file.text.bodies
    imports = file.outline.imports[:_MOST_IMPORTS]
    present = [one for one in imports if _is_outer(one, file.outline)]
    first = min((one.first for one in file.outline.definitions), default=1)
    behind = max((one.last for one in present), default=first - 1)
    splices = {(one.start, one.end): one for one in earlier}
    known = {line.strip() for line in (*bodies, *(line for one in earlier for line in one.lines))}
    for new in code.outline.imports:
        lines = code.lines[new.first - 1 : new.last]
        if not _is_outer(new, code.outline) or known.issuperset(map(str.strip, lines)):
            continue
        own = (
            (one.first - 1, one.last)
            for one in present
            if set(one.modules) <= set(new.modules)
            and not _words(bodies[one.first - 1 : one.last]) - _words(lines)
        )
        start, end = next(own, (behind, behind))
        if start == end and (start, end) in splices:
            lines = (*splices[start, end].lines, *lines)
        splices[start, end] = Splice(start=start, end=end, lines=lines)
    return tuple(splices.values())


def _words(lines: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall("\n".join(lines)))


def _is_outer(one: Import, outline: Outline) -> bool:
    """Return True if an import is in no module or function of the file."""
    return not any(each.first <= one.first <= each.last for each in outline.definitions)
