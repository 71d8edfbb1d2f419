"""The door to what a CI job's log says."""

from sandbox.runners.ci_log import StepHint, read_log

__all__ = ["StepHint", "read_log"]
