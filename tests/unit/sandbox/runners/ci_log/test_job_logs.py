"""The cause is in the excerpt of job logs, half of them of tools that no rule was written for."""

import pytest

from sandbox.ci_log import read_log
from tests.job_logs import JobLog, job_logs, outputs

DEMAND = 0.95


def shows_its_cause(log: JobLog) -> bool:
    """Return whether the excerpt of the right step holds the line a person marked."""
    reading = read_log(log.text, hint=log.hint)
    return reading.step == log.step and log.cause.strip()[:200] in reading.excerpt


def share_wrong(logs: list[JobLog]) -> float:
    return sum(not shows_its_cause(log) for log in logs) / len(logs)


@pytest.mark.slow
@pytest.mark.parametrize("half", ["learned", "judged"])
def test_the_cause_is_in_the_excerpt(half: str) -> None:
    assert share_wrong([log for output in outputs(half) for log in job_logs(output)]) <= 1 - DEMAND


def test_the_cause_is_in_the_excerpt_of_a_log_of_every_output() -> None:
    """Every output in one of the scenes, and every scene several times."""
    every = [list(job_logs(output)) for half in ("learned", "judged") for output in outputs(half)]
    some = [logs[number % len(logs)] for number, logs in enumerate(every)]
    assert {log.scene for log in some} == {log.scene for logs in every for log in logs}
    assert share_wrong(some) <= 1 - DEMAND


def test_at_least_half_of_the_outputs_are_of_tools_without_rules() -> None:
    learned, judged = ({output.name for output in outputs(half)} for half in ("learned", "judged"))
    assert len(learned | judged) >= 60
    assert len(judged) >= len(learned)
    assert not learned & judged
