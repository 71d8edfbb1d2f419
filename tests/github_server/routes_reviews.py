"""Reviews of pull requests, comments on their lines, and answers and reactions to those."""

from tests.github_server import events
from tests.github_server.entities import Issue, Json, Pull
from tests.github_server.entities_reviews import Place, Review, ReviewComment
from tests.github_server.errors import ApiError, not_found
from tests.github_server.gitdiff import find_line
from tests.github_server.hub import Hub
from tests.github_server.render_reviews import review_comment_json, review_json
from tests.github_server.routes_issues import react
from tests.github_server.routes_pulls import check_body, find_pull
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.world import World

STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def find_place(world: World, issue: Issue, given: Json) -> Place | str:
    """Where a comment stands in the diff of a pull request, or GitHub's reason why it cannot stand there."""
    repo, pull = world.repositories[issue.repository], issue.pull
    if pull is None:
        raise not_found()
    base = repo.store.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    patches = {one.path: one.patch or "" for one in repo.store.changes(base, pull.head_sha)}
    path, line, side = str(given.get("path")), given.get("line"), str(given.get("side") or "RIGHT")
    if path not in patches:
        return "Path could not be resolved"
    if not isinstance(line, int):
        return "Position could not be resolved"
    start = given.get("start_line")
    found = find_line(patches[path], line, side)
    first = (
        find_line(patches[path], start, str(given.get("start_side") or side))
        if isinstance(start, int)
        else found
    )
    if found is None or first is None:
        return "Line could not be resolved"
    if isinstance(start, int) and (
        start >= line or not first[1].startswith(found[1].split("\n", 1)[0])
    ):
        return "Start line must precede the end line in the same hunk"
    return Place(path, line, side, start if isinstance(start, int) else None, found[0], found[1])


def comment_on_lines(
    hub: Hub,
    review: Review,
    place: Place,
    body: str,
    *,
    user: str | None = None,
    reply_to: int | None = None,
) -> ReviewComment:
    """Put a comment into a review and tell the world."""
    world, now = hub.world, hub.world.now()
    made = ReviewComment(
        world.next_large_id(),
        review.repository,
        review.number,
        review.id,
        user or review.user,
        body,
        review.commit,
        place,
        now,
        now,
        reply_to,
    )
    world.review_comments[made.id] = made
    events.review_comment_event(hub, made, "created", made.user)
    return made


def open_review(world: World, issue: Issue, pull: Pull, user: str, given: Json) -> Review:
    """A new review; the comments come later."""
    event = given.get("event") or ""
    commit = given.get("commit_id") or pull.head_sha
    state = STATES.get(event, "PENDING")
    review = Review(
        world.next_large_id(),
        issue.repository,
        issue.number,
        user,
        given.get("body") or "",
        state,
        commit,
        world.now(),
    )
    world.reviews[review.id] = review
    return review


def create_review(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews: all comments find their lines, or nothing is made."""
    issue, pull = find_pull(call)
    body, event, given = (
        call.body.get("body"),
        call.body.get("event"),
        call.body.get("comments") or [],
    )
    check_body("PullRequestReview", body)
    if event in {"REQUEST_CHANGES", "COMMENT"} and not body and not given:
        raise _unprocessable("Review body can't be blank")
    if event in {"APPROVE", "REQUEST_CHANGES"} and issue.user == call.actor.login:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise _unprocessable(f"Can not {verb} your own pull request")
    commit = call.body.get("commit_id")
    if commit and commit not in call.repo.store.history(f"{pull.base_sha}..{pull.head_sha}"):
        raise _unprocessable("Commit is not part of the pull request")
    places = [find_place(call.world, issue, one) for one in given]
    problems = [one for one in places if isinstance(one, str)]
    if problems:
        raise _unprocessable(*problems)
    for one in given:
        check_body("PullRequestReviewComment", one.get("body"))
    review = open_review(call.world, issue, pull, call.actor.login, call.body)
    for place, one in zip(places, given, strict=True):
        if isinstance(place, Place):
            comment_on_lines(call.hub, review, place, one["body"])
    return Reply(review_json(call.world, review))


def _unprocessable(*reasons: str) -> ApiError:
    """422 with plain sentences in `errors`, as the reviews API answers."""
    error = ApiError(422, "Unprocessable Entity")
    error.body["errors"] = list(reasons)
    return error


def list_reviews(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews."""
    issue, _ = find_pull(call)
    found = [
        one
        for one in call.world.reviews.values()
        if (one.repository, one.number) == (call.repo.id, issue.number)
    ]
    return page(call, [review_json(call.world, one) for one in found])


def list_review_comments(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}/comments."""
    issue, _ = find_pull(call)
    found = [
        one
        for one in call.world.review_comments.values()
        if (one.repository, one.number) == (call.repo.id, issue.number)
    ]
    return page(call, [review_comment_json(call.world, one) for one in found])


def create_review_comment(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/pulls/{pull_number}/comments: a review of one comment."""
    issue, pull = find_pull(call)
    body = call.field("body")
    check_body("PullRequestReviewComment", body)
    place = find_place(call.world, issue, call.body)
    if isinstance(place, str):
        field = "path" if place.startswith("Path") else "pull_request_review_thread.line"
        text = f"{field} must be part of the diff"
        entry: Json = {
            "resource": "PullRequestReviewComment",
            "code": "custom",
            "field": field,
            "message": text,
        }
        raise ApiError(422, "Validation Failed", errors=[entry])
    given = {"event": "COMMENT", "commit_id": call.body.get("commit_id")}
    review = open_review(call.world, issue, pull, call.actor.login, given)
    return Reply(
        review_comment_json(call.world, comment_on_lines(call.hub, review, place, body)), 201
    )


def find_review_comment(call: Call) -> ReviewComment:
    """The review comment in the path."""
    found = call.world.review_comments.get(call.number("comment_id"))
    if found is None or found.repository != call.repo.id:
        raise not_found()
    return found


def get_review_comment(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls/comments/{comment_id}."""
    return Reply(review_comment_json(call.world, find_review_comment(call)))


def reply(hub: Hub, parent: ReviewComment, user: str, body: str) -> ReviewComment:
    """Answer in a thread; answers to answers belong to its first comment."""
    review = hub.world.reviews[parent.review]
    return comment_on_lines(
        hub, review, parent.place, body, user=user, reply_to=parent.reply_to or parent.id
    )


def create_reply(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies."""
    issue, _ = find_pull(call)
    parent, body = find_review_comment(call), call.field("body")
    check_body("PullRequestReviewComment", body)
    if parent.number != issue.number:
        raise not_found()
    return Reply(
        review_comment_json(call.world, reply(call.hub, parent, call.actor.login, body)), 201
    )


def react_to_review_comment(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions."""
    return react(call, find_review_comment(call).reactions)


PULL = "/repos/{owner}/{repo}/pulls/{pull_number}"
COMMENT = "/repos/{owner}/{repo}/pulls/comments/{comment_id}"
ROUTES = (
    Route("POST", f"{PULL}/reviews", create_review),
    Route("GET", f"{PULL}/reviews", list_reviews),
    Route("POST", f"{PULL}/comments", create_review_comment),
    Route("GET", f"{PULL}/comments", list_review_comments),
    Route("POST", f"{PULL}/comments/{{comment_id}}/replies", create_reply),
    Route("GET", COMMENT, get_review_comment),
    Route("POST", f"{COMMENT}/reactions", react_to_review_comment),
)
