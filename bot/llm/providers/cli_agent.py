"""A command-line agent as a model: text in, text out, in an empty folder of its own."""

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
from bot.llm.providers.cli_gemini import Gemini
from bot.llm.providers.cli_process import CliCommand, CliOutput, Ended, run_cli
from bot.llm.providers.cli_tool import Asked, CliTool, Complaint, Way
from bot.llm.providers.options import ChatOptions
from sandbox.gate import clean

TOOLS: Mapping[str, CliTool] = MappingProxyType({"codex-cli": Codex(), "claude-cli": Claude(), "gemini-cli": Gemini()})
PROBE_S = 60.0
PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
)
"""What of our own variables a tool gets."""
_WORDS = 200
_VERSION = re.compile(r"\d+\.\d+\S{0,40}")
_TROUBLE = {Ended.DEADLINE: ModelTrouble.DEADLINE, Ended.FLOOD: ModelTrouble.BAD_RESPONSE}
_SAID = {
    Ended.DEADLINE: "gave no answer within {seconds:.0f} s",
    Ended.FLOOD: "printed more than an answer may be long",
    Ended.HOPELESS: "cannot reach its server",
    Ended.ITSELF: "gave no answer (status {status})",
}


def build(kind: str, model: str, options: ChatOptions) -> "CliAgent":
    """A command-line agent.

    Args:
        kind: `codex-cli`, `claude-cli` or `gemini-cli`.
        model: As the tool calls it, the tool's own choice when empty; `@ADDRESS` behind it names another server.
        options: Keys, variables and limit.

    Raises:
        SettingsError: there is no such kind, or what would be an argument of its own stands for a model.
    """
    tool = TOOLS.get(kind)
    if tool is None:
        raise SettingsError(f"{kind!r} is no command-line agent", f"one of {', '.join(TOOLS)}")
    if tool.reads_host and not options.agent_reads_host:
        raise SettingsError(
            f"{kind} keeps tools that read this host's files, and what it is asked holds text of strangers",
            "set models.cli_reads_host where this host holds no secret, or name it in model_agent, inside a sandbox",
        )
    name, base_url, key = addressed(kind, model, options)
    if name.startswith("-") or "://" in name:
        message = f"{kind} is configured with an option or an address instead of a model"
        raise SettingsError(message, f"write {kind}:MODEL[@URL]")
    return CliAgent(tool, Served(kind, name, base_url or None, key), options)


@dataclass(frozen=True)
class Served:
    """Which model is wanted of a tool, from where, and with which key."""

    kind: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None


class CliAgent:
    """One model behind one tool. Each prompt is one process.

    Args:
        tool: Which.
        served: Which model.
        options: Variables and limit.
    """

    def __init__(self, tool: CliTool, served: Served, options: ChatOptions) -> None:
        self._tool = tool
        self._served = served
        self._key = served.key
        self._environment = {name: options.environment[name] for name in PASSED_ON if name in options.environment}
        if options.ca_bundle is not None:
            self._environment |= dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(options.ca_bundle))
        self._limit_s = options.agent_s
        self._schema = tool.takes_schema
        self._version = ""

    @property
    def name(self) -> str:
        """`codex-cli:gpt-…`."""
        return ":".join(filter(None, (self._served.kind, self._served.model)))

    @property
    def can_hold_to_schema(self) -> bool:
        """Until a server refuses it."""
        return self._schema

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Its answer; asked a second time only when a schema was what it refused.

        Raises:
            ModelError: there is none.
        """
        started = time.perf_counter()
        limit = min(deadline_s, self._limit_s)
        await self.version(deadline_s=limit)
        asked = prompt if self._schema else prompt.with_(json_schema=None)
        answer, attempts = await self._once(asked, limit - (time.perf_counter() - started)), 1
        if isinstance(answer, ModelError) and asked.json_schema and answer.trouble is ModelTrouble.BAD_REQUEST:
            plain, attempts = asked.with_(json_schema=None), 2
            answer = await self._once(plain, limit - (time.perf_counter() - started))
            self._schema = isinstance(answer, ModelError)
        if isinstance(answer, ModelError):
            raise answer
        return answer.with_(attempts=attempts, latency_s=round(time.perf_counter() - started, 3))

    async def version(self, *, deadline_s: float = PROBE_S) -> str:
        """Which version of the tool is there; asked once.

        Raises:
            ModelError: none is.
        """
        if not self._version:
            with TemporaryDirectory(prefix="metaagent-cli-", ignore_cleanup_errors=True) as name:
                folder = _furnished(Path(name))
                output = await self._run(Way((self._tool.program, "--version")), folder, min(deadline_s, PROBE_S))
            found = _VERSION.search(output.stdout.decode("utf-8", "replace"))
            if output.status != 0 or found is None:
                raise self._error(Complaint(_TROUBLE.get(output.ended, ModelTrouble.BAD_REQUEST)), output, deadline_s)
            self._version = found.group()
        return self._version

    async def close(self) -> None:
        """Nothing is held."""

    async def _once(self, prompt: Prompt, deadline_s: float) -> Completion | ModelError:
        with TemporaryDirectory(prefix="metaagent-cli-", ignore_cleanup_errors=True) as name:
            asked = Asked(prompt, self._served.model, _furnished(Path(name)), self._served.base_url)
            output = await self._run(self._tool.way(asked), asked.folder, deadline_s)
            if output.ended in _TROUBLE:
                return self._error(Complaint(_TROUBLE[output.ended]), output, deadline_s)
            said = self._tool.read(output, asked)
        if isinstance(said, Complaint):
            hopeless = output.ended is Ended.HOPELESS
            told = Complaint(ModelTrouble.TRANSPORT, said.words) if hopeless else said
            # What it printed may repeat the prompt, which no message ever holds.
            return self._error(Complaint(told.trouble) if told.words in prompt.user else told, output, deadline_s)
        if not said.text.strip() and said.finish is Finish.STOP:
            return self._error(Complaint(ModelTrouble.BAD_RESPONSE), output, deadline_s)
        return said

    async def _run(self, way: Way, folder: Path, deadline_s: float) -> CliOutput:
        environment = {
            **self._environment,
            **way.variables,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }
        if self._key is not None:
            environment[self._tool.key_variable] = self._key.get_secret_value()
        command = CliCommand(way.argv, way.stdin.encode("utf-8", "replace"), environment, folder / "empty")
        try:
            return await run_cli(command, deadline_s=max(deadline_s, 0.0), is_hopeless=self._tool.is_hopeless)
        except (OSError, ValueError) as error:
            message = f"{self.name}: {self._tool.program} cannot be started ({type(error).__name__})"
            raise ModelError(
                message, f"install {self._tool.program}, and let PATH name it", trouble=ModelTrouble.BAD_REQUEST
            ) from error

    def _error(self, complaint: Complaint, output: CliOutput, deadline_s: float) -> ModelError:
        what = _SAID[output.ended].format(seconds=deadline_s, status=output.status)
        secrets = () if self._key is None else (self._key,)
        words = " ".join(clean(complaint.words[-4 * _WORDS :], secrets=secrets).split())[:_WORDS]
        message = f"{self.name}: {self._tool.program} {what}" + (f": {words}" if words else "")
        advice = f"check the key for {self._tool.key_variable}" if complaint.trouble is ModelTrouble.AUTH else ""
        return ModelError(message, advice, trouble=complaint.trouble)


def _furnished(folder: Path) -> Path:
    for name in ("home", "empty", "tmp"):
        (folder / name).mkdir()
    return folder
