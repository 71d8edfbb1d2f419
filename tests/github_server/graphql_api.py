"""GraphQL: createCommitOnBranch and a few reads, on GitHub's own schema when it is given."""

import base64
import binascii
import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync

from tests.github_server import events
from tests.github_server.auth import Actor, covers, identify
from tests.github_server.entities import Json, Repository
from tests.github_server.hub import Hub
from tests.github_server.render import node
from tests.github_server.render_git import html
from tests.github_server.routes_git import malformed, web_flow
from tests.github_server.rules import broken_rule, violation

LIMIT = 40_000_000
SIGNED = {
    "__typename": "GpgSignature",
    "email": "noreply@github.com",
    "isValid": True,
    "state": "VALID",
    "wasSignedByGitHub": True,
}
BUILT_IN = """
scalar Base64String scalar DateTime scalar GitObjectID scalar URI
type Query { rateLimit: RateLimit repository(owner: String!, name: String!): Repository viewer: User! }
type RateLimit { cost: Int! limit: Int! remaining: Int! resetAt: DateTime! used: Int! nodeCount: Int! }
type User { id: ID! login: String! databaseId: Int }
type Ref { id: ID! name: String! prefix: String! target: GitObject }
type Repository { id: ID! databaseId: Int nameWithOwner: String! isFork: Boolean! isPrivate: Boolean! url: URI!
  defaultBranchRef: Ref ref(qualifiedName: String!): Ref }
interface GitObject { oid: GitObjectID! abbreviatedOid: String! id: ID! commitUrl: URI! }
type Commit implements GitObject { oid: GitObjectID! abbreviatedOid: String! id: ID! commitUrl: URI! url: URI!
  message: String! messageHeadline: String! messageBody: String! committedDate: DateTime! authoredDate: DateTime!
  signature: GitSignature }
interface GitSignature { email: String! isValid: Boolean! state: GitSignatureState! wasSignedByGitHub: Boolean! }
enum GitSignatureState { VALID }
input CommittableBranch { branchName: String id: ID repositoryNameWithOwner: String }
input CommitMessage { headline: String! body: String }
input FileAddition { path: String! contents: Base64String! }
input FileDeletion { path: String! }
input FileChanges { additions: [FileAddition!] = [] deletions: [FileDeletion!] = [] }
input CreateCommitOnBranchInput { branch: CommittableBranch! clientMutationId: String expectedHeadOid: GitObjectID!
  fileChanges: FileChanges message: CommitMessage! }
type CreateCommitOnBranchPayload { clientMutationId: String commit: Commit ref: Ref }
type Mutation { createCommitOnBranch(input: CreateCommitOnBranchInput!): CreateCommitOnBranchPayload }
"""
# The given schema is a subset and has the interface of signatures but no kind of them.
SIGNATURE = """
type GpgSignature implements GitSignature { email: String! isValid: Boolean! state: GitSignatureState!
  wasSignedByGitHub: Boolean! }
"""


def refusal(kind: str, message: str) -> GraphQLError:
    """An error with GitHub's `type`."""
    return GraphQLError(message, extensions={"type": kind})


@functools.cache
def load_schema(folder: Path | None) -> GraphQLSchema:
    """GitHub's schema from a folder, else the small one."""
    path = folder / "github-graphql-subset.graphql" if folder else None
    text = path.read_text(encoding="utf-8") if path and path.is_file() else BUILT_IN
    return build_schema(text + SIGNATURE)


def answer(hub: Hub, schema: GraphQLSchema, authorization: str | None, body: bytes) -> Json:
    """Execute one request; called under the lock.

    Raises:
        ApiError: the credential is not good.
    """
    actor = identify(hub.world, authorization)
    try:
        request = json.loads(body)
        query = str(request["query"])
    except (ValueError, KeyError, TypeError):
        return {
            "message": "Problems parsing JSON",
            "documentation_url": "https://docs.github.com/graphql",
        }
    root = Root(hub, actor)
    result = graphql_sync(schema, query, root, variable_values=request.get("variables"))
    found: Json = {"data": result.data}
    if result.errors:
        found["errors"] = [_error(error) for error in result.errors]
    return found


def _error(error: GraphQLError) -> Json:
    """GitHub puts the type of an error beside its message."""
    plain: Json = {**error.formatted}
    extensions = plain.pop("extensions", None) or {}
    return {**extensions, **plain}


@dataclass(frozen=True, slots=True)
class Root:
    """The resolvers of `Query` and `Mutation`."""

    hub: Hub
    actor: Actor

    def rateLimit(self, _info: Any, **_: Any) -> Json:  # noqa: N802 - GitHub's name
        """The point budget."""
        return {
            "cost": 1,
            "limit": 5000,
            "remaining": 4999,
            "resetAt": self.hub.world.now(),
            "used": 1,
            "nodeCount": 0,
        }

    def viewer(self, _info: Any) -> Json:
        """The caller."""
        user = self.hub.world.user(self.actor.login or "ghost")
        return {"id": node("U", user.id), "login": user.login, "databaseId": user.id}

    def repository(self, _info: Any, *, owner: str, name: str, **_: Any) -> Json | None:
        """A repository."""
        repo = self._visible(f"{owner}/{name}")
        return {
            "id": node("R", repo.id),
            "databaseId": repo.id,
            "nameWithOwner": repo.full_name,
            "isFork": repo.parent is not None,
            "isPrivate": repo.private,
            "url": html(self.hub.world, repo),
            "defaultBranchRef": self._ref(repo, repo.default_branch),
            "ref": lambda _info, qualifiedName: self._ref(  # noqa: N803
                repo, qualifiedName.removeprefix("refs/heads/")
            ),
        }

    def createCommitOnBranch(self, _info: Any, *, input: Json) -> Json:  # noqa: A002, N802 - GitHub's names
        """Append a commit to a branch: GitHub's own signature, mode 100644 for every file."""
        repo, branch = self._branch(input["branch"])
        head = repo.store.ref(f"refs/heads/{branch}")
        if head is None:
            raise refusal(
                "NOT_FOUND", f"Could not resolve to a node with the global id of '{branch}'."
            )
        expected = input["expectedHeadOid"]
        if head != expected:
            message = (
                f'Expected branch to point to "{expected}" but it did not. Pull and try again.'
            )
            raise refusal("STALE_DATA", message)
        changes = _changes(repo, head, input.get("fileChanges") or {})
        self._guard_workflows(changes)
        text = "\n\n".join(
            filter(None, (input["message"]["headline"], input["message"].get("body")))
        )
        world = self.hub.world
        tree = repo.store.write_tree(head, changes)
        sha = repo.store.write_commit(
            tree, [head], text, world.person(self.actor.login), web_flow(world)
        )
        repo.store.signed.add(sha)
        kind = broken_rule(repo, f"refs/heads/{branch}", head, sha)
        if kind is not None:
            raise refusal("UNPROCESSABLE", violation(kind))
        events.set_branch(self.hub, repo, f"refs/heads/{branch}", sha, self.actor.login)
        made = self._ref(repo, branch)
        return {
            "clientMutationId": input.get("clientMutationId"),
            "commit": self._commit(repo, sha),
            "ref": made,
        }

    def _visible(self, full_name: str) -> Repository:
        """A repository the caller may see."""
        world = self.hub.world
        repo = world.find(*full_name.split("/", 1)) if "/" in full_name else None
        repo = repo or world.repositories.get(world.renamed.get(full_name.lower(), 0))
        allowed = repo is not None and (
            covers(world, self.actor, repo)
            if self.actor.kind == "installation"
            else self.actor.kind == "user" and world.permission(repo, self.actor.login) != "none"
        )
        if repo is None or not allowed:
            raise refusal(
                "NOT_FOUND", f"Could not resolve to a Repository with the name '{full_name}'."
            )
        return repo

    def _branch(self, given: Json) -> tuple[Repository, str]:
        """The repository and branch to commit to, if the caller may write there."""
        repo = self._visible(given.get("repositoryNameWithOwner") or "")
        if self.actor.kind == "installation":
            allowed = self.actor.may("contents", "write")
        else:
            allowed = self.hub.world.permission(repo, self.actor.login) in {"write", "admin"}
        if not allowed:
            raise refusal("FORBIDDEN", "Resource not accessible by integration")
        return repo, (given.get("branchName") or "").removeprefix("refs/heads/")

    def _guard_workflows(self, changes: list[tuple[str, str, str | None]]) -> None:
        touched = any(path.startswith(".github/workflows/") for _, path, _ in changes)
        if (
            touched
            and self.actor.kind == "installation"
            and not self.actor.may("workflows", "write")
        ):
            raise refusal("FORBIDDEN", "Resource not accessible by integration")

    def _ref(self, repo: Repository, branch: str) -> Json | None:
        sha = repo.store.ref(f"refs/heads/{branch}")
        if sha is None:
            return None
        target = self._commit(repo, sha)
        return {
            "id": f"REF_{repo.id}_{branch}",
            "name": branch,
            "prefix": "refs/heads/",
            "target": target,
        }

    def _commit(self, repo: Repository, sha: str) -> Json:
        commit = repo.store.commit(sha)
        url = f"{html(self.hub.world, repo)}/commit/{sha}"
        headline, _, body = commit.message.partition("\n\n")
        return {
            "__typename": "Commit",
            "id": f"C_{sha}",
            "oid": sha,
            "abbreviatedOid": sha[:7],
            "url": url,
            "commitUrl": url,
            "message": commit.message,
            "messageHeadline": headline,
            "messageBody": body,
            "authoredDate": commit.author.date,
            "committedDate": commit.committer.date,
            "signature": SIGNED if sha in repo.store.signed else None,
        }


def _changes(repo: Repository, head: str, given: Json) -> list[tuple[str, str, str | None]]:
    """The lines for the tree; too much is refused, and what is not there cannot be deleted."""
    found: list[tuple[str, str, str | None]] = [
        ("0", one["path"], None) for one in given.get("deletions") or []
    ]
    there = {entry.path for entry in repo.store.tree(head, recursive=True)} if found else set()
    for _, path, _ in found:
        if path not in there:
            text = f"A path was requested for deletion which does not exist as of commit oid `{head}`: {path}"
            raise refusal("UNPROCESSABLE", text)
    total = 0
    for one in given.get("additions") or []:
        if malformed(one["path"]):
            raise refusal(
                "UNPROCESSABLE",
                f"A path was requested for addition which is not valid: {one['path']}",
            )
        total += len(one["contents"])
        if total > LIMIT:
            raise refusal("UNPROCESSABLE", "The request is too large.")
        try:
            content = base64.b64decode(one["contents"], validate=True)
        except binascii.Error as error:
            raise refusal("UNPROCESSABLE", "contents is not valid Base64") from error
        found.append(("100644", one["path"], repo.store.write_blob(content)))
    return found
