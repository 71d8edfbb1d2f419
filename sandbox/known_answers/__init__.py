"""Known-answer tests: copies of a test whose outcomes the judge decides before they run."""

from sandbox.known_answers.observer import (
    Finding,
    KnownAnswers,
    can_copy,
    observe,
    observe_together,
)

__all__ = ["Finding", "KnownAnswers", "can_copy", "observe", "observe_together"]
