"""The settings, with defaults and descriptions, and their loading."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError

from bot import tables
from bot.domain.account import ModelLimits, Quota
from bot.domain.dashboard import DashboardOptions
from bot.domain.evidence import EvidenceLimits
from bot.domain.http import HttpLimits
from bot.domain.model import ANY_HOST
from bot.domain.policy import OLD_LIMITS, Limits
from bot.domain.storage import StorageSpec, usual_names
from bot.domain.telemetry import TelemetryOptions
from bot.errors import SettingsError
from bot.store.database import key_password, without_password
from bot.tables import PREFIX, Leaf
from bot.user_folder import WHERE, default_data_dir
from sandbox.spec import SandboxSpec

DEFAULT_FILE = "metaagent.toml"
OLD_KEYS = {f"limits.{old}": f"limits.{new}" for old, new in OLD_LIMITS.items()}
"""Former names of settings, and their names of today."""
GITHUB_API = "https://api.github.com/"
INHERITED = {
    "ca_bundle": ("PIP_CERT", "SSL_CERT_FILE"),
    "index_url": ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"),
}
"""Sandbox settings that default to those of the host's installers."""
KEYS = {
    "openai_api_key": ("OPENAI_API_KEY",),
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
}
"""Settings that default to the variables of a provider's own tools."""
MODELS = ("model", "model_judge", "model_fix", "model_agent")
"""Settings that name models."""
ANY_FILE: dict[str, JsonValue] = {"any_file": True}
"""Marks a setting, or a table of them, that is accepted from a file found in the current folder.

That folder may belong to an untrusted repository. Settings that decide where code runs, which
servers are contacted, what is sent or spent, and which files are read are never marked."""
APP_FILE = "app.json"
"""The App's data as stored by set-up, in the data directory; readable by its owner only."""
APP_IDENTITY = ("app_id", "private_key", "private_key_file", "webhook_secret")
"""Settings of one App, which must not be mixed with another App's."""
STORED = ("app_id", "app_slug", "github_api_url", "private_key", "webhook_secret")
"""Settings that set-up stores."""


class Settings(BaseModel):
    """All settings, under one name everywhere.

    `sandbox.memory_bytes` in the file is `METAAGENT_SANDBOX__MEMORY_BYTES` in the environment and
    `--sandbox-memory-bytes` on the command line.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True
    )

    app_id: str | None = None
    """Numeric id of the GitHub App."""
    private_key: SecretStr | None = None
    """The App's private key, PEM."""
    private_key_file: Path | None = None
    """File that holds the private key."""
    webhook_secret: SecretStr | None = None
    """Secret for webhook signatures."""
    github_api_url: str = GITHUB_API
    """GitHub's API, also of an Enterprise Server."""
    app_slug: str = "metaagent"
    """The App's slug; its bot user is `<slug>[bot]`."""
    data_dir: Path = Field(default_factory=lambda: default_data_dir(os.environ), description=WHERE)
    database_url: str | None = None
    """Database of the workflow engine and of our own tables. An SQLite file in the data directory
    by default; `postgresql://…` for several processes."""
    model: str | None = None
    """Language model: `openai-chat:NAME` or `anthropic:NAME`, followed by `@ADDRESS` for your own
    server. Several, separated by commas, are tried in that order. None by default."""
    model_judge: str | None = None
    """Another model for judging; a cheap one suffices."""
    model_fix: str | None = None
    """Another model for fixing (rung 2)."""
    model_agent: str | None = None
    """A coding agent that works in its own sandbox when no other rung finds a fix: `codex-cli:NAME`
    or `claude-cli:NAME`. The image of the setting sandbox.image must contain its program."""
    model_key: SecretStr | None = None
    """The key for model servers without a key of their own."""
    model_keys: SecretStr | None = None
    """Keys by host: `HOST=KEY`, separated by commas. Each key is sent only to its host."""
    openai_api_key: SecretStr | None = None
    """OpenAI's key, used for its own address only. Falls back to `OPENAI_API_KEY`."""
    anthropic_api_key: SecretStr | None = None
    """Anthropic's key, used for its own address only. Falls back to `ANTHROPIC_API_KEY`."""
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", json_schema_extra=ANY_FILE
    )
    """Lowest level that is logged."""
    host: str = "127.0.0.1"
    """Address that `serve`, `web` and `setup` listen on."""
    port: int = Field(8080, ge=0, le=65_535, json_schema_extra=ANY_FILE)
    """Port that `serve`, `web` and `setup` listen on; 0 selects a free one."""
    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s?#@]+/?$")
    """Address of this service for GitHub and people, `https://bot.example.com`."""
    workers: int = Field(default=2, ge=1, json_schema_extra=ANY_FILE)
    """Missions that run at the same time in a process; user-requested ones have their own limit."""
    workers_total: int | None = Field(default=None, ge=1)
    """Missions that run at the same time in all processes together; unlimited by default."""
    missions_per_minute: int | None = Field(default=None, ge=1)
    """Missions started per minute in all processes, except user-requested ones; unlimited by
    default."""
    missions_per_minute_each: int | None = Field(default=None, ge=1)
    """The same for one repository."""
    keep_days: int = Field(default=30, ge=4, le=3_650)
    """Retention of deliveries and finished work, in days; cleanup runs hourly."""
    keep_missions_days: int = Field(default=365, ge=4, le=3_650)
    """Retention of the table of missions and of the audit log, in days; their details, which may
    contain source code, are kept for keep_days."""
    keep_answers_days: int = Field(default=365, ge=30, le=3_650)
    """Retention of answered fixes and proposals, in days. A rejected change is not offered again in
    this time."""
    share_lessons: bool = False
    """Let templates and small edits that people accepted elsewhere help repositories without such
    lessons. Names and texts are not shared; forks take no part."""
    worker_ttl_s: float = Field(default=30.0, ge=3.0, le=3_600.0)
    """PostgreSQL only: seconds without a heartbeat after which a worker counts as dead, and others
    take over its work."""
    settle_s: float = Field(default=180.0, ge=0)
    """Longest wait for the other checks of a red commit, in seconds."""
    sweep_s: float = Field(default=900.0, ge=0)
    """Seconds between two sweeps for lost events; 0 disables them."""
    onboard_repositories: int = Field(default=0, ge=0, le=100)
    """Repositories that get an onboarding pull request when the App is installed; 0 opens none."""
    write_pause_s: float = Field(default=1.0, ge=0)
    """Seconds between two writes to one repository, as GitHub recommends."""
    webhook_max_bytes: int = 25 * 1024 * 1024
    """Largest webhook body accepted, in bytes."""
    webhook_answer_s: float = Field(default=0.9, gt=0, le=8.0)
    """Longest wait for the database to store a delivery, in seconds; after that the response is
    503."""
    http: HttpLimits = HttpLimits()
    """Limits of the HTTP server."""
    limits: Limits = Field(default=Limits(), json_schema_extra=ANY_FILE)
    """Limits of a mission."""
    models: ModelLimits = ModelLimits()
    """Limits and options of models."""
    quota: Quota = Quota()
    """Limits for missions in one day."""
    evidence: EvidenceLimits = EvidenceLimits()
    """Limits for stored evidence."""
    storage: StorageSpec = StorageSpec()
    """Storage of large values."""
    dashboard: DashboardOptions = DashboardOptions()
    """Pages about missions."""
    telemetry: TelemetryOptions = TelemetryOptions()
    """Figures and traces for monitoring."""
    sandbox: SandboxSpec = SandboxSpec()
    """Options of sandboxes."""

    @property
    def signing_key(self) -> SecretStr:
        """Return the App's private key from the setting or its file.

        Raises:
            SettingsError: no key is set, or the file cannot be read.
        """
        if self.private_key is not None:
            # Environment variables often hold a PEM key with escaped line breaks.
            return SecretStr(self.private_key.get_secret_value().replace("\\n", "\n"))
        if self.private_key_file is None:
            raise SettingsError(
                "no private key", f"set {PREFIX}PRIVATE_KEY or {PREFIX}PRIVATE_KEY_FILE"
            )
        try:
            return SecretStr(self.private_key_file.read_text())
        except OSError as error:
            message = f"the private key file cannot be read ({error.strerror})"
            raise SettingsError(message, f"check {PREFIX}PRIVATE_KEY_FILE") from error
        except UnicodeDecodeError as error:
            raise SettingsError(
                "the private key file is not text", f"check {PREFIX}PRIVATE_KEY_FILE"
            ) from error

    @property
    def needs_setup(self) -> bool:
        """Return True if no setting of an App is given."""
        return all(getattr(self, name) is None for name in APP_IDENTITY)

    @property
    def secrets(self) -> tuple[SecretStr, ...]:
        """Return every value that must be masked."""
        try:
            key = self.signing_key  # including one from a file
        except SettingsError:
            key = None
        _, password = without_password(self.database_url or "")
        # Messages may show a password percent-encoded or decoded, so both forms are masked.
        written = (password, key_password(self.database_url or ""))
        database = map(SecretStr, dict.fromkeys(filter(None, (*map(unquote, written), *written))))
        storage = (self.storage.key_id, self.storage.key, self.storage.token)
        pages = (self.dashboard.token, self.dashboard.client_secret, self.telemetry.metrics_token)
        own = (key, self.webhook_secret, *pages, *database, *storage, *self.keys.values())
        return tuple(secret for secret in own if secret is not None)

    @property
    def secret_values(self) -> tuple[str, ...]:
        """Return the texts of `secrets`."""
        return tuple(secret.get_secret_value() for secret in self.secrets)

    @property
    def keys(self) -> dict[str, SecretStr]:
        """Return the keys of model servers, by host or by kind of provider.

        `*` is the key for all other servers.

        Raises:
            SettingsError: `model_keys` is malformed.
        """
        openai = ("openai-chat", "openai-responses", "codex-cli")
        own = {
            **dict.fromkeys(openai, self.openai_api_key),
            **dict.fromkeys(("anthropic", "claude-cli"), self.anthropic_api_key),
            ANY_HOST: self.model_key,
        }
        keys = own | tables.keys_by_host(self.model_keys)
        return {
            name: key for name, key in keys.items() if key is not None and key.get_secret_value()
        }

    @property
    def engine_url(self) -> str:
        """Return the database URL of the workflow engine."""
        return self.database_url or f"sqlite:///{(self.data_dir / 'engine.sqlite').resolve()}"


def leaves(
    model: type[BaseModel] = Settings, above: tuple[str, ...] = (), *, any_file: bool = False
) -> Iterator[Leaf]:
    """Yield every setting in order of declaration."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        marked = any_file or field.json_schema_extra is ANY_FILE
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from leaves(kind, (*above, name), any_file=marked)
            continue
        text = getattr(kind, "__name__", None) if isinstance(kind, type) else str(kind)
        default = (
            "" if field.default is None or field.default_factory is not None else str(field.default)
        )
        yield Leaf(
            path=(*above, name),
            kind=text or str(kind),
            default=default,
            description=field.description or "",
            any_file=marked,
            is_secret="SecretStr" in str(kind),
        )


def load(
    options: Mapping[str, str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """Load the settings: options override the environment, which overrides the file.

    Args:
        options: From the command line, by key (`sandbox.memory_bytes`).
        environment: The process environment by default.
        file: The configuration file. By default an existing `metaagent.toml` in the current folder
            is used, from which only settings marked `ANY_FILE` are accepted.

    Raises:
        SettingsError: a value is invalid or a key unknown; names the key and its source.
    """
    variables = os.environ if environment is None else environment
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    path = file or Path(DEFAULT_FILE)
    if file is not None or path.is_file():
        tables.merge(merged, tables.read(path), origins, str(path))
    _adopt_installers(merged, origins, variables)
    for leaf in leaves():
        tables.adopt_old_names(merged, origins, variables, leaf=leaf, old_keys=OLD_KEYS)
        if leaf.variable in variables:
            tables.set_value(merged, leaf.path, variables[leaf.variable])
            origins[leaf.key] = leaf.variable
    for given, value in (options or {}).items():
        key = tables.current_name(given, OLD_KEYS)
        tables.set_value(merged, tuple(key.split(".")), value)
        origins[key] = "--" + key.replace(".", "-").replace("_", "-")
    merged.setdefault("data_dir", default_data_dir(variables))
    _adopt_app(merged, origins)
    _adopt_keys(merged, origins, variables)
    _adopt_storage(merged, origins, variables)
    if file is None:
        _refuse_untrusted(origins)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise SettingsError(
            tables.describe(error, origins), "correct the value, or remove it to take the default"
        ) from error


def _adopt_installers(
    into: dict[str, Any], origins: dict[str, str], variables: Mapping[str, str]
) -> None:
    """Use the host installers' variables for sandbox settings that are not set."""
    sandbox = into.setdefault("sandbox", {})
    for key, names in INHERITED.items():
        found = next((name for name in names if variables.get(name)), None)
        # An address with a password is skipped: the set-up phase runs untrusted code.
        if (
            isinstance(sandbox, dict)
            and key not in sandbox
            and found
            and "@" not in variables[found]
        ):
            sandbox[key] = variables[found]
            origins[f"sandbox.{key}"] = found


def _adopt_keys(
    into: dict[str, Any], origins: dict[str, str], variables: Mapping[str, str]
) -> None:
    """Use a provider's own variable if no key is set for it."""
    for key, names in KEYS.items():
        found = next((name for name in names if variables.get(name)), None)
        if found and not into.get(key) and not into.get("model_key"):
            into[key], origins[key] = variables[found], found


def _adopt_storage(
    into: dict[str, Any], origins: dict[str, str], variables: Mapping[str, str]
) -> None:
    """Use the standard S3 variables for storage settings that are not set."""
    storage = into.setdefault("storage", {})
    if isinstance(storage, dict):
        for key, name in usual_names(storage, variables).items():
            storage[key], origins[f"storage.{key}"] = variables[name], name


def _refuse_untrusted(origins: Mapping[str, str]) -> None:
    """Refuse settings from an implicitly found file that only a trusted user may set."""
    wrong = [
        leaf for leaf in leaves() if not leaf.any_file and origins.get(leaf.key) == DEFAULT_FILE
    ]
    if wrong:
        named = ", ".join(leaf.key for leaf in wrong)
        message = (
            f"setting {named} ({DEFAULT_FILE}): not accepted from a file that was found in the "
            "current folder, because it may belong to an untrusted repository"
        )
        raise SettingsError(
            message,
            f"if you trust the file, pass --config {DEFAULT_FILE}, or set {wrong[0].variable}",
        )


def _adopt_app(into: dict[str, Any], origins: dict[str, str]) -> None:
    """Use the stored App if no App setting is given: settings of two Apps must not be mixed."""
    path = Path(into["data_dir"]) / APP_FILE
    if any(into.get(name) is not None for name in APP_IDENTITY) or not path.is_file():
        return
    stored = tables.read_private_json(path)
    for key in STORED:
        if key in stored and key not in into:
            into[key], origins[key] = stored[key], str(path)
    dashboard = into.setdefault("dashboard", {})
    for key in ("client_id", "client_secret"):
        if key in stored and isinstance(dashboard, dict) and key not in dashboard:
            dashboard[key], origins[f"dashboard.{key}"] = stored[key], str(path)


def environment() -> Mapping[str, str]:
    """Return the process environment, for variables that are not ours (of a workflow runner)."""
    return os.environ


def load_from_options(options: Mapping[str, Any]) -> Settings:
    """Load the settings from parsed command-line options whose name begins with `setting:`.

    Raises:
        SettingsError: a value is invalid or a key unknown.
    """
    chosen = {
        name.removeprefix("setting:"): str(value)
        for name, value in options.items()
        if name.startswith("setting:") and value is not None
    }
    file = options.get("config")
    return load(chosen, file=Path(file) if file else None)
