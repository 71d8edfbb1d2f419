"""CI job logs, read: steps, excerpts, failures, signals."""

from sandbox.runners.ci_log.reading import read_log
from sandbox.runners.ci_log.steps import StepHint

__all__ = ["StepHint", "read_log"]
