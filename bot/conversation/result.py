"""Results of commands, and the replies."""

from bot.domain.registry import LiveMission
from bot.ports import Services
from bot.publish.markdown import SafeWriter
from sandbox.gate import prepare_needles
from sandbox.types import Frozen


def pen(services: Services) -> SafeWriter:
    """Return the writer for untrusted text."""
    return SafeWriter(secrets=prepare_needles(services.secrets))


class CommandOutcome(Frozen):
    """The result of a command."""

    ok: bool
    text: str = ""
    """The reply as Markdown; empty when a mission replies instead."""
    mission_id: str | None = None
    """The requested mission."""
    stopped: tuple[LiveMission, ...] = ()
    """Stopped missions, whose checks have to report it."""


class Reply(Frozen):
    """The reply to the person who gave the command."""

    command_id: str
    ok: bool = False
    text: str = ""
    comment: int | None = None
    """The id of its comment; None when none was written."""
    mission_id: str | None = None
    refused: str = ""
    """The reason for refusing the command or failing to reply; for the log."""


def done(text: str = "", *, mission_id: str | None = None) -> CommandOutcome:
    """Return a successful result."""
    return CommandOutcome(ok=True, text=text, mission_id=mission_id)


def refuse(text: str) -> CommandOutcome:
    """Return a refusal with its reason."""
    return CommandOutcome(ok=False, text=text)
