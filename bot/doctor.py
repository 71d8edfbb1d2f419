"""What is missing before MetaAgent can run here: Docker, git, image, App, permissions, secret, disk."""

import asyncio
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from bot.clock import SystemClock
from bot.domain.account import Account
from bot.domain.blob import Kind
from bot.domain.model import Usage
from bot.errors import MetaAgentError
from bot.publish.who_spoke import spend_in_words
from bot.settings import Settings
from bot.setup.finding import Face, Finding
from bot.store.database import SQLITE, Database, is_postgres
from bot.store.opening import own_url
from bot.store.schema.current import NONE, head, is_ours, revision_of
from bot.wiring.line import build_backend, git_on_host, probe_isolation
from bot.wiring.models import build_chats, build_doors, models_of
from bot.wiring.storage import open_storage
from sandbox.errors import SandboxError

MIN_FREE_BYTES = 5 << 30


def examine(settings: Settings, *, live: bool = False, face: Face | None = None) -> tuple[Finding, ...]:
    """Look at everything a mission needs; changes nothing and starts no mission.

    Args:
        settings: All settings.
        live: Ask GitHub for what only it can say: events, installations, whether webhooks arrive and CI will run.
        face: Only what this one needs; None looks at everything.
    """
    return tuple(asyncio.run(_examine(settings, live=live, face=face)))


async def _examine(settings: Settings, *, live: bool, face: Face | None) -> list[Finding]:
    findings = [_disk(settings), _git(), *await _storage(settings), await _sandbox(settings), *set_up(settings)]
    if face in {None, "action"}:
        findings.append(_installer())
    if face in {None, "service"}:
        found = await _service(settings, live=live)
        findings += [finding.with_(faces=("service",)) for finding in found]
    return [*findings, *_models(settings), *await _spent(settings)]


async def _service(settings: Settings, *, live: bool) -> list[Finding]:
    """Check what only the service needs: an App, its secret and its rights."""
    findings = [_secret(settings), _key(settings)]
    if findings[-1].state == "ok" and settings.app_id:
        findings.append(await _app(settings))
        if live:
            findings += await _live(settings)
    elif live:
        message = "without an App there is nobody to ask"
        findings.append(Finding(subject="live", state="missing", message=message, advice="run `metaagent setup`"))
    return findings


def _installer() -> Finding:
    """Check the programs that the Action's step installs itself with."""
    subject: tuple[Face, ...] = ("action",)
    if find_spec("venv") and find_spec("ensurepip"):
        return Finding(subject="Python venv", state="ok", message="can be made", faces=subject)
    advice = "install the venv package of your system's Python, or use actions/setup-python"
    return Finding(subject="Python venv", state="missing", message="no ensurepip", advice=advice, faces=subject)


def _disk(settings: Settings) -> Finding:
    folder = settings.data_dir.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    message = f"{free / (1 << 30):.1f} GiB free for {settings.data_dir}"
    if free < MIN_FREE_BYTES:
        return Finding(subject="disk", state="missing", message=message, advice="5 GiB are wanted: images and logs")
    return Finding(subject="disk", state="ok", message=message)


def _git() -> Finding:
    try:
        return Finding(subject="git", state="ok", message=f"version {git_on_host()}")
    except SandboxError as error:
        return Finding(subject="git", state="missing", message=error.message, advice=error.advice)


async def _storage(settings: Settings) -> list[Finding]:
    """The store of large values; told only where it is not simply a folder of the data directory."""
    if settings.storage.url is None:
        return []
    try:
        await open_storage(settings).kept(Kind.EVIDENCE, "whether anybody answers")
    except MetaAgentError as error:
        return [Finding(subject="storage", state="missing", message=error.message, advice=error.advice)]
    return [Finding(subject="storage", state="ok", message=f"{settings.storage.url} answers")]


async def _sandbox(settings: Settings) -> Finding:
    subject = f"sandbox {settings.sandbox.backend}"
    backend = build_backend(settings)
    try:
        image = await backend.ensure_toolchain()
        kept = await backend.prune(only_count=True)
        rights = await probe_isolation(settings)
    except SandboxError as error:
        return Finding(subject=subject, state="missing", message=error.message, advice=error.advice)
    if rights:
        message = f"isolates too little: code in it {', '.join(rights[:5])}"
        advice = "let no mission run here before the daemon's own configuration was looked at"
        return Finding(subject=subject, state="missing", message=message, advice=advice)
    message = f"answers; toolchain {image}; {kept.count} environments, {kept.size / (1 << 20):.0f} MiB"
    return Finding(subject=subject, state="ok", message=message)


def set_up(settings: Settings) -> list[Finding]:
    """The set-up phase; told only where it is weaker than it could be."""
    if settings.sandbox.backend != "docker" or settings.sandbox.setup_network == "none":
        return []
    message = "the set-up phase has a network interface and reaches every host"
    return [Finding(subject="set-up network", state="note", message=message, advice="sandbox.setup_network none")]


def _secret(settings: Settings) -> Finding:
    if settings.webhook_secret is None or not settings.webhook_secret.get_secret_value():
        advice = "set METAAGENT_WEBHOOK_SECRET to the secret of the App's webhook; `serve` refuses to start without"
        return Finding(subject="webhook secret", state="missing", message="not set", advice=advice)
    return Finding(subject="webhook secret", state="ok", message="set")


def _key(settings: Settings) -> Finding:
    if settings.app_id is None:
        advice = "run `metaagent setup`, or set METAAGENT_APP_ID; `fix` works without"
        return Finding(subject="GitHub App", state="missing", message="no App id", advice=advice)
    try:
        key = settings.signing_key.get_secret_value()
    except MetaAgentError as error:
        return Finding(subject="GitHub App", state="missing", message=error.message, advice=error.advice)
    if "PRIVATE KEY" not in key:
        advice = "download a new key from the App's settings page"
        return Finding(subject="GitHub App", state="missing", message="the private key is not PEM", advice=advice)
    return Finding(subject="GitHub App", state="ok", message=f"id {settings.app_id}, private key there")


def _models(settings: Settings) -> list[Finding]:
    """The models by role, as they are configured; `metaagent models check` asks them."""
    if not (models_of(settings) or settings.model_agent):
        return [Finding(subject="model", state="note", message="none is set: rungs 0 and 1 work without one")]
    from bot.llm.prices import Prices

    try:
        chats, prices = build_chats(settings), Prices(settings.models.prices)
        build_doors(settings, SystemClock(), Database(own_url(settings.engine_url)))
    except MetaAgentError as error:
        return [Finding(subject="model", state="missing", message=error.message, advice=error.advice)]
    findings = []
    named = {role.value: chat.name for role, chat in chats.items()}
    if settings.model_agent:
        named["work alone"] = settings.model_agent.partition("@")[0]
    for role, name in named.items():
        unpriced = [one for one in name.split(",") if prices.cost(one, Usage()) is None]
        message = f"{name}, at most ${settings.models.usd_per_mission:.2f} a mission"
        if unpriced:
            message = f"{name}; no price is known for {', '.join(unpriced)}"
        advice = "install the extra `prices`, or set models.prices; until then only models.calls_per_mission bounds it"
        state: Literal["ok", "note"] = "note" if unpriced else "ok"
        findings.append(Finding(subject=f"model to {role}", state=state, message=message, advice=advice))
    return findings


async def _spent(settings: Settings) -> list[Finding]:
    """What models cost today, in all repositories, and what is paused; nothing where nothing was ever kept."""
    url = own_url(settings.engine_url)
    if not (is_postgres(url) or _is_file(url.removeprefix(SQLITE))):
        return []
    from bot.ledger.calls import CallLedger
    from bot.ledger.pauses import Pauses

    # As it is: who looks at what a newer program would do must not upgrade what an older one works with.
    database, today = Database(url), SystemClock().now().date().isoformat()
    try:
        there = await database.do(lambda tx: revision_of(tx.connection))
        if NONE < there < head():
            return [_older(there)]
        if not await database.do(lambda tx: is_ours(tx.connection)):
            return []
        spent = await CallLedger(database).spent(Account(mission="", repository="", day=today))
        pauses = await Pauses(database).all()
    except MetaAgentError as error:
        return [Finding(subject="model costs", state="missing", message=error.message, advice=error.advice)]
    finally:
        database.close()
    found = [
        Finding(subject="paused", state="note", message=f"{one.in_words}, since {one.at}", advice="metaagent resume")
        for one in pauses
    ]
    message = f"today, in all repositories: {spend_in_words(spent['total'])} ({spent['total'].calls} calls)"
    return [*found, Finding(subject="model costs", state="ok", message=message)]


def _older(there: str) -> Finding:
    message = f"its tables are at {there}; this program brings them to {head()} when it starts next"
    return Finding(subject="database", state="note", message=message, advice="first: metaagent db backup")


def _is_file(path: str) -> bool:
    return Path(path).is_file()


async def _app(settings: Settings) -> Finding:
    from bot.wiring.service import build_github

    github = build_github(settings)
    try:
        missing = await github.missing_permissions()
        slug = await github.app_slug()
    except MetaAgentError as error:
        return Finding(subject="permissions", state="missing", message=error.message, advice=error.advice)
    finally:
        await github.aclose()
    if slug != settings.app_slug:
        message, advice = f"GitHub calls the App {slug}, not {settings.app_slug}", f"set METAAGENT_APP_SLUG to {slug}"
        return Finding(subject="permissions", state="missing", message=message, advice=advice)
    if missing:
        advice = "grant them on the App's settings page, and accept them in each installation"
        return Finding(subject="permissions", state="missing", message=", ".join(missing), advice=advice)
    return Finding(subject="permissions", state="ok", message="all that are needed")


async def _live(settings: Settings) -> list[Finding]:
    """What only GitHub can say."""
    from bot.github.app_client import AppClient
    from bot.github.app_facts import AppFacts
    from bot.setup.live import Live
    from bot.wiring.service import build_github

    github, client = (
        build_github(settings),
        AppClient(settings.app_id or "", settings.signing_key, settings.github_api_url),
    )
    try:
        return await Live(github, github, AppFacts(client), SystemClock(), settings.public_url).findings()
    finally:
        await github.aclose()
        await client.aclose()
