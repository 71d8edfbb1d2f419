"""Put the verified diff on a branch as a single commit."""

import re

from bot.domain.github import BranchCommit
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate
from bot.publish.markdown import SafeWriter
from bot.publish.story import identity
from bot.publish.title import fix_title

PREFIX = "metaagent/"
NAMES_TRIED = 5
"""Number of names tried before one with the commit: a merged or rejected fix may have left its
branch."""


def branch_slug(branch: str) -> str:
    """Return a branch's name as one safe path segment."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", branch.lower())
    # Git rejects `..` and a trailing `.lock` in branch names.
    slug = re.sub(r"\.{2,}", ".", slug)[:40].strip("-._")
    return slug.removesuffix(".lock") or "branch"


def branch_names(context: MissionContext, prefix: str = PREFIX) -> tuple[str, ...]:
    """Return `metaagent/<branch-slug>/<fingerprint-8>` and alternatives if the name is taken.

    The last one contains the failing commit, so that an old failure does not run out of names.

    Args:
        context: A mission.
        prefix: Prefix of all names; `metaagent/` by default.
    """
    fingerprint = identity(context.fingerprint)[:8] or identity(context.mission_id)[-8:]
    name = f"{prefix}{branch_slug(context.request.head_branch or '')}/{fingerprint}"
    numbered = (f"{name}-{number}" for number in range(2, NAMES_TRIED + 1))
    return (
        name,
        *numbered,
        *([f"{name}-{context.request.head_sha[:12]}"] if context.request.head_sha else []),
    )


def commit_message(
    context: MissionContext, candidate: Candidate, *, pen: SafeWriter | None = None
) -> str:
    """Return title, explanation and trailers.

    No text in it closes an issue, mentions a person or skips CI.
    """
    pen = pen or SafeWriter()
    title = fix_title(context, pen=pen)
    trailers = [
        f"MetaAgent-Mission: {identity(context.mission_id)}",
        f"MetaAgent-Fingerprint: {identity(context.fingerprint) or 'none'}",
        f"MetaAgent-Rung: {int(candidate.rung)}",
    ]
    explanation = pen.title(candidate.explanation, cap=1000)
    return "\n\n".join(part for part in (title, explanation, "\n".join(trailers)) if part) + "\n"


def trailers(message: str) -> dict[str, str]:
    """Return the trailers of a commit message's last paragraph."""
    last = message.strip().rsplit("\n\n", 1)[-1]
    found = (re.fullmatch(r"([A-Za-z-]+): (\S+)", line.strip()) for line in last.splitlines())
    return {match[1]: match[2] for match in found if match}


def branch_commit(
    context: MissionContext, branch: str, candidate: Candidate, *, pen: SafeWriter | None = None
) -> BranchCommit:
    """Build a commit whose parent is the failing commit, so that the branch holds only the fix.

    Raises:
        ValueError: The mission has no failing commit.
    """
    if context.request.head_sha is None:
        raise ValueError("a fix without a failing commit cannot be put on a branch")
    return BranchCommit(
        branch=branch,
        parent=context.request.head_sha,
        message=commit_message(context, candidate, pen=pen),
    )
