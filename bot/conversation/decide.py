"""apply, answer, reject: what a person decides about a change that was shown, or a question that was asked."""

from bot.conversation.desk import Desk, Done, done, refuse
from bot.conversation.scene import Scene, fixes_here
from bot.conversation.undo import withdraw
from bot.conversation.work import answered, ask_for, no_place
from bot.domain.registry import FixState, OfferedFix, Proposal, ProposedChange
from bot.domain.request import Feedback, MissionRequest
from bot.publish.markdown import Section, fenced, fit

YES = frozenset({"yes", "y", "yep", "yeah", "ok", "okay", "sure"})
NO = frozenset({"no", "n", "nope", "none", "neither"})
_ROOM = 20_000
"""Characters for the changes there are to choose from."""


async def apply(scene: Scene, desk: Desk) -> Done:
    """Verify a change that was shown once more, and publish it as policy says."""
    proposal = await open_proposal(scene, desk)
    if isinstance(proposal, Done):
        return proposal
    choice = _choice(scene.command.target, proposal, desk)
    if isinstance(choice, Done):
        return choice
    return await _take(choice, proposal, scene, desk)


async def answer(scene: Scene, desk: Desk) -> Done:
    """Go on where a mission asked: a number or yes takes a change, no drops all, words begin again knowing them."""
    proposal = await open_proposal(scene, desk)
    if isinstance(proposal, Done):
        return proposal
    said = scene.command.target.strip()
    word = said.casefold().rstrip(".!")
    if not said:
        return refuse(f"The question is still open.\n\n{question(proposal, desk)}")
    if word in NO:
        return await _drop(proposal, scene, desk)
    if proposal.changes:
        choice = _choice("" if word in YES else said, proposal, desk)
        return choice if isinstance(choice, Done) else await _take(choice, proposal, scene, desk)
    if (no := no_place(scene)) is not None:
        return no
    asked = await ask_for(answered(scene, proposal.proposal_id, text=said), scene, desk)
    if asked.ok:
        await desk.registry.propose(proposal.with_(decided="answered"))
    return asked


async def reject(scene: Scene, desk: Desk) -> Done:
    """Take back what was proposed here; the same change is not proposed again."""
    if not scene.is_somewhere:
        return refuse("Say it in the pull request whose fix is not wanted, or in ours.")
    fixes = [fix for fix in await fixes_here(scene, desk) if fix.state is FixState.OPEN and fix.pull_request]
    if scene.ours:
        fixes = [fix for fix in fixes if scene.pull is not None and fix.pull_request == scene.pull.number]
    if fixes and (scene.ours or not scene.command.options.get("mission")):
        return done("\n\n".join([await withdraw(fix, scene, desk) for fix in fixes]))
    proposal = await open_proposal(scene, desk)
    if isinstance(proposal, Done):
        return refuse(f"There is nothing to reject for {scene.place}: nothing of ours is open.")
    return await _drop(proposal, scene, desk, said=scene.command.reason)


async def open_proposal(scene: Scene, desk: Desk) -> Proposal | Done:
    """What waits for a decision here, or the sentence that says why nothing does."""
    named = scene.command.options.get("mission") or scene.command.mission_id
    repository = scene.repository.id
    proposal = await desk.registry.proposal(repository, proposal_id=named) if named else None
    if proposal is None and scene.pull is not None and not scene.command.options.get("mission"):
        proposal = await desk.registry.proposal(repository, pull_request=scene.pull.number)
    if proposal is None:
        return refuse(f"Nothing waits for a decision in {scene.place}; `/metaagent fix` looks for a fix.")
    if proposal.decided:
        return refuse(f"That was decided already: {desk.pen.line(proposal.decided, cap=40)}.")
    return proposal


def question(proposal: Proposal, desk: Desk) -> str:
    """The question and the changes there are to choose from, as Markdown."""
    pen = desk.pen
    parts = [fenced("", pen.block(proposal.question, cap=4000))] if proposal.question else []
    for number, change in enumerate(proposal.changes, start=1):
        title = f"{number}: {pen.prose(change.title, cap=200)}"
        if change.diff:
            parts.append(fenced(title, pen.block(change.diff, cap=8000), info="diff", folded=True))
        else:
            parts.append(Section(lead=title, body=pen.prose(change.explanation, cap=500)))
    parts.append(Section(lead=_how_to(proposal)))
    return fit(parts, limit=_ROOM)


def _how_to(proposal: Proposal) -> str:
    count = len(proposal.changes)
    if count > 1:
        return f"`/metaagent answer 1` to `/metaagent answer {count}` takes one, `/metaagent reject` none."
    if count:
        return "`/metaagent apply` takes it, `/metaagent reject` does not."
    return "`/metaagent answer …` goes on, `/metaagent reject` drops it."


def _choice(said: str, proposal: Proposal, desk: Desk) -> int | Done:
    """Which change is meant, counted from one."""
    count = len(proposal.changes)
    word = said.strip().lstrip("#")
    if not count:
        return refuse(f"No change is kept that could be applied.\n\n{question(proposal, desk)}")
    if not word and count == 1:
        return 1
    if word.isascii() and word.isdecimal() and 1 <= int(word) <= count:
        return int(word)
    meant = "which of them is meant" if not word else f"{desk.pen.code(said)} names none of them"
    there = "There is 1 change to choose" if count == 1 else f"There are {count} changes to choose from"
    return refuse(f"{there}; {meant}.\n\n{question(proposal, desk)}")


async def _take(choice: int, proposal: Proposal, scene: Scene, desk: Desk) -> Done:
    """Ask for the mission that verifies and publishes this change."""
    if (no := no_place(scene)) is not None:
        return no
    change = proposal.changes[choice - 1]
    if scene.from_fork:
        return refuse(
            "This branch lies in a fork, and we never push to one. The patch can be applied there with `git apply`."
            f"\n\n{_patch(change, desk)}"
        )
    if proposal.head_sha != scene.head_sha:
        return refuse(
            f"The change was made for `{proposal.head_sha[:8]}`, and {scene.place} has moved on to "
            f"`{(scene.head_sha or '')[:8]}`. `/metaagent fix` looks again."
        )
    asked: MissionRequest = answered(scene, proposal.proposal_id, choice=choice)
    return await ask_for(asked, scene, desk)


def _patch(change: ProposedChange, desk: Desk) -> str:
    return fenced(desk.pen.prose(change.title, cap=200), desk.pen.block(change.diff, cap=_ROOM), info="diff").render()


async def _drop(proposal: Proposal, scene: Scene, desk: Desk, *, said: str = "") -> Done:
    """Nothing of it is wanted: it is closed, its changes are known as refused, and the lesson keeps the reason."""
    at, by = desk.clock.now().isoformat(), scene.command.author
    for number, change in enumerate(proposal.changes, start=1):
        if not change.patch_id:
            continue  # a rival that was only described
        await desk.registry.offer(
            OfferedFix(
                repository=scene.repository,
                fingerprint="",
                base_branch=proposal.head_branch or "",
                head_sha=proposal.head_sha,
                branch=f"{proposal.proposal_id}/{number}",  # it never had one; this makes the row its own
                commit=proposal.head_sha,
                patch_id=change.patch_id,
                for_pull_request=proposal.pull_request,
                mission_id=proposal.proposal_id,
                state=FixState.CLOSED,
                note=f"rejected by {by} before it was opened{f': {said}' if said else ''}",
                at=at,
            )
        )
    await desk.registry.propose(proposal.with_(decided="rejected"))
    await desk.queue.feed_back(
        Feedback(
            repository=scene.repository,
            pull_request=0,  # it never had one
            merged=False,
            branch=proposal.head_branch or "",
            by=by,
            delivery_id=scene.command.delivery_id,
            mission_id=proposal.proposal_id,
            said=said,
        )
    )
    if not proposal.changes:
        return done("The question is dropped.")
    what = "The change is" if len(proposal.changes) == 1 else "The changes are"
    return done(f"{what} dropped and will not be proposed again.")
