"""Services over fakes, with one red pull request of a branch and people of every kind."""

from typing import Any

from bot.conversation.handle import handle_command
from bot.conversation.result import Reply
from bot.domain.command import Command, Origin, Verb
from bot.domain.github import CheckRunState, PullRequestState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import OfferedFix, Proposal, ProposedChange
from bot.ports import Services
from bot.queue.memory import MemoryCheckpoint
from tests.builders import DIFF, FINGERPRINT, FIXED_SOURCE, HEAD, SOURCE, a_comment, a_repository
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_queue import MemoryQueue
from tests.fakes.memory_records import MemoryAudit, MemoryRecords
from tests.fakes.memory_registry import MemoryRegistry
from tests.services import services

BRANCH = "feature/x"
FIX_BRANCH = "metaagent/feature-x/01234567"
FIX = "c" * 40
PULL = 5
FIX_PULL = 17
MISSION = "mission:42:pr5:c1234"


class Office:
    """The services, and everything behind it to look at."""

    def __init__(self, **policy: Any) -> None:
        self.github = FakeGitHub()
        self.queue = MemoryQueue()
        self.registry = MemoryRegistry()
        self.lessons = MemoryLessons()
        self.clock = FixedClock()
        self.audit = MemoryAudit()
        self.records = MemoryRecords()
        self.policy = RepositoryPolicy(**policy)
        self.github.permissions = {"alice": "write", "root": "admin", "bob": "read"}
        self.github.branches = {BRANCH: HEAD, "main": "b" * 40}
        self.github.pulls[PULL] = a_red_pull()
        self.github.other_checks = [
            CheckRunState(
                id=number, name=name, head_sha=HEAD, conclusion="failure", app_slug="github-actions"
            )
            for number, name in ((98, "lint"), (99, "tests (3.11)"), (100, "tests (3.12)"))
        ]

    @property
    def services(self) -> Services:
        return services(
            self.github,
            policy=self.policy,
            queue=self.queue,
            registry=self.registry,
            lessons=self.lessons,
            clock=self.clock,
            audit=self.audit,
            records=self.records,
        )

    async def ask(self, command: Command) -> Reply:
        """Give a command; its values go through JSON as in the engine."""
        return await handle_command(command, self.services, MemoryCheckpoint(through_json=True))

    async def say(self, words: str, **changes: Any) -> Reply:
        """`fix tests --rungs=0` in the red pull request, by somebody with write access."""
        return await self.ask(a_command(words, **changes))

    @property
    def writes(self) -> list[str]:
        """Calls of GitHub that are no reading."""
        return [call for call in self.github.calls if call not in READING]


READING = frozenset(
    {
        "permission",
        "pull_request",
        "pull_requests_at",
        "pull_requests_from",
        "check_runs",
        "runs_at",
        "read_file",
        "branch_head",
        "pull_request_files",
    }
)


def a_command(words: str = "fix", **changes: Any) -> Command:
    """By comment in the red pull request."""
    word, *rest = words.split()
    options = dict(part.removeprefix("--").split("=", 1) for part in rest if part.startswith("--"))
    author = changes.get("author", "alice")
    return Command(
        command_id="command:42:c1234",
        verb=next((verb for verb in Verb if verb.value == word), None),
        word=word,
        target=" ".join(part for part in rest if not part.startswith("--")),
        options=options,
        repository=a_repository(),
        author=author,
        number=PULL,
        comment=a_comment(author=author),
    ).with_(**changes)


def a_tick(words: str = "fix", **changes: Any) -> Command:
    """By a box of the dashboard issue."""
    fields = {"origin": Origin.BOX, "command_id": "command:42:xd-1", "comment": None}
    return a_command(words, **{**fields, **changes})


def a_press(words: str = "fix", **changes: Any) -> Command:
    """By a button of our check run."""
    fields = {
        "origin": Origin.BUTTON,
        "command_id": "command:42:bd-1",
        "comment": None,
        "delivery_id": "d-1",
    }
    return a_command(words, **{**fields, "head_sha": HEAD, "head_branch": BRANCH, **changes})


def a_label(words: str = "fix", **changes: Any) -> Command:
    """By a label."""
    fields = {
        "origin": Origin.LABEL,
        "command_id": "command:42:ld-1",
        "comment": None,
        "delivery_id": "d-1",
    }
    return a_command(words, **{**fields, "head_sha": HEAD, "head_branch": BRANCH, **changes})


def a_red_pull(**changes: Any) -> PullRequestState:
    """Somebody's pull request, red."""
    return PullRequestState(
        number=PULL,
        state="open",
        head_sha=HEAD,
        head_ref=BRANCH,
        base_sha="b" * 40,
        base_ref="main",
        from_fork=False,
        author="alice",
    ).with_(**changes)


def a_fix(**changes: Any) -> OfferedFix:
    """Our pull request 17 with a fix of pull request 5."""
    return OfferedFix(
        repository=a_repository(),
        fingerprint=FINGERPRINT,
        base_branch=BRANCH,
        head_sha=HEAD,
        branch=FIX_BRANCH,
        commit=FIX,
        patch_id="patch-1",
        pull_request=FIX_PULL,
        for_pull_request=PULL,
        checks=("tests (3.11)",),
        files={"calculator.py": "100644"},
        mission_id=MISSION,
        at="2026-01-02T03:04:05+00:00",
    ).with_(**changes)


def a_proposal(changes: int = 1, **fields: Any) -> Proposal:
    """A question with its changes."""
    return Proposal(
        proposal_id="mission:42:old",
        repository=a_repository(),
        head_sha=HEAD,
        head_branch=BRANCH,
        pull_request=PULL,
        question="Which is meant?",
        changes=tuple(
            ProposedChange(title=f"change {n}", diff=DIFF, edits=(), patch_id=f"patch-{n}", rung=1)
            for n in range(1, changes + 1)
        ),
        at="2026-01-02T03:04:05+00:00",
    ).with_(**fields)


def put_fix(office: Office, **changes: Any) -> OfferedFix:
    """The fix is there, on GitHub and in the registry."""
    fix = a_fix(**changes)
    office.registry.fixes[fix.key] = fix
    office.github.branches[fix.branch] = fix.commit
    for ref, text in ((HEAD, SOURCE), (FIX, FIXED_SOURCE)):
        office.github.files[ref, "calculator.py"] = text.encode()
    if fix.pull_request is not None:
        office.github.pulls[fix.pull_request] = a_red_pull(
            number=fix.pull_request,
            head_sha=FIX,
            head_ref=fix.branch,
            base_ref=fix.base_branch,
            author="metaagent[bot]",
        )
    return fix


def put_proposal(office: Office, changes: int = 1, **fields: Any) -> Proposal:
    """The proposal is in the registry."""
    proposal = a_proposal(changes, **fields)
    office.registry.proposals[proposal.repository.id, proposal.proposal_id] = proposal
    return proposal
