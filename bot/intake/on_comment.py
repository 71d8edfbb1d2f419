"""Someone wrote /metaagent fix: ask for a mission."""

import re

from bot.domain.request import CommentRef, Ignored, MissionRequest, Trigger
from bot.github.events import Delivery, IssueCommentEvent, cut
from bot.intake.identity import OwnApp

_COMMAND = re.compile(r"/metaagent(?:[ \t]+(?P<word>[A-Za-z-]+))?(?:[ \t].*)?")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
KNOWN_LATER = frozenset({"help", "retry", "stop", "why"})
"""Words that are ours but start no mission."""


def command_in(body: str) -> str | None:
    """The command a comment gives: the first line that begins with `/metaagent`, outside quotes and code.

    Returns:
        The word after it, lower case, "" when there is none, or None for a comment without a command.
    """
    fence: str | None = None
    for line in body.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff").split("\n"):
        mark = _FENCE.match(line)
        if fence is not None:
            if mark is not None and mark["fence"].startswith(fence) and not line.strip(" `~"):
                fence = None
            continue
        if mark is not None:
            fence = mark["fence"]
            continue
        if (found := _COMMAND.fullmatch(line)) is not None:
            return (found["word"] or "").lower()
    return None


def on_comment(delivery: Delivery, own: OwnApp) -> MissionRequest | Ignored:
    """`issue_comment.created`: a mission for `/metaagent fix` on an open pull request.

    Whether the author may ask is GitHub's to say, after the answer.
    """
    event = cut(delivery, IssueCommentEvent)
    author = event.comment.user
    word = command_in(event.comment.body or "")
    if word is None:
        return Ignored(reason="the comment gives no command")
    if author is None or author.is_bot or author.login == own.login:
        return Ignored(reason="a bot may not command us")
    if event.issue.pull_request is None:
        return Ignored(reason="commands are understood on pull requests only")
    if event.issue.state == "closed":
        return Ignored(reason="the pull request is closed")
    if word != "fix":
        known = f"/metaagent {word} is not answered yet" if word in KNOWN_LATER else "the command is unknown"
        return Ignored(reason=known)
    repository = event.repository_ref
    return MissionRequest(
        mission_id=f"mission:{repository.id}:pr{event.issue.number}:c{event.comment.id}",
        trigger=Trigger.COMMENT,
        repository=repository,
        pull_request=event.issue.number,
        comment=CommentRef(id=event.comment.id, author=author.login, number=event.issue.number),
        delivery_id=delivery.id,
        requested_by=author.login,
    )
