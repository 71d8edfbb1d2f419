"""Decide whether a set of edits may leave the sandbox as a fix."""

from collections.abc import Iterable, Mapping
from typing import Literal

from sandbox.changes.paths import show, why_unsafe
from sandbox.changes.protected import is_protected, protected_class, shadows
from sandbox.changes.same_tests import can_prove_tests, same_tests
from sandbox.changes.screen import added_lines, screen
from sandbox.changes.suspicions import Concern, ConcernSeverity
from sandbox.types import FileEdit, Frozen


class ChangePolicy(Frozen):
    """The limits of edits."""

    purpose: Literal["fix", "lint"] = "fix"
    """`lint`: a formatter or linter made the edits.

    Tests may change if they provably do the same.
    """
    allowed: tuple[str, ...] = ()
    """Open protected classes, paths or patterns; see `is_protected`."""
    may_delete: bool = False
    max_files: int = 20
    max_added_lines: int = 1000
    max_bytes: int = 200_000
    """Limit of added text in total."""


class Verdict(Frozen):
    """The decision with every reason."""

    accepted: bool
    concerns: tuple[Concern, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the refusals as sentences."""
        return tuple(
            f"{concern.path}: {concern.message}"
            for concern in self.concerns
            if concern.severity is ConcernSeverity.REFUSE
        )


_FIX = ChangePolicy()


def validate_edits(
    edits: Iterable[FileEdit], originals: Mapping[str, bytes | None], policy: ChangePolicy = _FIX
) -> Verdict:
    """Judge edits against the files they replace.

    Args:
        edits: Edits from the sandbox or from a proposal.
        originals: The content of each edited path at the failing commit; None or missing for a new
            file.
        policy: The limits.

    Returns:
        Accepted if nothing is refused; the concerns may still include doubts.
    """
    edits = tuple(edits)
    concerns: list[Concern] = []
    if not edits:
        concerns.append(_refuse("nothing", "", "there is no edit"))
    if len(edits) > policy.max_files:
        concerns.append(
            _refuse(
                "files", "", f"{len(edits)} files are edited, at most {policy.max_files} may be"
            )
        )
        return Verdict(accepted=False, concerns=tuple(concerns))
    # On some file systems, paths that only differ in case are the same file.
    if len({edit.path.casefold() for edit in edits}) != len(edits):
        concerns.append(_refuse("twice", "", "two edits name the same file"))
    lines = size = 0
    for edit in edits:
        original = originals.get(edit.path)
        concerns += _judge_edit(edit, original, policy)
        added = added_lines(_text(original or b""), _text(edit.content[: 1 << 20]))
        lines += len(added)
        size += sum(len(text) + 1 for _, text in added)
    if lines > policy.max_added_lines:
        concerns.append(
            _refuse(
                "lines", "", f"{lines} lines are added, at most {policy.max_added_lines} may be"
            )
        )
    if size > policy.max_bytes:
        concerns.append(
            _refuse("bytes", "", f"{size} bytes are added, at most {policy.max_bytes} may be")
        )
    refused = any(concern.severity is ConcernSeverity.REFUSE for concern in concerns)
    return Verdict(accepted=not refused, concerns=tuple(concerns))


def _judge_edit(edit: FileEdit, original: bytes | None, policy: ChangePolicy) -> list[Concern]:
    unsafe = why_unsafe(edit.path)
    if unsafe is not None:
        return [_refuse("path", show(edit.path), f"the path is refused: {unsafe}")]
    concerns = []
    if is_protected(edit.path, policy.allowed) and not _is_layout(edit, original, policy):
        concerns.append(
            _refuse("protected", edit.path, f"it is protected ({protected_class(edit.path)})")
        )
    if original is None and shadows(edit.path):
        concerns.append(
            _refuse("shadow", edit.path, "it would be imported in place of another module")
        )
    if edit.mode == "100755" and original is None:
        concerns.append(_refuse("mode", edit.path, "a new file is executable"))
    if edit.mode == "deleted":
        if not policy.may_delete:
            concerns.append(_refuse("deleted", edit.path, "a file is deleted"))
        return concerns
    try:
        new = edit.content.decode("utf-8")
        old = (original or b"").decode("utf-8")
    except UnicodeDecodeError:
        return [*concerns, _refuse("binary", edit.path, "the file is not UTF-8 text")]
    if original is not None and new == old:
        concerns.append(_refuse("nothing", edit.path, "only its mode changes"))
    return [*concerns, *screen(old, new, edit.path)]


def _is_layout(edit: FileEdit, original: bytes | None, policy: ChangePolicy) -> bool:
    """Return True if a linter's edit of a protected source file keeps what the file does."""
    if (
        policy.purpose != "lint"
        or original is None
        or edit.mode == "deleted"
        or not can_prove_tests(edit.path)
    ):
        return False
    if protected_class(edit.path) not in {"tests", "test-config"}:
        return False
    try:
        return same_tests(edit.path, original.decode("utf-8"), edit.content.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _refuse(rule: str, path: str, message: str) -> Concern:
    return Concern(severity=ConcernSeverity.REFUSE, rule=rule, path=path, message=message)
