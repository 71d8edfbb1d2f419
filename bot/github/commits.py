"""Commits through the API: signed by GitHub, on a known parent, idempotent when repeated."""

import base64
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha1
from typing import Any

from bot.domain.github import BranchCommit
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, GitHubError, NotFound
from bot.github.names import branch_segment, is_file_path, sha_segment
from bot.github.reading import GitHubReading, read
from bot.github.replies import CommitFile, CommitReply, GitCommitReply, GitObject, RefReply
from sandbox.types import FileEdit

MUTATION = """
mutation ($input: CreateCommitOnBranchInput!) {
  createCommitOnBranch(input: $input) { commit { oid } }
}
"""
MUTATION_LIMIT = 30_000_000
"""Largest base64 content of one mutation, in bytes; beyond it, blobs are sent one by one.

GitHub refuses mutations above about 40 MB.
"""


class GitHubCommits(GitHubReading):
    """Calls for commits and branches."""

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Create one commit through the API on a new branch and return its SHA.

        A branch that already holds this commit is accepted, so that the call can be repeated.

        Raises:
            Conflict: the branch exists with other content.
        """
        branch_segment(commit.branch)
        _check_paths(edits)
        head = await self.branch_head(repository, commit.branch)
        if head is None:
            made = await self._git_commit(repository, commit, edits)
            # GitHub usually signs a bot's commits here. If not, it signs those made by GraphQL.
            # They need an existing branch: it starts at the red commit, where CI runs once more.
            by_mutation = not made.verification.verified and fits_mutation(edits)
            head = await self._new_branch(
                repository, commit, commit.parent if by_mutation else made.sha
            )
        return await self._commit_at(repository, commit, edits, head)

    async def commit_on_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Create one verified commit on an existing branch, and return its SHA.

        The head of the branch must be `commit.parent`; the update is never forced.

        Raises:
            Conflict: the branch moved.
            NotPermitted: the branch rules do not allow it.
        """
        branch_segment(commit.branch)
        _check_paths(edits)
        head = await self.branch_head(repository, commit.branch)
        if head is None:
            raise Conflict(f"the branch {commit.branch} no longer exists", status=409)
        return await self._commit_at(repository, commit, edits, head)

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Delete a branch if it still points to `expected`. Return True if it no longer exists."""
        head = await self.branch_head(repository, branch)
        if head is None:
            return True
        if head != expected:
            return False
        path = f"/git/refs/heads/{branch_segment(branch)}"
        try:
            await self._client.call(repository, "DELETE", path, needs="contents:write")
        except GitHubError as error:
            # Another process deleted it first, or our own first attempt did.
            if (
                error.status in {404, 409, 422}
                and await self.branch_head(repository, branch) is None
            ):
                return True
            raise
        return True

    async def _commit_at(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit], head: str
    ) -> str:
        """Create the commit on a branch that points to `head`, or find it there."""
        if head != commit.parent:
            return await self._confirm_head(repository, commit, edits, head)
        try:
            if fits_mutation(edits):
                with suppress(NotFound):
                    # Only REST follows a renamed repository; an old GitHub lacks the mutation.
                    return await self._mutate(repository, commit, edits)
            made = (await self._git_commit(repository, commit, edits)).sha
            path = f"/git/refs/heads/{branch_segment(commit.branch)}"
            # Without force, GitHub refuses to drop a commit that was pushed meanwhile.
            body = {"sha": made, "force": False}
            await self._client.call(repository, "PATCH", path, needs="contents:write", json=body)
        except GitHubError as error:
            return await self._find_after_error(repository, commit, edits, error)
        return made

    async def _confirm_head(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit], head: str
    ) -> str:
        """Return the head if it is the intended commit.

        Raises:
            Conflict: it is another commit.
        """
        reply = await self._client.call(
            repository, "GET", f"/commits/{sha_segment(head)}", needs="contents:read"
        )
        if is_same(read(reply, CommitReply), commit, edits):
            return head
        raise Conflict(f"the branch {commit.branch} holds another commit", status=409)

    async def _find_after_error(
        self,
        repository: RepositoryRef,
        commit: BranchCommit,
        edits: Sequence[FileEdit],
        error: GitHubError,
    ) -> str:
        """Return the commit if it was created despite the error, or by another run of this step."""
        if not (error.retryable or isinstance(error, Conflict)):
            raise error
        head = await self.branch_head(repository, commit.branch)
        if head is None or head == commit.parent:
            raise error
        return await self._confirm_head(repository, commit, edits, head)

    async def _new_branch(self, repository: RepositoryRef, commit: BranchCommit, sha: str) -> str:
        """Create the branch and return its head."""
        try:
            ref = {"ref": f"refs/heads/{commit.branch}", "sha": sha}
            return read(await self._post(repository, "/git/refs", ref), RefReply).object.sha
        except GitHubError as error:
            if not (error.retryable or isinstance(error, Conflict)):
                raise
            head = await self.branch_head(repository, commit.branch)
            if head is None:
                raise
            return head

    async def _mutate(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        headline, _, body = commit.message.partition("\n")
        wanted = {
            "branch": {
                "repositoryNameWithOwner": repository.full_name,
                "branchName": commit.branch,
            },
            # GitHub refuses the commit if the branch moved since.
            "expectedHeadOid": commit.parent,
            "message": {"headline": headline, "body": body.strip("\n")},
            "fileChanges": {
                "additions": [
                    {"path": edit.path, "contents": base64.b64encode(edit.content).decode("ascii")}
                    for edit in edits
                    if edit.mode != "deleted"
                ],
                "deletions": [{"path": edit.path} for edit in edits if edit.mode == "deleted"],
            },
        }
        data = await self._client.mutate(
            repository, MUTATION, {"input": wanted}, needs="contents:write"
        )
        try:
            return sha_segment(data["createCommitOnBranch"]["commit"]["oid"])
        except (KeyError, TypeError) as error:
            raise GitHubError("GitHub did not return the new commit", retryable=True) from error

    async def _git_commit(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> GitCommitReply:
        """Create a commit that no branch points to; without an author, so that GitHub signs it."""
        path = f"/git/commits/{sha_segment(commit.parent)}"
        parent = read(
            await self._client.call(repository, "GET", path, needs="contents:read"), GitCommitReply
        )
        entries = [await self._entry(repository, edit) for edit in edits]
        body: dict[str, Any] = {"base_tree": parent.tree.sha, "tree": entries}
        tree = read(await self._post(repository, "/git/trees", body), GitObject).sha
        body = {"message": commit.message, "tree": tree, "parents": [commit.parent]}
        return read(await self._post(repository, "/git/commits", body), GitCommitReply)

    async def _entry(self, repository: RepositoryRef, edit: FileEdit) -> dict[str, Any]:
        """Create the tree entry of one file."""
        if edit.mode == "deleted":
            # A null SHA removes the file from the tree.
            return {"path": edit.path, "mode": "100644", "type": "blob", "sha": None}
        blob = {"content": base64.b64encode(edit.content).decode("ascii"), "encoding": "base64"}
        sha = read(await self._post(repository, "/git/blobs", blob), GitObject).sha
        return {"path": edit.path, "mode": edit.mode, "type": "blob", "sha": sha}

    async def _post(
        self,
        repository: RepositoryRef,
        path: str,
        body: dict[str, Any],
        *,
        needs: str = "contents:write",
    ) -> Any:
        return await self._client.call(repository, "POST", path, needs=needs, json=body)


def fits_mutation(edits: Sequence[FileEdit]) -> bool:
    """Return True if GraphQL can create this commit.

    It writes every file with mode 100644 and limits their total size.
    """
    size = sum(4 * len(edit.content) // 3 + 4 for edit in edits)
    return size <= MUTATION_LIMIT and all(edit.mode != "100755" for edit in edits)


def is_same(there: CommitReply, commit: BranchCommit, edits: Sequence[FileEdit]) -> bool:
    """Return True if a commit has the intended parent, message and files."""
    if [parent.sha for parent in there.parents] != [commit.parent]:
        return False
    # GraphQL takes headline and body apart, so white space may differ.
    if there.commit.message.split() != commit.message.split():
        return False
    wanted = {
        edit.path: None if edit.mode == "deleted" else blob_sha(edit.content) for edit in edits
    }
    found: dict[str, str | None] = {}
    for file in there.files or ():
        found |= _change(file)
    # An edit that leaves a file unchanged is not listed by GitHub.
    return bool(found) and all(
        path in wanted and wanted[path] == sha for path, sha in found.items()
    )


def _change(file: CommitFile) -> dict[str, str | None]:
    if file.status == "removed":
        return {file.filename: None}
    left = (
        {file.previous_filename: None}
        if file.status == "renamed" and file.previous_filename
        else {}
    )
    return {**left, file.filename: file.sha}


def blob_sha(content: bytes) -> str:
    """Return git's object id of a blob."""
    # git's object format: a header with the size, a null byte, the content.
    return sha1(b"blob %d\x00" % len(content) + content, usedforsecurity=False).hexdigest()


def _check_paths(edits: Sequence[FileEdit]) -> None:
    for edit in edits:
        if not is_file_path(edit.path):
            raise GitHubError(f"{edit.path[:80]!r} is not a path inside a repository")
