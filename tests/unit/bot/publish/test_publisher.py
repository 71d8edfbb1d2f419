"""publish_outcome: the right traces for each outcome, and the same traces when it runs twice."""

import pytest

from bot.domain.github import CommitState
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.errors import GitHubError, NotPermitted
from bot.publish.publisher import publish_outcome
from bot.publish.services import PublishServices
from bot.publish.story import build_story
from sandbox.types import TrustTier
from tests.builders import (
    HEAD,
    a_commanded_request,
    a_folder_request,
    a_mission,
    a_pull_request,
    a_request,
    a_verification,
    an_iteration,
)
from tests.fakes.fake_github import FakeGitHub

pytestmark = pytest.mark.anyio
BRANCH = "metaagent/main/01234567"


def github() -> FakeGitHub:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    fake.branches["feature/x"] = HEAD
    return fake


async def published(context: MissionContext, fake: FakeGitHub) -> Publication:
    story = build_story(context, confidence=Confidence(value=0.9))
    return await publish_outcome(story, PublishServices(fake, "metaagent"))


async def test_a_fix_becomes_one_commit_and_one_pull_request_into_the_red_branch() -> None:
    fake = github()
    publication = await published(a_mission(), fake)
    (pull,) = fake.pulls.values()
    assert (pull.head_ref, pull.base_ref, pull.state) == (BRANCH, "main", "open")
    assert fake.commits[pull.head_sha].parents == (HEAD,)
    assert [edit.path for edit in fake.edits[pull.head_sha]] == ["calculator.py"]
    assert fake.titles[pull.number] == "Use `+` for `-` in `add` (calculator.py)"
    assert "<!-- metaagent:mission=m-0001 " in pull.body
    assert publication.outcome is Outcome.FIXED
    assert publication.pull_request == pull.number
    assert publication.commit == pull.head_sha
    assert publication.skipped is None


async def test_the_check_tells_the_result_and_points_at_the_suspect_line() -> None:
    fake = github()
    publication = await published(a_mission(), fake)
    (check,) = fake.checks
    update = check.updates[-1]
    assert (check.sha, check.id) == (HEAD, publication.check_run)
    assert update.status == "completed"
    assert update.title.startswith("FIXED: ")
    assert update.external_id == "m-0001"
    assert [(a.path, a.line) for a in update.annotations] == [("calculator.py", 2)]
    assert update.details_url == publication.pull_request_url


async def test_nobody_is_bothered_with_a_comment_unasked() -> None:
    fake = github()
    await published(a_mission(request=a_request(pull_request=5)), fake)
    assert fake.comments == []


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_every_outcome_is_told_in_the_check_and_to_whoever_asked(outcome: Outcome) -> None:
    fake = github()
    publication = await published(a_mission(outcome, request=a_commanded_request()), fake)
    assert fake.checks[0].updates[-1].title.startswith(f"{outcome.value}: ")
    (comment,) = fake.comments
    assert comment.number == 5
    assert comment.body.startswith(f"**{outcome.value}: ")
    assert publication.comments == (comment.id,)
    assert publication.outcome is outcome
    assert len(fake.pulls) == (1 if outcome is Outcome.FIXED else 0)


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_publishing_twice_leaves_what_publishing_once_leaves(outcome: Outcome) -> None:
    fake = github()
    context = a_mission(outcome, request=a_commanded_request())
    first = await published(context, fake)
    state = (dict(fake.pulls), dict(fake.branches), len(fake.comments), len(fake.checks))
    assert await published(context, fake) == first
    assert (dict(fake.pulls), dict(fake.branches), len(fake.comments), len(fake.checks)) == state


@pytest.mark.parametrize(
    "lost", ["commit_on_new_branch", "open_pull_request", "comment", "publish_check"]
)
async def test_an_answer_that_was_lost_makes_nothing_twice(lost: str) -> None:
    fake = github()
    context = a_mission(request=a_commanded_request())
    fake.after[lost] = [GitHubError("the connection broke", retryable=True)]
    with pytest.raises(GitHubError):
        await published(context, fake)
    publication = await published(context, fake)
    assert publication.outcome is Outcome.FIXED
    assert (len(fake.pulls), len(fake.comments), len(fake.checks)) == (1, 1, 1)
    assert [name for name in fake.branches if name.startswith("metaagent/")] == [
        "metaagent/feature-x/01234567"
    ]


@pytest.mark.parametrize("call", ["commit_on_new_branch", "open_pull_request", "comment"])
async def test_what_github_refuses_for_good_is_told_in_the_check(call: str) -> None:
    fake = github()
    fake.faults[call] = [GitHubError("422 Validation Failed", status=422)]
    publication = await published(a_mission(request=a_commanded_request()), fake)
    assert publication.check_run is not None
    assert "422 Validation Failed" in (publication.skipped or "")
    assert fake.checks[0].updates[-1].status == "completed"


async def test_a_branch_that_moved_gets_no_push() -> None:
    fake = github()
    fake.branches["main"] = "d" * 40
    publication = await published(a_mission(), fake)
    assert publication.outcome is Outcome.STALE
    assert publication.skipped is not None
    assert fake.pulls == {}
    assert BRANCH not in fake.branches
    assert fake.checks[0].updates[-1].title.startswith("STALE: ")


async def test_a_branch_that_is_gone_gets_no_push() -> None:
    fake = github()
    del fake.branches["main"]
    assert (await published(a_mission(), fake)).outcome is Outcome.STALE


async def test_a_live_fix_is_named_and_not_doubled() -> None:
    fake = github()
    fake.pulls[17] = a_pull_request(
        author="someone", body="<!-- metaagent:mission=m-other fingerprint=x -->"
    )
    publication = await published(a_mission(), fake)
    assert publication.outcome is Outcome.DUPLICATE
    assert publication.pull_request == 17
    assert list(fake.pulls) == [17]
    assert BRANCH not in fake.branches
    assert "pull/17" in fake.checks[0].updates[-1].summary


async def test_a_forged_marker_in_a_strangers_pull_request_is_not_taken_for_ours() -> None:
    fake = github()
    first = await published(a_mission(), fake)
    assert first.pull_request is not None
    fake.pulls[first.pull_request] = fake.pulls[first.pull_request].with_(author="mallory")
    assert (await published(a_mission(), fake)).outcome is Outcome.DUPLICATE


async def test_a_live_fix_into_another_branch_does_not_stand_in_the_way() -> None:
    fake = github()
    fake.pulls[17] = a_pull_request(base_ref="release", author="someone")
    publication = await published(a_mission(), fake)
    assert publication.outcome is Outcome.FIXED
    assert publication.branch == f"{BRANCH}-2"


async def test_a_name_spent_by_an_ended_fix_gets_a_follower() -> None:
    fake = github()
    fake.pulls[17] = a_pull_request(state="closed", body="another patch")
    fake.branches[BRANCH] = "c" * 40
    publication = await published(a_mission(), fake)
    assert publication.branch == f"{BRANCH}-2"
    assert publication.outcome is Outcome.FIXED


async def test_a_fix_people_closed_is_not_offered_again_unasked() -> None:
    fake = github()
    first = await published(a_mission(), fake)
    assert first.pull_request is not None
    fake.pulls[first.pull_request] = fake.pulls[first.pull_request].with_(state="closed")
    again = a_mission(mission_id="m-0002", request=a_request(mission_id="m-0002"))
    publication = await published(again, fake)
    assert publication.outcome is Outcome.DUPLICATE
    assert "is closed, so" in (publication.skipped or "")
    assert len(fake.pulls) == 1


async def test_a_branch_another_mission_is_publishing_on_is_left_alone() -> None:
    fake = github()
    fake.branches[BRANCH] = "e" * 40
    fake.commits["e" * 40] = CommitState(
        sha="e" * 40, parents=(HEAD,), message="x\n\nMetaAgent-Mission: m-other\n"
    )
    publication = await published(a_mission(), fake)
    assert publication.outcome is Outcome.DUPLICATE
    assert fake.pulls == {}


async def test_a_dead_branch_without_a_pull_request_is_stepped_over() -> None:
    fake = github()
    fake.branches[BRANCH] = "e" * 40
    fake.commits["e" * 40] = CommitState(sha="e" * 40, parents=("f" * 40,), message="something old")
    assert (await published(a_mission(), fake)).branch == f"{BRANCH}-2"


async def test_a_fork_gets_the_patch_in_a_comment_and_no_push() -> None:
    fake = github()
    context = a_mission(request=a_request(tier=TrustTier.FORK, pull_request=5))
    publication = await published(context, fake)
    assert publication.outcome is Outcome.FIXED
    assert publication.pull_request is None
    assert "commit_on_new_branch" not in fake.calls
    (comment,) = fake.comments
    assert "```diff\n" in comment.body
    assert "+    return a + b" in comment.body


async def test_a_question_is_asked_where_the_people_are() -> None:
    fake = github()
    context = a_mission(
        Outcome.NEEDS_HUMAN, request=a_request(pull_request=5), question="f(0) == 1 or 2?"
    )
    await published(context, fake)
    (comment,) = fake.comments
    assert "f(0) == 1 or 2?" in comment.body


async def test_a_partial_fix_is_shown_and_never_pushed() -> None:
    fake = github()
    await published(a_mission(Outcome.PARTIAL), fake)
    assert "commit_on_new_branch" not in fake.calls
    assert "+    return a + b" in fake.checks[0].updates[-1].text


async def test_a_fix_that_is_not_green_is_never_pushed() -> None:
    fake = github()
    partial = an_iteration(verification=a_verification(green=False, partial=True))
    await published(a_mission(Outcome.FIXED, iterations=(partial,)), fake)
    assert "commit_on_new_branch" not in fake.calls


async def test_a_missing_permission_costs_one_trace_only() -> None:
    fake = github()
    fake.faults["commit_on_new_branch"] = [NotPermitted("contents: write is missing", status=403)]
    publication = await published(a_mission(request=a_commanded_request()), fake)
    assert "contents: write is missing" in (publication.skipped or "")
    assert len(fake.checks) == len(fake.comments) == 1
    assert "+    return a + b" in fake.comments[0].body
    fake.faults["publish_check"] = [NotPermitted("checks: write is missing", status=403)]
    publication = await published(a_mission(request=a_commanded_request()), fake)
    assert publication.check_run is None
    assert publication.pull_request is not None


async def test_a_draft_is_opened_where_the_policy_asks_for_one() -> None:
    fake = github()
    await published(a_mission(policy=RepositoryPolicy(draft=True)), fake)
    assert fake.drafts == set(fake.pulls)


async def test_a_working_tree_has_nobody_to_tell() -> None:
    fake = github()
    publication = await published(a_mission(request=a_folder_request()), fake)
    assert fake.calls == []
    assert publication.skipped == "there is no repository"


async def test_a_typical_fix_takes_few_calls() -> None:
    fake = github()
    await published(a_mission(), fake)
    assert fake.calls == [
        "pull_requests_from",
        "branch_head",
        "open_pull_requests",
        "commit_on_new_branch",
        "open_pull_request",
        "publish_check",
    ]
