"""metaagent doctor: check Docker, git, image, App, permissions, secret and disk."""

import asyncio
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from bot.clock import SystemClock
from bot.domain.account import Account
from bot.domain.blob import BlobKind
from bot.domain.counted import counted
from bot.domain.model import Usage
from bot.errors import MetaAgentError
from bot.publish.model_costs import spend_in_words
from bot.settings import Settings
from bot.setup.finding import Face, SetupFinding
from bot.store.database import SQLITE, Database, is_postgres
from bot.store.opening import own_url
from bot.store.schema.current import NONE, head, is_ours, revision_of
from bot.wiring.mission_services import build_backend, git_on_host, probe_isolation
from bot.wiring.models import build_chats, build_doors, select_models
from bot.wiring.storage import open_storage
from sandbox.errors import SandboxError

MIN_FREE_BYTES = 5 << 30
"""Free disk space for images and logs, in bytes."""


def examine(
    settings: Settings, *, live: bool = False, face: Face | None = None
) -> tuple[SetupFinding, ...]:
    """Check everything that a mission needs; change nothing and start no mission.

    Args:
        settings: All settings.
        live: Also ask GitHub: events, installations, webhooks, and if CI runs on our commits.
        face: Check only what this way of running needs; None checks everything.
    """
    return tuple(asyncio.run(_examine(settings, live=live, face=face)))


async def _examine(settings: Settings, *, live: bool, face: Face | None) -> list[SetupFinding]:
    findings = [
        _disk(settings),
        _git(),
        *await _storage(settings),
        await _sandbox(settings),
        *set_up(settings),
    ]
    if face in {None, "action"}:
        findings.append(_installer())
    if face in {None, "service"}:
        found = await _service(settings, live=live)
        findings += [finding.with_(faces=("service",)) for finding in found]
    return [*findings, *_models(settings), *await _spent(settings)]


async def _service(settings: Settings, *, live: bool) -> list[SetupFinding]:
    """Check what only the service needs: an App, its secret and its rights."""
    findings = [_secret(settings), _key(settings)]
    if findings[-1].state == "ok" and settings.app_id:
        findings.append(await _app(settings))
        if live:
            findings += await _live(settings)
    elif live:
        message = "without an App, GitHub cannot be asked"
        findings.append(
            SetupFinding(
                subject="live", state="missing", message=message, advice="run `metaagent setup`"
            )
        )
    return findings


def _installer() -> SetupFinding:
    """Check the programs that the Action's step installs itself with."""
    subject: tuple[Face, ...] = ("action",)
    if find_spec("venv") and find_spec("ensurepip"):
        return SetupFinding(subject="Python venv", state="ok", message="can be made", faces=subject)
    advice = "install the venv package of your system's Python, or use actions/setup-python"
    return SetupFinding(
        subject="Python venv", state="missing", message="no ensurepip", advice=advice, faces=subject
    )


def _disk(settings: Settings) -> SetupFinding:
    folder = settings.data_dir.resolve()
    # The first start creates the folder; until then its parent's disk counts.
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    message = f"{free / (1 << 30):.1f} GiB free for {settings.data_dir}"
    if free < MIN_FREE_BYTES:
        return SetupFinding(
            subject="disk",
            state="missing",
            message=message,
            advice="5 GiB are wanted: images and logs",
        )
    return SetupFinding(subject="disk", state="ok", message=message)


def _git() -> SetupFinding:
    try:
        return SetupFinding(subject="git", state="ok", message=f"version {git_on_host()}")
    except SandboxError as error:
        return SetupFinding(
            subject="git", state="missing", message=error.message, advice=error.advice
        )


async def _storage(settings: Settings) -> list[SetupFinding]:
    """Check the store of large values, unless it is a folder of the data directory."""
    if settings.storage.url is None:
        return []
    try:
        # An owner that no value has: only the server's answer counts.
        await open_storage(settings).list_blobs(BlobKind.EVIDENCE, "whether anybody answers")
    except MetaAgentError as error:
        return [
            SetupFinding(
                subject="storage", state="missing", message=error.message, advice=error.advice
            )
        ]
    return [SetupFinding(subject="storage", state="ok", message=f"{settings.storage.url} answers")]


async def _sandbox(settings: Settings) -> SetupFinding:
    subject = f"sandbox {settings.sandbox.backend}"
    backend = build_backend(settings)
    try:
        image = await backend.ensure_toolchain()
        kept = await backend.prune(only_count=True)
        rights = await probe_isolation(settings)
    except SandboxError as error:
        return SetupFinding(
            subject=subject, state="missing", message=error.message, advice=error.advice
        )
    if rights:
        message = f"isolates too little: code in it {', '.join(rights[:5])}"
        advice = "let no mission run here before the daemon's own configuration was looked at"
        return SetupFinding(subject=subject, state="missing", message=message, advice=advice)
    message = (
        f"answers; toolchain {image}; {counted(kept.count, 'environment')}, "
        f"{kept.size / (1 << 20):.0f} MiB"
    )
    return SetupFinding(subject=subject, state="ok", message=message)


def set_up(settings: Settings) -> list[SetupFinding]:
    """Check the set-up phase; report it only if it is weaker than possible."""
    if settings.sandbox.backend != "docker" or settings.sandbox.setup_network == "none":
        return []
    message = "the set-up phase has a network interface and reaches every host"
    return [
        SetupFinding(
            subject="set-up network",
            state="note",
            message=message,
            advice="sandbox.setup_network none",
        )
    ]


def _secret(settings: Settings) -> SetupFinding:
    if settings.webhook_secret is None or not settings.webhook_secret.get_secret_value():
        advice = (
            "set METAAGENT_WEBHOOK_SECRET to the secret of the App's webhook; `serve` refuses to "
            "start without"
        )
        return SetupFinding(
            subject="webhook secret", state="missing", message="not set", advice=advice
        )
    return SetupFinding(subject="webhook secret", state="ok", message="set")


def _key(settings: Settings) -> SetupFinding:
    if settings.app_id is None:
        advice = "run `metaagent setup`, or set METAAGENT_APP_ID; `fix` works without"
        return SetupFinding(
            subject="GitHub App", state="missing", message="no App id", advice=advice
        )
    try:
        key = settings.signing_key.get_secret_value()
    except MetaAgentError as error:
        return SetupFinding(
            subject="GitHub App", state="missing", message=error.message, advice=error.advice
        )
    if "PRIVATE KEY" not in key:
        advice = "download a new key from the App's settings page"
        return SetupFinding(
            subject="GitHub App",
            state="missing",
            message="the private key is not PEM",
            advice=advice,
        )
    return SetupFinding(
        subject="GitHub App", state="ok", message=f"id {settings.app_id}, private key there"
    )


def _models(settings: Settings) -> list[SetupFinding]:
    """List the configured models by role; `metaagent models check` asks them."""
    if not (select_models(settings) or settings.model_agent):
        return [
            SetupFinding(
                subject="model", state="note", message="none is set: rungs 0 and 1 work without one"
            )
        ]
    from bot.llm.prices import Prices

    try:
        chats, prices = build_chats(settings), Prices(settings.models.prices)
        build_doors(settings, SystemClock(), Database(own_url(settings.engine_url)))
    except MetaAgentError as error:
        return [
            SetupFinding(
                subject="model", state="missing", message=error.message, advice=error.advice
            )
        ]
    findings = []
    named = {role.value: chat.name for role, chat in chats.items()}
    if settings.model_agent:
        named["work alone"] = settings.model_agent.partition("@")[0]
    for role, name in named.items():
        unpriced = [one for one in name.split(",") if prices.cost(one, Usage()) is None]
        message = f"{name}, at most ${settings.models.usd_per_mission:.2f} a mission"
        if unpriced:
            message = f"{name}; no price is known for {', '.join(unpriced)}"
        advice = (
            "install the extra `prices`, or set models.prices; until then only "
            "models.calls_per_mission bounds it"
        )
        state: Literal["ok", "note"] = "note" if unpriced else "ok"
        findings.append(
            SetupFinding(subject=f"model to {role}", state=state, message=message, advice=advice)
        )
    return findings


async def _spent(settings: Settings) -> list[SetupFinding]:
    """Report today's costs of models in all repositories, and active pauses."""
    url = own_url(settings.engine_url)
    if not (is_postgres(url) or _is_file(url.removeprefix(SQLITE))):
        return []
    from bot.ledger.calls import CallLedger
    from bot.ledger.pauses import Pauses

    # Read only: trying a newer version must not upgrade the database of a running older one.
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
        return [
            SetupFinding(
                subject="model costs", state="missing", message=error.message, advice=error.advice
            )
        ]
    finally:
        database.close()
    found = [
        SetupFinding(
            subject="paused",
            state="note",
            message=f"{one.in_words}, since {one.at}",
            advice="metaagent resume",
        )
        for one in pauses
    ]
    total = spent["total"]
    message = f"today, in all repositories: {spend_in_words(total)}"
    message += f" ({counted(total.calls, 'call')})" if total.calls else ""
    return [*found, SetupFinding(subject="model costs", state="ok", message=message)]


def _older(there: str) -> SetupFinding:
    message = f"its tables are at {there}; this program brings them to {head()} when it starts next"
    return SetupFinding(
        subject="database", state="note", message=message, advice="first: metaagent db backup"
    )


def _is_file(path: str) -> bool:
    return Path(path).is_file()


async def _app(settings: Settings) -> SetupFinding:
    from bot.wiring.github import build_github

    github = build_github(settings)
    try:
        missing = await github.missing_permissions()
        slug = await github.app_slug()
    except MetaAgentError as error:
        return SetupFinding(
            subject="permissions", state="missing", message=error.message, advice=error.advice
        )
    finally:
        await github.aclose()
    if slug != settings.app_slug:
        message, advice = (
            f"GitHub calls the App {slug}, not {settings.app_slug}",
            f"set METAAGENT_APP_SLUG to {slug}",
        )
        return SetupFinding(subject="permissions", state="missing", message=message, advice=advice)
    if missing:
        advice = "grant them on the App's settings page, and accept them in each installation"
        return SetupFinding(
            subject="permissions", state="missing", message=", ".join(missing), advice=advice
        )
    return SetupFinding(subject="permissions", state="ok", message="all that are needed")


async def _live(settings: Settings) -> list[SetupFinding]:
    """Check what only GitHub knows."""
    from bot.github.app_client import AppClient
    from bot.github.app_facts import AppFacts
    from bot.setup.live import LiveChecks
    from bot.wiring.github import build_github

    github, client = (
        build_github(settings),
        AppClient(settings.app_id or "", settings.signing_key, settings.github_api_url),
    )
    try:
        return await LiveChecks(
            github, github, AppFacts(client), SystemClock(), settings.public_url
        ).findings()
    finally:
        await github.aclose()
        await client.aclose()
