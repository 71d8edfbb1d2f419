"""The identity of our GitHub App, for comparison with payloads."""

from sandbox.types import Frozen


class OwnApp(Frozen):
    """Our GitHub App."""

    app_id: int | None = None
    slug: str = "metaagent"

    @property
    def login(self) -> str:
        """Return the login of the App's bot user."""
        return f"{self.slug}[bot]"


def own_app(app_id: str | None, slug: str) -> OwnApp:
    """Return our App by its configured id, which counts only if it is a number."""
    number = int(app_id) if app_id is not None and app_id.isdecimal() else None
    return OwnApp(app_id=number, slug=slug)
