"""Edits as (path, mode, bytes): allowed paths, application of changes, and acceptance as a fix."""

from sandbox.changes.canonical import canonical_form
from sandbox.changes.edits import apply, paths_needed
from sandbox.changes.in_guest import apply_changes, focus, read_file_context
from sandbox.changes.patch import FilePatch, PatchHunk, parse_patch, read_patch
from sandbox.changes.paths import check_path, is_safe_path
from sandbox.changes.protected import PathClass, is_protected, protected_class
from sandbox.changes.same_tests import can_prove_tests, same_tests
from sandbox.changes.screen import screen
from sandbox.changes.suspicions import Concern, ConcernSeverity
from sandbox.changes.syntax import same_program
from sandbox.changes.verdict import ChangePolicy, Verdict, validate_edits

__all__ = [
    "ChangePolicy",
    "Concern",
    "ConcernSeverity",
    "FilePatch",
    "PatchHunk",
    "PathClass",
    "Verdict",
    "apply",
    "apply_changes",
    "can_prove_tests",
    "canonical_form",
    "check_path",
    "focus",
    "is_protected",
    "is_safe_path",
    "parse_patch",
    "paths_needed",
    "protected_class",
    "read_file_context",
    "read_patch",
    "same_program",
    "same_tests",
    "screen",
    "validate_edits",
]
