"""Issues, pull requests, comments and reactions in GitHub's JSON."""

from tests.github_server.entities import Comment, Issue, Json, Pull, Reaction, Repository
from tests.github_server.render import (
    app_json,
    label_json,
    node,
    repository_json,
    repository_summary,
    user_json,
)
from tests.github_server.render_git import api, html
from tests.github_server.world import World

FACES = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
ASSOCIATIONS = {"admin": "OWNER", "write": "COLLABORATOR"}


def association(world: World, repo: Repository, login: str) -> str:
    """`author_association`: what GitHub calls the author, which is not a permission."""
    if login.endswith("[bot]"):
        return "NONE"
    return ASSOCIATIONS.get(
        world.permission(repo, login) if login in repo.permissions else "", "NONE"
    )


def reactions_json(url: str, reactions: list[Reaction]) -> Json:
    """The roll-up of reactions."""
    counts = {face: sum(reaction.content == face for reaction in reactions) for face in FACES}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def reaction_json(world: World, reaction: Reaction) -> Json:
    """One reaction."""
    return {
        "id": reaction.id,
        "node_id": node("REA", reaction.id),
        "user": user_json(world, reaction.user),
        "content": reaction.content,
        "created_at": reaction.created_at,
    }


def comment_json(world: World, comment: Comment) -> Json:
    """A comment on an issue or a pull request."""
    repo = world.repositories[comment.repository]
    url = f"{api(world, repo)}/issues/comments/{comment.id}"
    kind = "pull" if repo.issues[comment.number].pull else "issues"
    app = world.apps[comment.app] if comment.app else None
    return {
        "id": comment.id,
        "node_id": node("IC", comment.id),
        "url": url,
        "html_url": f"{html(world, repo)}/{kind}/{comment.number}#issuecomment-{comment.id}",
        "issue_url": f"{api(world, repo)}/issues/{comment.number}",
        "user": user_json(world, comment.user),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "author_association": association(world, repo, comment.user),
        "body": comment.body,
        "reactions": reactions_json(url, comment.reactions),
        "performed_via_github_app": app_json(world, app) if app else None,
    }


def labels_json(world: World, repo: Repository, issue: Issue) -> list[Json]:
    """The labels of an issue."""
    return [label_json(world, repo, repo.labels[name.lower()]) for name in issue.labels]


def _common(world: World, repo: Repository, issue: Issue) -> Json:
    """What issues and pull requests share."""
    return {
        "number": issue.number,
        "state": issue.state,
        "locked": issue.locked,
        "active_lock_reason": None,
        "title": issue.title,
        "body": issue.body,
        "user": user_json(world, issue.user),
        "labels": labels_json(world, repo, issue),
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "author_association": association(world, repo, issue.user),
    }


def issue_json(world: World, issue: Issue) -> Json:
    """An issue, or a pull request as the issues API shows it."""
    repo = world.repositories[issue.repository]
    root, page = api(world, repo), html(world, repo)
    url = f"{root}/issues/{issue.number}"
    found: Json = {
        **_common(world, repo, issue),
        "id": issue.id,
        "node_id": node("I", issue.id),
        "url": url,
        "repository_url": root,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": f"{page}/{'pull' if issue.pull else 'issues'}/{issue.number}",
        "comments": len(issue.comments),
        "closed_by": user_json(world, issue.closed_by) if issue.closed_by else None,
        "state_reason": "completed" if issue.state == "closed" else None,
        "performed_via_github_app": None,
        "reactions": reactions_json(url, issue.reactions),
    }
    if issue.pull:
        html_url = f"{page}/pull/{issue.number}"
        found["draft"] = issue.pull.draft
        found["pull_request"] = {
            "url": f"{root}/pulls/{issue.number}",
            "html_url": html_url,
            "diff_url": f"{html_url}.diff",
            "patch_url": f"{html_url}.patch",
            "merged_at": issue.pull.merged_at,
        }
    return found


def side_json(world: World, repo: Repository | None, owner: str, ref: str, sha: str) -> Json:
    """`head` or `base` of a pull request; the repository is null when a fork was deleted."""
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user_json(world, owner),
        "repo": repository_json(world, repo) if repo else None,
    }


def pull_simple_json(world: World, issue: Issue) -> Json:
    """A pull request as lists show it."""
    repo, pull = world.repositories[issue.repository], _pull(issue)
    head = world.repositories.get(pull.head_repository)
    root, html_url = api(world, repo), f"{html(world, repo)}/pull/{issue.number}"
    url, issue_url = f"{root}/pulls/{issue.number}", f"{root}/issues/{issue.number}"
    links = {
        "self": url,
        "html": html_url,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{root}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{root}/statuses/{pull.head_sha}",
    }
    return {
        **_common(world, repo, issue),
        "id": pull.id,
        "node_id": node("PR", pull.id),
        "url": url,
        "html_url": html_url,
        "diff_url": f"{html_url}.diff",
        "patch_url": f"{html_url}.patch",
        "issue_url": issue_url,
        **{f"{name}_url": links[name] for name in ("commits", "review_comments", "review_comment")},
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "merged_at": pull.merged_at,
        "merge_commit_sha": pull.merge_commit_sha,
        "requested_reviewers": [user_json(world, login) for login in pull.reviewers],
        "requested_teams": [],
        "head": side_json(world, head, pull.head_owner, pull.head_ref, pull.head_sha),
        "base": side_json(world, repo, repo.owner, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": href} for name, href in links.items()},
        "auto_merge": None,
        "draft": pull.draft,
    }


def pull_json(world: World, issue: Issue, *, mergeable: bool | None = True) -> Json:
    """A pull request in full."""
    repo, pull = world.repositories[issue.repository], _pull(issue)
    changes = repo.store.changes(pull.base_sha, pull.head_sha)
    return {
        **pull_simple_json(world, issue),
        "merged": pull.merged_at is not None,
        "merged_by": user_json(world, pull.merged_by) if pull.merged_by else None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": {True: "clean", False: "dirty", None: "unknown"}[mergeable],
        "comments": len(issue.comments),
        "review_comments": sum(
            (one.repository, one.number) == (repo.id, issue.number)
            for one in world.review_comments.values()
        ),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": len(repo.store.history(f"{pull.base_sha}..{pull.head_sha}")),
        "additions": sum(change.additions for change in changes),
        "deletions": sum(change.deletions for change in changes),
        "changed_files": len(changes),
    }


def _pull(issue: Issue) -> Pull:
    """The pull request's own part."""
    if issue.pull is None:
        raise ValueError(f"issue {issue.number} is no pull request")
    return issue.pull


def pull_minimal_json(world: World, issue: Issue) -> Json:
    """A pull request inside a check."""
    repo, pull = world.repositories[issue.repository], _pull(issue)
    head = world.repositories.get(pull.head_repository, repo)
    return {
        "id": pull.id,
        "number": issue.number,
        "url": f"{api(world, repo)}/pulls/{issue.number}",
        "head": {
            "ref": pull.head_ref,
            "sha": pull.head_sha,
            "repo": repository_summary(world, head),
        },
        "base": {
            "ref": pull.base_ref,
            "sha": pull.base_sha,
            "repo": repository_summary(world, repo),
        },
    }
