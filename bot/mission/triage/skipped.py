"""Find tests that CI ran and that skip themselves here, mostly for want of a module."""

import re

from bot.mission.triage.environment import is_same_test
from sandbox.types import LogReading, TestReport

_MODULE = re.compile(r"(?:could not import|No module named) ['\"]([A-Za-z_][\w.]{0,100})['\"]")


def skipped_in_ci(report: TestReport | None, log: LogReading | None) -> str | None:
    """Describe a test file that CI named and that is skipped here; None if there is none.

    Args:
        report: A run here.
        log: CI's log as read.
    """
    if report is None or log is None:
        return None
    for name in sorted(log.failing):
        for file, reason in report.skipped_files.items():
            if is_same_test(name.partition("::")[0], file.partition("::")[0]):
                module = _MODULE.search(reason)
                why = f"for want of the module `{module[1]}`" if module else f"({reason})"
                return f"`{file}` skips itself here {why}, and CI ran it: {name}"
    return None
