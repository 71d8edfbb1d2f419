"""What the doctor says of webhooks, installations and CI, from GitHub's answers."""

from collections.abc import Mapping
from datetime import datetime

import pytest

from bot.domain.github import HookDelivery, InstallationRef
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError
from bot.github.app_facts import AppEventsReply, Workflow
from bot.github.gateway import NEEDED
from bot.github.manifest import EVENTS
from bot.setup.ci_triggers import WorkflowTriggers
from bot.setup.finding import SetupFinding
from bot.setup.live import MOST_REPOSITORIES, LiveChecks, ci_finding, deliveries_finding
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock

pytestmark = pytest.mark.anyio
REPOSITORY = RepositoryRef(id=1, owner="acme", name="shop", installation_id=3)
GRANTED = {**NEEDED, "actions": "write"}
URL = "https://bot.example.com/webhook"
NUMBERS = iter(range(1, 1000))


def delivery(
    status: int, at: str = "2026-01-01T00:00:00Z", guid: str | None = None
) -> HookDelivery:
    number = next(NUMBERS)
    return HookDelivery(
        id=number, guid=guid or f"g{number}", event="push", delivered_at=at, status_code=status
    )


def installed(**more: object) -> InstallationRef:
    plain = {"id": 3, "account": "acme", "permissions": dict(GRANTED), "events": tuple(EVENTS)}
    return InstallationRef.model_validate({**plain, **more})


class World:
    """GitHub's answers, as they are set."""

    def __init__(self) -> None:
        self.there: tuple[InstallationRef, ...] = (installed(),)
        self.sent: tuple[HookDelivery, ...] = (delivery(202),)
        self.repositories_there: tuple[RepositoryRef, ...] = (REPOSITORY,)
        self.files: Mapping[str, bytes] = {".github/workflows/ci.yml": b"on: [push, pull_request]"}
        self.off: tuple[str, ...] = ()
        self.events: tuple[str, ...] = tuple(EVENTS)
        self.url = URL
        self.fails = ""

    async def app(self) -> AppEventsReply:
        return AppEventsReply(
            slug="fixer", html_url="https://github.com/apps/fixer", events=self.events
        )

    async def hook_url(self) -> str:
        return self.url

    async def workflows(self, repository: RepositoryRef) -> tuple[Workflow, ...]:
        if self.fails:
            raise GitHubError("GitHub is tired", "wait", status=500)
        return tuple(Workflow(path=path, is_active=path not in self.off) for path in self.files)

    async def deliveries(self, *, since: datetime, most: int = 1_000) -> tuple[HookDelivery, ...]:
        return self.sent

    async def delivery_payload(self, delivery_id: int) -> tuple[str, bytes]:
        raise NotImplementedError

    async def installations(self) -> tuple[InstallationRef, ...]:
        return self.there

    async def repositories(self, installation_id: int) -> tuple[RepositoryRef, ...]:
        return self.repositories_there

    async def findings(self, public_url: str | None = None) -> list[SetupFinding]:
        """What the doctor finds."""
        github = FakeGitHub()
        github.files = {("main", path): content for path, content in self.files.items()}
        return await LiveChecks(github, self, self, FixedClock(), public_url).findings()


def of(findings: list[SetupFinding], subject: str) -> SetupFinding:
    return next(one for one in findings if one.subject == subject)


async def test_where_all_is_well_every_line_says_so() -> None:
    found = await World().findings("https://bot.example.com/")
    assert [one.subject for one in found] == ["events", "webhook", "installed: acme", "acme/shop"]
    assert {one.state for one in found} == {"ok"}


async def test_an_event_that_is_not_subscribed_to_is_named() -> None:
    world = World()
    world.events = tuple(set(EVENTS) - {"workflow_run"})
    assert "workflow_run" in of(await world.findings(), "events").message


@pytest.mark.parametrize(
    ("more", "state", "said"),
    [
        ({"suspended": True}, "missing", "suspended"),
        ({"permissions": {**GRANTED, "checks": "read"}}, "missing", "checks: write"),
        ({"permissions": {}}, "missing", "contents: write"),
        ({"events": ()}, "missing", "workflow_run"),
    ],
)
async def test_what_an_installation_lacks_is_named(
    more: dict[str, object], state: str, said: str
) -> None:
    world = World()
    world.there = (installed(**more),)
    finding = of(await world.findings(), "installed: acme")
    assert finding.state == state
    assert said in finding.message


async def test_jobs_that_cannot_be_run_again_are_a_note() -> None:
    world = World()
    world.there = (installed(permissions=dict(NEEDED)),)
    notes = [one for one in await world.findings() if one.state == "note"]
    assert len(notes) == 1
    assert "actions: write" in notes[0].message


async def test_boxes_without_their_event_are_a_note() -> None:
    world = World()
    world.there = (installed(permissions={**GRANTED, "issues": "write"}),)
    (note,) = [one for one in await world.findings() if one.state == "note"]
    assert "not subscribed to issues" in note.message
    world.there = (
        installed(permissions={**GRANTED, "issues": "write"}, events=(*EVENTS, "issues")),
    )
    assert [one for one in await world.findings() if one.state == "note"] == []


async def test_an_app_that_is_installed_nowhere_is_told_where_to() -> None:
    world = World()
    world.there = ()
    assert (
        "https://github.com/apps/fixer/installations/new"
        in of(await world.findings(), "installations").advice
    )


async def test_webhooks_that_go_elsewhere_are_told() -> None:
    world = World()
    world.url = "https://old.example.com/webhook"
    finding = of(await world.findings("https://bot.example.com"), "webhook")
    assert finding.state == "missing"
    assert "old.example.com" in finding.message
    world.url = ""
    assert "no webhook URL" in of(await world.findings(), "webhook").message


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "METAAGENT_WEBHOOK_SECRET"),
        (404, "/webhook"),
        (502, "cannot reach"),
        (504, "serve"),
        (500, "log"),
    ],
)
async def test_why_webhooks_do_not_arrive_is_said(status: int, advice: str) -> None:
    finding = deliveries_finding(URL, (delivery(status, "2026-01-02T00:00:00Z"), delivery(202)))
    assert finding.state == "missing"
    assert f"1 of 2 did not arrive, the last with status {status}" in finding.message
    assert advice in finding.advice


async def test_a_delivery_that_came_through_in_the_end_is_not_lost() -> None:
    again = (delivery(202, "2026-01-02T00:00:00Z", "g"), delivery(502, "2026-01-01T00:00:00Z", "g"))
    assert deliveries_finding(URL, again).state == "ok"


async def test_trouble_that_is_over_is_a_note() -> None:
    over = (delivery(202, "2026-01-02T00:00:00Z"), delivery(502, "2026-01-01T00:00:00Z"))
    assert deliveries_finding(URL, over).state == "note"


async def test_silence_is_a_note() -> None:
    assert deliveries_finding(URL, ()).state == "note"


@pytest.mark.parametrize(
    ("workflows", "state", "said"),
    [
        ((), "note", "no workflow"),
        ((WorkflowTriggers(path="a"),), "missing", "no CI runs on our fixes"),
        ((WorkflowTriggers(path="a", on_our_branch=True),), "ok", "CI runs"),
        ((WorkflowTriggers(path="a", on_default=True, on_feature=True),), "ok", "CI runs"),
        ((WorkflowTriggers(path="a", on_default=True),), "note", "not on those of pull requests"),
        ((WorkflowTriggers(path="a", problem="line 1: x"),), "note", "could not be read"),
        (
            (WorkflowTriggers(path="a"), WorkflowTriggers(path="b", on_our_branch=True)),
            "ok",
            "CI runs",
        ),
    ],
)
async def test_whether_ci_judges_our_fixes_is_said(
    workflows: tuple[WorkflowTriggers, ...], state: str, said: str
) -> None:
    finding = ci_finding(REPOSITORY, workflows)
    assert finding.state == state
    assert said in finding.message


async def test_a_workflow_that_is_switched_off_does_not_count() -> None:
    world = World()
    world.off = (".github/workflows/ci.yml",)
    assert "disabled: .github/workflows/ci.yml" in of(await world.findings(), "acme/shop").message


async def test_github_refusing_one_answer_costs_one_line() -> None:
    world = World()
    world.fails = "workflows"
    found = await world.findings()
    assert of(found, "acme/shop").message == "GitHub is tired"
    assert of(found, "webhook").state == "ok"


async def test_of_many_repositories_the_first_are_looked_at() -> None:
    world = World()
    world.repositories_there = tuple(
        REPOSITORY.with_(id=n, name=f"r{n}") for n in range(MOST_REPOSITORIES + 2)
    )
    found = await world.findings()
    assert sum(one.subject.startswith("acme/") for one in found) == MOST_REPOSITORIES
    assert "first 20 of 22" in of(found, "repositories").message
