"""Who we are, as far as a payload can tell."""

from sandbox.types import Frozen


class OwnApp(Frozen):
    """Our own App."""

    app_id: int | None = None
    slug: str = "metaagent"

    @property
    def login(self) -> str:
        """The bot user that acts for us."""
        return f"{self.slug}[bot]"
