"""Names that come from outside, checked and percent-encoded before they stand in an address."""

import re
from urllib.parse import quote, urlsplit

from bot.domain.request import RepositoryRef
from bot.errors import GitHubError

_OWNER_OR_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_SHA = re.compile(r"[0-9a-f]{40}")
_LONGEST_REF = 244


def repository_path(repository: RepositoryRef) -> str:
    """`/repos/owner/name`.

    Raises:
        GitHubError: a name GitHub cannot have given.
    """
    for part in (repository.owner, repository.name):
        if _OWNER_OR_NAME.fullmatch(part) is None or part in {".", ".."}:
            raise GitHubError(f"{part!r} is not the name of an owner or a repository")
    return f"/repos/{repository.owner}/{repository.name}"


def branch_segment(branch: str) -> str:
    """A branch as part of an address, slashes kept.

    Raises:
        GitHubError: git would not accept this name.
    """
    if not is_branch_name(branch):
        raise GitHubError(f"{branch[:80]!r} is not a branch name")
    return quote(branch, safe="/")


def is_branch_name(branch: str) -> bool:
    """The rules of `git check-ref-format --branch`."""
    if not branch or len(branch) > _LONGEST_REF or branch == "@":
        return False
    if _FORBIDDEN_IN_REF.search(branch) or branch.startswith(("-", "/")) or branch.endswith(("/", ".")):
        return False
    return all(not part.startswith(".") and not part.endswith(".lock") for part in branch.split("/"))


def commit_segment(ref: str) -> str:
    """A commit or a branch as part of an address."""
    return ref if _SHA.fullmatch(ref) else branch_segment(ref)


def sha_segment(sha: str) -> str:
    """A commit.

    Raises:
        GitHubError: it is not 40 hexadecimal digits.
    """
    if _SHA.fullmatch(sha) is None:
        raise GitHubError(f"{sha[:80]!r} is not a commit")
    return sha


def is_file_path(path: str) -> bool:
    """Whether a path names a file inside a repository, and nothing of git's own."""
    parts = path.split("/")
    if not path or "\x00" in path or "\\" in path or path.startswith("/"):
        return False
    return all(part not in {"", ".", ".."} and part.lower() != ".git" for part in parts)


def file_segment(path: str) -> str:
    """A file's path as part of an address.

    Raises:
        GitHubError: it leaves the repository.
    """
    if not is_file_path(path):
        raise GitHubError(f"{path[:80]!r} is not a path inside a repository")
    return quote(path, safe="/")


def login_segment(login: str) -> str:
    """A user's login as part of an address (`name[bot]` for bots)."""
    return quote(login, safe="")


def web_url(api_url: str) -> str:
    """Where people find the GitHub whose API this is, without a slash at the end."""
    parts = urlsplit(api_url)
    host = parts.netloc
    if host == "api.github.com" or (host.startswith("api.") and host.endswith(".ghe.com")):
        host = host.removeprefix("api.")
    return f"{parts.scheme}://{host}"


def label_segment(label: str) -> str:
    """A label as part of an address; a label may hold anything."""
    return quote(label, safe="")
