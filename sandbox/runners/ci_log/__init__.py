"""Parse CI job logs: steps, excerpts, failures, signals."""

from sandbox.runners.ci_log.choice import StepHint
from sandbox.runners.ci_log.reading import read_log

__all__ = ["StepHint", "read_log"]
