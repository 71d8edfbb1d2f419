"""External names, checked and percent-encoded for use in URLs.

githubkit does not encode path arguments: the file `../../../user` would request `/repos/user`.
"""

import re
from urllib.parse import quote, urlsplit

from bot.domain.request import RepositoryRef
from bot.errors import GitHubError

_OWNER_OR_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
# Characters and sequences that `git check-ref-format` forbids.
_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_SHA = re.compile(r"[0-9a-f]{40}")
_LONGEST_REF = 244
"""Most characters of a branch name: 255 with `refs/heads/`."""


def repository_path(repository: RepositoryRef) -> str:
    """Return `/repos/owner/name`.

    Raises:
        GitHubError: a name is invalid on GitHub.
    """
    for part in (repository.owner, repository.name):
        # `..` consists of allowed characters but leads to another endpoint.
        if _OWNER_OR_NAME.fullmatch(part) is None or part in {".", ".."}:
            raise GitHubError(f"{part!r} is not the name of an owner or a repository")
    return f"/repos/{repository.owner}/{repository.name}"


def branch_segment(branch: str) -> str:
    """Return a branch as a URL path, slashes kept.

    Raises:
        GitHubError: git does not allow this name.
    """
    if not is_branch_name(branch):
        raise GitHubError(f"{branch[:80]!r} is not a branch name")
    return quote(branch, safe="/")


def is_branch_name(branch: str) -> bool:
    """Return True if a name follows the rules of `git check-ref-format --branch`."""
    if not branch or len(branch) > _LONGEST_REF or branch == "@":
        return False
    if (
        _FORBIDDEN_IN_REF.search(branch)
        or branch.startswith(("-", "/"))
        or branch.endswith(("/", "."))
    ):
        return False
    return all(
        not part.startswith(".") and not part.endswith(".lock") for part in branch.split("/")
    )


def commit_segment(ref: str) -> str:
    """Return a commit or a branch as a URL path."""
    return ref if _SHA.fullmatch(ref) else branch_segment(ref)


def sha_segment(sha: str) -> str:
    """Return a commit SHA.

    Raises:
        GitHubError: it is not 40 hexadecimal digits.
    """
    if _SHA.fullmatch(sha) is None:
        raise GitHubError(f"{sha[:80]!r} is not a commit")
    return sha


def is_file_path(path: str) -> bool:
    """Return True if a path is inside a repository and outside its `.git`."""
    parts = path.split("/")
    if not path or "\x00" in path or "\\" in path or path.startswith("/"):
        return False
    # Case-insensitive file systems treat `.GIT` as git's own folder.
    return all(part not in {"", ".", ".."} and part.lower() != ".git" for part in parts)


def file_segment(path: str) -> str:
    """Return a file path as a URL path.

    Raises:
        GitHubError: the path leaves the repository.
    """
    if not is_file_path(path):
        raise GitHubError(f"{path[:80]!r} is not a path inside a repository")
    return quote(path, safe="/")


def login_segment(login: str) -> str:
    """Return a login as a URL path segment (`name[bot]` for bots)."""
    return quote(login, safe="")


def web_url(api_url: str) -> str:
    """Return the web address that belongs to an API address, without a trailing slash."""
    parts = urlsplit(api_url)
    host = parts.netloc
    # Enterprise Server has its API on the web host itself, below /api/v3/.
    if host == "api.github.com" or (host.startswith("api.") and host.endswith(".ghe.com")):
        host = host.removeprefix("api.")
    return f"{parts.scheme}://{host}"


def label_segment(label: str) -> str:
    """Return a label as a URL path segment; a label may contain any character."""
    return quote(label, safe="")
