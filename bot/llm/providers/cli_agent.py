"""A command-line agent as a model: text in, text out, in an empty folder."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from pydantic import SecretStr

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from bot.llm.providers.addresses import addressed
from bot.llm.providers.cli_claude import Claude
from bot.llm.providers.cli_codex import Codex
from bot.llm.providers.cli_process import CliCommand, CliOutput, ProcessEnd, run_cli
from bot.llm.providers.cli_tool import AgentPrompt, CliTool, Complaint, Invocation
from bot.llm.providers.options import ChatOptions
from sandbox.gate import clean

TOOLS: Mapping[str, CliTool] = MappingProxyType({"codex-cli": Codex(), "claude-cli": Claude()})
PROBE_S = 60.0
PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
)
"""Environment variables passed to a tool."""
_WORDS = 200
_VERSION = re.compile(r"\d+\.\d+\S{0,40}")
_TROUBLE = {ProcessEnd.DEADLINE: ModelTrouble.DEADLINE, ProcessEnd.FLOOD: ModelTrouble.BAD_RESPONSE}
_SAID = {
    ProcessEnd.DEADLINE: "gave no answer within {seconds:.0f} s",
    ProcessEnd.FLOOD: "exceeded the output limit",
    ProcessEnd.HOPELESS: "cannot reach its server",
    ProcessEnd.ITSELF: "gave no answer (status {status})",
}


def build(kind: str, model: str, options: ChatOptions) -> "CliAgent":
    """Create a command-line agent.

    Args:
        kind: `codex-cli` or `claude-cli`.
        model: The tool's name of a model; empty for its default. `@ADDRESS` selects another server.
        options: Keys, variables and time limit.

    Raises:
        SettingsError: The kind is unknown, or the model is an option or an address.
    """
    tool = TOOLS.get(kind)
    if tool is None:
        raise SettingsError(f"{kind!r} is not a command-line agent", f"one of {', '.join(TOOLS)}")
    if tool.reads_host and not options.agent_reads_host:
        raise SettingsError(
            f"{kind} has tools that read this host's files, and prompts contain untrusted text",
            "set models.cli_reads_host if this host has no secrets, "
            "or use model_agent, which runs in a sandbox",
        )
    name, base_url, key = addressed(kind, model, options)
    if name.startswith("-") or "://" in name:
        message = f"{kind} is configured with an option or an address instead of a model"
        raise SettingsError(message, f"write {kind}:MODEL[@URL]")
    return CliAgent(tool, ServedModel(kind, name, base_url or None, key), options)


@dataclass(frozen=True)
class ServedModel:
    """A model of a tool, with its address and key."""

    kind: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None


class CliAgent:
    """A model behind a command-line tool. Each prompt is one process.

    Args:
        tool: The tool.
        served: The model.
        options: Variables and time limit.
    """

    def __init__(self, tool: CliTool, served: ServedModel, options: ChatOptions) -> None:
        self._tool = tool
        self._served = served
        self._key = served.key
        self._environment = {
            name: options.environment[name] for name in PASSED_ON if name in options.environment
        }
        if options.ca_bundle is not None:
            self._environment |= dict.fromkeys(
                ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(options.ca_bundle)
            )
        self._limit_s = options.agent_s
        self._schema = tool.takes_schema
        self._version = ""

    @property
    def name(self) -> str:
        """Return the model's name, such as `codex-cli:gpt-…`."""
        return ":".join(filter(None, (self._served.kind, self._served.model)))

    @property
    def can_hold_to_schema(self) -> bool:
        """Return True until the server rejects a schema."""
        return self._schema

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Ask the tool; ask again without the schema if the schema was rejected.

        Raises:
            ModelError: There was no usable answer.
        """
        started = time.perf_counter()
        limit = min(deadline_s, self._limit_s)
        await self.version(deadline_s=limit)
        asked = prompt if self._schema else prompt.with_(json_schema=None)
        answer, attempts = await self._once(asked, limit - (time.perf_counter() - started)), 1
        if (
            isinstance(answer, ModelError)
            and asked.json_schema
            and answer.trouble is ModelTrouble.BAD_REQUEST
        ):
            plain, attempts = asked.with_(json_schema=None), 2
            answer = await self._once(plain, limit - (time.perf_counter() - started))
            # Success without the schema shows that the schema was the problem.
            self._schema = isinstance(answer, ModelError)
        if isinstance(answer, ModelError):
            raise answer
        return answer.with_(attempts=attempts, latency_s=round(time.perf_counter() - started, 3))

    async def version(self, *, deadline_s: float = PROBE_S) -> str:
        """Return the version of the installed tool; it is determined once.

        Raises:
            ModelError: The tool is not installed.
        """
        if not self._version:
            with TemporaryDirectory(prefix="metaagent-cli-", ignore_cleanup_errors=True) as name:
                folder = _prepare_folder(Path(name))
                output = await self._run(
                    Invocation((self._tool.program, "--version")), folder, min(deadline_s, PROBE_S)
                )
            found = _VERSION.search(output.stdout.decode("utf-8", "replace"))
            if output.status != 0 or found is None:
                raise self._error(
                    Complaint(_TROUBLE.get(output.ended, ModelTrouble.BAD_REQUEST)),
                    output,
                    deadline_s,
                )
            self._version = found.group()
        return self._version

    async def close(self) -> None:
        """Do nothing; no resources are held."""

    async def _once(self, prompt: Prompt, deadline_s: float) -> Completion | ModelError:
        with TemporaryDirectory(prefix="metaagent-cli-", ignore_cleanup_errors=True) as name:
            asked = AgentPrompt(
                prompt, self._served.model, _prepare_folder(Path(name)), self._served.base_url
            )
            output = await self._run(self._tool.way(asked), asked.folder, deadline_s)
            if output.ended in _TROUBLE:
                return self._error(Complaint(_TROUBLE[output.ended]), output, deadline_s)
            answer = self._tool.read(output, asked)
        if isinstance(answer, Complaint):
            hopeless = output.ended is ProcessEnd.HOPELESS
            complaint = Complaint(ModelTrouble.TRANSPORT, answer.words) if hopeless else answer
            # The output may repeat the prompt, which must not appear in any message.
            return self._error(
                Complaint(complaint.trouble) if complaint.words in prompt.user else complaint,
                output,
                deadline_s,
            )
        if not answer.text.strip() and answer.finish is Finish.STOP:
            return self._error(Complaint(ModelTrouble.BAD_RESPONSE), output, deadline_s)
        return answer

    async def _run(self, way: Invocation, folder: Path, deadline_s: float) -> CliOutput:
        # With its own HOME, the tool cannot read the operator's settings or login.
        environment = {
            **self._environment,
            **way.variables,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }
        if self._key is not None:
            environment[self._tool.key_variable] = self._key.get_secret_value()
        command = CliCommand(
            way.argv, way.stdin.encode("utf-8", "replace"), environment, folder / "empty"
        )
        try:
            return await run_cli(
                command, deadline_s=max(deadline_s, 0.0), is_hopeless=self._tool.is_hopeless
            )
        except (OSError, ValueError) as error:
            message = (
                f"{self.name}: {self._tool.program} cannot be started ({type(error).__name__})"
            )
            raise ModelError(
                message,
                f"install {self._tool.program} in the PATH",
                trouble=ModelTrouble.BAD_REQUEST,
            ) from error

    def _error(self, complaint: Complaint, output: CliOutput, deadline_s: float) -> ModelError:
        what = _SAID[output.ended].format(seconds=deadline_s, status=output.status)
        secrets = () if self._key is None else (self._key,)
        words = " ".join(clean(complaint.words[-4 * _WORDS :], secrets=secrets).split())[:_WORDS]
        message = f"{self.name}: {self._tool.program} {what}" + (f": {words}" if words else "")
        advice = (
            f"check the key for {self._tool.key_variable}"
            if complaint.trouble is ModelTrouble.AUTH
            else ""
        )
        return ModelError(message, advice, trouble=complaint.trouble)


def _prepare_folder(folder: Path) -> Path:
    for name in ("home", "empty", "tmp"):
        (folder / name).mkdir()
    return folder
