"""Our own issues: the dashboard issue of a repository."""

from collections.abc import Mapping

from bot.domain.github import IssueState
from bot.domain.request import RepositoryRef
from bot.github.reading import read
from bot.github.replies import IssueReply
from bot.github.text import cut
from bot.github.upkeep import GitHubKeeping
from bot.github.writing import TITLE_LIMIT, is_by

PAGES = 10
"""Most pages of our closed issues and pull requests that are searched, newest first."""
WRITE = "issues:write"


class GitHubIssues(GitHubKeeping):
    """Reads and writes of our issues."""

    async def own_issue(self, repository: RepositoryRef, marker: str) -> IssueState | None:
        """Return our issue whose body contains the marker: an open one, else the newest closed."""
        me = await self._client.identity()
        for state in ("open", "closed"):
            query: Mapping[str, str | int] = {"state": state, "creator": me.login}
            pages = await self._client.pages(
                repository, "/issues", needs="issues:read", params=query, most=PAGES
            )
            found = [
                one.issue()
                for page in pages
                for one in read(page, tuple[IssueReply, ...])
                # GitHub lists pull requests as issues, too.
                if one.pull_request is None and is_by(one.user, me) and marker in (one.body or "")
            ]
            if found:
                return found[0]
        return None

    async def open_issue(self, repository: RepositoryRef, *, title: str, body: str) -> int:
        """Open an issue and return its number.

        Raises:
            NotPermitted: the App lacks `issues:write`.
        """
        content = {"title": title[:TITLE_LIMIT], "body": cut(body)}
        return read(
            await self._post(repository, "/issues", content, needs=WRITE), IssueReply
        ).number

    async def update_issue(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        body: str | None = None,
        is_open: bool | None = None,
    ) -> None:
        """Change the text of an issue, close it, or open it again.

        Raises:
            NotPermitted: the App lacks `issues:write`.
        """
        given: dict[str, str] = {}
        if body is not None:
            given["body"] = cut(body)
        if is_open is not None:
            given["state"] = "open" if is_open else "closed"
        await self._client.call(repository, "PATCH", f"/issues/{number}", needs=WRITE, json=given)
