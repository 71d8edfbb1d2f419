"""Known-answer tests: copies of a test whose outcomes the judge decides before they run."""

from sandbox.known_answers.observer import Answers, Finding, observe

__all__ = ["Answers", "Finding", "observe"]
