"""Known-answer tests: copies of a test whose outcomes the judge decides before they run."""

from sandbox.known_answers.observer import (
    Finding,
    KnownAnswers,
    can_copy,
    observe,
    observe_together,
)
from sandbox.known_answers.test_texts import find_rewritten, read_test_texts

__all__ = [
    "Finding",
    "KnownAnswers",
    "can_copy",
    "find_rewritten",
    "observe",
    "observe_together",
    "read_test_texts",
]
