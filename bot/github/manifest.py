"""Creation of the App from a manifest: the request, the browser's target and the code exchange."""

import re
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

import httpx
from pydantic import Field, SecretStr, ValidationError

from bot.errors import GitHubError
from bot.github.events import GitHubAccount, Id, Slim
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
"""The required event subscriptions, each with the permission that GitHub demands for it."""

OPTIONAL = MappingProxyType({"actions": "write"})
"""Optional permissions: with them, jobs can be rerun."""

DASHBOARD_PERMISSIONS = MappingProxyType({"issues": "write"})
"""Optional permissions for dashboard issues, and for answers to commands in issues."""

DASHBOARD_EVENTS = MappingProxyType({"issues": "issues"})
"""Optional event subscriptions for the tick boxes of dashboard issues."""

LONGEST_NAME = 34
"""GitHub's limit for the name of an App, in characters."""

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class NewApp(Slim):
    """The new App; GitHub shows its key and secrets only once."""

    id: Id
    slug: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    html_url: str = Field(pattern=r"^https?://")
    owner: GitHubAccount | None = None
    client_id: str = ""
    client_secret: SecretStr = SecretStr("")
    webhook_secret: SecretStr | None = None
    pem: SecretStr


def manifest(
    *, name: str, page: str, public: str, reruns: bool = True, dashboards: bool = False
) -> dict[str, Any]:
    """Return the manifest of a private App with only the rights and events we use.

    Args:
        name: The proposed name; the person may change it.
        page: Address of the set-up page for the browser.
        public: Address of this service for GitHub.
        reruns: True to request the right to rerun jobs.
        dashboards: True to request the right to write issues.
    """
    optional = {**(OPTIONAL if reruns else {}), **(DASHBOARD_PERMISSIONS if dashboards else {})}
    return {
        "name": name[:LONGEST_NAME],
        "url": public,
        "description": "Turns a red CI check into a reviewed fix.",
        "hook_attributes": {"url": f"{public}/webhook", "active": True},
        "redirect_url": f"{page}/setup/created",
        # People sign in to the dashboard with GitHub.
        "callback_urls": [f"{public}/dashboard/signed-in"],
        "public": False,
        "default_permissions": {**NEEDED, **optional},
        "default_events": [*EVENTS, *(DASHBOARD_EVENTS if dashboards else ())],
    }


def creation_url(api_url: str, organization: str, state: str) -> str:
    """Return the page that accepts the manifest for a personal account or an organization."""
    whose = f"/organizations/{login_segment(organization)}" if organization else ""
    return f"{web_url(api_url)}{whose}/settings/apps/new?{urlencode({'state': state})}"


async def convert(api_url: str, code: str) -> NewApp:
    """Exchange a code for the new App; a code works once, for an hour.

    Args:
        api_url: GitHub's API.
        code: The code that GitHub sent through the browser.

    Raises:
        GitHubError: the code is invalid, or GitHub failed.
    """
    # The code comes from a URL that anyone can open.
    if _CODE.fullmatch(code) is None:
        raise GitHubError("GitHub's code is missing or malformed", "begin again")
    base = f"{api_url.rstrip('/')}/"
    headers = {"accept": "application/vnd.github+json", "user-agent": "metaagent"}
    try:
        async with httpx.AsyncClient(base_url=base, timeout=_TIMEOUT) as client:
            # Sent once: a code cannot be used again.
            reply = await client.post(
                f"app-manifests/{quote(code, safe='')}/conversions", headers=headers
            )
    except httpx.HTTPError as error:
        reason = f"GitHub cannot be reached ({type(error).__name__})"
        raise GitHubError(reason, "check METAAGENT_GITHUB_API_URL and the network") from error
    if reply.is_error:
        # GitHub's own message is omitted, because the URL contains the code.
        status = reply.status_code
        spent = status == httpx.codes.NOT_FOUND
        message = (
            "GitHub does not accept this code (any more)"
            if spent
            else f"GitHub did not make the App ({status})"
        )
        raise GitHubError(message, "begin again", status=status)
    try:
        return NewApp.model_validate_json(reply.content)
    except ValidationError as error:
        missing = ", ".join(
            str(problem["loc"][0])
            for problem in error.errors(include_input=False, include_url=False)
        )
        raise GitHubError(f"GitHub's response has an unexpected form: {missing}") from None
