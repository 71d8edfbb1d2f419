"""What every set of edits passes before any sandbox time is spent on it, whichever format it came in."""

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from bot.fixers.rung2_model.edits.lines import BOM, Text
from bot.fixers.rung2_model.edits.names import new_modules, redefined, undefined, unused_imports
from bot.fixers.rung2_model.edits.reindent import documentation_of
from bot.fixers.rung2_model.edits.symbols import Definition
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection
from sandbox.changes import ChangePolicy, Concern, PathClass, Severity, protected_class, same_program, validate_edits
from sandbox.changes.suspicions import LineRule
from sandbox.changes.syntax import is_python, parse, why_not_parsed
from sandbox.diffs import line_changes
from sandbox.types import FileEdit, Frozen

_REASONS = {
    "path": Reason.NOT_SENT,
    "protected": Reason.PROTECTED,
    "shadow": Reason.PROTECTED,
    "files": Reason.TOO_LARGE,
    "lines": Reason.TOO_LARGE,
    "bytes": Reason.TOO_LARGE,
    "size": Reason.TOO_LARGE,
    "nothing": Reason.NO_CHANGE,
    "deleted": Reason.DELETES,
}
"""Of a rule of the tamper guard; all others are tampering."""


def _rule(name: str, message: str, pattern: str) -> LineRule:
    return LineRule(severity=Severity.DOUBT, name=name, message=message, pattern=re.compile(pattern, re.MULTILINE))


_RISKS: tuple[LineRule, ...] = (
    _rule("environment", "reads or writes the environment", r"\bos\.(?:environ|getenv|putenv|unsetenv)\b|\benviron\b"),
    _rule("link", "holds an address", r"\b(?:https?|ftp|wss?|file)://"),
    _rule("blob", "holds encoded data", r"[A-Za-z0-9+/_-]{64,}={0,2}|(?:\\x[0-9a-fA-F]{2}){8,}"),
    _rule(
        "decoding", "decodes data", r"\bb(?:ase)?(?:16|32|64|85)(?:url)?(?:_?decode|64decode)|\bbinascii\b|\bcodecs\b"
    ),
    _rule("files", "opens, writes or removes files", r"(?<![\w.])open\s{0,8}\(|\bwrite_(?:text|bytes)\b|\bshutil\b"),
    _rule(
        "attributes", "reaches for attributes by name", r"\b(?:setattr|delattr)\s{0,8}\(|\b__(?:dict|class|code)__\b"
    ),
)
"""Besides the doubts of the tamper guard: no fix is refused for them, and a person is told."""
_TOLERANCES = re.compile(
    r"\b(?:timeout|approx|isclose|allclose|tolerance|atol|rtol|rel|abs|rel_tol|abs_tol|places|delta|decimal)\b\s{0,8}[=(]"
)
"""In a test file that is open: what makes a test say yes more easily."""


class Gated(Frozen):
    """What the gates say."""

    rejections: tuple[Rejection, ...] = ()
    flags: tuple[Concern, ...] = ()
    changed_lines: int = 0
    key: str = ""


def passed(originals: Mapping[str, str | None], contents: Mapping[str, str], rules: EditRules) -> Gated:
    """Judge files as they are to be.

    Args:
        originals: The present text by path; None where there is no such file.
        contents: The new text of every file that differs.
        rules: What an answer may do.
    """
    if not contents or (not rules.layout and all(_same(originals[path], new) for path, new in contents.items())):
        return Gated(
            rejections=(Rejection(reason=Reason.NO_CHANGE, message="it changes nothing in what the code does"),)
        )
    unreadable = tuple(_unreadable(originals, contents))
    if unreadable:
        return Gated(rejections=unreadable)
    changed = sum(_changed_lines(originals[path] or "", new) for path, new in contents.items())
    rejections = [] if changed <= rules.max_changed_lines else [_too_many(changed, rules)]
    refusals, flags = _guarded(originals, contents, rules)
    rejections += refusals
    for path, new in contents.items():
        rejections += _of_file(path, originals[path], new)
        flags += list(_risks(path, originals[path] or "", new))
    return Gated(rejections=tuple(rejections), flags=tuple(flags), changed_lines=changed, key=key_of(contents))


def key_of(contents: Mapping[str, str]) -> str:
    """Equal for texts that are the same program: layout, comments and docstrings do not count.

    Args:
        contents: Text by path.
    """
    digest = hashlib.sha256()
    for path, text in sorted(contents.items()):
        form = "\n".join(line.rstrip() for line in text.splitlines())
        if is_python(path) and (tree := parse(text.removeprefix(BOM))) is not None:
            with suppress(RecursionError):
                form = _dumped(tree)
        digest.update(f"{path}\0{form}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:20]


def _dumped(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, Definition) and documentation_of(node) is not None and len(node.body) > 1:
            del node.body[0]
    return ast.dump(tree)


def _same(old: str | None, new: str) -> bool:
    return old is not None and (old == new or same_program(old.removeprefix(BOM), new.removeprefix(BOM)))


def _unreadable(originals: Mapping[str, str | None], contents: Mapping[str, str]) -> Iterator[Rejection]:
    """Files that would not come out as they went in."""
    for path, new in contents.items():
        old = originals[path] or ""
        try:
            new.encode()
            broken = "\ufffd" in old
        except UnicodeEncodeError:
            broken = True
        if broken:
            yield Rejection(reason=Reason.UNREADABLE_FILE, path=path, message="it is not UTF-8 text and is left alone")
        elif old.strip() and not new.strip():
            yield Rejection(reason=Reason.DELETES, path=path, message="nothing of the file would be left")


def _changed_lines(old: str, new: str) -> int:
    return sum(b - a + d - c for a, b, c, d in line_changes(Text(old).bodies, Text(new).bodies))


def _too_many(changed: int, rules: EditRules) -> Rejection:
    message = f"{changed} lines are changed, at most {rules.max_changed_lines} may be: make the smallest change"
    return Rejection(reason=Reason.TOO_LARGE, message=message)


def _guarded(
    originals: Mapping[str, str | None], contents: Mapping[str, str], rules: EditRules
) -> tuple[list[Rejection], list[Concern]]:
    """The tamper guard that stands before every verdict, asked early."""
    policy = ChangePolicy(
        allowed=rules.allowed,
        max_files=rules.max_files,
        max_added_lines=rules.max_changed_lines,
        max_bytes=rules.max_bytes,
    )
    edits = [FileEdit(path=path, mode="100644", content=new.encode()) for path, new in contents.items()]
    before = {path: old.encode() if old is not None else None for path, old in originals.items()}
    concerns = validate_edits(edits, before, policy).concerns
    rejections = [
        Rejection(reason=_REASONS.get(each.rule, Reason.TAMPER), path=each.path, message=_sentence(each))
        for each in concerns
        # What is no Python any more is rejected by `_of_file`, which names the line.
        if each.severity is Severity.REFUSE and each.rule != "syntax"
    ]
    return rejections, [each for each in concerns if each.severity is Severity.DOUBT]


def _sentence(concern: Concern) -> str:
    return concern.message if concern.line is None else f"line {concern.line}: {concern.message}"


def _of_file(path: str, old: str | None, new: str) -> Iterator[Rejection]:
    if old is not None and protected_class(path) is PathClass.TESTS and _loosened(old, new):
        message = "a tolerance or time limit of a test is changed"
        yield Rejection(reason=Reason.TAMPER, path=path, message=message)
    if not is_python(path):
        return
    after = parse(new.removeprefix(BOM))
    before = parse(old.removeprefix(BOM)) if old is not None else None
    if after is None:
        # Where the old text cannot be parsed either, it is of another Python than ours, or the trouble itself.
        if before is not None or old is None or not old.strip():
            why = why_not_parsed(new.removeprefix(BOM)) or "it cannot be parsed"
            yield Rejection(reason=Reason.SYNTAX, path=path, message=f"the edited file is not valid Python: {why}")
        return
    if before is None and old is not None:
        return
    for name in undefined(before, after):
        yield Rejection(reason=Reason.NAMES, path=path, message=f"`{name}` is read and nowhere defined or imported")
    for name in redefined(before, after):
        yield Rejection(reason=Reason.NAMES, path=path, message=f"`{name}` is defined twice: replace the old one")


def _loosened(old: str, new: str) -> bool:
    kept = {line.strip() for line in new.splitlines()}
    return any(_TOLERANCES.search(line) and line.strip() not in kept for line in old.splitlines())


def _risks(path: str, old: str, new: str) -> Iterator[Concern]:
    for rule in _RISKS:
        if len(rule.pattern.findall(new)) > len(rule.pattern.findall(old)):
            yield Concern(severity=Severity.DOUBT, rule=rule.name, path=path, message=rule.message)
    after, before = parse(new.removeprefix(BOM)), parse(old.removeprefix(BOM))
    if not is_python(path) or after is None:
        return
    for module in new_modules(before, after):
        yield Concern(severity=Severity.DOUBT, rule="import", path=path, message=f"imports `{module[:80]}`")
    for name in unused_imports(before, after):
        yield Concern(severity=Severity.DOUBT, rule="unused", path=path, message=f"imports `{name[:80]}` for nothing")
