"""Making the App from a manifest: what we ask for, where the browser goes, and the code that becomes the App's keys."""

import re
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

import httpx
from pydantic import Field, SecretStr, ValidationError

from bot.errors import GitHubError
from bot.github.events import Account, Id, Slim
from bot.github.gateway import NEEDED
from bot.github.names import login_segment, web_url

EVENTS = MappingProxyType(
    {
        "check_run": "checks",
        "check_suite": "checks",
        "workflow_run": "actions",
        "workflow_job": "actions",
        "status": "statuses",
        "issue_comment": "issues",
        "pull_request": "pull_requests",
        "pull_request_review_comment": "pull_requests",
        "push": "contents",
    }
)
"""What the App must be subscribed to, and the permission without which GitHub sends it not."""

OPTIONAL = MappingProxyType({"actions": "write"})
"""More than is needed: with it, jobs can be run again."""

LONGEST_NAME = 34
"""Characters of an App's name."""

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class NewApp(Slim):
    """The App as GitHub made it; the key and the secrets are shown this once."""

    id: Id
    slug: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    html_url: str = Field(pattern=r"^https?://")
    owner: Account | None = None
    client_id: str = ""
    client_secret: SecretStr = SecretStr("")
    webhook_secret: SecretStr | None = None
    pem: SecretStr


def manifest(*, name: str, page: str, public: str, reruns: bool = True) -> dict[str, Any]:
    """What we ask GitHub to make: a private App with just the rights and events we use.

    Args:
        name: Proposed; the person may change it.
        page: Where the browser reaches the set-up page.
        public: Where GitHub reaches us.
        reruns: Whether it shall be able to run jobs again.
    """
    return {
        "name": name[:LONGEST_NAME],
        "url": public,
        "description": "Turns a red CI check into a reviewed fix.",
        "hook_attributes": {"url": f"{public}/webhook", "active": True},
        "redirect_url": f"{page}/setup/created",
        "public": False,
        "default_permissions": {**NEEDED, **(OPTIONAL if reruns else {})},
        "default_events": list(EVENTS),
    }


def creation_url(api_url: str, organization: str, state: str) -> str:
    """Where the browser takes the manifest: a person's own account, or an organization's."""
    whose = f"/organizations/{login_segment(organization)}" if organization else ""
    return f"{web_url(api_url)}{whose}/settings/apps/new?{urlencode({'state': state})}"


async def convert(api_url: str, code: str) -> NewApp:
    """The App behind a code, which works once and for an hour.

    Args:
        api_url: GitHub's API.
        code: From GitHub, by way of the browser.

    Raises:
        GitHubError: the code is not good, or GitHub failed.
    """
    if _CODE.fullmatch(code) is None:
        raise GitHubError("GitHub's code is missing or malformed", "begin again")
    base = f"{api_url.rstrip('/')}/"
    headers = {"accept": "application/vnd.github+json", "user-agent": "metaagent"}
    try:
        async with httpx.AsyncClient(base_url=base, timeout=_TIMEOUT) as client:
            # Sent once: a code that was used is gone.
            reply = await client.post(f"app-manifests/{quote(code, safe='')}/conversions", headers=headers)
    except httpx.HTTPError as error:
        reason = f"GitHub cannot be reached ({type(error).__name__})"
        raise GitHubError(reason, "check METAAGENT_GITHUB_API_URL and the network") from error
    if reply.is_error:
        # Not what GitHub says itself: the address holds the code.
        status = reply.status_code
        spent = status == httpx.codes.NOT_FOUND
        message = "GitHub does not know this code (any more)" if spent else f"GitHub did not make the App ({status})"
        raise GitHubError(message, "begin again", status=status)
    try:
        return NewApp.model_validate_json(reply.content)
    except ValidationError as error:
        missing = ", ".join(str(problem["loc"][0]) for problem in error.errors(include_input=False, include_url=False))
        raise GitHubError(f"GitHub's answer is not as it is described: {missing}") from None
