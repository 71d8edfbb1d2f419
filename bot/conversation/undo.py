"""The command undo: revert one of our fixes, whether open, merged or pushed; never by force."""

from bot.conversation.result import CommandOutcome, done, pen, refuse
from bot.conversation.scene import Scene, fixes_here
from bot.domain.github import BranchCommit
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import Feedback
from bot.errors import Conflict, NotPermitted
from bot.ports import Services
from bot.publish.story import identity
from sandbox.types import FileEdit, Frozen

BRANCH = "metaagent/undo/"
"""Prefix of branches that revert a merged fix; like all our branches, they start no mission."""

_GONE = {
    FixState.CLOSED: "was already closed",
    FixState.REVERTED: "was already reverted",
    FixState.SUPERSEDED: "was already replaced by a newer one",
    FixState.EXPIRED: "has already expired",
}


class Reversal(Frozen):
    """The edits of a revert and their target."""

    fix: OfferedFix
    edits: tuple[FileEdit, ...]
    onto: str
    """The head of the target branch."""


async def undo(scene: Scene, services: Services) -> CommandOutcome:
    """Undo a fix: the named one, else this pull request's, else the newest."""
    fix = await _meant(scene, services)
    if isinstance(fix, CommandOutcome):
        return fix
    if fix.state in _GONE:
        return refuse(f"{_begin(fix)} {_GONE[fix.state]}.")
    if fix.state is FixState.OPEN and fix.pull_request is not None:
        return done(await withdraw(fix, scene, services))
    onto = await services.github.branch_head(fix.repository, fix.base_branch)
    if onto is None:
        branch = pen(services).code(fix.base_branch)
        return refuse(f"The branch {branch} no longer exists, so {_name(fix)} is gone.")
    edits = await _reversed(fix, services, onto=onto)
    if isinstance(edits, CommandOutcome):
        return edits
    if not edits:
        await _note(fix, FixState.REVERTED, scene, services)
        branch = pen(services).code(fix.base_branch)
        return done(
            f"{branch} no longer contains {_name(fix)}; the same change will not be proposed again."
        )
    return await _take_back(Reversal(fix=fix, edits=edits, onto=onto), scene, services)


async def withdraw(fix: OfferedFix, scene: Scene, services: Services) -> str:
    """Close our open pull request and delete its branch. Return a sentence about it."""
    if fix.pull_request is None:
        raise ValueError("a fix without a pull request cannot be withdrawn")
    await services.github.close_pull_request(fix.repository, fix.pull_request)
    # A branch to which a person pushed holds their work.
    gone = not fix.taken_over and await services.github.delete_branch(
        fix.repository, fix.branch, expected=fix.commit
    )
    # Last, so that a retry after an error still finds it open.
    await _note(fix, FixState.CLOSED, scene, services)
    branch = (
        "its branch is deleted" if gone else "its branch stays, because other commits were pushed"
    )
    return (
        f"#{fix.pull_request} is closed, {branch}, and the same change will not be proposed again."
    )


async def _meant(scene: Scene, services: Services) -> OfferedFix | CommandOutcome:
    """Return the fix that the command refers to, or a refusal."""
    fixes = [fix for fix in await fixes_here(scene, services) if not _never_opened(fix)]
    target = scene.command.target.lstrip("#").strip()
    if target:
        wanted = await services.registry.offered(scene.repository.id)
        # Nine digits bound the conversion of untrusted input.
        named = [f for f in wanted if target.isdecimal() and f.pull_request == int(target[:9])]
        # Seven digits, git's shortest abbreviation.
        named += [f for f in wanted if len(target) >= 7 and f.commit.startswith(target.lower())]  # noqa: PLR2004
        if not named:
            wrong = pen(services).code(scene.command.target)
            return refuse(f"{wrong} is no fix of ours; `/metaagent status` lists them.")
        return named[0]
    if not scene.is_somewhere:
        return refuse("Name the fix: `/metaagent undo #123`, with the number of our pull request.")
    if not fixes:
        return refuse(f"There is no fix of ours for {scene.place}.")
    return next((fix for fix in fixes if fix.state not in _GONE), fixes[0])


def _never_opened(fix: OfferedFix) -> bool:
    """Return True for a change that was refused before it had a branch."""
    return fix.commit == fix.head_sha


async def _reversed(
    fix: OfferedFix, services: Services, *, onto: str
) -> tuple[FileEdit, ...] | CommandOutcome:
    """Return the edits that restore every file, or a refusal if one was changed since."""
    files = fix.files
    if not files and fix.pull_request is not None:
        # GitHub lists no modes of files.
        files = {
            file.path: "100644"
            for file in await services.github.pull_request_files(fix.repository, fix.pull_request)
        }
    if not files:
        return refuse(
            f"The files changed by {_name(fix)} are no longer known. "
            f"Use `git revert {fix.commit[:12]}`."
        )
    edits, touched = [], []
    for path, mode in files.items():
        before = await services.github.read_file(fix.repository, path, fix.head_sha)
        after = await services.github.read_file(fix.repository, path, fix.commit)
        now = await services.github.read_file(fix.repository, path, onto)
        if now == before:
            continue
        # Later work of other people must not be overwritten.
        if now != after:
            touched.append(path)
        elif before is None:
            edits.append(FileEdit(path=path, mode="deleted"))
        else:
            edits.append(
                FileEdit(path=path, mode="100755" if mode == "100755" else "100644", content=before)
            )
    if touched:
        named = ", ".join(pen(services).code(path) for path in touched[:5])
        commit = (fix.merge_sha or fix.commit)[:12]
        return refuse(
            f"{named} changed since, so a person has to decide: "
            f"`git revert {commit}` shows the conflict."
        )
    return tuple(edits)


async def _take_back(reversal: Reversal, scene: Scene, services: Services) -> CommandOutcome:
    """Revert by a commit where we pushed; otherwise, or if rules require it, by a pull request."""
    fix = reversal.fix
    if fix.pull_request is None and fix.branch == fix.base_branch:
        commit = BranchCommit(
            branch=fix.branch, parent=reversal.onto, message=_message(fix, scene, services)
        )
        try:
            sha = await services.github.commit_on_branch(fix.repository, commit, reversal.edits)
        except Conflict:
            return refuse(f"{pen(services).code(fix.branch)} received another push; try again.")
        except NotPermitted:
            sha = ""
        if sha:
            await _note(fix, FixState.REVERTED, scene, services)
            return done(f"{sha} reverts {_name(fix)}; the same change will not be proposed again.")
    number = await _revert_pull_request(reversal, scene, services)
    if isinstance(number, CommandOutcome):
        return number
    await _note(fix, FixState.REVERTED, scene, services)
    return done(f"#{number} reverts {_name(fix)}; the same change will not be proposed again.")


async def _revert_pull_request(
    reversal: Reversal, scene: Scene, services: Services
) -> int | CommandOutcome:
    """Return the number of the open revert pull request, creating it if needed."""
    fix, branch = reversal.fix, f"{BRANCH}{reversal.fix.commit[:12]}"
    # Found by its branch, so that a repeated step opens no second one.
    opened = [
        pull
        for pull in await services.github.pull_requests_from(fix.repository, branch)
        if pull.state == "open"
    ]
    if opened:
        return opened[0].number
    message = _message(fix, scene, services)
    commit = BranchCommit(branch=branch, parent=reversal.onto, message=message)
    try:
        await services.github.commit_on_new_branch(fix.repository, commit, reversal.edits)
    except Conflict:
        return refuse(
            f"The branch `{branch}` already exists with other content; delete it and try again."
        )
    title, _, body = message.partition("\n\n")
    pull = await services.github.open_pull_request(
        fix.repository, head=branch, base=fix.base_branch, title=title, body=body, draft=False
    )
    return pull.number


def _message(fix: OfferedFix, scene: Scene, services: Services) -> str:
    """Return the commit message; its body is also that of the pull request."""
    where = f"#{fix.pull_request}" if fix.pull_request else fix.commit[:12]
    by = pen(services).title(scene.command.author, cap=60)
    return (
        f"Revert the fix of {where}\n\n"
        f"This reverts the changes of {fix.commit}, as requested by {by}.\n\n"
        f"MetaAgent-Undoes: {identity(fix.mission_id)}\n"
    )


async def _note(fix: OfferedFix, state: FixState, scene: Scene, services: Services) -> None:
    """Record that a person rejected the fix, in the registry and for the lessons."""
    by, said = scene.command.author, scene.command.reason

    def unwanted(now: OfferedFix) -> OfferedFix:
        # A fix that was merged meanwhile stays merged, so that its revert is recognized.
        merged = now.state in {FixState.MERGED, FixState.REVERTED} and state is FixState.CLOSED
        return (
            now
            if merged
            else now.with_(state=state, note=f"{state.value} by {by}{f': {said}' if said else ''}")
        )

    await services.registry.revise(fix.key, unwanted)
    if scene.policy.mode == "staged":
        return
    reverted = state is FixState.REVERTED
    await services.queue.feed_back(
        Feedback(
            repository=fix.repository,
            pull_request=fix.pull_request or 0,
            # A commit or suggestions are known by their mission only.
            mission_id=None if fix.pull_request else fix.mission_id,
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
    return (
        f"the fix of #{fix.pull_request}" if fix.pull_request else f"the commit `{fix.commit[:12]}`"
    )


def _begin(fix: OfferedFix) -> str:
    """Return the name for the beginning of a sentence."""
    name = _name(fix)
    return name[0].upper() + name[1:]
