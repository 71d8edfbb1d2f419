"""The App's installations and webhook deliveries."""

import json
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import httpx
from pydantic import TypeAdapter

from bot.domain.github import HookDelivery, InstallationRef
from bot.domain.request import RepositoryRef
from bot.github.app_client import AppClient
from bot.github.app_replies import (
    HookDeliveryDetail,
    HookDeliveryReply,
    InstallationReply,
    RepositoriesReply,
)
from bot.github.reading import read, read_as

PAGE = 100
"""GitHub's largest page."""


class Hooks:
    """Calls for the deliveries and installations of our App.

    Args:
        client: The client of the App.
    """

    def __init__(self, client: AppClient) -> None:
        self._app = client

    async def deliveries(self, *, since: datetime, most: int = 1_000) -> tuple[HookDelivery, ...]:
        """Return delivery attempts since a time, newest first."""
        many = TypeAdapter(tuple[HookDeliveryReply, ...])
        found: list[HookDelivery] = []
        params: dict[str, str | int] | None = {"per_page": min(PAGE, most)}
        while params is not None and len(found) < most:
            reply = await self._app.as_app("GET", "/app/hook/deliveries", params=params)
            page = read_as(reply, many)
            young = [one.state() for one in page if one.delivered_at >= since]
            found += young
            # The list is newest first, so that all further entries are too old as well.
            params = _next(reply) if len(young) == len(page) else None
        return tuple(found[:most])

    async def delivery_payload(self, delivery_id: int) -> tuple[str, bytes]:
        """Return the event and the body of one delivery attempt."""
        reply = await self._app.as_app("GET", f"/app/hook/deliveries/{delivery_id}")
        detail = read(reply, HookDeliveryDetail)
        payload = detail.request.payload
        text = payload if isinstance(payload, str) else json.dumps(payload)
        return detail.event, text.encode()

    async def installations(self) -> tuple[InstallationRef, ...]:
        """Return the installations of the App."""
        many = TypeAdapter(tuple[InstallationReply, ...])
        found: list[InstallationRef] = []
        for page in range(1, 101):
            reply = await self._app.as_app(
                "GET", "/app/installations", params={"per_page": PAGE, "page": page}
            )
            found += [one.state() for one in read_as(reply, many)]
            if "next" not in reply.links:
                break
        return tuple(found)

    async def repositories(self, installation_id: int) -> tuple[RepositoryRef, ...]:
        """Return the repositories of an installation."""
        pages = await self._app.installation_repositories(installation_id)
        there = (
            repository
            for page in pages
            for repository in read(page, RepositoriesReply).repositories
        )
        return tuple(
            RepositoryRef(
                id=one.id,
                owner=one.full_name.partition("/")[0],
                name=one.full_name.partition("/")[2],
                installation_id=installation_id,
                default_branch=one.default_branch or "main",
                private=bool(one.private),
            )
            for one in there
        )


def _next(reply: httpx.Response) -> dict[str, str | int] | None:
    """Return the query of the next page: its cursor only, never a URL from the response.

    This list has cursors instead of page numbers.
    """
    link = reply.links.get("next", {}).get("url", "")
    cursor = parse_qs(urlsplit(link).query).get("cursor")
    return {"per_page": PAGE, "cursor": cursor[0]} if cursor else None
