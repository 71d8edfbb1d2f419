"""A fix is handed over as the policy wants it, once, and remembered."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from typing_extensions import override

from bot.domain.github import BranchRules, CommitState, PullRequestFile
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.patch import Choice, Rung, VerifiedRun
from bot.domain.policy import DeliveryRule, PolicyLimits, RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import Answer
from bot.domain.verdict import Route
from bot.errors import GitHubError, NotPermitted, StoreError
from bot.publish.publisher import publish_outcome
from bot.publish.services import PublishServices
from bot.publish.story import build_story, patch_id
from sandbox.types import FileEdit, TrustTier
from tests.builders import (
    DIFF,
    HEAD,
    a_commanded_request,
    a_confidence,
    a_green_report,
    a_mission,
    a_pull_request,
    a_report,
    a_request,
    a_verification,
    an_iteration,
)
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_registry import MemoryRegistry

pytestmark = pytest.mark.anyio
NEWER, NEWEST = "d" * 40, "e" * 40
RED_PULL = 5
OTHER_DIFF = DIFF.replace("return a + b", "return b + a")


class DeadRegistry(MemoryRegistry):
    """A registry whose disk is full."""

    @override
    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        raise StoreError("the disk is full")

    @override
    async def offer(self, fix: OfferedFix) -> None:
        raise StoreError("the disk is full")


@dataclass
class World:
    """One repository with its branch `main` red, and what we remember of it."""

    github: FakeGitHub = field(default_factory=FakeGitHub)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)

    def __post_init__(self) -> None:
        self.move(HEAD)
        self.github.branches["feature/x"] = HEAD
        self.github.pulls[RED_PULL] = a_pull_request(
            number=RED_PULL, head_ref="main", head_sha=HEAD, author="ada"
        )
        self.github.pull_files[RED_PULL] = (
            PullRequestFile(path="calculator.py", patch="@@ -0,0 +1,9 @@\n"),
        )

    def move(self, sha: str) -> None:
        self.github.branches["main"] = sha

    async def publish(
        self, context: MissionContext, *, confidence: float | None = 0.9
    ) -> Publication:
        services = PublishServices(self.github, "metaagent", self.registry)
        return await publish_outcome(
            build_story(context, confidence=Confidence(value=confidence)), services
        )

    @property
    def ours(self) -> list[int]:
        """Our open pull requests."""
        return [
            n
            for n, pull in self.github.pulls.items()
            if pull.state == "open" and pull.author == self.github.bot
        ]

    @property
    def states(self) -> dict[int | None, FixState]:
        return {fix.pull_request: fix.state for fix in self.registry.fixes.values()}


def fixed(number: int = 1, *, sha: str = HEAD, diff: str = DIFF, **changes: Any) -> MissionContext:
    request = a_request(mission_id=f"m-{number}", head_sha=sha, pull_request=RED_PULL)
    mission = a_mission(
        mission_id=request.mission_id,
        request=request,
        iterations=(an_iteration(verification=a_verification(diff=diff)),),
        created_at=f"2026-01-02T03:04:{number:02}+00:00",
    )
    return mission.with_(**changes)


def policy(deliver: str, **rule: Any) -> RepositoryPolicy:
    return RepositoryPolicy(deliver=(DeliveryRule.model_validate({"deliver": deliver} | rule),))


# --- one live pull request for each failure -----------------------------------------------------------


async def test_what_was_offered_is_remembered_with_all_it_takes_to_undo_it() -> None:
    world = World()
    publication = await world.publish(fixed())
    (fix,) = world.registry.fixes.values()
    assert (fix.pull_request, fix.branch, fix.commit) == (
        publication.pull_request,
        publication.branch,
        publication.commit,
    )
    assert (fix.base_branch, fix.head_sha, fix.for_pull_request) == ("main", HEAD, RED_PULL)
    assert fix.checks == ("tests",)
    assert fix.files == {"calculator.py": "100644"}
    assert fix.patch_id == patch_id(DIFF)
    assert publication.way == "pull-request"


async def test_the_same_failure_on_three_commits_with_the_same_change_is_one_pull_request() -> None:
    world = World()
    first = await world.publish(fixed())
    for number, sha in ((2, NEWER), (3, NEWEST)):
        world.move(sha)
        again = await world.publish(fixed(number, sha=sha))
        assert (again.outcome, again.pull_request) == (Outcome.FIXED, first.pull_request)
    assert world.ours == [first.pull_request]
    assert NEWEST[:12] in world.github.pulls[world.ours[0]].body
    assert [fix.head_sha for fix in world.registry.fixes.values()] == [NEWEST]


async def test_another_change_for_a_newer_commit_takes_the_place_of_the_old_one() -> None:
    world = World()
    first = await world.publish(fixed())
    world.move(NEWER)
    second = await world.publish(fixed(2, sha=NEWER, diff=OTHER_DIFF))
    assert world.ours == [second.pull_request]
    assert world.states == {
        first.pull_request: FixState.SUPERSEDED,
        second.pull_request: FixState.OPEN,
    }
    assert first.branch not in world.github.branches
    (word,) = [comment for comment in world.github.comments if comment.number == first.pull_request]
    assert f"/pull/{second.pull_request}" in word.body


@pytest.mark.parametrize(
    "lost", ["open_pull_request", "comment", "close_pull_request", "delete_branch", "publish_check"]
)
async def test_a_replacement_that_died_on_the_way_is_finished_and_nothing_is_made_twice(
    lost: str,
) -> None:
    world = World()
    await world.publish(fixed())
    world.move(NEWER)
    world.github.after[lost] = [GitHubError("the connection broke", retryable=True)]
    newer = fixed(2, sha=NEWER, diff=OTHER_DIFF)
    with pytest.raises(GitHubError):
        await world.publish(newer)
    publication = await world.publish(newer)
    assert world.ours == [publication.pull_request]
    assert sorted(state.value for state in world.states.values()) == ["open", "superseded"]
    assert len(world.github.comments) == 1
    assert len(world.github.pulls) == 3


async def test_a_commit_that_was_red_before_is_told_of_the_fix_that_waits() -> None:
    world = World()
    first = await world.publish(fixed())
    world.move(NEWER)
    request = a_request(mission_id="m-2", head_sha=NEWER)
    await world.publish(a_mission(Outcome.BASE_RED, mission_id="m-2", request=request))
    assert world.github.checks[-1].sha == NEWER
    assert f"pull request #{first.pull_request}" in world.github.checks[-1].updates[-1].summary
    elsewhere = a_request(mission_id="m-3", head_sha=NEWER, head_branch="other")
    await world.publish(a_mission(Outcome.BASE_RED, mission_id="m-3", request=elsewhere))
    assert "open already" not in world.github.checks[-1].updates[-1].summary


async def test_two_missions_of_one_commit_make_one_pull_request() -> None:
    world = World()
    first = await world.publish(fixed())
    second = await world.publish(fixed(2, diff=OTHER_DIFF))
    assert (second.outcome, second.pull_request) == (Outcome.DUPLICATE, first.pull_request)
    assert world.ours == [first.pull_request]


async def test_a_fix_that_a_person_pushed_to_is_theirs() -> None:
    world = World()
    first = await world.publish(fixed())
    assert first.pull_request is not None
    theirs = "f" * 40
    world.github.commits[theirs] = world.github.commits[first.commit or ""].with_(
        sha=theirs, message="my own idea"
    )
    world.github.pulls[first.pull_request] = world.github.pulls[first.pull_request].with_(
        head_sha=theirs
    )
    body = world.github.pulls[first.pull_request].body
    world.move(NEWER)
    second = await world.publish(fixed(2, sha=NEWER, diff=OTHER_DIFF))
    assert second.outcome is Outcome.DUPLICATE
    assert "has taken over the open fix" in (second.skipped or "")
    assert world.ours == [first.pull_request]
    assert world.github.pulls[first.pull_request].body == body


async def test_ticks_stay_when_the_text_is_brought_up_to_date() -> None:
    world = World()
    first = await world.publish(fixed())
    assert first.pull_request is not None
    pull = world.github.pulls[first.pull_request]
    world.github.pulls[pull.number] = pull.with_(
        body=pull.body.replace("- [ ] The cause and", "- [x] The cause and")
    )
    await world.publish(fixed(seconds=99.5))
    body = world.github.pulls[pull.number].body
    assert "| seconds | 99.5 |" in body
    assert "- [x] The cause and the change are right" in body
    assert body.count("- [x]") == 1


# --- what people refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [FixState.CLOSED, FixState.REVERTED])
async def test_a_refused_change_is_not_offered_again_whatever_it_is_called_by_now(
    state: FixState,
) -> None:
    world = World()
    await world.publish(fixed())
    (fix,) = world.registry.fixes.values()
    world.registry.fixes = {
        fix.key: fix.with_(state=state, fingerprint="other", base_branch="other")
    }
    world.github.pulls = {RED_PULL: world.github.pulls[RED_PULL]}
    world.move(NEWER)
    moved = fixed(2, sha=NEWER, diff=DIFF.replace("@@ -1,2 +1,2 @@", "@@ -7,2 +9,2 @@"))
    publication = await world.publish(moved)
    assert publication.outcome is Outcome.DUPLICATE
    assert "not offer it again unless asked" in (publication.skipped or "")
    assert world.ours == []


async def test_a_person_gets_a_refused_change_who_asks_for_it() -> None:
    world = World()
    await world.publish(fixed())
    (fix,) = world.registry.fixes.values()
    world.registry.fixes[fix.key] = fix.with_(state=FixState.REVERTED)
    request = a_commanded_request(mission_id="m-asked")
    assert (
        await world.publish(fixed(2, request=request, mission_id="m-asked"))
    ).way == "pull-request"


@pytest.mark.parametrize("state", [FixState.SUPERSEDED, FixState.EXPIRED])
async def test_what_we_took_back_ourselves_is_offered_again(state: FixState) -> None:
    world = World()
    first = await world.publish(fixed())
    assert first.pull_request is not None
    (fix,) = world.registry.fixes.values()
    world.registry.fixes[fix.key] = fix.with_(state=state)
    world.github.pulls[first.pull_request] = world.github.pulls[first.pull_request].with_(
        state="closed"
    )
    world.move(NEWER)
    second = await world.publish(fixed(2, sha=NEWER))
    assert second.outcome is Outcome.FIXED
    assert world.ours == [second.pull_request]


async def test_a_verdict_that_came_while_we_published_is_not_forgotten() -> None:
    world = World()
    await world.publish(fixed())
    (fix,) = world.registry.fixes.values()
    world.registry.fixes[fix.key] = fix.with_(state=FixState.CLOSED)
    assert (await world.publish(fixed())).outcome is Outcome.FIXED
    assert [row.state for row in world.registry.fixes.values()] == [FixState.CLOSED]


async def test_without_a_registry_github_alone_tells_what_is_offered() -> None:
    world = World()
    services = PublishServices(world.github, "metaagent")
    first = await publish_outcome(build_story(fixed()), services)
    world.move(NEWER)
    same = await publish_outcome(build_story(fixed(2, sha=NEWER)), services)
    assert same.pull_request == first.pull_request
    world.move(NEWEST)
    other = await publish_outcome(build_story(fixed(3, sha=NEWEST, diff=OTHER_DIFF)), services)
    assert world.ours == [other.pull_request]
    world.github.pulls[other.pull_request or 0] = world.github.pulls[other.pull_request or 0].with_(
        state="closed"
    )
    world.move("9" * 40)
    again = await publish_outcome(build_story(fixed(4, sha="9" * 40, diff=OTHER_DIFF)), services)
    assert again.outcome is Outcome.DUPLICATE


async def test_a_broken_registry_costs_memory_and_not_the_fix() -> None:
    world = World(registry=DeadRegistry())
    publication = await world.publish(fixed())
    assert world.ours == [publication.pull_request]


# --- limits and rules ------------------------------------------------------------------------------------


async def test_no_more_pull_requests_are_opened_than_the_policy_allows_and_the_fix_waits_for_a_word() -> (
    None
):
    world = World()
    for number in (31, 32):
        world.github.pulls[number] = a_pull_request(
            number=number, head_ref=f"metaagent/other/{number}"
        )
    limited = RepositoryPolicy(limits=PolicyLimits(open_pull_requests=2))
    publication = await world.publish(fixed(policy=limited))
    assert world.ours == [31, 32]
    assert publication.outcome is Outcome.FIXED
    assert "the limit of 2" in (publication.skipped or "")
    assert ("m-1" in [name for _, name in world.registry.proposals]) is True
    update = world.github.checks[0].updates[-1]
    assert [action.identifier for action in update.actions] == ["apply", "fix", "off"]
    assert "/metaagent apply" in update.summary
    request = a_commanded_request(mission_id="m-asked")
    asked = fixed(2, request=request, mission_id="m-asked", policy=limited)
    assert (await world.publish(asked)).way == "pull-request"


async def test_a_fix_that_replaces_one_needs_no_more_room() -> None:
    world = World()
    limited = RepositoryPolicy(limits=PolicyLimits(open_pull_requests=1))
    await world.publish(fixed(policy=limited))
    world.move(NEWER)
    second = await world.publish(fixed(2, sha=NEWER, diff=OTHER_DIFF, policy=limited))
    assert world.ours == [second.pull_request]


async def test_files_the_policy_protects_are_not_touched() -> None:
    world = World()
    publication = await world.publish(fixed(policy=RepositoryPolicy(paths_protected=("calc*.py",))))
    assert publication.outcome is Outcome.POLICY
    assert world.ours == []
    assert "commit_on_new_branch" not in world.github.calls


async def test_labels_and_reviewers_are_as_the_policy_wants() -> None:
    world = World()
    publication = await world.publish(
        fixed(policy=RepositoryPolicy(labels=("fix", "bot"), reviewers=("ada",)))
    )
    assert publication.pull_request is not None
    assert world.github.pull_labels[publication.pull_request] == ["fix", "bot"]
    assert world.github.reviewers[publication.pull_request] == ["ada"]


async def test_reviewers_are_asked_once_however_many_commits_the_fix_is_for() -> None:
    world, wanted = World(), RepositoryPolicy(reviewers=("ada",))
    for number, sha in ((1, HEAD), (2, NEWER)):
        world.move(sha)
        await world.publish(fixed(number, sha=sha, policy=wanted))
    assert world.github.calls.count("request_reviewers") == 1


async def test_a_label_that_may_not_be_given_costs_only_the_label() -> None:
    world = World()
    world.github.faults["add_labels"] = [NotPermitted("no", status=403)]
    publication = await world.publish(fixed(policy=RepositoryPolicy(labels=("fix",))))
    assert world.ours == [publication.pull_request]


async def test_the_policy_may_want_words_only() -> None:
    world = World()
    publication = await world.publish(fixed(policy=policy("report")))
    assert (publication.outcome, publication.way, publication.pull_request) == (
        Outcome.FIXED,
        None,
        None,
    )
    assert "+    return a + b" in world.github.checks[0].updates[-1].summary


# --- straight into the branch ------------------------------------------------------------------------------


async def test_a_push_is_one_commit_on_the_red_branch() -> None:
    world = World()
    publication = await world.publish(fixed(policy=policy("push", rungs=(1,), min_confidence=0.8)))
    assert (publication.way, publication.branch) == ("push", "main")
    assert world.github.branches["main"] == publication.commit
    assert world.ours == []
    (fix,) = world.registry.fixes.values()
    assert (fix.branch, fix.commit, fix.pull_request) == ("main", publication.commit, None)
    assert "Pushed to `main`" in world.github.checks[0].updates[-1].summary


@pytest.mark.parametrize("lost", ["commit_on_branch", "publish_check"])
async def test_a_push_whose_answer_was_lost_is_not_made_twice(lost: str) -> None:
    world = World()
    world.github.after[lost] = [GitHubError("the connection broke", retryable=True)]
    context = fixed(policy=policy("push"))
    with pytest.raises(GitHubError):
        await world.publish(context)
    publication = await world.publish(context)
    assert (publication.outcome, publication.commit) == (
        Outcome.FIXED,
        world.github.branches["main"],
    )
    assert len(world.github.edits) == 1


@pytest.mark.parametrize(
    ("rule", "confidence"),
    [
        ({"rungs": (0,)}, 0.9),
        ({"min_confidence": 0.95}, 0.9),
        ({"paths": ("docs/**",)}, 0.9),
        ({"min_confidence": 0.1}, None),
    ],
)
async def test_a_push_needs_rung_path_and_confidence(
    rule: dict[str, Any], confidence: float | None
) -> None:
    world = World()
    publication = await world.publish(fixed(policy=policy("push", **rule)), confidence=confidence)
    assert publication.way == "pull-request"
    assert world.github.branches["main"] == HEAD


async def test_what_something_speaks_against_is_not_pushed() -> None:
    world = World()
    doubted = an_iteration(verification=a_verification(doubts=("one run was slow",)))
    assert (
        await world.publish(fixed(policy=policy("push"), iterations=(doubted,)))
    ).way == "pull-request"


@pytest.mark.parametrize("runner", ["command", "junit", "diagnostics", "go test"])
@pytest.mark.parametrize("seen", ["red", "green"])
async def test_a_verdict_by_exit_status_is_never_pushed_whatever_the_policy(
    runner: str, seen: str
) -> None:
    """An exit status can be faked without a trace: a draft, no commit on the branch, for people who ask too."""
    world, weak = World(), a_green_report(runner=runner)
    runs = tuple(VerifiedRun(label="full command", report=weak) for _ in range(2))
    proof = a_verification(runs=runs) if seen == "green" else a_verification()
    red = a_report(runner=runner if seen == "red" else "pytest")
    for number, request in enumerate(
        (fixed().request, a_commanded_request(head_sha=HEAD)), start=1
    ):
        context = fixed(
            number,
            iterations=(an_iteration(verification=proof),),
            test_results=red,
            request=request,
        )
        publication = await world.publish(context.with_(policy=policy("push")), confidence=1.0)
        assert publication.way == "pull-request"
        assert world.github.branches["main"] == HEAD
        assert "commit_on_branch" not in world.github.calls
    assert world.ours
    assert set(world.ours) <= world.github.drafts


@pytest.mark.parametrize("route", [route for route in Route if route is not Route.EXECUTE])
async def test_caution_before_acting_is_a_draft_and_never_pushed(route: Route) -> None:
    world, careful = World(), an_iteration(confidence=a_confidence(action=route, overall=0.65))
    context = fixed(iterations=(careful,), policy=policy("push"))
    publication = await world.publish(context, confidence=1.0)
    assert publication.way == "pull-request"
    assert world.github.branches["main"] == HEAD
    assert publication.pull_request in world.github.drafts
    assert publication.pull_request is not None
    assert "so pull requests are drafts" in world.github.pulls[publication.pull_request].body


async def test_a_verdict_by_records_of_each_test_is_no_draft_unasked() -> None:
    world = World()
    publication = await world.publish(fixed())
    assert publication.pull_request not in world.github.drafts


@pytest.mark.parametrize(
    "rules", [BranchRules(needs_pull_request=True), BranchRules(no_update=True)]
)
async def test_a_branch_that_takes_no_push_gets_a_pull_request(rules: BranchRules) -> None:
    world = World()
    world.github.rules["main"] = rules
    assert (await world.publish(fixed(policy=policy("push")))).way == "pull-request"


async def test_a_branch_that_refuses_at_the_last_moment_gets_a_pull_request() -> None:
    world = World()
    world.github.faults["commit_on_branch"] = [NotPermitted("rules", status=403)]
    assert (await world.publish(fixed(policy=policy("push")))).way == "pull-request"


async def test_nothing_is_pushed_to_a_branch_that_moved() -> None:
    world = World()
    world.move(NEWER)
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message="a person's", author="ada"
    )
    publication = await world.publish(fixed(policy=policy("push")))
    assert publication.outcome is Outcome.STALE
    assert world.github.branches["main"] == NEWER


# --- suggestions -------------------------------------------------------------------------------------------


async def test_a_fix_inside_the_pull_requests_diff_is_suggested_there() -> None:
    world = World()
    publication = await world.publish(fixed(policy=policy("suggest")))
    (review,) = world.github.reviews
    assert (publication.way, publication.review, review.number) == ("suggest", review.id, RED_PULL)
    assert [(s.path, s.start_line, s.text) for s in review.suggestions] == [
        ("calculator.py", 2, "    return a + b")
    ]
    assert "metaagent:mission=m-1" in review.body
    assert world.ours == []
    await world.publish(fixed(policy=policy("suggest")))
    assert len(world.github.reviews) == 1


async def test_a_fix_outside_of_it_becomes_a_pull_request() -> None:
    world = World()
    world.github.pull_files[RED_PULL] = (
        PullRequestFile(path="other.py", patch="@@ -0,0 +1,9 @@\n"),
    )
    assert (await world.publish(fixed(policy=policy("suggest")))).way == "pull-request"


async def test_nothing_is_suggested_in_a_pull_request_that_moved() -> None:
    world = World()
    world.github.pulls[RED_PULL] = world.github.pulls[RED_PULL].with_(head_sha=NEWER)
    assert (await world.publish(fixed(policy=policy("suggest")))).outcome is Outcome.STALE


@pytest.mark.parametrize("deliver", ["pull-request", "push", "report"])
async def test_a_fork_is_never_pushed_to_whatever_the_policy_says(deliver: str) -> None:
    world = World()
    request = a_request(
        mission_id="m-1", tier=TrustTier.FORK, pull_request=RED_PULL, head_branch="main"
    )
    publication = await world.publish(fixed(request=request, policy=policy(deliver)))
    assert not {"commit_on_new_branch", "commit_on_branch", "open_pull_request"} & set(
        world.github.calls
    )
    assert (publication.outcome, publication.way) == (Outcome.FIXED, None)
    assert "+    return a + b" in world.github.comments[0].body
    assert [name for _, name in world.registry.proposals] == ["m-1"]


async def test_a_fork_may_get_suggestions() -> None:
    world = World()
    request = a_request(
        mission_id="m-1", tier=TrustTier.FORK, pull_request=RED_PULL, head_branch="main"
    )
    assert (await world.publish(fixed(request=request, policy=policy("suggest")))).way == "suggest"


# --- what a person decides -----------------------------------------------------------------------------------


async def test_a_question_is_kept_with_its_answers_and_shown_on_the_pull_request() -> None:
    world = World()
    other = FileEdit(path="calculator.py", mode="100644", content=b"y")
    choices = (
        Choice(
            title="use + in add",
            diff="d1",
            edits=a_verification().edits,
            rung=Rung.SEARCH,
            verified=True,
        ),
        Choice(title="calculator.py: use abs()", diff="d2", edits=(other,), rung=Rung.SEARCH),
    )
    context = fixed().with_(outcome=Outcome.NEEDS_HUMAN, question="+ or abs()?", choices=choices)
    await world.publish(context)
    proposal = await world.registry.proposal(42, pull_request=RED_PULL)
    assert proposal is not None
    assert [change.title for change in proposal.changes] == [
        "use + in add",
        "calculator.py: use abs()",
    ]
    assert proposal.changes[0].edits == a_verification().edits
    assert proposal.changes[1].edits == (other,)
    assert world.github.pull_labels[RED_PULL] == ["metaagent:needs-human"]
    (comment,) = world.github.comments
    assert re.search(
        r"^1\. use .{1,2} in add\n2\. `calculator.py`: use abs", comment.body, re.MULTILINE
    )
    assert "/metaagent answer 1" in comment.body


async def test_an_answer_that_led_to_something_takes_the_label_away() -> None:
    world = World()
    world.github.pull_labels[RED_PULL] = ["metaagent:needs-human", "theirs"]
    request = a_commanded_request(pull_request=RED_PULL, answer=Answer(proposal_id="m-0", choice=1))
    await world.publish(fixed(request=request))
    assert world.github.pull_labels[RED_PULL] == ["theirs"]


@pytest.mark.parametrize(
    ("tier", "way"), [(TrustTier.BRANCH, "pull-request"), (TrustTier.FORK, "suggest")]
)
async def test_what_was_only_shown_is_handed_over_to_a_person_who_takes_it(
    tier: TrustTier, way: str
) -> None:
    world = World()
    answer = Answer(proposal_id="m-0", choice=1)
    request = a_commanded_request(
        pull_request=RED_PULL, head_branch="main", tier=tier, answer=answer
    )
    assert (await world.publish(fixed(request=request, policy=policy("report")))).way == way


async def test_a_decided_proposal_stays_decided() -> None:
    world = World()
    context = fixed(policy=policy("report"))
    await world.publish(context)
    ((key, proposal),) = world.registry.proposals.items()
    world.registry.proposals[key] = proposal.with_(decided="rejected")
    await world.publish(context)
    assert world.registry.proposals[key].decided == "rejected"
