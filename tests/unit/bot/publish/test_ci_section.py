"""What CI saw is told when we could not see it."""

import pytest

from bot.domain.mission import MissionContext, Outcome
from bot.publish.ci_section import TOLD_FOR, ci_section
from bot.publish.report import answer, mission_report
from bot.publish.story import build_story
from sandbox.types import LogReading, LogSignal, TestResult, TestStatus
from tests.builders import a_mission

SEEN = LogReading(
    step="pytest -q",
    error="ConnectionError: no",
    excerpt="before\nConnectionError: no\n```\n# not a headline @alice",
    failures=tuple(
        TestResult(name=f"tests/test_a.py::test_{n}", status=TestStatus.FAIL, error_message="x")
        for n in range(12)
    ),
    failure_count=14,
    exit_code=1,
    signals=(LogSignal.NETWORK,),
    signs={LogSignal.NETWORK: "Could not resolve host: example.org"},
)


def ended(outcome: Outcome, seen: LogReading | None = SEEN) -> MissionContext:
    return a_mission().with_(outcome=outcome, ci_log=seen, iterations=())


@pytest.mark.parametrize("outcome", sorted(TOLD_FOR))
def test_the_step_the_signals_the_names_and_the_lines_are_told(outcome: Outcome) -> None:
    for text in (mission_report(build_story(ended(outcome))), answer(build_story(ended(outcome)))):
        assert "<summary>What CI saw</summary>" in text
        assert "Step `pytest -q` failed with exit status 1." in text
        assert "the network failed: `Could not resolve host: example.org`" in text
        assert "`tests/test_a.py::test_9`" in text
        assert "test_10`" not in text
        assert "- 4 more" in text
        assert "````text\nbefore\nConnectionError: no\n```\n" in text


def test_nothing_is_told_twice_and_nothing_is_made_up() -> None:
    assert ci_section(build_story(ended(Outcome.FIXED))) is None
    assert ci_section(build_story(ended(Outcome.INFRA, None))) is None
    assert ci_section(build_story(ended(Outcome.INFRA, LogReading()))) is None


def test_secrets_and_markup_in_a_log_stay_harmless() -> None:
    seen = SEEN.with_(step="`x` @alice hunter2hunter2", excerpt="token hunter2hunter2 here")
    section = ci_section(build_story(ended(Outcome.INFRA, seen), secrets=("hunter2hunter2",)))
    assert section is not None
    assert "hunter2" not in section.render()


def test_a_job_without_a_named_step_is_told_as_a_job() -> None:
    section = ci_section(build_story(ended(Outcome.INFRA, LogReading(error="it broke"))))
    assert section is not None
    assert section.lead == "The job failed."
    assert section.body == "it broke"
