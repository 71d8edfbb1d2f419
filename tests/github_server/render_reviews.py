"""Reviews, review comments and commit statuses in GitHub's JSON."""

from tests.github_server.entities import Json
from tests.github_server.entities_reviews import Review, ReviewComment, Status
from tests.github_server.render import node, user_json
from tests.github_server.render_git import api, html
from tests.github_server.render_pulls import association, reactions_json
from tests.github_server.world import World


def review_json(world: World, review: Review) -> Json:
    """A review."""
    repo = world.repositories[review.repository]
    page, pull = (
        f"{html(world, repo)}/pull/{review.number}",
        f"{api(world, repo)}/pulls/{review.number}",
    )
    href = f"{page}#pullrequestreview-{review.id}"
    return {
        "id": review.id,
        "node_id": node("PRR", review.id),
        "user": user_json(world, review.user),
        "body": review.body,
        "state": review.state,
        "html_url": href,
        "pull_request_url": pull,
        "author_association": association(world, repo, review.user),
        "_links": {"html": {"href": href}, "pull_request": {"href": pull}},
        "submitted_at": review.submitted_at,
        "commit_id": review.commit,
    }


def review_comment_json(world: World, comment: ReviewComment) -> Json:
    """A comment on lines of a pull request."""
    repo, place = world.repositories[comment.repository], comment.place
    pull = f"{api(world, repo)}/pulls/{comment.number}"
    url = f"{api(world, repo)}/pulls/comments/{comment.id}"
    page = f"{html(world, repo)}/pull/{comment.number}#discussion_r{comment.id}"
    several = place.start_line is not None
    found: Json = {
        "id": comment.id,
        "node_id": node("PRRC", comment.id),
        "url": url,
        "html_url": page,
        "pull_request_url": pull,
        "pull_request_review_id": comment.review,
        "diff_hunk": place.hunk,
        "path": place.path,
        "position": place.position,
        "original_position": place.position,
        "commit_id": comment.commit,
        "original_commit_id": comment.commit,
        "user": user_json(world, comment.user),
        "body": comment.body,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "author_association": association(world, repo, comment.user),
        "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull}},
        "reactions": reactions_json(url, comment.reactions),
        "start_line": place.start_line,
        "original_start_line": place.start_line,
        "start_side": place.side if several else None,
        "line": place.line,
        "original_line": place.line,
        "side": place.side,
        "subject_type": "line",
    }
    if comment.reply_to is not None:
        found["in_reply_to_id"] = comment.reply_to
    return found


def status_json(world: World, status: Status) -> Json:
    """A commit status."""
    repo = world.repositories[status.repository]
    creator = user_json(world, status.creator)
    return {
        "id": status.id,
        "node_id": node("SC", status.id),
        "url": f"{api(world, repo)}/statuses/{status.sha}",
        "avatar_url": creator["avatar_url"],
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": status.created_at,
        "updated_at": status.created_at,
        "creator": creator,
    }
