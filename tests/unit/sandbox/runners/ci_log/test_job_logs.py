"""The cause is in the excerpt of job logs, half of them of tools that no rule was written for."""

import pytest

from sandbox.ci_log import read_log
from tests.job_logs import JobLog, job_logs, outputs

DEMAND = 0.95


def shows_its_cause(log: JobLog) -> bool:
    """Return whether the excerpt of the right step holds the line a person marked."""
    reading = read_log(log.text, hint=log.hint)
    return reading.step == log.step and log.cause.strip()[:200] in reading.excerpt


@pytest.mark.parametrize("half", ["learned", "judged"])
def test_the_cause_is_in_the_excerpt(half: str) -> None:
    read = {
        (log.name, log.scene): shows_its_cause(log)
        for output in outputs(half)
        for log in job_logs(output)
    }
    wrong = [name for name, right in read.items() if not right]
    assert len(wrong) <= (1 - DEMAND) * len(read), wrong


def test_at_least_half_of_the_outputs_are_of_tools_without_rules() -> None:
    learned, judged = ({output.name for output in outputs(half)} for half in ("learned", "judged"))
    assert len(learned | judged) >= 60
    assert len(judged) >= len(learned)
    assert not learned & judged
