"""undo: take a fix of ours back, whether it is open, merged or was pushed; never by force."""

from bot.conversation.desk import Desk, Done, done, refuse
from bot.conversation.scene import Scene, fixes_here
from bot.domain.github import BranchCommit
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import Feedback
from bot.errors import Conflict, NotPermitted
from bot.publish.story import identity
from sandbox.types import FileEdit, Frozen

BRANCH = "metaagent/undo/"
"""Branches that take a merged fix back begin so: like all of ours they start no mission."""

_GONE = {
    FixState.CLOSED: "was closed already",
    FixState.REVERTED: "was taken back already",
    FixState.SUPERSEDED: "gave way to a newer one already",
    FixState.EXPIRED: "expired already",
}


class Reversal(Frozen):
    """What puts everything back, and where."""

    fix: OfferedFix
    edits: tuple[FileEdit, ...]
    onto: str
    """The head of the branch it goes to."""


async def undo(scene: Scene, desk: Desk) -> Done:
    """Take back the fix that is meant: the one named, the one of this pull request, else the newest."""
    fix = await _meant(scene, desk)
    if isinstance(fix, Done):
        return fix
    if fix.state in _GONE:
        return refuse(f"{_begin(fix)} {_GONE[fix.state]}.")
    if fix.state is FixState.OPEN and fix.pull_request is not None:
        return done(await withdraw(fix, scene, desk))
    onto = await desk.github.branch_head(fix.repository, fix.base_branch)
    if onto is None:
        return refuse(f"The branch {desk.pen.code(fix.base_branch)} is gone, and {_name(fix)} with it.")
    edits = await _reversed(fix, desk, onto=onto)
    if isinstance(edits, Done):
        return edits
    if not edits:
        await _note(fix, FixState.REVERTED, scene, desk)
        branch = desk.pen.code(fix.base_branch)
        return done(f"Nothing of {_name(fix)} is left on {branch}; the same change will not be proposed again.")
    return await _take_back(Reversal(fix=fix, edits=edits, onto=onto), scene, desk)


async def withdraw(fix: OfferedFix, scene: Scene, desk: Desk) -> str:
    """Close an open pull request of ours and take its branch away; what was done, in a sentence."""
    if fix.pull_request is None:
        raise ValueError("a fix without a pull request cannot be withdrawn")
    await desk.github.close_pull_request(fix.repository, fix.pull_request)
    gone = not fix.taken_over and await desk.github.delete_branch(fix.repository, fix.branch, expected=fix.commit)
    # Last: a second try after a fault must still find it open.
    await _note(fix, FixState.CLOSED, scene, desk)
    branch = "its branch is gone" if gone else "its branch stays, for somebody pushed to it"
    return f"#{fix.pull_request} is closed, {branch}, and the same change will not be proposed again."


async def _meant(scene: Scene, desk: Desk) -> OfferedFix | Done:
    """The fix a person means."""
    fixes = [fix for fix in await fixes_here(scene, desk) if not _never_opened(fix)]
    target = scene.command.target.lstrip("#").strip()
    if target:
        wanted = await desk.registry.offered(scene.repository.id)
        named = [f for f in wanted if target.isdecimal() and f.pull_request == int(target[:9])]
        named += [f for f in wanted if len(target) >= 7 and f.commit.startswith(target.lower())]  # noqa: PLR2004
        if not named:
            return refuse(f"{desk.pen.code(scene.command.target)} is no fix of ours; `/metaagent status` lists them.")
        return named[0]
    if not scene.is_somewhere:
        return refuse("Say which fix is meant: `/metaagent undo #123`, with the number of our pull request.")
    if not fixes:
        return refuse(f"There is no fix of ours for {scene.place}.")
    return next((fix for fix in fixes if fix.state not in _GONE), fixes[0])


def _never_opened(fix: OfferedFix) -> bool:
    """A change that was refused before it was on any branch."""
    return fix.commit == fix.head_sha


async def _reversed(fix: OfferedFix, desk: Desk, *, onto: str) -> tuple[FileEdit, ...] | Done:
    """The edits that put every file back; a refusal when somebody changed one of them since."""
    files = fix.files
    if not files and fix.pull_request is not None:
        files = {file.path: "100644" for file in await desk.github.pull_request_files(fix.repository, fix.pull_request)}
    if not files:
        return refuse(f"What {_name(fix)} changed is not known any more. `git revert {fix.commit[:12]}` takes it back.")
    edits, touched = [], []
    for path, mode in files.items():
        before = await desk.github.read_file(fix.repository, path, fix.head_sha)
        after = await desk.github.read_file(fix.repository, path, fix.commit)
        now = await desk.github.read_file(fix.repository, path, onto)
        if now == before:
            continue
        if now != after:
            touched.append(path)
        elif before is None:
            edits.append(FileEdit(path=path, mode="deleted"))
        else:
            edits.append(FileEdit(path=path, mode="100755" if mode == "100755" else "100644", content=before))
    if touched:
        named = ", ".join(desk.pen.code(path) for path in touched[:5])
        commit = (fix.merge_sha or fix.commit)[:12]
        return refuse(f"{named} changed since, so this needs a person: `git revert {commit}` shows the conflict.")
    return tuple(edits)


async def _take_back(reversal: Reversal, scene: Scene, desk: Desk) -> Done:
    """On the branch itself where we pushed to it, by a pull request where people merged or rules demand one."""
    fix = reversal.fix
    if fix.pull_request is None and fix.branch == fix.base_branch:
        commit = BranchCommit(branch=fix.branch, parent=reversal.onto, message=_message(fix, scene, desk))
        try:
            sha = await desk.github.commit_on_branch(fix.repository, commit, reversal.edits)
        except Conflict:
            return refuse(f"Somebody pushed to {desk.pen.code(fix.branch)} meanwhile; ask again.")
        except NotPermitted:
            sha = ""
        if sha:
            await _note(fix, FixState.REVERTED, scene, desk)
            return done(f"{sha} takes {_name(fix)} back; the same change will not be proposed again.")
    number = await _revert_pull_request(reversal, scene, desk)
    if isinstance(number, Done):
        return number
    await _note(fix, FixState.REVERTED, scene, desk)
    return done(f"#{number} takes {_name(fix)} back; the same change will not be proposed again.")


async def _revert_pull_request(reversal: Reversal, scene: Scene, desk: Desk) -> int | Done:
    """Its number; the open one, when there is one."""
    fix, branch = reversal.fix, f"{BRANCH}{reversal.fix.commit[:12]}"
    opened = [pull for pull in await desk.github.pull_requests_from(fix.repository, branch) if pull.state == "open"]
    if opened:
        return opened[0].number
    message = _message(fix, scene, desk)
    commit = BranchCommit(branch=branch, parent=reversal.onto, message=message)
    try:
        await desk.github.commit_on_new_branch(fix.repository, commit, reversal.edits)
    except Conflict:
        return refuse(f"The branch `{branch}` is there already and holds something else; remove it and ask again.")
    title, _, body = message.partition("\n\n")
    pull = await desk.github.open_pull_request(
        fix.repository, head=branch, base=fix.base_branch, title=title, body=body, draft=False
    )
    return pull.number


def _message(fix: OfferedFix, scene: Scene, desk: Desk) -> str:
    """Title, and what is taken back; also the body of the pull request."""
    where = f"#{fix.pull_request}" if fix.pull_request else fix.commit[:12]
    by = desk.pen.title(scene.command.author, cap=60)
    return (
        f"Revert the fix of {where}\n\n"
        f"This puts back what {fix.commit} changed. {by} asked for it.\n\n"
        f"MetaAgent-Undoes: {identity(fix.mission_id)}\n"
    )


async def _note(fix: OfferedFix, state: FixState, scene: Scene, desk: Desk) -> None:
    """Remember that a person does not want it, and let the lessons learn it."""
    by, said = scene.command.author, scene.command.reason

    def unwanted(now: OfferedFix) -> OfferedFix:
        # What was merged while we closed it is where people work: its revert has to be known.
        merged = now.state in {FixState.MERGED, FixState.REVERTED} and state is FixState.CLOSED
        return now if merged else now.with_(state=state, note=f"{state.value} by {by}{f': {said}' if said else ''}")

    await desk.registry.revise(fix.key, unwanted)
    if fix.pull_request is None or scene.policy.mode == "staged":
        return
    reverted = state is FixState.REVERTED
    await desk.queue.feed_back(
        Feedback(
            repository=fix.repository,
            pull_request=fix.pull_request,
            merged=reverted,
            branch=fix.branch,
            fate="reverted" if reverted else "closed",
            by=by,
            merge_sha=fix.merge_sha,
            delivery_id=scene.command.delivery_id,
            said=said,
        )
    )


def _name(fix: OfferedFix) -> str:
    return f"the fix of #{fix.pull_request}" if fix.pull_request else f"the commit `{fix.commit[:12]}`"


def _begin(fix: OfferedFix) -> str:
    """The name at the beginning of a sentence."""
    name = _name(fix)
    return name[0].upper() + name[1:]
