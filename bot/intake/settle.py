"""From the first red check of a commit to the one mission for all of them."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain.github import CheckRunState
from bot.domain.request import CheckRef, Depth, MissionRequest, RedHead
from bot.errors import GitHubError, StoreError
from bot.intake import guards
from bot.ports import GitHub, GitHubRuns, MissionQueue, PatientCheckpoint, Registry
from sandbox.types import Frozen

PAUSES_S = (3.0, 5.0, 10.0, 20.0)
"""Between looks at the checks of a head; the last one is repeated."""
SETTLE_S = 180.0
"""After this long the mission begins with what is red by then."""

SECOND = 2
"""The look that even a green head gets."""

log = logging.getLogger(__name__)


class Look(Frozen):
    """The checks of a head at one moment."""

    red: tuple[CheckRef, ...] = ()
    """The one to repair first."""
    pending: int = 0
    """Checks that are not complete yet."""
    readable: bool = True
    """False when GitHub would not tell: then the event's word counts."""


class Past(Frozen):
    """What went before on the branch, and whether it is a branch of ours at all."""

    supersedes: str | None = None
    from_fork: bool = False
    at_work: bool = False
    """Another mission looks for a fix of this very commit already."""


@dataclass(frozen=True)
class Watch:
    """Whom to ask while a head settles."""

    github: GitHub
    runs: GitHubRuns | None = None
    """Knows statuses and whose run it was; None leaves both out."""
    registry: Registry | None = None
    """Knows which mission came before on a branch."""
    queue: MissionQueue | None = None
    """Knows whether that one was ended by a push."""
    app_slug: str = "metaagent"
    """Whose checks are ours."""
    settle_s: float = SETTLE_S
    """The longest wait."""


async def settle(red: RedHead, watch: Watch, checkpoint: PatientCheckpoint) -> MissionRequest | None:
    """Wait until no check of the head is under way, then ask for one mission for all that are red.

    Args:
        red: The first event that told of it; later ones join.
        watch: Whom to ask.
        checkpoint: Remembers the looks, and waits.

    Returns:
        The request, or None when everything is green by now, the head turns out to be a fork's, or another mission
        is at work on it.

    Raises:
        GitHubError: GitHub does not answer, for longer than the checkpoint tries.
    """

    async def look() -> Look:
        return await _look(red, watch)

    seen = await checkpoint.step("look 1", Look, look)
    for turn, pause in enumerate(_pauses(watch.settle_s), start=2):
        # Nothing red right after an event that says so: what GitHub shows may lag behind what it tells.
        if not seen.pending and (seen.red or not seen.readable or turn > SECOND):
            break
        await checkpoint.pause(pause)
        seen = await checkpoint.step(f"look {turn}", Look, look)
    if seen.readable and not seen.red:
        log.info("all checks are green by now", extra={"mission": red.mission_id})
        return None

    async def past() -> Past:
        return Past(
            supersedes=await _superseded(red, watch),
            from_fork=await _is_forks(red, watch.runs),
            at_work=await _at_work(red, watch.queue),
        )

    before = await checkpoint.step("past", Past, past)
    if before.from_fork:
        log.info("the head is a fork's", extra={"mission": red.mission_id})
        return None
    if before.at_work:
        log.info("somebody asked meanwhile", extra={"mission": red.mission_id})
        return None
    request = first_request(red).with_(supersedes=before.supersedes)
    return request.with_(check=seen.red[0], also_red=seen.red[1:]) if seen.red else request


def first_request(red: RedHead) -> MissionRequest:
    """The mission as the event alone asks for it."""
    return MissionRequest(
        mission_id=red.mission_id,
        trigger=red.trigger,
        repository=red.repository,
        head_sha=red.head_sha,
        head_branch=red.head_branch,
        check=red.check,
        pull_request=red.pull_request,
        tier=red.tier,
        delivery_id=red.delivery_id,
        actors=red.actors,
    )


def _pauses(settle_s: float) -> Iterator[float]:
    """Waits that come to `settle_s` in all."""
    left, turn = settle_s, 0
    while left > 0:
        pause = min(PAUSES_S[min(turn, len(PAUSES_S) - 1)], left)
        yield pause
        left -= pause
        turn += 1


async def _look(red: RedHead, watch: Watch) -> Look:
    try:
        checks = await watch.github.check_runs(red.repository, red.head_sha)
        statuses = await watch.runs.commit_statuses(red.repository, red.head_sha) if watch.runs is not None else ()
    except GitHubError as error:
        if error.retryable:
            raise
        # Admission asks again, and tells people what we may not read.
        log.warning("the checks of a head cannot be read: %s", error.message, extra={"mission": red.mission_id})
        return Look(readable=False)
    tests = [c for c in checks if c.app_slug != watch.app_slug and c.app_slug not in guards.NOT_TESTS]
    found = [_ref(c, red) for c in tests if c.status == "completed" and c.conclusion in guards.RED]
    old = [status for status in statuses if guards.is_test_status(status.context)]
    found += [CheckRef(id=0, name=status.context, app_slug="") for status in old if status.is_red]
    pending = sum(c.status != "completed" for c in tests) + sum(status.is_pending for status in old)
    return Look(red=guards.best_check(found), pending=pending)


def _ref(check: CheckRunState, red: RedHead) -> CheckRef:
    if red.check is not None and red.check.id == check.id:
        return red.check.with_(app_slug=check.app_slug or red.check.app_slug)
    return CheckRef(id=check.id, name=check.name, app_slug=check.app_slug, conclusion=check.conclusion or "failure")


async def _is_forks(red: RedHead, runs: GitHubRuns | None) -> bool:
    """A job does not say whose head it ran on; its run does."""
    if runs is None or red.workflow_run is None or red.check is None:
        return False
    try:
        run = await runs.workflow_run(red.repository, red.workflow_run)
    except GitHubError as error:
        if error.retryable:
            raise
        return False  # admission finds out by the pull requests at this commit
    return run is not None and run.from_fork


async def _at_work(red: RedHead, queue: MissionQueue | None) -> bool:
    """Whether another mission waits or runs that looks for a fix of this commit: a person's, as a rule."""
    if queue is None:
        return False
    live = [one for one in await queue.under_way(red.repository.id) if one.mission_id != red.mission_id]
    return any(one.head_sha == red.head_sha and one.depth is Depth.FIX for one in live)


async def _superseded(red: RedHead, watch: Watch) -> str | None:
    """The mission on an older head of this branch that the push ended."""
    if watch.registry is None or watch.queue is None or red.head_branch is None:
        return None
    try:
        last = await watch.registry.last(red.repository.id, branch=red.head_branch)
    except StoreError as error:
        log.warning("what was under way is not known: %s", error.message)
        return None
    if last is None or last.mission_id == red.mission_id or last.head_sha == red.head_sha:
        return None
    return last.mission_id if await watch.queue.status(last.mission_id) == "cancelled" else None
