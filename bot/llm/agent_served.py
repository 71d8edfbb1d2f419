"""From one configured string to an agent that works in a sandbox: `codex-cli:MODEL[@URL]`, and how it is started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import SecretStr

from bot.errors import SettingsError
from bot.llm.agent_requests import WIRES, Wire
from bot.llm.providers.http_chat import Post, Server
from bot.llm.providers.named import served
from bot.llm.providers.options import ChatOptions
from bot.llm.providers.replies import Reply

KINDS: Mapping[str, str] = MappingProxyType(
    {"codex-cli": "openai-chat", "openai-chat": "openai-chat", "claude-cli": "anthropic", "anthropic": "anthropic"}
)
"""Which wire format the agent of a kind speaks."""
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "codex-cli": (
            "CODEX_HOME=$(mktemp -d) && export CODEX_HOME && exec codex exec --json --ephemeral --ignore-user-config "
            "--ignore-rules --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox "
            "-c project_doc_max_bytes=0 -c model_provider=own "
            '-c "model_providers.own={name=\\"own\\",base_url=\\"$MODEL_URL/v1\\",'
            'wire_api=\\"responses\\"}" -m "$MODEL" -'
        ),
        "claude-cli": (
            'ANTHROPIC_BASE_URL="$MODEL_URL" ANTHROPIC_API_KEY=none exec claude -p --bare --output-format json '
            '--no-session-persistence --permission-mode bypassPermissions --model "$MODEL"'
        ),
    }
)
"""How an agent is started. The sandbox is what holds it: its own guards would only be in its way."""


@dataclass(frozen=True)
class AgentServed:
    """Which agent works, with which model, and how that is reached."""

    kind: str
    model: str
    post: Post
    """Sends to the provider's base address."""
    key: SecretStr | None = field(default=None, repr=False)
    command: str = ""
    """Instead of the kind's own."""

    @property
    def name(self) -> str:
        """`codex-cli:gpt-…`."""
        return f"{self.kind}:{self.model}"

    @property
    def wire(self) -> Wire:
        """How the agent writes its requests."""
        return WIRES[KINDS[self.kind]]

    @property
    def credentials(self) -> dict[str, str]:
        """The header that holds the key."""
        if self.key is None:
            return {}
        key = self.key.get_secret_value()
        return {"x-api-key": key} if KINDS[self.kind] == "anthropic" else {"authorization": f"Bearer {key}"}


def agent_served(text: str, command: str, options: ChatOptions) -> AgentServed:
    """The agent that a setting names. Nothing is asked, and no client is loaded.

    Args:
        text: `codex-cli:MODEL[@URL]`; an agent of another make has a command, and the kind of its wire format.
        command: Instead of the kind's own.
        options: Keys.

    Raises:
        SettingsError: what is named is no agent, or its key is missing.
    """
    kind, _, rest = (part.strip() for part in text.partition(":"))
    if kind not in KINDS or not (command or kind in COMMANDS):
        advice = "write codex-cli:MODEL[@URL] or claude-cli:MODEL[@URL], or say models.agent_command too"
        raise SettingsError("setting model_agent names no agent", advice)
    model, server = served(KINDS[kind], rest, options)
    return AgentServed(kind, model, _sender(server), server.key, command)


def _sender(server: Server) -> Post:
    async def post(path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        # httpx costs a process that sends no agent nothing.
        from bot.llm.providers.transport import Transport

        return await Transport(server.base_url, server.ca_bundle).post(path, headers, body)

    return post
