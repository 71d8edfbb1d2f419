"""Report section with CI's own observations, for missions that could not reproduce them. Pure."""

from bot.domain.mission import Outcome
from bot.publish.markdown import Section, fenced
from bot.publish.story import Story
from sandbox.types import LogReading, LogSignal

TOLD_FOR = frozenset({Outcome.NOT_REPRODUCED, Outcome.ENV_UNBUILDABLE, Outcome.INFRA})
NAMES_SHOWN = 10
_SAID = {
    LogSignal.RUNNER_LOST: "the runner was lost",
    LogSignal.CANCELLED: "the job was cancelled",
    LogSignal.TIMED_OUT: "the job exceeded its time limit",
    LogSignal.DISK_FULL: "the disk was full",
    LogSignal.OUT_OF_MEMORY: "the job ran out of memory",
    LogSignal.RATE_LIMITED: "a service limited the number of requests",
    LogSignal.NETWORK: "the network failed",
    LogSignal.REGISTRY: "an image, package or artifact was missing",
    LogSignal.CREDENTIALS: "a service rejected the job's credentials",
}


def ci_section(story: Story) -> Section | None:
    """Return the failed step, its failures and log lines; None if we saw the failure ourselves."""
    seen = story.context.ci_log
    if seen is None or story.outcome not in TOLD_FOR or not (seen.excerpt or seen.error):
        return None
    return fenced(
        "What CI saw",
        story.pen.block(seen.excerpt or seen.error, cap=6000),
        lead=_lead(story, seen),
        folded=True,
    )


def _lead(story: Story, seen: LogReading) -> str:
    pen = story.pen
    step = f"Step {pen.code(seen.step)} failed" if seen.step else "The job failed"
    ending = f" with exit status {seen.exit_code}" if seen.exit_code is not None else ""
    lines = [f"{step}{ending}."]
    lines += [
        f"- {_SAID[signal]}: {pen.code(seen.signs.get(signal, ''), cap=200)}"
        for signal in seen.signals
    ]
    shown = seen.failures[:NAMES_SHOWN]
    lines += [
        f"- {pen.code(failure.name)} {pen.words(failure.error_message or '', cap=200)}".rstrip()
        for failure in shown
    ]
    more = seen.failure_count - len(shown)
    if more > 0:
        lines.append(f"- {more} more")
    return "\n".join((lines[0], "", *lines[1:])) if len(lines) > 1 else lines[0]
