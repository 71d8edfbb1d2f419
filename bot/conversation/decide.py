"""The commands apply, answer and reject: decisions about a shown change or an open question."""

from typing import Literal

from bot.conversation.result import CommandOutcome, done, pen, refuse
from bot.conversation.scene import Scene, fixes_here
from bot.conversation.undo import withdraw
from bot.conversation.work import build_follow_up, place_refusal, request_mission
from bot.domain.registry import FixState, OfferedFix, Proposal, ProposedChange
from bot.domain.request import Feedback, MissionRequest
from bot.ports import Services
from bot.publish.markdown import Section, fenced, fit

YES = frozenset({"yes", "y", "yep", "yeah", "ok", "okay", "sure"})
NO = frozenset({"no", "n", "nope", "none", "neither"})
_ROOM = 20_000
"""Limit of the shown changes, in characters."""


async def apply(scene: Scene, services: Services) -> CommandOutcome:
    """Verify a shown change again, and publish it by the policy."""
    proposal = await open_proposal(scene, services)
    if isinstance(proposal, CommandOutcome):
        return proposal
    choice = _choice(scene.command.target, proposal, services)
    if isinstance(choice, CommandOutcome):
        return choice
    return await _take(choice, proposal, scene, services)


async def answer(scene: Scene, services: Services) -> CommandOutcome:
    """Continue after a question.

    A number or yes selects a change, no drops all of them, and other text starts a mission that
    knows it.
    """
    proposal = await open_proposal(scene, services)
    if isinstance(proposal, CommandOutcome):
        return proposal
    said = scene.command.target.strip()
    word = said.casefold().rstrip(".!")
    if not said:
        return refuse(f"The question is still open.\n\n{question(proposal, services)}")
    if word in NO:
        return await _drop(proposal, scene, services)
    if proposal.changes:
        choice = _choice("" if word in YES else said, proposal, services)
        return (
            choice
            if isinstance(choice, CommandOutcome)
            else await _take(choice, proposal, scene, services)
        )
    if (no := place_refusal(scene)) is not None:
        return no
    asked = await request_mission(
        build_follow_up(scene, proposal.proposal_id, text=said), scene, services
    )
    # A refused mission leaves the question open.
    if asked.ok:
        await services.registry.propose(proposal.with_(decided="answered"))
        await services.queue.feed_back(_feedback(proposal, scene, said=said, fate="answered"))
    return asked


async def reject(scene: Scene, services: Services) -> CommandOutcome:
    """Withdraw the proposals of this place; the same change is not proposed again."""
    if not scene.is_somewhere:
        return refuse("Use this command in the pull request whose fix you do not want, or in ours.")
    fixes = [
        fix
        for fix in await fixes_here(scene, services)
        if fix.state is FixState.OPEN and fix.pull_request
    ]
    if scene.ours:
        fixes = [
            fix for fix in fixes if scene.pull is not None and fix.pull_request == scene.pull.number
        ]
    if fixes and (scene.ours or not scene.command.options.get("mission")):
        return done("\n\n".join([await withdraw(fix, scene, services) for fix in fixes]))
    proposal = await open_proposal(scene, services)
    if isinstance(proposal, CommandOutcome):
        return refuse(f"There is nothing to reject for {scene.place}: no fix of ours is open.")
    return await _drop(proposal, scene, services, said=scene.command.reason)


async def open_proposal(scene: Scene, services: Services) -> Proposal | CommandOutcome:
    """Return the open proposal of this place, or a refusal with the reason."""
    named = scene.command.options.get("mission") or scene.command.mission_id
    repository = scene.repository.id
    proposal = await services.registry.proposal(repository, proposal_id=named) if named else None
    if proposal is None and scene.pull is not None and not scene.command.options.get("mission"):
        proposal = await services.registry.proposal(repository, pull_request=scene.pull.number)
    if proposal is None:
        return refuse(
            f"No decision is pending in {scene.place}. `/metaagent fix` searches for a fix."
        )
    if proposal.decided:
        return refuse(f"This was already decided: {pen(services).line(proposal.decided, cap=40)}.")
    return proposal


def question(proposal: Proposal, services: Services) -> str:
    """Return the question and its changes as Markdown."""
    safe = pen(services)
    parts = [fenced("", safe.block(proposal.question, cap=4000))] if proposal.question else []
    for number, change in enumerate(proposal.changes, start=1):
        title = f"{number}: {safe.prose(change.title, cap=200)}"
        if change.diff:
            parts.append(fenced(title, safe.block(change.diff, cap=8000), info="diff", folded=True))
        else:
            parts.append(Section(lead=title, body=safe.prose(change.explanation, cap=500)))
    parts.append(Section(lead=_how_to(proposal)))
    return fit(parts, limit=_ROOM)


def _how_to(proposal: Proposal) -> str:
    count = len(proposal.changes)
    if count > 1:
        return (
            f"`/metaagent answer 1` to `/metaagent answer {count}` selects a change, "
            "`/metaagent reject` rejects all."
        )
    if count:
        return "`/metaagent apply` accepts it, `/metaagent reject` rejects it."
    return (
        "`/metaagent answer …` continues with your answer, `/metaagent reject` drops the question."
    )


def _choice(said: str, proposal: Proposal, services: Services) -> int | CommandOutcome:
    """Return the number of the chosen change, from 1, or a refusal."""
    count = len(proposal.changes)
    word = said.strip().lstrip("#")
    if not count:
        return refuse(
            f"No change is stored that could be applied.\n\n{question(proposal, services)}"
        )
    if not word and count == 1:
        return 1
    # `isdecimal` alone accepts the digits of every script.
    if word.isascii() and word.isdecimal() and 1 <= int(word) <= count:
        return int(word)
    meant = "give the number of one" if not word else f"{pen(services).code(said)} is none of them"
    there = (
        "There is 1 change to choose" if count == 1 else f"There are {count} changes to choose from"
    )
    return refuse(f"{there}; {meant}.\n\n{question(proposal, services)}")


async def _take(
    choice: int, proposal: Proposal, scene: Scene, services: Services
) -> CommandOutcome:
    """Request the mission that verifies and publishes this change."""
    if (no := place_refusal(scene)) is not None:
        return no
    change = proposal.changes[choice - 1]
    if scene.from_fork:
        return refuse(
            "This branch is in a fork, which we never push to. "
            f"Apply the patch there with `git apply`.\n\n{_patch(change, services)}"
        )
    # The change was tested on that commit only.
    if proposal.head_sha != scene.head_sha:
        return refuse(
            f"The change was made for `{proposal.head_sha[:8]}`, but {scene.place} is now at "
            f"`{(scene.head_sha or '')[:8]}`. `/metaagent fix` searches again."
        )
    asked: MissionRequest = build_follow_up(scene, proposal.proposal_id, choice=choice)
    return await request_mission(asked, scene, services)


def _patch(change: ProposedChange, services: Services) -> str:
    return fenced(
        pen(services).prose(change.title, cap=200),
        pen(services).block(change.diff, cap=_ROOM),
        info="diff",
    ).render()


async def _drop(
    proposal: Proposal, scene: Scene, services: Services, *, said: str = ""
) -> CommandOutcome:
    """Close a proposal, mark its changes as refused, and record the reason in the lesson."""
    at, by = services.clock.now().isoformat(), scene.command.author
    for number, change in enumerate(proposal.changes, start=1):
        if not change.patch_id:
            continue  # a rival without a patch
        await services.registry.offer(
            OfferedFix(
                repository=scene.repository,
                fingerprint="",
                base_branch=proposal.head_branch or "",
                head_sha=proposal.head_sha,
                branch=f"{proposal.proposal_id}/{number}",  # a unique key: the change has no branch
                commit=proposal.head_sha,
                patch_id=change.patch_id,
                for_pull_request=proposal.pull_request,
                mission_id=proposal.proposal_id,
                state=FixState.CLOSED,
                note=f"rejected by {by} before it was opened{f': {said}' if said else ''}",
                at=at,
            )
        )
    await services.registry.propose(proposal.with_(decided="rejected"))
    await services.queue.feed_back(_feedback(proposal, scene, said=said, fate="closed"))
    if not proposal.changes:
        return done("The question is dropped.")
    what = "The change is" if len(proposal.changes) == 1 else "The changes are"
    return done(f"{what} dropped and will not be proposed again.")


def _feedback(
    proposal: Proposal, scene: Scene, *, said: str, fate: Literal["closed", "answered"]
) -> Feedback:
    """Return the decision about a proposal, for its lesson."""
    return Feedback(
        repository=scene.repository,
        pull_request=0,  # the change has no pull request
        merged=False,
        branch=proposal.head_branch or "",
        fate=fate,
        by=scene.command.author,
        delivery_id=scene.command.delivery_id,
        mission_id=proposal.proposal_id,
        said=said,
    )
