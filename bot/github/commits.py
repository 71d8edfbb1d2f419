"""Commits by the API: signed by GitHub, on top of the commit we know, made once however often they are asked for."""

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
mutation ($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }
"""
MUTATION_LIMIT = 30_000_000
"""Bytes of base64 one mutation may carry; above, blobs are sent one by one."""


class GitHubCommits(GitHubReading):
    """Commits and branches."""

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """One commit by the API on a branch that must not exist (or already hold this very commit); its SHA.

        Raises:
            Conflict: the branch exists and holds something else.
        """
        branch_segment(commit.branch)
        _check_paths(edits)
        head = await self.branch_head(repository, commit.branch)
        if head is None:
            made = await self._git_commit(repository, commit, edits)
            # GitHub signs what a bot commits here, mostly. Where it does not, it signs what GraphQL commits;
            # that needs the branch first, at the red commit: CI looks at it once more, so it is second choice.
            by_mutation = not made.verification.verified and fits_mutation(edits)
            head = await self._new_branch(repository, commit, commit.parent if by_mutation else made.sha)
        return await self._commit_at(repository, commit, edits, head)

    async def commit_on_branch(self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]) -> str:
        """One verified commit on an existing branch whose head is `commit.parent`; its SHA. Never forces.

        Raises:
            Conflict: the branch moved.
            NotPermitted: rules of the branch do not allow it.
        """
        branch_segment(commit.branch)
        _check_paths(edits)
        head = await self.branch_head(repository, commit.branch)
        if head is None:
            raise Conflict(f"the branch {commit.branch} is gone", status=409)
        return await self._commit_at(repository, commit, edits, head)

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Take a branch away if it still points to `expected`; whether it is gone."""
        head = await self.branch_head(repository, branch)
        if head is None:
            return True
        if head != expected:
            return False
        path = f"/git/refs/heads/{branch_segment(branch)}"
        try:
            await self._client.call(repository, "DELETE", path, needs="contents:write")
        except GitHubError as error:
            # Somebody else was faster, or our own first try was.
            if error.status in {404, 409, 422} and await self.branch_head(repository, branch) is None:
                return True
            raise
        return True

    async def _commit_at(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit], head: str
    ) -> str:
        """The commit on a branch that points to `head`: made, or found there."""
        if head != commit.parent:
            return await self._found(repository, commit, edits, head)
        try:
            if fits_mutation(edits):
                with suppress(NotFound):
                    # The repository has another name now, which only REST follows, or GitHub is too old for this.
                    return await self._mutate(repository, commit, edits)
            made = (await self._git_commit(repository, commit, edits)).sha
            path = f"/git/refs/heads/{branch_segment(commit.branch)}"
            body = {"sha": made, "force": False}
            await self._client.call(repository, "PATCH", path, needs="contents:write", json=body)
        except GitHubError as error:
            return await self._found_after(repository, commit, edits, error)
        return made

    async def _found(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit], head: str
    ) -> str:
        """The head, when it is the commit we want to make.

        Raises:
            Conflict: it is something else.
        """
        reply = await self._client.call(repository, "GET", f"/commits/{sha_segment(head)}", needs="contents:read")
        if is_same(read(reply, CommitReply), commit, edits):
            return head
        raise Conflict(f"the branch {commit.branch} holds something else", status=409)

    async def _found_after(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit], error: GitHubError
    ) -> str:
        """The commit that was made although its answer was lost, or made by another run of this step."""
        if not (error.retryable or isinstance(error, Conflict)):
            raise error
        head = await self.branch_head(repository, commit.branch)
        if head is None or head == commit.parent:
            raise error
        return await self._found(repository, commit, edits, head)

    async def _new_branch(self, repository: RepositoryRef, commit: BranchCommit, sha: str) -> str:
        """Make the branch; where it points afterwards."""
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

    async def _mutate(self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]) -> str:
        headline, _, body = commit.message.partition("\n")
        wanted = {
            "branch": {"repositoryNameWithOwner": repository.full_name, "branchName": commit.branch},
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
        data = await self._client.mutate(repository, MUTATION, {"input": wanted}, needs="contents:write")
        try:
            return sha_segment(data["createCommitOnBranch"]["commit"]["oid"])
        except (KeyError, TypeError) as error:
            raise GitHubError("GitHub did not say which commit it made", retryable=True) from error

    async def _git_commit(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> GitCommitReply:
        """A commit that no branch points to yet; without author, so that GitHub signs it for a bot."""
        path = f"/git/commits/{sha_segment(commit.parent)}"
        parent = read(await self._client.call(repository, "GET", path, needs="contents:read"), GitCommitReply)
        entries = [await self._entry(repository, edit) for edit in edits]
        body: dict[str, Any] = {"base_tree": parent.tree.sha, "tree": entries}
        tree = read(await self._post(repository, "/git/trees", body), GitObject).sha
        body = {"message": commit.message, "tree": tree, "parents": [commit.parent]}
        return read(await self._post(repository, "/git/commits", body), GitCommitReply)

    async def _entry(self, repository: RepositoryRef, edit: FileEdit) -> dict[str, Any]:
        """One file of the new tree."""
        if edit.mode == "deleted":
            return {"path": edit.path, "mode": "100644", "type": "blob", "sha": None}
        blob = {"content": base64.b64encode(edit.content).decode("ascii"), "encoding": "base64"}
        sha = read(await self._post(repository, "/git/blobs", blob), GitObject).sha
        return {"path": edit.path, "mode": edit.mode, "type": "blob", "sha": sha}

    async def _post(
        self, repository: RepositoryRef, path: str, body: dict[str, Any], *, needs: str = "contents:write"
    ) -> Any:
        return await self._client.call(repository, "POST", path, needs=needs, json=body)


def fits_mutation(edits: Sequence[FileEdit]) -> bool:
    """Whether GraphQL can make this commit: it knows one mode only, and takes so much."""
    size = sum(4 * len(edit.content) // 3 + 4 for edit in edits)
    return size <= MUTATION_LIMIT and all(edit.mode != "100755" for edit in edits)


def is_same(there: CommitReply, commit: BranchCommit, edits: Sequence[FileEdit]) -> bool:
    """Whether a commit is the one we want to make: same parent, same words, same files."""
    if [parent.sha for parent in there.parents] != [commit.parent]:
        return False
    if there.commit.message.split() != commit.message.split():
        return False
    wanted = {edit.path: None if edit.mode == "deleted" else blob_sha(edit.content) for edit in edits}
    found: dict[str, str | None] = {}
    for file in there.files or ():
        found |= _change(file)
    # What an edit leaves as it was is no change, so it is not listed.
    return bool(found) and all(path in wanted and wanted[path] == sha for path, sha in found.items())


def _change(file: CommitFile) -> dict[str, str | None]:
    if file.status == "removed":
        return {file.filename: None}
    left = {file.previous_filename: None} if file.status == "renamed" and file.previous_filename else {}
    return {**left, file.filename: file.sha}


def blob_sha(content: bytes) -> str:
    """The name git gives to a file's content."""
    return sha1(b"blob %d\x00" % len(content) + content, usedforsecurity=False).hexdigest()


def _check_paths(edits: Sequence[FileEdit]) -> None:
    for edit in edits:
        if not is_file_path(edit.path):
            raise GitHubError(f"{edit.path[:80]!r} is not a path inside a repository")
