"""Validate every set of edits before it uses sandbox time, whatever its format."""

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from bot.fixers.rung2_model.edits.lines import BOM, Text
from bot.fixers.rung2_model.edits.names import (
    is_familiar,
    new_modules,
    redefined,
    undefined,
    unused_imports,
)
from bot.fixers.rung2_model.edits.reindent import docstring_node
from bot.fixers.rung2_model.edits.symbols import Definition
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection
from sandbox.changes import (
    ChangePolicy,
    Concern,
    ConcernSeverity,
    PathClass,
    protected_class,
    same_program,
    validate_edits,
)
from sandbox.changes.suspicions import LineRule
from sandbox.changes.syntax import find_syntax_error, is_python, parse
from sandbox.diffs import line_changes
from sandbox.languages.reading import new_syntax_error
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
"""Reasons for rules of the tamper guard; all other rules count as tampering."""


def _rule(name: str, message: str, pattern: str) -> LineRule:
    return LineRule(
        severity=ConcernSeverity.DOUBT,
        name=name,
        message=message,
        pattern=re.compile(pattern, re.MULTILINE),
    )


_RISKS: tuple[LineRule, ...] = (
    _rule(
        "environment",
        "reads or writes the environment",
        r"\bos\.(?:environ|getenv|putenv|unsetenv)\b|\benviron\b"
        r"|\bprocess\.env\b|\bmeta\.env\b|\bos\.(?:Getenv|LookupEnv|Setenv)\b|\benv::\w*var",
    ),
    _rule("link", "contains a URL", r"\b(?:https?|ftp|wss?|file)://"),
    _rule("blob", "contains encoded data", r"[A-Za-z0-9+/_-]{64,}={0,2}|(?:\\x[0-9a-fA-F]{2}){8,}"),
    _rule(
        "decoding",
        "decodes data",
        r"\bb(?:ase)?(?:16|32|64|85)(?:url)?(?:_?decode|64decode)|\bbinascii\b|\bcodecs\b",
    ),
    _rule(
        "files",
        "opens, writes or removes files",
        r"(?<![\w.])open\s{0,8}\(|\bwrite_(?:text|bytes)\b|\bshutil\b"
        r"|['\"](?:node:)?fs(?:/promises)?['\"]|\bfs\.(?:\w{1,20}Sync|promises|\w{1,20}File)\b"
        r"|\bstd::fs\b|\bFile::\w"
        r"|\bos\.(?:Create|Open|OpenFile|ReadFile|Remove|RemoveAll|Rename|WriteFile)\b",
    ),
    _rule(
        "attributes",
        "accesses attributes by name",
        r"\b(?:setattr|delattr)\s{0,8}\(|\b__(?:dict|class|code)__\b",
    ),
)
"""Risks beyond those of the tamper guard. They are reported to a person but never reject a fix."""
_TOLERANCES = re.compile(
    r"\b(?:timeout|approx|isclose|allclose|tolerance|atol|rtol|rel|abs|rel_tol|abs_tol|places|delta|decimal)\b\s{0,8}[=(]"
)
"""Settings that loosen a test, searched in test files that may be edited."""


class GateResult(Frozen):
    """Result of the gates."""

    rejections: tuple[Rejection, ...] = ()
    flags: tuple[Concern, ...] = ()
    changed_lines: int = 0
    key: str = ""


def check_edits(
    originals: Mapping[str, str | None], contents: Mapping[str, str], rules: EditRules
) -> GateResult:
    """Validate the new texts of files.

    Args:
        originals: Current text by path; None for new files.
        contents: New text of every file that differs.
        rules: Limits of the answer.
    """
    if not contents or (
        not rules.layout and all(_same(originals[path], new) for path, new in contents.items())
    ):
        return GateResult(
            rejections=(
                Rejection(reason=Reason.NO_CHANGE, message="it does not change what the code does"),
            )
        )
    unreadable = tuple(_unreadable(originals, contents))
    if unreadable:
        return GateResult(rejections=unreadable)
    changed = sum(_changed_lines(originals[path] or "", new) for path, new in contents.items())
    rejections = [] if changed <= rules.max_changed_lines else [_too_many(changed, rules)]
    refusals, flags = _guard(originals, contents, rules)
    rejections += refusals
    for path, new in contents.items():
        rejections += _of_file(path, originals[path], new)
        flags += list(_risks(path, originals[path] or "", new, rules.files))
    return GateResult(
        rejections=tuple(rejections),
        flags=tuple(flags),
        changed_lines=changed,
        key=program_key(contents),
    )


def program_key(contents: Mapping[str, str]) -> str:
    """Return a key that is equal for equal programs; layout, comments and docstrings are ignored.

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
        if isinstance(node, Definition) and docstring_node(node) is not None and len(node.body) > 1:
            del node.body[0]
    return ast.dump(tree)


def _same(old: str | None, new: str) -> bool:
    return old is not None and (
        old == new or same_program(old.removeprefix(BOM), new.removeprefix(BOM))
    )


def _unreadable(
    originals: Mapping[str, str | None], contents: Mapping[str, str]
) -> Iterator[Rejection]:
    """Reject files that cannot be written back unchanged, and files left empty."""
    for path, new in contents.items():
        old = originals[path] or ""
        try:
            new.encode()
            broken = "\ufffd" in old
        except UnicodeEncodeError:
            broken = True
        if broken:
            yield Rejection(
                reason=Reason.UNREADABLE_FILE,
                path=path,
                message="it is not UTF-8 text and cannot be edited",
            )
        elif old.strip() and not new.strip():
            yield Rejection(reason=Reason.DELETES, path=path, message="the file would be empty")


def _changed_lines(old: str, new: str) -> int:
    return sum(b - a + d - c for a, b, c, d in line_changes(Text(old).bodies, Text(new).bodies))


def _too_many(changed: int, rules: EditRules) -> Rejection:
    message = (
        f"{changed} lines are changed, the limit is {rules.max_changed_lines}: "
        "make the smallest change"
    )
    return Rejection(reason=Reason.TOO_LARGE, message=message)


def _guard(
    originals: Mapping[str, str | None], contents: Mapping[str, str], rules: EditRules
) -> tuple[list[Rejection], list[Concern]]:
    """Run the tamper guard early; it runs again before every verdict."""
    policy = ChangePolicy(
        allowed=rules.allowed,
        max_files=rules.max_files,
        max_added_lines=rules.max_changed_lines,
        max_bytes=rules.max_bytes,
    )
    edits = [
        FileEdit(path=path, mode="100644", content=new.encode()) for path, new in contents.items()
    ]
    before = {path: old.encode() if old is not None else None for path, old in originals.items()}
    concerns = validate_edits(edits, before, policy).concerns
    rejections = [
        Rejection(
            reason=_REASONS.get(each.rule, Reason.TAMPER), path=each.path, message=_sentence(each)
        )
        for each in concerns
        # Syntax errors are reported by `_of_file`, which names the line.
        if each.severity is ConcernSeverity.REFUSE and each.rule != "syntax"
    ]
    return rejections, [each for each in concerns if each.severity is ConcernSeverity.DOUBT]


def _sentence(concern: Concern) -> str:
    return concern.message if concern.line is None else f"line {concern.line}: {concern.message}"


def _of_file(path: str, old: str | None, new: str) -> Iterator[Rejection]:
    if old is not None and protected_class(path) is PathClass.TESTS and _loosened(old, new):
        message = "a tolerance or time limit of a test is changed"
        yield Rejection(reason=Reason.TAMPER, path=path, message=message)
    if not is_python(path):
        why = new_syntax_error(path, (old or "").removeprefix(BOM), new.removeprefix(BOM))
        if why is not None:
            message = f"the edited file cannot be parsed: {why}"
            yield Rejection(reason=Reason.SYNTAX, path=path, message=message)
        return
    after = parse(new.removeprefix(BOM))
    before = parse(old.removeprefix(BOM)) if old is not None else None
    if after is None:
        # If the old text cannot be parsed either, it uses another Python version or is itself the
        # fault.
        if before is not None or old is None or not old.strip():
            why = find_syntax_error(new.removeprefix(BOM)) or "it cannot be parsed"
            yield Rejection(
                reason=Reason.SYNTAX,
                path=path,
                message=f"the edited file is not valid Python: {why}",
            )
        return
    if before is None and old is not None:
        return
    for name in undefined(before, after):
        yield Rejection(
            reason=Reason.NAMES,
            path=path,
            message=f"`{name}` is used but never defined or imported",
        )
    for name in redefined(before, after):
        yield Rejection(
            reason=Reason.NAMES,
            path=path,
            message=f"`{name}` is defined twice: replace the old one",
        )


def _loosened(old: str, new: str) -> bool:
    # A tolerance whose line disappeared was changed or removed.
    kept = {line.strip() for line in new.splitlines()}
    return any(_TOLERANCES.search(line) and line.strip() not in kept for line in old.splitlines())


def _risks(path: str, old: str, new: str, files: frozenset[str]) -> Iterator[Concern]:
    for rule in _RISKS:
        # Only risks that the edit adds are reported.
        if len(rule.pattern.findall(new)) > len(rule.pattern.findall(old)):
            yield Concern(
                severity=ConcernSeverity.DOUBT, rule=rule.name, path=path, message=rule.message
            )
    after, before = parse(new.removeprefix(BOM)), parse(old.removeprefix(BOM))
    if not is_python(path) or after is None:
        return
    for module in new_modules(before, after):
        if is_familiar(module, files):
            continue
        yield Concern(
            severity=ConcernSeverity.DOUBT,
            rule="import",
            path=path,
            message=f"imports `{module[:80]}`",
        )
    for name in unused_imports(before, after):
        yield Concern(
            severity=ConcernSeverity.DOUBT,
            rule="unused",
            path=path,
            message=f"imports `{name[:80]}` but does not use it",
        )
