"""Options of all providers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from bot.llm.providers.http_chat import Learned


@dataclass(frozen=True)
class ChatOptions:
    """Connection options of models.

    One object serves all roles, so that what is learned of a server is shared.
    """

    keys: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)
    """Keys by host (`openrouter.ai`), by kind for a provider's own address (`openai-chat`), or
    `ANY_HOST`."""
    attempts: int = 4
    """Maximum number of attempts of a question over HTTP."""
    idle_s: float = 120.0
    """Time without a byte in the middle of a streamed answer after which it ends, in seconds."""
    agent_s: float = 600.0
    """Timeout of a command-line agent, in seconds."""
    allow_plain_http: bool = False
    """True to send a key unencrypted to another host."""
    agent_reads_host: bool = False
    """True to permit agents whose tools read this host's files."""
    ca_bundle: Path | None = None
    """Certificates trusted in addition to the usual authorities."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Environment of the process; command-line agents get a few of its variables."""
    learned: Learned = field(default_factory=dict, repr=False)
