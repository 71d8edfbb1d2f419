"""Parse an agent setting, `codex-cli:MODEL[@URL]`, and define the agent's command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import SecretStr

from bot.errors import SettingsError
from bot.llm.agent_requests import WIRES, Wire
from bot.llm.providers.http_chat import Post, Server
from bot.llm.providers.named import served
from bot.llm.providers.options import ChatOptions
from bot.llm.providers.replies import HttpReply

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "codex-cli": "openai-chat",
        "openai-chat": "openai-chat",
        "claude-cli": "anthropic",
        "anthropic": "anthropic",
    }
)
"""Wire format of each kind of agent."""
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "codex-cli": (
            "CODEX_HOME=$(mktemp -d) && export CODEX_HOME && "
            "exec codex exec --json --ephemeral --ignore-user-config "
            "--ignore-rules --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox "
            "-c project_doc_max_bytes=0 -c model_provider=own "
            '-c "model_providers.own={name=\\"own\\",base_url=\\"$MODEL_URL/v1\\",'
            'wire_api=\\"responses\\"}" -m "$MODEL" -'
        ),
        "claude-cli": (
            'ANTHROPIC_BASE_URL="$MODEL_URL" ANTHROPIC_API_KEY=none '
            "exec claude -p --bare --output-format json "
            '--no-session-persistence --permission-mode bypassPermissions --model "$MODEL"'
        ),
    }
)
"""Commands that start an agent. The agent's own guards are off, because the sandbox isolates it."""


@dataclass(frozen=True)
class ConfiguredAgent:
    """A configured agent: its kind, model and connection."""

    kind: str
    model: str
    post: Post
    """Sends requests to the provider's base address."""
    key: SecretStr | None = field(default=None, repr=False)
    command: str = ""
    """Replaces the kind's own command."""

    @property
    def name(self) -> str:
        """Return the agent's name, such as `codex-cli:gpt-…`."""
        return f"{self.kind}:{self.model}"

    @property
    def wire(self) -> Wire:
        """Return the agent's wire format."""
        return WIRES[KINDS[self.kind]]

    @property
    def credentials(self) -> dict[str, str]:
        """Return the header with the key."""
        if self.key is None:
            return {}
        key = self.key.get_secret_value()
        return (
            {"x-api-key": key}
            if KINDS[self.kind] == "anthropic"
            else {"authorization": f"Bearer {key}"}
        )


def agent_served(text: str, command: str, options: ChatOptions) -> ConfiguredAgent:
    """Parse the agent setting without network access and without loading a client.

    Args:
        text: `codex-cli:MODEL[@URL]`. Any other agent has a command, and the kind of its wire
            format.
        command: Replaces the kind's own command.
        options: Keys.

    Raises:
        SettingsError: The setting names no agent, or the key is missing.
    """
    kind, _, rest = (part.strip() for part in text.partition(":"))
    if kind not in KINDS or not (command or kind in COMMANDS):
        advice = (
            "write codex-cli:MODEL[@URL] or claude-cli:MODEL[@URL], or set models.agent_command too"
        )
        raise SettingsError("setting model_agent does not name an agent", advice)
    model, server = served(KINDS[kind], rest, options)
    return ConfiguredAgent(kind, model, _sender(server), server.key, command)


def _sender(server: Server) -> Post:
    async def post(path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        # Load httpx only in a process that uses an agent.
        from bot.llm.providers.transport import Transport

        return await Transport(server.base_url, server.ca_bundle).post(path, headers, body)

    return post
