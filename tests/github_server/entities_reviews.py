"""What people and bots say about lines and commits: reviews, review comments and commit statuses."""

from dataclasses import dataclass, field

from tests.github_server.entities import Reaction


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a pull request's diff.

    Attributes:
        path: the file.
        line: the last (or only) line.
        side: RIGHT for the new file, LEFT for the old one.
        start_line: the first line of several.
        position: how many lines below the first hunk's header.
        hunk: the part of the diff up to the line.
    """

    path: str
    line: int
    side: str
    start_line: int | None
    position: int
    hunk: str


@dataclass(slots=True)
class Review:
    """A review of a pull request."""

    id: int
    repository: int
    number: int
    user: str
    body: str
    state: str
    commit: str
    submitted_at: str


@dataclass(slots=True)
class ReviewComment:
    """A comment on lines of a pull request."""

    id: int
    repository: int
    number: int
    review: int
    user: str
    body: str
    commit: str
    place: Place
    created_at: str
    updated_at: str
    reply_to: int | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Status:
    """A commit status, as older CIs set it."""

    id: int
    repository: int
    sha: str
    state: str
    context: str
    creator: str
    created_at: str
    description: str | None = None
    target_url: str | None = None
