"""The change that people took: ours, or another one that they made of it."""

import logging
from collections.abc import Iterable

from bot.domain.github import PullRequestState
from bot.domain.registry import OfferedFix
from bot.errors import GitHubError
from bot.ports import GitHubReads
from sandbox.changes import canonical_form
from sandbox.diffs import Original, write_diff
from sandbox.types import FileEdit

MOST_FILES = 20
"""Maximum number of files to compare."""

log = logging.getLogger(__name__)

Contents = dict[str, bytes | None]
"""Contents by path; None for a file that does not exist."""


async def compare_with_ours(
    fix: OfferedFix, pull: PullRequestState, github: GitHubReads
) -> tuple[str, str]:
    """Return the change that was merged, and its difference from ours, both as diffs.

    Both are empty if people took our change, or if the difference cannot be read.

    Args:
        fix: The offered fix.
        pull: Its merged pull request.
        github: Reads the files.
    """
    if pull.head_sha == fix.commit or fix.pull_request is None:
        return "", ""
    try:
        listed = await github.pull_request_files(fix.repository, fix.pull_request)
        paths = dict.fromkeys((*fix.files, *(file.path for file in listed)))
        chosen = tuple(paths)[:MOST_FILES]
        before, ours, theirs = [
            await _read(fix, chosen, sha, github)
            for sha in (fix.head_sha, fix.commit, pull.head_sha)
        ]
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning("reading the merged change of #%d failed: %s", pull.number, error.message)
        return "", ""
    if all(_is_alike(path, ours[path], theirs[path]) for path in chosen):
        return "", ""
    return _diff(before, theirs), _diff(ours, theirs)


def accepts_suggestion(message: str, login: str) -> bool:
    """Return True if a commit applies suggestions of ours.

    GitHub names the author of applied suggestions in the commit's message.

    Args:
        message: The message of the commit.
        login: The login of our bot user.
    """
    trailers = (line.strip() for line in message.splitlines())
    return any(line.lower().startswith(f"co-authored-by: {login.lower()} <") for line in trailers)


async def _read(fix: OfferedFix, paths: Iterable[str], sha: str, github: GitHubReads) -> Contents:
    return {path: await github.read_file(fix.repository, path, sha) for path in paths}


def _is_alike(path: str, ours: bytes | None, theirs: bytes | None) -> bool:
    """Return True if two contents are equal, or differ in layout and comments only."""
    if ours == theirs:
        return True
    if ours is None or theirs is None or not path.endswith((".py", ".pyi")):
        return False
    form = canonical_form(ours.decode(errors="replace"))
    return form is not None and form == canonical_form(theirs.decode(errors="replace"))


def _diff(before: Contents, after: Contents) -> str:
    edits = [
        FileEdit(path=path, mode="deleted")
        if content is None
        else FileEdit(path=path, mode="100644", content=content)
        for path, content in after.items()
        if content != before[path]
    ]
    originals = {path: Original(content=old) for path, old in before.items() if old is not None}
    return write_diff(edits, originals)
