"""off, on, stop: be quiet here, be there again, drop what runs."""

import contextlib
from collections.abc import Sequence

from bot.conversation.desk import Desk, Done, done, refuse
from bot.conversation.scene import Scene, missions_here
from bot.domain.command import Command, Origin
from bot.domain.github import CheckUpdate
from bot.domain.registry import LiveMission, Switch
from bot.domain.request import RedHead
from bot.errors import GitHubError
from bot.policy.rules import LABEL_OFF

_ALL = frozenset({"repository", "repo", "everywhere", "all"})
_ACCOUNT = frozenset({"organisation", "organization", "org", "account", "installation"})


async def off(scene: Scene, desk: Desk) -> Done:
    """Turn off for a pull request, or for the repository, and stop what runs there."""
    where = _where(scene, desk)
    if isinstance(where, Done):
        return where
    number, place = where
    if scene.command.origin is Origin.LABEL:
        # The label itself keeps us off, for as long as it is there.
        stopped = await _stop_all(scene, desk)
        text = f"Off for {place} while the label `{LABEL_OFF}` is there.{_named(stopped)}"
        return done(text).with_(stopped=stopped)
    await _turn(scene, desk, number, off=True)
    stopped = await _stop_all(scene, desk, everywhere=number is None)
    again = "`/metaagent on`" if number is not None else "`/metaagent on repository`"
    text = f"Off for {place}: red checks are not answered unasked.{_named(stopped)} {again} turns it on again."
    return done(text).with_(stopped=stopped)


async def on(scene: Scene, desk: Desk) -> Done:
    """Turn on again; a policy that says no still says no."""
    where = _where(scene, desk)
    if isinstance(where, Done):
        return where
    number, place = where
    await _turn(scene, desk, number, off=False)
    if number is not None:
        await desk.github.remove_label(scene.repository, number, LABEL_OFF)
    if scene.head_branch is not None:
        await desk.registry.forgive(scene.repository.id, branch=scene.head_branch)
    text = f"On for {place}."
    if not scene.policy.enabled:
        text += " But the policy of this repository keeps MetaAgent off (`enabled: false`); see `/metaagent config`."
    elif not scene.policy.automatic or not scene.policy.triggers.checks:
        text += " The policy allows work on request only: red checks are not answered unasked."
    return done(text)


async def stop(scene: Scene, desk: Desk) -> Done:
    """Drop what waits or runs here, or everywhere."""
    target = scene.command.target.casefold()
    if target not in {*_ALL, "", "here"}:
        return refuse(f"{desk.pen.code(scene.command.target)} is no place; say nothing, or `repository`.")
    if not target and not scene.is_somewhere:
        return refuse("There is no pull request here. `/metaagent stop repository` is for the whole repository.")
    stopped = await _stop_all(scene, desk, everywhere=target in _ALL)
    if not stopped:
        return refuse(f"Nothing waits or runs for {scene.place}.")
    return done(_named(stopped).strip()).with_(stopped=stopped)


def _where(scene: Scene, desk: Desk) -> tuple[int | None, str] | Done:
    """The pull request that is meant (None for the whole repository), and its name."""
    target = scene.command.target.casefold()
    if target in _ALL:
        return None, "this repository"
    if target in _ACCOUNT:
        # Who may write to one of its repositories may not decide for all of them.
        return refuse(
            f"Only an owner of {desk.pen.code(scene.repository.owner)} decides for all its repositories: they suspend "
            "the App, or choose its repositories, in the account's settings under Installed GitHub Apps."
        )
    if target and target not in {"here", scene.place}:
        return refuse(f"{desk.pen.code(scene.command.target)} is no place; say nothing, or `repository`.")
    if scene.pull is None:
        word = scene.command.verb
        return refuse(f"There is no pull request here. `/metaagent {word} repository` is for the whole repository.")
    return scene.pull.number, scene.place


async def _turn(scene: Scene, desk: Desk, number: int | None, *, off: bool) -> None:
    at = desk.clock.now().isoformat()
    await desk.registry.switch(
        Switch(repository_id=scene.repository.id, pull_request=number, off=off, by=scene.command.author, at=at)
    )


async def _stop_all(scene: Scene, desk: Desk, *, everywhere: bool = False) -> tuple[LiveMission, ...]:
    """Drop missions; those that were dropped."""
    live = await desk.registry.live(scene.repository.id) if everywhere else await missions_here(scene, desk)
    listed = {mission.mission_id for mission in live}
    to_come = [mission for mission in _to_come(scene) if mission.mission_id not in listed]
    settling = [one for one in to_come if await desk.queue.status(one.mission_id) in {"waiting", "running"}]
    return tuple([mission for mission in (*live, *settling) if await _stopped(mission, desk)])


def _to_come(scene: Scene) -> tuple[LiveMission, ...]:
    """The mission that the red checks of this head lead to when they have settled; until then it is nowhere listed."""
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


async def _stopped(mission: LiveMission, desk: Desk) -> bool:
    """Whether it was there to be stopped; one that was stopped and is not told of yet counts."""
    state = await desk.queue.status(mission.mission_id)
    if state in {"waiting", "running"}:
        await desk.queue.cancel(mission.mission_id)
    return state in {"waiting", "running", "cancelled"}


def _named(stopped: Sequence[LiveMission]) -> str:
    """A sentence that says which missions were stopped; empty for none."""
    if not stopped:
        return ""
    names = ", ".join(sorted({_name(mission) for mission in stopped}))
    return f" Stopped {len(stopped)} {'mission' if len(stopped) == 1 else 'missions'}: {names}."


async def end_stopped(stopped: Sequence[LiveMission], command: Command, desk: Desk) -> None:
    """The last word in the checks of missions that were stopped, after whatever they still wrote."""
    for mission in stopped:
        if mission.head_sha is not None:
            update = CheckUpdate(
                status="completed",
                title="CANCELLED: stopped on request",
                summary=f"{desk.pen.code(command.author)} stopped this. `/metaagent fix` begins anew.",
                external_id=mission.mission_id,
            )
            with contextlib.suppress(GitHubError):  # it is stopped, whether its check says so or not
                await desk.github.publish_check(command.repository, mission.head_sha, update)
        await desk.registry.end(mission.mission_id)


def _name(mission: LiveMission) -> str:
    commit = f"`{mission.head_sha[:8]}`" if mission.head_sha else "a commit"
    return f"{commit} of #{mission.pull_request}" if mission.pull_request else commit
