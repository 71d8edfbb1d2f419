"""Public interface for reading CI job logs."""

from sandbox.runners.ci_log import StepHint, read_log

__all__ = ["StepHint", "read_log"]
