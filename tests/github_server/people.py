"""What people do in a repository: pull requests, comments, labels, branches."""

from tests.github_server import events
from tests.github_server.entities import Comment, Issue
from tests.github_server.entities_reviews import Review, ReviewComment
from tests.github_server.routes_issues import (
    add_comment,
    edit_issue,
    open_issue,
    put_labels,
    set_issue_state,
    take_label,
)
from tests.github_server.routes_pulls import open_pull, set_state
from tests.github_server.routes_reviews import comment_on_lines, find_place, open_review, reply
from tests.github_server.watching import Watching


class People(Watching):
    """The part of `Controls` about pull requests and what is said there."""

    def open_pull_request(
        self,
        repo: str,
        head: str,
        base: str = "main",
        title: str = "A change",
        *,
        user: str | None = None,
        body: str = "",
    ) -> Issue:
        """Open a pull request; `head` is a branch, or `owner:branch` of a fork."""
        with self.world.lock:
            found = self.world.named(repo)
            owner, _, branch = head.rpartition(":")
            source = found
            if owner and owner != found.owner:
                source = next(
                    o
                    for o in self.world.repositories.values()
                    if o.owner == owner and o.parent == found.id
                )
            return open_pull(
                self.hub,
                found,
                (source, branch),
                base,
                {"title": title, "body": body, "user": user or source.owner},
            )

    def open_issue(self, repo: str, title: str, user: str | None = None, body: str = "") -> Issue:
        """Open an issue, which is no pull request."""
        with self.world.lock:
            found = self.world.named(repo)
            return open_issue(self.hub, found, title, body, user or found.owner)

    def issues(self, repo: str) -> list[Issue]:
        """The issues that are no pull requests, oldest first."""
        with self.world.lock:
            return [one for one in self.world.named(repo).issues.values() if one.pull is None]

    def edit_issue(self, repo: str, number: int, user: str, body: str) -> None:
        """Change the text of an issue as a person; a browser sends CRLF."""
        with self.world.lock:
            issue = self.world.named(repo).issues[number]
            text = body.replace("\r\n", "\n").replace("\n", "\r\n")
            edit_issue(self.hub, issue, {"body": text}, user)

    def tick(self, repo: str, number: int, user: str, words: str) -> None:
        """Tick the box of an issue whose line contains the words."""
        body = self.world.named(repo).issues[number].body or ""
        lines = body.splitlines()
        (at,) = [n for n, line in enumerate(lines) if line.startswith("- [ ]") and words in line]
        lines[at] = lines[at].replace("- [ ]", "- [x]", 1)
        self.edit_issue(repo, number, user, "\n".join(lines))

    def set_issue_state(self, repo: str, number: int, state: str, user: str) -> None:
        """Close or reopen an issue as a person."""
        with self.world.lock:
            set_issue_state(self.hub, self.world.named(repo).issues[number], state, user)

    def delete_issue(self, repo: str, number: int, user: str | None = None) -> None:
        """Delete an issue as an administrator."""
        with self.world.lock:
            found = self.world.named(repo)
            events.issue_event(self.hub, found.issues[number], "deleted", user or found.owner)
            del found.issues[number]
            found.deleted_issues.add(number)

    def edit_comment(self, comment: Comment, user: str, body: str) -> None:
        """Change what a comment says."""
        with self.world.lock:
            comment.body, comment.updated_at = body, self.world.now()
            events.comment_event(self.hub, comment, "edited", user)

    def comment(self, repo: str, number: int, user: str, body: str) -> Comment:
        """Comment as a person."""
        with self.world.lock:
            return add_comment(self.hub, self.world.named(repo).issues[number], user, body)

    def merge(
        self, repo: str, number: int, user: str | None = None, *, squash: bool = False
    ) -> str:
        """Merge a pull request with a merge commit (or squash it into one commit), close it and return the commit."""
        with self.world.lock:
            found = self.world.named(repo)
            issue = found.issues[number]
            pull = issue.pull
            if pull is None:
                raise ValueError(f"{repo}#{number} is no pull request")
            user = user or found.owner
            text = found.store.text("merge-tree", "--write-tree", pull.base_sha, pull.head_sha)
            message = f"Merge pull request #{number} from {pull.head_ref}\n\n{issue.title}"
            parents = [pull.base_sha, pull.head_sha]
            if squash:
                message, parents = f"{issue.title} (#{number})", [pull.base_sha]
            sha = found.store.write_commit(
                text.splitlines()[0], parents, message, self.world.person(user)
            )
            pull.merged_at, pull.merged_by, pull.merge_commit_sha = self.world.now(), user, sha
            set_state(self.hub, issue, "closed", user)
            events.set_branch(self.hub, found, f"refs/heads/{pull.base_ref}", sha, user)
        return sha

    def close(self, repo: str, number: int, user: str | None = None) -> None:
        """Close a pull request without merging."""
        with self.world.lock:
            found = self.world.named(repo)
            set_state(self.hub, found.issues[number], "closed", user or found.owner)

    def reopen(self, repo: str, number: int, user: str | None = None) -> None:
        """Reopen a pull request."""
        with self.world.lock:
            found = self.world.named(repo)
            set_state(self.hub, found.issues[number], "open", user or found.owner)

    def delete_branch(self, repo: str, branch: str, user: str | None = None) -> None:
        """Delete a branch as a person; open pull requests from it are closed."""
        with self.world.lock:
            found = self.world.named(repo)
            events.set_branch(self.hub, found, f"refs/heads/{branch}", None, user or found.owner)

    def label(self, repo: str, number: int, name: str, user: str | None = None) -> None:
        """Put a label on an issue or a pull request as a person; the label is made when it is new."""
        with self.world.lock:
            found = self.world.named(repo)
            put_labels(self.hub, found.issues[number], [name], user or found.owner)

    def unlabel(self, repo: str, number: int, name: str, user: str | None = None) -> None:
        """Take a label off as a person."""
        with self.world.lock:
            found = self.world.named(repo)
            take_label(self.hub, found.issues[number], name, user or found.owner)

    def review_comment(
        self,
        repo: str,
        number: int,
        user: str,
        body: str,
        *,
        path: str = "",
        line: int = 1,
        reply_to: int | None = None,
    ) -> ReviewComment:
        """Comment on a line of a pull request's head as a person, or answer in a thread."""
        with self.world.lock:
            issue = self.world.named(repo).issues[number]
            if reply_to is not None:
                return reply(self.hub, self.world.review_comments[reply_to], user, body)
            place = find_place(self.world, issue, {"path": path, "line": line})
            if isinstance(place, str) or issue.pull is None:
                raise ValueError(f"{repo}#{number} {path}:{line}: {place}")
            review = open_review(self.world, issue, issue.pull, user, {"event": "COMMENT"})
            return comment_on_lines(self.hub, review, place, body)

    def reviews(self, repo: str, number: int) -> list[Review]:
        """The reviews of a pull request, oldest first."""
        wanted = (self.world.named(repo).id, number)
        with self.world.lock:
            return [
                one for one in self.world.reviews.values() if (one.repository, one.number) == wanted
            ]

    def review_comments(self, repo: str, number: int) -> list[ReviewComment]:
        """The comments on lines of a pull request, oldest first."""
        wanted = (self.world.named(repo).id, number)
        with self.world.lock:
            return [
                one
                for one in self.world.review_comments.values()
                if (one.repository, one.number) == wanted
            ]

    def pull_requests(self, repo: str) -> list[Issue]:
        """The pull requests of a repository, oldest first."""
        with self.world.lock:
            return list(reversed(self.world.pulls(self.world.named(repo))))

    def comments(self, repo: str, number: int) -> list[Comment]:
        """The comments of an issue or a pull request."""
        return [self.world.comments[one] for one in self.world.named(repo).issues[number].comments]
