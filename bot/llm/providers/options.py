"""What every provider may need to know, beside its name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from bot.llm.providers.http_chat import Learned


@dataclass(frozen=True)
class ChatOptions:
    """How models are reached. One for all roles, so that what is learnt of a server is learnt once."""

    keys: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)
    """By host (`openrouter.ai`), at a provider's own address by kind (`openai-chat`, `codex-cli`), else `ANY_HOST`."""
    attempts: int = 4
    """Of one question over HTTP, where repeating may help."""
    attempt_s: float = 60.0
    """One of them at most."""
    agent_s: float = 600.0
    """A command-line agent at most."""
    allow_plain_http: bool = False
    """Whether a key may be sent in the clear, to a host that is not this one."""
    agent_reads_host: bool = False
    """Whether an agent may be asked that keeps tools which read this host's files."""
    ca_bundle: Path | None = None
    """Who is trusted to sign servers, beside the usual authorities."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The process's variables; command-line agents are given a few of them."""
    learned: Learned = field(default_factory=dict, repr=False)
