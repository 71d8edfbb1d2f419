"""A badge for each listed repository: how many fixes are open, and how many failures were fixed."""

from collections.abc import Awaitable, Callable, Sequence
from xml.sax.saxutils import escape

from fastapi import APIRouter
from fastapi.responses import Response

from bot.errors import StoreError
from bot.front.shared_query import SharedQuery

CACHE_S = 300
"""Time for which browsers and proxies may keep a badge, and for which we do, in seconds."""
LABEL = "MetaAgent"
_CHARACTER = 7
"""Mean width of a character of the font, in pixels."""
_PADDING = 10
_HEADERS = {
    "content-security-policy": "default-src 'none'",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}

ReadCounts = Callable[[str], Awaitable[tuple[int, int]]]


def badge_router(
    repositories: Sequence[str], read: ReadCounts, monotonic: Callable[[], float]
) -> APIRouter:
    """Return the route of badges.

    Args:
        repositories: The repositories with a public badge, as `owner/name`. All others get the
            same answer, so that it does not show whether they exist.
        read: Reads the open fixes and the fixed failures of a repository.
        monotonic: The time, in seconds.
    """
    router = APIRouter(include_in_schema=False)
    badges = {name.lower(): _Badge(name, read, monotonic) for name in repositories}

    @router.get("/badge/{owner}/{name}.svg")
    async def show(owner: str, name: str) -> Response:
        """Send a badge."""
        badge = badges.get(f"{owner}/{name}".lower())
        if badge is None:
            return Response("Not Found\n", 404, media_type="text/plain")
        try:
            image = await badge.image()
        except StoreError:
            return Response("try again later\n", 503, media_type="text/plain")
        headers = {**_HEADERS, "cache-control": f"public, max-age={CACHE_S}"}
        return Response(image, headers=headers, media_type="image/svg+xml")

    return router


class _Badge:
    """The badge of one repository, kept for a while.

    Args:
        name: `owner/name`.
        read: Reads its counts.
        monotonic: The time, in seconds.
    """

    def __init__(self, name: str, read: ReadCounts, monotonic: Callable[[], float]) -> None:
        self._query = SharedQuery(lambda: read(name))
        self._monotonic = monotonic
        self._image = ""
        self._until = 0.0

    async def image(self) -> str:
        """Return the badge as SVG.

        Raises:
            StoreError: the counts cannot be read.
        """
        if not self._image or self._monotonic() >= self._until:
            still_open, fixed = await self._query.answer()
            self._image = draw_badge(LABEL, f"{still_open} open, {fixed} fixed")
            self._until = self._monotonic() + CACHE_S
        return self._image


def draw_badge(label: str, message: str) -> str:
    """Return a badge of two parts as SVG; both texts are escaped."""
    left, right = (len(text) * _CHARACTER + 2 * _PADDING for text in (label, message))
    title = escape(f"{label}: {message}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="#0a6847"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text></g></svg>'
    )
