"""Every setting, its default and its meaning; read once, from options, the environment and metaagent.toml."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError

from bot import tables
from bot.domain.account import ModelLimits, Quota
from bot.domain.evidence import EvidenceLimits
from bot.domain.http import HttpLimits
from bot.domain.model import ANY_HOST
from bot.domain.policy import Limits
from bot.domain.storage import StorageSpec, usual_names
from bot.errors import SettingsError
from bot.store.database import key_password, without_password
from bot.user_folder import WHERE, default_data_dir
from sandbox.spec import SandboxSpec

PREFIX = "METAAGENT_"
DEFAULT_FILE = "metaagent.toml"
GITHUB_API = "https://api.github.com/"
INHERITED = {"ca_bundle": ("PIP_CERT", "SSL_CERT_FILE"), "index_url": ("UV_DEFAULT_INDEX", "PIP_INDEX_URL")}
"""Sandbox settings that default to what the host's installers use."""
KEYS = {
    "openai_api_key": ("OPENAI_API_KEY",),
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
    "gemini_api_key": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Settings that default to what a provider's own tools read."""
MODELS = ("model", "model_judge", "model_fix", "model_agent")
"""Settings that name models."""
ANYBODYS: dict[str, JsonValue] = {"anybodys": True}
"""Marks a setting, or a table of them, that a file nobody named may say: it may be a stranger's. What decides where
code runs, whom we talk to, what is sent or spent and which files are read is none of these; nor is a new setting."""
APP_FILE = "app.json"
"""In the data directory: the App as set-up stored it, readable by its owner only."""
OF_AN_APP = ("app_id", "private_key", "private_key_file", "webhook_secret")
"""What belongs to one App and cannot be mixed with another's."""
STORED = ("app_id", "app_slug", "github_api_url", "private_key", "webhook_secret")
"""Settings that set-up stores."""


class Settings(BaseModel):
    """All settings, under one name everywhere.

    `sandbox.memory_bytes` in the file is `METAAGENT_SANDBOX__MEMORY_BYTES` in the environment and
    `--sandbox-memory-bytes` on the command line.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    app_id: str | None = Field(default=None, description="Numeric id of the GitHub App.")
    private_key: SecretStr | None = Field(default=None, description="The App's private key, PEM.")
    private_key_file: Path | None = Field(default=None, description="File that holds the private key.")
    webhook_secret: SecretStr | None = Field(default=None, description="Secret the webhooks are signed with.")
    github_api_url: str = Field(default=GITHUB_API, description="GitHub's API, also of an Enterprise Server.")
    app_slug: str = Field(default="metaagent", description="The App's slug; its bot user is `<slug>[bot]`.")
    data_dir: Path = Field(default_factory=lambda: default_data_dir(os.environ), description=WHERE)
    database_url: str | None = Field(
        default=None,
        description="The engine's database, and ours in it or beside it: an SQLite file in the data directory by "
        "default, `postgresql://…` for several processes.",
    )
    model: str | None = Field(
        default=None,
        description="Language model: `openai-chat:NAME`, `anthropic:NAME`, with `@ADDRESS` behind it for a server of "
        "one's own; several with commas between are asked in that order. None by default.",
    )
    model_judge: str | None = Field(default=None, description="Another model for judging; a cheap one will do.")
    model_fix: str | None = Field(default=None, description="Another model for fixing (rung 2).")
    model_agent: str | None = Field(
        default=None,
        description="A coding agent that works in a sandbox of its own when nothing else found a fix: "
        "`codex-cli:NAME`, `claude-cli:NAME`. Its program has to be in the image of the setting sandbox.image.",
    )
    model_key: SecretStr | None = Field(
        default=None, description="The key of any model's server that has no key of its own here."
    )
    model_keys: SecretStr | None = Field(
        default=None, description="Keys by host, `HOST=KEY` with commas between; each goes to that host only."
    )
    openai_api_key: SecretStr | None = Field(
        default=None, description="OpenAI's key, for its own address; `OPENAI_API_KEY` counts too."
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None, description="Anthropic's key, for its own address; `ANTHROPIC_API_KEY` counts too."
    )
    gemini_api_key: SecretStr | None = Field(
        default=None, description="Google's key, for its own address; `GEMINI_API_KEY` counts too."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level logged.", json_schema_extra=ANYBODYS
    )
    host: str = Field(default="127.0.0.1", description="Address `serve`, `web` and `setup` listen on.")
    port: int = Field(
        default=8080, ge=0, le=65_535, description="Their port; 0 takes a free one.", json_schema_extra=ANYBODYS
    )
    public_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^/\s?#@]+/?$",
        description="Where GitHub and people reach this service, `https://bot.example.com`.",
    )
    workers: int = Field(
        default=2,
        ge=1,
        description="Missions that run at the same time in a process; those that people asked for are counted apart.",
        json_schema_extra=ANYBODYS,
    )
    workers_total: int | None = Field(
        default=None, ge=1, description="The same in all processes together; no limit by default."
    )
    missions_per_minute: int | None = Field(
        default=None,
        ge=1,
        description="Missions that begin in a minute in all processes, people's apart; no limit by default.",
    )
    missions_per_minute_each: int | None = Field(
        default=None, ge=1, description="The same in one repository; no limit by default."
    )
    keep_days: int = Field(
        default=30, ge=4, le=3_650, description="Days that deliveries and ended work are remembered; dropped hourly."
    )
    keep_answers_days: int = Field(
        default=365,
        ge=30,
        le=3_650,
        description="Days that answered fixes and proposals are remembered; so long a rejected change stays away.",
    )
    worker_ttl_s: float = Field(
        default=30.0,
        ge=3.0,
        le=3_600.0,
        description="On PostgreSQL: a worker nobody heard of for so long is dead, and others take over, in seconds.",
    )
    settle_s: float = Field(
        default=180.0, ge=0, description="Longest wait, in seconds, for the other checks of a red commit."
    )
    sweep_s: float = Field(
        default=900.0, ge=0, description="Seconds between two looks for events that were lost; 0 never looks."
    )
    write_pause_s: float = Field(
        default=1.0, ge=0, description="Seconds between two writes to one repository, as GitHub asks for."
    )
    webhook_max_bytes: int = Field(default=25 * 1024 * 1024, description="Largest webhook body accepted.")
    webhook_answer_s: float = Field(
        default=0.9,
        gt=0,
        le=8.0,
        description="Longest wait, in seconds, for the database to take a delivery; then GitHub is answered 503.",
    )
    http: HttpLimits = Field(default=HttpLimits(), description="Limits of the HTTP server.")
    limits: Limits = Field(default=Limits(), description="Limits of a mission.", json_schema_extra=ANYBODYS)
    models: ModelLimits = Field(default=ModelLimits(), description="What models may cost and take.")
    quota: Quota = Field(default=Quota(), description="What missions may take in a day.")
    evidence: EvidenceLimits = Field(default=EvidenceLimits(), description="How much evidence is kept.")
    storage: StorageSpec = Field(default=StorageSpec(), description="Where large values are kept.")
    sandbox: SandboxSpec = Field(default=SandboxSpec(), description="How sandboxes are made.")

    @property
    def signing_key(self) -> SecretStr:
        """The App's private key, wherever it stands.

        Raises:
            SettingsError: there is none, or the file cannot be read.
        """
        if self.private_key is not None:
            return SecretStr(self.private_key.get_secret_value().replace("\\n", "\n"))
        if self.private_key_file is None:
            raise SettingsError("no private key", f"set {PREFIX}PRIVATE_KEY or {PREFIX}PRIVATE_KEY_FILE")
        try:
            return SecretStr(self.private_key_file.read_text())
        except OSError as error:
            message = f"the private key file cannot be read ({error.strerror})"
            raise SettingsError(message, f"check {PREFIX}PRIVATE_KEY_FILE") from error
        except UnicodeDecodeError as error:
            raise SettingsError("the private key file is not text", f"check {PREFIX}PRIVATE_KEY_FILE") from error

    @property
    def needs_setup(self) -> bool:
        """Whether nothing at all is known of an App."""
        return all(getattr(self, name) is None for name in OF_AN_APP)

    @property
    def secrets(self) -> tuple[SecretStr, ...]:
        """Every value that must never be seen."""
        try:
            key = self.signing_key  # also when it stands in a file
        except SettingsError:
            key = None
        _, password = without_password(self.database_url or "")
        written = (password, key_password(self.database_url or ""))
        database = map(SecretStr, dict.fromkeys(filter(None, (*map(unquote, written), *written))))
        storage = (self.storage.key_id, self.storage.key, self.storage.token)
        own = (key, self.webhook_secret, *database, *storage, *self.keys.values())
        return tuple(secret for secret in own if secret is not None)

    @property
    def keys(self) -> dict[str, SecretStr]:
        """The keys of model providers: by host, by kind for the provider's own address, and one for any other.

        Raises:
            SettingsError: those by host cannot be read.
        """
        own = {
            "openai-chat": self.openai_api_key,
            "codex-cli": self.openai_api_key,
            "anthropic": self.anthropic_api_key,
            "claude-cli": self.anthropic_api_key,
            "gemini-cli": self.gemini_api_key,
            ANY_HOST: self.model_key,
        }
        keys = own | _keys_by_host(self.model_keys)
        return {name: key for name, key in keys.items() if key is not None and key.get_secret_value()}

    @property
    def engine_url(self) -> str:
        """The engine's database URL."""
        return self.database_url or f"sqlite:///{(self.data_dir / 'engine.sqlite').resolve()}"


def _keys_by_host(text: SecretStr | None) -> dict[str, SecretStr | None]:
    keys: dict[str, SecretStr | None] = {}
    entries = text.get_secret_value().split(",") if text is not None else ()
    for entry in filter(None, map(str.strip, entries)):
        host, found, key = entry.partition("=")
        if not (found and host.strip() and key.strip()):
            raise SettingsError("setting model_keys cannot be read", "write HOST=KEY, with commas between several")
        keys[host.strip().lower()] = SecretStr(key.strip())
    return keys


class Leaf(BaseModel):
    """One setting with all its names."""

    path: tuple[str, ...]
    kind: str
    default: str
    description: str
    anybodys: bool
    """Whether a file nobody named may say it."""
    is_secret: bool = False  # not offered as an option: other users of a machine read command lines

    @property
    def option(self) -> str:
        """`--sandbox-memory-bytes`."""
        return "--" + "-".join(self.path).replace("_", "-")

    @property
    def variable(self) -> str:
        """`METAAGENT_SANDBOX__MEMORY_BYTES`."""
        return PREFIX + "__".join(self.path).upper()

    @property
    def key(self) -> str:
        """`sandbox.memory_bytes`."""
        return ".".join(self.path)


def leaves(model: type[BaseModel] = Settings, above: tuple[str, ...] = (), *, anybodys: bool = False) -> Iterator[Leaf]:
    """Every setting that can be given, in order of declaration."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        marked = anybodys or field.json_schema_extra is ANYBODYS
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from leaves(kind, (*above, name), anybodys=marked)
            continue
        text = getattr(kind, "__name__", None) if isinstance(kind, type) else str(kind)
        default = "" if field.default is None or field.default_factory is not None else str(field.default)
        yield Leaf(
            path=(*above, name),
            kind=text or str(kind),
            default=default,
            description=field.description or "",
            anybodys=marked,
            is_secret="SecretStr" in str(kind),
        )


def load(
    options: Mapping[str, str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """Read the settings: options win over the environment, the environment over the file, the file over defaults.

    Args:
        options: From the command line, by key (`sandbox.memory_bytes`).
        environment: The process's environment by default.
        file: `metaagent.toml` in the current folder by default, when it is there; of that one only what is anybody's.

    Raises:
        SettingsError: a value is wrong or a key unknown; names the key and where it came from.
    """
    variables = os.environ if environment is None else environment
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    path = file or Path(DEFAULT_FILE)
    if file is not None or path.is_file():
        tables.merge(merged, tables.read(path), origins, str(path))
    _adopt(merged, origins, variables)
    for leaf in leaves():
        if leaf.variable in variables:
            tables.put(merged, leaf.path, variables[leaf.variable])
            origins[leaf.key] = leaf.variable
    for key, value in (options or {}).items():
        tables.put(merged, tuple(key.split(".")), value)
        origins[key] = "--" + key.replace(".", "-").replace("_", "-")
    merged.setdefault("data_dir", default_data_dir(variables))
    _adopt_app(merged, origins)
    _adopt_keys(merged, origins, variables)
    _adopt_storage(merged, origins, variables)
    if file is None:
        _refuse_a_strangers(origins)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise SettingsError(
            tables.explained(error, origins), "correct the value, or remove it to take the default"
        ) from error


def _adopt(into: dict[str, Any], origins: dict[str, str], variables: Mapping[str, str]) -> None:
    """What the host's own installers are told counts for the set-up phase too, unless our setting says otherwise."""
    sandbox = into.setdefault("sandbox", {})
    for key, names in INHERITED.items():
        found = next((name for name in names if variables.get(name)), None)
        # An address with a password stays out: the set-up phase runs code we do not trust.
        if isinstance(sandbox, dict) and key not in sandbox and found and "@" not in variables[found]:
            sandbox[key] = variables[found]
            origins[f"sandbox.{key}"] = found


def _adopt_keys(into: dict[str, Any], origins: dict[str, str], variables: Mapping[str, str]) -> None:
    """A provider's usual variable counts where we were given no key for it."""
    for key, names in KEYS.items():
        found = next((name for name in names if variables.get(name)), None)
        if found and not into.get(key) and not into.get("model_key"):
            into[key], origins[key] = variables[found], found


def _adopt_storage(into: dict[str, Any], origins: dict[str, str], variables: Mapping[str, str]) -> None:
    """What every tool for S3 reads."""
    storage = into.setdefault("storage", {})
    if isinstance(storage, dict):
        for key, name in usual_names(storage, variables).items():
            storage[key], origins[f"storage.{key}"] = variables[name], name


def _refuse_a_strangers(origins: Mapping[str, str]) -> None:
    """The current folder may be a stranger's repository: its file must not say what only whoever runs us may say."""
    wrong = [leaf for leaf in leaves() if not leaf.anybodys and origins.get(leaf.key) == DEFAULT_FILE]
    if wrong:
        named = ", ".join(leaf.key for leaf in wrong)
        message = (
            f"setting {named} ({DEFAULT_FILE}): this is not taken from a file nobody named, it may be a stranger's"
        )
        raise SettingsError(message, f"if the file is yours, say --config {DEFAULT_FILE}, or set {wrong[0].variable}")


def _adopt_app(into: dict[str, Any], origins: dict[str, str]) -> None:
    """The App that set-up stored counts when no part of one is given otherwise: parts of two Apps are of no use."""
    path = Path(into["data_dir"]) / APP_FILE
    if any(into.get(name) is not None for name in OF_AN_APP) or not path.is_file():
        return
    try:
        if path.stat().st_mode & 0o077:
            raise SettingsError(f"{path} can be read by others, and holds the App's key", f"chmod 600 {path}")
        stored = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read ({type(error).__name__})", "run `metaagent setup` again") from error
    known = stored if isinstance(stored, dict) else {}
    for key in STORED:
        if key in known and key not in into:
            into[key], origins[key] = known[key], str(path)


def environment() -> Mapping[str, str]:
    """The process's variables, for what reads names that are not ours (those of a workflow's runner)."""
    return os.environ


def load_from_options(options: Mapping[str, Any]) -> Settings:
    """Settings from parsed command-line options: those whose name begins with `setting:` and were given.

    Raises:
        SettingsError: a value is wrong or a key unknown.
    """
    chosen = {
        name.removeprefix("setting:"): str(value)
        for name, value in options.items()
        if name.startswith("setting:") and value is not None
    }
    file = options.get("config")
    return load(chosen, file=Path(file) if file else None)
