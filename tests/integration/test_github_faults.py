"""Every bad day GitHub can have, met while a fix is published: it ends well or in an error that says what it is.

Whatever happens, doing it all again leaves one branch, one pull request, one comment, one check run and one review.
"""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic import SecretStr

from bot.domain.github import BranchCommit, CheckAnnotation, CheckUpdate, Suggestion
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, GitHubError, NotPermitted, RateLimited
from bot.github.gateway import GitHubGateway, TokenGateway
from sandbox.types import FileEdit
from tests.github_server.faults import Faults
from tests.github_server.fixtures import app_key
from tests.github_server.server import LocalGitHub, Options, strict_github

__all__ = ["app_key"]

pytestmark = pytest.mark.anyio
BRANCH, MARKER = "metaagent/feature/01234567", "<!-- metaagent: m-1 -->"
EDIT = FileEdit(path="calculator.py", mode="100644", content=b"def add(a, b):\n    return a + b\n")
SCRIPT = FileEdit(path="run.sh", mode="100755", content=b"#!/bin/sh\n")


class Day:
    """A repository of its own on a local GitHub, with a red pull request."""

    def __init__(self, server: LocalGitHub, name: str) -> None:
        self.server, self.faults, self.name = server, server.faults, f"octo/{name}"
        made = server.create_repository(
            "octo", name, {"calculator.py": "def add(a, b):\n    return 0\n"}
        )
        self.head = server.push(
            self.name, "feature", {"calculator.py": "def add(a, b):\n    return a - b\n"}
        )
        self.pull = server.open_pull_request(self.name, "feature").number
        self.asked = server.review_comment(
            self.name, self.pull, "octo", "why?", path="calculator.py", line=2
        ).id
        self.repository = RepositoryRef(id=made.id, owner="octo", name=name)
        self.gateway: GitHubGateway | TokenGateway = self.new_gateway()

    def new_gateway(self) -> GitHubGateway:
        """One that remembers nothing."""
        key = SecretStr(self.server.private_key_pem)
        return GitHubGateway(str(self.server.app_id), key, self.server.api_url, write_pause_s=0)

    async def publish(self, *edits: FileEdit) -> None:
        """What publishing comes down to."""
        gateway, repository = self.gateway, self.repository
        commit = BranchCommit(
            branch=BRANCH, parent=self.head, message="Fix add\n\nMetaAgent-Mission: m-1"
        )
        await gateway.commit_on_new_branch(repository, commit, edits or (EDIT,))
        if not await gateway.pull_requests_from(repository, BRANCH):
            words = {"head": BRANCH, "base": "feature", "title": "Fix add", "body": MARKER}
            await gateway.open_pull_request(repository, **words, draft=False)
        await gateway.comment(repository, self.pull, f"a fix {MARKER}", marker=MARKER)
        note = CheckAnnotation(path="calculator.py", line=2, message="here")
        update = CheckUpdate(
            status="completed", title="t", summary="s", annotations=(note,), external_id="m-1"
        )
        await gateway.publish_check(repository, self.head, update)
        lines = Suggestion(
            path="calculator.py", start_line=2, end_line=2, text="    return a + b\n"
        )
        await gateway.suggest(
            repository, self.pull, head_sha=self.head, body="look", suggestions=(lines,)
        )
        await gateway.reply_in_review(
            repository, self.pull, self.asked, f"so {MARKER}", marker=MARKER
        )
        await gateway.add_labels(repository, self.pull, ("metaagent:needs-human",))

    def traces(self, me: str = "metaagent[bot]") -> dict[str, int]:
        """How much of everything we left."""
        server, world = self.server, self.server.world
        ours = [one for one in server.review_comments(self.name, self.pull) if one.user == me]
        head = server.store(self.name).ref(f"refs/heads/{BRANCH}") or ""
        # Two repositories of one second have the same commits.
        mine = [run for run in world.check_runs.values() if run.repository == self.repository.id]
        checks = [run for run in mine if run.external_id == "m-1"]
        return {
            "commits": len(server.store(self.name).history(f"{self.head}..{head}")) if head else 0,
            "pulls": len(server.pull_requests(self.name)) - 1,
            "comments": len(server.comments(self.name, self.pull)),
            "checks": len(checks),
            "annotations": sum(len(run.annotations) for run in checks),
            "suggestions": sum(one.reply_to is None for one in ours),
            "answers": sum(one.reply_to is not None for one in ours),
        }


ONCE = {
    "commits": 1,
    "pulls": 1,
    "comments": 1,
    "checks": 1,
    "annotations": 1,
    "suggestions": 1,
    "answers": 1,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, app_key: str) -> Iterator[LocalGitHub]:
    """One local GitHub for all days: a repository each. The contract checks what is sent; here it would take long."""
    options = Options(tmp_path_factory.mktemp("github"), private_key_pem=app_key)
    with strict_github(options) as running:
        yield running


@pytest.fixture
async def day(server: LocalGitHub, request: pytest.FixtureRequest) -> AsyncIterator[Day]:
    number = len(server.world.repositories)
    built = Day(server, f"day-{number}")
    yield built
    faults = server.faults
    faults.queue.clear()
    faults.unsigned_rest = False
    faults.fresh_token_failures, faults.page_size, faults.log_misses = 0, None, 0
    server.suspend("octo", suspended=False)
    await built.gateway.aclose()


def unsigned(day: Day) -> Faults:
    """GitHub signs only what GraphQL commits."""
    day.faults.unsigned_rest = True
    return day.faults


WRITES = (
    "/git/refs",
    "/graphql",
    "/pulls",
    "/comments",
    "/check-runs",
    "/reviews",
    "/replies",
    "/labels",
)


def many_at_once(day: Day) -> None:
    """What is met by trying again, all on one day."""
    day.faults.fresh_token_failures = 1
    day.faults.secondary_limit("POST", "/pulls", retry_after=1)
    day.faults.add("GET", "/pulls", 503)
    day.faults.add("POST", "/access_tokens", 502)


MET: dict[str, Callable[[Day], object]] = {
    "tokens, outages, a short limit": many_at_once,
    "pages of one item": lambda day: setattr(day.faults, "page_size", 1),
    "a commit whose answer is lost": lambda day: unsigned(day).add(
        "POST", "/graphql", 502, after=True
    ),
    "a branch of the red commit whose answer is lost": lambda day: unsigned(day).add(
        "POST", "/git/refs", 502, after=True
    ),
    "a branch whose answer is lost": lambda day: day.faults.add(
        "POST", "/git/refs", 502, after=True
    ),
}
LIMITS: dict[str, Callable[[Day], object]] = {
    "one that names its time": lambda day: day.faults.secondary_limit(
        "POST", "/pulls", retry_after=30
    ),
    "one without a time": lambda day: day.faults.secondary_limit("POST", "/check-runs"),
    "the hour is used up": lambda day: day.faults.primary_limit("POST", "/git/blobs"),
    "a bare 429": lambda day: day.faults.too_many("POST", "/reviews"),
    "while looking": lambda day: day.faults.secondary_limit("GET", "/comments"),
}


@pytest.mark.parametrize("plan", MET.values(), ids=MET)
async def test_a_bad_day_is_met_without_anybody_noticing(
    day: Day, plan: Callable[[Day], object]
) -> None:
    plan(day)
    await day.publish()
    await day.publish()
    assert day.traces() == ONCE


async def test_every_limit_is_handed_back_with_its_seconds_and_what_was_begun_is_finished(
    day: Day,
) -> None:
    for plan in LIMITS.values():
        plan(day)
    for _ in LIMITS:
        with pytest.raises(RateLimited) as limited:
            await day.publish()
        assert 25 <= limited.value.retry_after_s <= 62
        asked = len(day.server.requests)
        with pytest.raises(RateLimited, match="still"):
            await day.publish()
        assert len(day.server.requests) == asked, "who is limited does not ask"
        await day.gateway.aclose()
        day.gateway = day.new_gateway()
    await day.publish()
    assert day.traces() == ONCE


@pytest.mark.parametrize("after", [False, True], ids=["nothing was done", "the answer is lost"])
async def test_writes_that_fail_are_done_once_however_often_they_are_begun(
    day: Day, *, after: bool
) -> None:
    for path in WRITES[2:]:
        day.faults.add("POST", path, 502, after=after)
    for _ in WRITES[2:]:
        with pytest.raises(GitHubError) as failed:
            await day.publish()
        assert failed.value.retryable
    await day.publish()
    assert day.traces() == ONCE


async def test_a_suspended_installation_ends_everything_by_name(day: Day) -> None:
    day.server.suspend("octo")
    with pytest.raises(NotPermitted, match="suspended"):
        await day.publish()
    day.server.suspend("octo", suspended=False)
    await day.publish()
    assert day.traces() == ONCE


async def test_a_renamed_repository_is_written_to_under_its_new_name(day: Day) -> None:
    new = f"{day.repository.name}-renamed"
    day.server.rename(day.name, new)
    await day.publish(EDIT, SCRIPT)
    day.name = f"octo/{new}"
    await day.publish(EDIT, SCRIPT)
    assert day.traces() == ONCE
    commit = BranchCommit(
        branch="feature", parent=day.head, message="where a mutation finds nothing"
    )
    sha = await day.gateway.commit_on_branch(day.repository, commit, (EDIT,))
    assert day.server.store(day.name).ref("refs/heads/feature") == sha


async def test_a_change_of_workflows_is_refused_by_name(day: Day) -> None:
    workflow = FileEdit(path=".github/workflows/ci.yml", mode="100644", content=b"on: push\n")
    with pytest.raises(NotPermitted):
        await day.publish(workflow)
    assert day.traces()["commits"] == 0


async def test_somebody_elses_pull_request_for_our_branch_is_a_conflict(day: Day) -> None:
    day.server.push(day.name, BRANCH, {"other.py": "x = 1\n"}, start="feature")
    with pytest.raises(Conflict):
        await day.publish()


async def test_a_branch_that_moves_meanwhile_is_never_forced(day: Day) -> None:
    moved = day.server.push(day.name, "feature", {"other.py": "x = 1\n"})
    commit = BranchCommit(branch="feature", parent=day.head, message="late")
    for edits in ((EDIT,), (EDIT, SCRIPT)):
        with pytest.raises(Conflict):
            await day.gateway.commit_on_branch(day.repository, commit, edits)
    assert day.server.store(day.name).ref("refs/heads/feature") == moved


async def test_a_branch_that_takes_no_push_says_so(day: Day) -> None:
    day.server.set_rules(day.name, "feature", "pull_request")
    commit = BranchCommit(branch="feature", parent=day.head, message="direct")
    for edits in ((EDIT,), (EDIT, SCRIPT)):
        with pytest.raises(NotPermitted):
            await day.gateway.commit_on_branch(day.repository, commit, edits)
    assert day.server.store(day.name).ref("refs/heads/feature") == day.head


@pytest.mark.parametrize("unsigned_rest", [False, True])
async def test_where_signatures_are_demanded_the_fix_is_signed(
    day: Day, *, unsigned_rest: bool
) -> None:
    day.faults.unsigned_rest = unsigned_rest
    day.server.set_rules(day.name, BRANCH, "required_signatures")
    await day.publish()
    head = day.server.store(day.name).ref(f"refs/heads/{BRANCH}") or ""
    assert head in day.server.store(day.name).signed


async def test_a_commit_with_a_mode_keeps_it(day: Day) -> None:
    await day.publish(EDIT, SCRIPT)
    tree = day.server.store(day.name).tree(BRANCH, recursive=True)
    assert {entry.path: entry.mode for entry in tree} == {
        "calculator.py": "100644",
        "run.sh": "100755",
    }
    assert day.traces() == ONCE


async def test_what_has_not_changed_costs_nothing(day: Day) -> None:
    used = day.server.app._used
    seen = [await day.gateway.check_runs(day.repository, day.head) for _ in range(5)]
    assert seen == [()] * 5
    first = day.server.app._used - used
    day.server.third_party_check(day.name, day.head, "tests", "failure")
    (run,) = await day.gateway.check_runs(day.repository, day.head)
    assert (run.name, first) == ("tests", 1 + 2), (
        "one look, one look-up of the installation, one token"
    )


async def test_rights_end_with_the_mission(day: Day) -> None:
    await day.publish()
    held = [
        token
        for token in day.server.world.tokens.values()
        if day.repository.id in (token.repository_ids or ())
    ]
    assert len(held) >= 3
    assert all(len(token.repository_ids or ()) == 1 for token in held)
    await day.gateway.release(day.repository)
    left = [
        token
        for token in day.server.world.tokens.values()
        if day.repository.id in (token.repository_ids or ())
    ]
    assert left == []
    await day.publish()
    assert day.traces() == ONCE


async def test_a_given_token_does_the_same_work(day: Day) -> None:
    value = SecretStr(day.server.user_token("octo"))
    gateway = TokenGateway(value, day.server.api_url, write_pause_s=0)
    commit = BranchCommit(branch=BRANCH, parent=day.head, message="by hand")
    sha = await gateway.commit_on_new_branch(day.repository, commit, (EDIT,))
    assert await gateway.branch_head(day.repository, BRANCH) == sha
    for _ in range(2):
        await gateway.comment(day.repository, day.pull, f"hello {MARKER}", marker=MARKER)
    assert [comment.user for comment in day.server.comments(day.name, day.pull)] == ["octo"]
    assert await gateway.app_slug() == "octo"
    with pytest.raises(NotPermitted):
        await gateway.publish_check(
            day.repository,
            day.head,
            CheckUpdate(status="queued", title="t", summary="s", external_id="m"),
        )
    await gateway.release(day.repository)
    assert (await gateway.clone_source(day.repository)).authorization.startswith("Basic ")
    await gateway.aclose()
    assert value.get_secret_value() in day.server.world.tokens


async def test_a_workflows_own_token_publishes_as_the_app_of_actions(day: Day) -> None:
    rights = {"contents": "write", "pull_requests": "write", "checks": "write"}
    value = SecretStr(day.server.job_token(day.name, rights))
    await day.gateway.aclose()
    day.gateway = TokenGateway(value, day.server.api_url, write_pause_s=0)
    for _ in range(2):
        await day.publish()
    assert await day.gateway.app_slug() == "github-actions"
    traces = day.traces("github-actions[bot]")
    assert traces == ONCE


async def test_a_token_that_may_only_read_says_what_is_missing(day: Day) -> None:
    value = SecretStr(day.server.job_token(day.name, {"contents": "read"}))
    gateway = TokenGateway(value, day.server.api_url, write_pause_s=0)
    commit = BranchCommit(branch=BRANCH, parent=day.head, message="no right")
    assert await gateway.branch_head(day.repository, "feature") == day.head
    with pytest.raises(NotPermitted) as refused:
        await gateway.commit_on_new_branch(day.repository, commit, (EDIT,))
    assert "contents" in refused.value.advice
    await gateway.aclose()


async def test_a_token_that_is_not_known_is_refused_at_once(day: Day) -> None:
    gateway = TokenGateway(SecretStr("ghs_unknown"), day.server.api_url)
    with pytest.raises(NotPermitted):
        await gateway.branch_head(day.repository, "main")
    with pytest.raises(NotPermitted):
        await gateway.app_slug()
    await gateway.aclose()


async def test_a_log_that_comes_late_is_none_until_it_is_there(day: Day) -> None:
    day.faults.log_misses = 1
    workflow = "name: ci\non: push\njobs:\n  tests:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo red; exit 3\n"
    sha = day.server.push(day.name, "main", {".github/workflows/ci.yml": workflow})
    run = day.server.wait_for_check(sha)
    assert await day.gateway.job_log(day.repository, run.id) is None
    assert "red" in (await day.gateway.job_log(day.repository, run.id) or "")
