"""`/metaagent …` in a comment or a review thread: a command."""

from pydantic import Field

from bot.domain.command import Command
from bot.domain.request import SHA, CommentRef, Ignored
from bot.github.events import Comment, Delivery, IssueCommentEvent, PullRequestEvent, cut
from bot.intake.command_text import ParsedCommand, parse_command
from bot.intake.identity import OwnApp


class ReviewComment(Comment):
    """A comment at a line of a pull request."""

    path: str | None = None
    line: int | None = None
    commit_id: str | None = Field(default=None, pattern=SHA)


class ReviewCommentEvent(PullRequestEvent):
    """`pull_request_review_comment`."""

    comment: ReviewComment


def on_comment(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """Handle `issue_comment.created`; the author's rights are checked later."""
    event = cut(delivery, IssueCommentEvent)
    command = _read_command(event.comment, own)
    if isinstance(command, Ignored):
        return command
    parsed, author = command
    repository, comment, number = event.repository_ref, event.comment.id, event.issue.number
    return Command(
        command_id=f"command:{repository.id}:c{comment}",
        **parsed.model_dump(),
        repository=repository,
        author=author,
        number=number,
        is_pull_request=event.issue.pull_request is not None,
        comment=CommentRef(id=comment, author=author, number=number),
        delivery_id=delivery.id,
    )


def on_review_comment(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """Handle `pull_request_review_comment.created`."""
    event = cut(delivery, ReviewCommentEvent)
    command = _read_command(event.comment, own)
    if isinstance(command, Ignored):
        return command
    parsed, author = command
    repository, comment, number = event.repository_ref, event.comment, event.pull_request.number
    return Command(
        command_id=f"command:{repository.id}:r{comment.id}",
        **parsed.model_dump(),
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


def _read_command(comment: Comment, own: OwnApp) -> tuple[ParsedCommand, str] | Ignored:
    """Return a comment's command and its author, or the reason to ignore it."""
    parsed = parse_command(comment.body or "")
    if parsed is None:
        return Ignored(reason="the comment contains no command")
    if comment.user is None or is_bot(comment.user.login, own, said_so=comment.user.is_bot):
        return Ignored(reason="bots cannot give commands")
    return parsed, comment.user.login


def is_bot(login: str, own: OwnApp, *, said_so: bool) -> bool:
    """Return True if an account is a bot.

    Older payloads lack GitHub's flag, but never the suffix.
    """
    return said_so or login == own.login or login.endswith("[bot]")
