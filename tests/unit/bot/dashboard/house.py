"""The dashboard over a real database: two tenants, the operator, and browsers for each of them."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.dashboard.access import API, COOKIE
from bot.dashboard.api import create_api
from bot.dashboard.parts import DashboardParts
from bot.dashboard.sessions import Sessions
from bot.dashboard.web import dashboard_router
from bot.domain.blob import BlobKind, Drawer
from bot.domain.dashboard import Viewer
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import Outcome
from bot.domain.mission_record import StageMark
from bot.domain.publication import Publication
from bot.domain.registry import Switch
from bot.ledger.pauses import Pauses
from bot.lessons.calibration import confidence_by_rules
from bot.lessons.stored import StoredLessons
from bot.publish.recorder import Recorder
from bot.publish.story import build_story
from bot.registry.audit import StoredAudit
from bot.registry.missions import StoredMissions
from bot.registry.stored import StoredRegistry
from bot.store.database import Database
from tests.builders import a_lesson, a_repository, a_request
from tests.contract.test_mission_records import an_end
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_queue import MemoryQueue
from tests.reports import a_told_mission

HOME = "http://localhost:8080"
TOKEN = "the-token-of-the-operator-0123456789"
ACME, OTHER = 42, 77
"""The repositories of the two tenants."""
ENDED, RUNS, SECRET_ONE = "mission:42:aaaa:auto", "mission:42:bbbb:auto", "mission:77:cccc:auto"
"""Two missions of Acme's, and one of the other tenant's."""
VIEWERS = {
    "reader": Viewer(login="reader", readable=frozenset({ACME})),
    "writer": Viewer(login="writer", readable=frozenset({ACME}), writable=frozenset({ACME})),
    "stranger": Viewer(login="stranger", readable=frozenset({OTHER}), writable=frozenset({OTHER})),
    "nobody's": Viewer(login="nobody's"),
    "operator": Viewer(login="operator", is_operator=True),
}
HIDDEN = "TOP-SECRET-OF-THE-OTHER-TENANT"
"""In every text of the other tenant."""


@dataclass
class House:
    """The dashboard and all that it shows."""

    folder: Path
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    clock: FixedClock = field(default_factory=FixedClock)
    sign_in: Any = None
    given: Database | None = None
    """Where everything is stored; None for a file in the folder."""

    def __post_init__(self) -> None:
        self.database = self.given or a_database(self.folder / "data")
        self.missions = StoredMissions(self.database)
        self.audit = StoredAudit(self.database)
        self.lessons = StoredLessons(self.database)
        self.registry = StoredRegistry(self.database)
        self.blobs = HashedStore(FolderShelf(self.folder / "blobs"))
        self.recorder = Recorder(self.missions, self.clock)
        self.parts = DashboardParts(
            records=self.missions,
            audit=self.audit,
            lessons=self.lessons,
            registry=self.registry,
            pauses=Pauses(self.database),
            queue=self.queue,
            blobs=self.blobs,
            sessions=Sessions(self.database, self.clock, hours=8),
            clock=self.clock,
            token=SecretStr(TOKEN),
            sign_in=self.sign_in,
            stream_s=0.0,
        )
        self._open()

    def with_parts(self, **changes: Any) -> DashboardParts:
        """Replace dependencies of the pages and of the API."""
        self.parts = replace(self.parts, **changes)
        self._open()
        return self.parts

    def _open(self) -> None:
        self.app = FastAPI()
        self.app.include_router(dashboard_router(self.parts))
        self.app.mount(API, create_api(self.parts))

    def browser(self, home: str = HOME) -> httpx.AsyncClient:
        """A browser that nobody has signed in with."""
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=home)

    async def browser_of(self, name: str) -> httpx.AsyncClient:
        """A browser with a person's session."""
        http = self.browser()
        if name in VIEWERS:
            secret = await self.parts.sessions.start(VIEWERS[name])
            http.cookies.set(COOKIE, secret, domain="localhost.local", path="/dashboard")
            http.headers["cookie"] = f"{COOKIE}={secret}"
        return http

    async def form_token(self, http: httpx.AsyncClient) -> str:
        """The token that the pages of a session contain."""
        secret = http.headers.get("cookie", "").partition("=")[2]
        session = await self.parts.sessions.find(secret)
        return session.form_token if session else ""

    async def post(
        self, http: httpx.AsyncClient, path: str, origin: str = HOME, **fields: str
    ) -> httpx.Response:
        """Send a form from one of the pages."""
        given = {"form_token": await self.form_token(http)} | fields
        return await http.post(path, data=given, headers={"origin": origin})

    async def furnish(self) -> None:
        """Missions, lessons, a switch, and evidence of both tenants."""
        acme = a_repository(id=ACME, owner="acme", name="shop")
        other = a_repository(id=OTHER, owner="rival", name=HIDDEN)
        for repository, mission_id in ((acme, ENDED), (other, SECRET_ONE)):
            request = a_request(mission_id=mission_id, repository=repository)
            if repository is other:
                request = request.with_(head_branch=HIDDEN)
            await self.recorder.enqueue(request)
            context = a_told_mission(Outcome.FIXED, mission_id=mission_id, request=request)
            for name in ("reproduce", "fix", "verify"):
                await self.recorder.stage(context, name, f"{request.head_branch}")
            publication = Publication(mission_id=mission_id, way="pull-request", pull_request=17)
            bundle = KeptEvidence(name=mission_id, sha256="0" * 64, size=9)
            confidence = confidence_by_rules(context)
            story = build_story(context, confidence=confidence, bundle=bundle)
            await self.recorder.report(story, publication)
            drawer = Drawer(kind=BlobKind.EVIDENCE, owner=mission_id)
            await self.blobs.put(drawer, f"evidence of {mission_id}".encode())
            lesson = a_lesson(
                id=mission_id,
                mission_id=mission_id,
                repository_id=str(repository.id),
                sentence=f"learned in {repository.name}",
            )
            await self.lessons.remember(lesson)
            await self.registry.switch(
                Switch(repository_id=repository.id, off=True, by=f"boss-of-{repository.owner}")
            )
        await self.recorder.enqueue(a_request(mission_id=RUNS, repository=acme))
        mark = StageMark(name="reproduce", at=self.clock.now().isoformat())
        await self.missions.stage(RUNS, mark)
        await self.missions.finish(
            an_end("local:1", repository=None, place=f"/srv/{HIDDEN}", reason=HIDDEN)
        )
