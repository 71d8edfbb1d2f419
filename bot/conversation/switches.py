"""The commands off, on and stop."""

import contextlib
from collections.abc import Sequence

from bot.conversation.result import CommandOutcome, done, pen, refuse
from bot.conversation.scene import Scene, missions_here
from bot.domain.command import Command, Origin
from bot.domain.github import CheckUpdate
from bot.domain.mission import Outcome
from bot.domain.registry import LiveMission, Switch
from bot.domain.request import RedHead
from bot.errors import GitHubError
from bot.policy.rules import LABEL_OFF
from bot.ports import Services
from bot.publish.recorder import Recorder

_ALL = frozenset({"repository", "repo", "everywhere", "all"})
_ACCOUNT = frozenset({"organisation", "organization", "org", "account", "installation"})


async def off(scene: Scene, services: Services) -> CommandOutcome:
    """Turn off for a pull request or the repository, and stop its missions."""
    where = _where(scene, services)
    if isinstance(where, CommandOutcome):
        return where
    number, place = where
    if scene.command.origin is Origin.LABEL:
        # The label itself disables us while it is set.
        stopped = await _stop_all(scene, services)
        text = f"Off for {place} while the label `{LABEL_OFF}` is there.{_named(stopped)}"
        return done(text).with_(stopped=stopped)
    await _turn(scene, services, number, off=True)
    stopped = await _stop_all(scene, services, everywhere=number is None)
    again = "`/metaagent on`" if number is not None else "`/metaagent on repository`"
    text = (
        f"Off for {place}: red checks no longer start missions.{_named(stopped)} "
        f"{again} turns it on again."
    )
    return done(text).with_(stopped=stopped)


async def on(scene: Scene, services: Services) -> CommandOutcome:
    """Turn on again; the policy still applies."""
    where = _where(scene, services)
    if isinstance(where, CommandOutcome):
        return where
    number, place = where
    await _turn(scene, services, number, off=False)
    if number is not None:
        await services.github.remove_label(scene.repository, number, LABEL_OFF)
    if scene.head_branch is not None:
        await services.registry.forgive(scene.repository.id, branch=scene.head_branch)
    text = f"On for {place}."
    if not scene.policy.enabled:
        text += (
            " However, the policy of this repository disables MetaAgent (`enabled: false`); "
            "see `/metaagent config`."
        )
    elif not scene.policy.automatic or not scene.policy.triggers.checks:
        text += " The policy allows work on request only: red checks do not start missions."
    return done(text)


async def stop(scene: Scene, services: Services) -> CommandOutcome:
    """Stop waiting and running missions here, or everywhere."""
    target = scene.command.target.casefold()
    if target not in {*_ALL, "", "here"}:
        wrong = pen(services).code(scene.command.target)
        return refuse(f"{wrong} is not a valid target; use none, or `repository`.")
    if not target and not scene.is_somewhere:
        return refuse(
            "There is no pull request here. "
            "Use `/metaagent stop repository` for the whole repository."
        )
    stopped = await _stop_all(scene, services, everywhere=target in _ALL)
    if not stopped:
        return refuse(f"No mission is waiting or running for {scene.place}.")
    return done(_named(stopped).strip()).with_(stopped=stopped)


def _where(scene: Scene, services: Services) -> tuple[int | None, str] | CommandOutcome:
    """Return the target pull request (None for the whole repository) and its name."""
    target = scene.command.target.casefold()
    if target in _ALL:
        return None, "this repository"
    if target in _ACCOUNT:
        # Write access to one repository gives no authority over the others.
        return refuse(
            f"Only an owner of {pen(services).code(scene.repository.owner)} can decide for all its "
            "repositories, by suspending the App or selecting its repositories in the account's "
            "settings under Installed GitHub Apps."
        )
    if target and target not in {"here", scene.place}:
        wrong = pen(services).code(scene.command.target)
        return refuse(f"{wrong} is not a valid target; use none, or `repository`.")
    if scene.pull is None:
        word = scene.command.verb
        return refuse(
            "There is no pull request here. "
            f"Use `/metaagent {word} repository` for the whole repository."
        )
    return scene.pull.number, scene.place


async def _turn(scene: Scene, services: Services, number: int | None, *, off: bool) -> None:
    at = services.clock.now().isoformat()
    await services.registry.switch(
        Switch(
            repository_id=scene.repository.id,
            pull_request=number,
            off=off,
            by=scene.command.author,
            at=at,
        )
    )


async def _stop_all(
    scene: Scene, services: Services, *, everywhere: bool = False
) -> tuple[LiveMission, ...]:
    """Stop missions and return those that were stopped."""
    live = (
        await services.registry.live(scene.repository.id)
        if everywhere
        else await missions_here(scene, services)
    )
    listed = {mission.mission_id for mission in live}
    to_come = [mission for mission in _to_come(scene) if mission.mission_id not in listed]
    settling = [
        one
        for one in to_come
        if await services.queue.status(one.mission_id) in {"waiting", "running"}
    ]
    return tuple([mission for mission in (*live, *settling) if await _stopped(mission, services)])


def _to_come(scene: Scene) -> tuple[LiveMission, ...]:
    """Return the mission that this head's checks will lead to; it is unlisted until they settle."""
    if scene.head_sha is None:
        return ()
    head = RedHead(repository=scene.repository, head_sha=scene.head_sha)
    number = scene.pull.number if scene.pull else None
    return (
        LiveMission(
            mission_id=head.mission_id,
            repository=head.repository,
            head_sha=head.head_sha,
            branch=scene.head_branch,
            pull_request=number,
        ),
    )


async def _stopped(mission: LiveMission, services: Services) -> bool:
    """Stop a mission. Return True if it existed, or was stopped but not yet reported."""
    state = await services.queue.status(mission.mission_id)
    if state in {"waiting", "running"}:
        await services.queue.cancel(mission.mission_id)
    return state in {"waiting", "running", "cancelled"}


def _named(stopped: Sequence[LiveMission]) -> str:
    """Return a sentence that names the stopped missions; empty for none."""
    if not stopped:
        return ""
    names = ", ".join(sorted({_name(mission) for mission in stopped}))
    return f" Stopped {len(stopped)} {'mission' if len(stopped) == 1 else 'missions'}: {names}."


async def end_stopped(stopped: Sequence[LiveMission], command: Command, services: Services) -> None:
    """Report the end of stopped missions in their checks, after their own last writes.

    A cancelled mission cannot report itself.
    """
    for mission in stopped:
        if mission.head_sha is not None:
            by = pen(services).code(command.author)
            update = CheckUpdate(
                status="completed",
                title="CANCELLED: stopped on request",
                summary=f"{by} stopped this. `/metaagent fix` starts again.",
                external_id=mission.mission_id,
            )
            # The mission is stopped even if its check cannot be updated.
            with contextlib.suppress(GitHubError):
                await services.github.publish_check(command.repository, mission.head_sha, update)
        await services.registry.end(mission.mission_id)
        if services.records is not None:
            recorder = Recorder(services.records, services.clock, services.secrets)
            reason = f"{command.author} stopped it"
            await recorder.stop(mission.mission_id, Outcome.CANCELLED, reason)


def _name(mission: LiveMission) -> str:
    commit = f"`{mission.head_sha[:8]}`" if mission.head_sha else "a commit"
    return f"{commit} of #{mission.pull_request}" if mission.pull_request else commit
