"""Somebody wrote `/metaagent …` in a comment or a review thread: a command."""

from pydantic import Field

from bot.domain.command import Command
from bot.domain.request import SHA, CommentRef, Ignored
from bot.github.events import Comment, Delivery, IssueCommentEvent, PullRequestEvent, cut
from bot.intake.identity import OwnApp
from bot.intake.spoken import Spoken, spoken_in


class ReviewComment(Comment):
    """A comment at a line of a pull request."""

    path: str | None = None
    line: int | None = None
    commit_id: str | None = Field(default=None, pattern=SHA)


class ReviewCommentEvent(PullRequestEvent):
    """`pull_request_review_comment`."""

    comment: ReviewComment


def on_comment(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """`issue_comment.created`: a command that starts the comment. Whether its author may is asked after the answer."""
    event = cut(delivery, IssueCommentEvent)
    said = _said(event.comment, own)
    if isinstance(said, Ignored):
        return said
    spoken, author = said
    repository, comment, number = event.repository_ref, event.comment.id, event.issue.number
    return Command(
        command_id=f"command:{repository.id}:c{comment}",
        **spoken.model_dump(),
        repository=repository,
        author=author,
        number=number,
        is_pull_request=event.issue.pull_request is not None,
        comment=CommentRef(id=comment, author=author, number=number),
        delivery_id=delivery.id,
    )


def on_review_comment(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """`pull_request_review_comment.created`: the same in a review thread."""
    event = cut(delivery, ReviewCommentEvent)
    said = _said(event.comment, own)
    if isinstance(said, Ignored):
        return said
    spoken, author = said
    repository, comment, number = event.repository_ref, event.comment, event.pull_request.number
    return Command(
        command_id=f"command:{repository.id}:r{comment.id}",
        **spoken.model_dump(),
        repository=repository,
        author=author,
        number=number,
        comment=CommentRef(id=comment.id, author=author, number=number, in_review=True),
        head_sha=event.pull_request.head.sha,
        head_branch=event.pull_request.head.ref,
        path=comment.path,
        line=comment.line,
        delivery_id=delivery.id,
    )


def _said(comment: Comment, own: OwnApp) -> tuple[Spoken, str] | Ignored:
    """The command and who gave it."""
    spoken = spoken_in(comment.body or "")
    if spoken is None:
        return Ignored(reason="the comment gives no command")
    if comment.user is None or is_bot(comment.user.login, own, said_so=comment.user.is_bot):
        return Ignored(reason="a bot may not command us")
    return spoken, comment.user.login


def is_bot(login: str, own: OwnApp, *, said_so: bool) -> bool:
    """Whether an account is no person; GitHub's word for it is missing in older payloads, the suffix never is."""
    return said_so or login == own.login or login.endswith("[bot]")
