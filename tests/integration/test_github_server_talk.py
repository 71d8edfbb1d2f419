"""The local GitHub through reviews, suggestions, labels, reviewers and commit statuses."""

from typing import Any

import httpx
import pytest
from githubkit.exception import RequestFailed

from tests.github_server.clients import GREEN, RED, REPO, installed
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub

pytestmark = pytest.mark.shared


@pytest.fixture
def pull(local_github: LocalGitHub) -> str:
    """A pull request that mends the first function; its head."""
    local_github.create_repository("octo", "math", RED)
    sha = local_github.push(
        REPO, "fix", {"broken_math.py": RED["broken_math.py"].replace("a - b", "a + b")}
    )
    local_github.open_pull_request(REPO, "fix", title="Fix")
    return sha


def test_a_review_carries_suggestions_on_lines_of_the_diff_only(
    local_github: LocalGitHub, receiver: WebhookReceiver, pull: str
) -> None:
    local_github.webhook_url = receiver.url
    client = installed(local_github)
    suggestion: dict[str, Any] = {
        "path": "broken_math.py",
        "line": 2,
        "side": "RIGHT",
        "body": "```suggestion\n```",
    }
    more = {**suggestion, "start_line": 1, "start_side": "RIGHT", "line": 3}
    made = client.rest.pulls.create_review(
        "octo",
        "math",
        1,
        data={
            "commit_id": pull,
            "event": "COMMENT",
            "body": "Two.",
            "comments": [suggestion, more],
        },
    ).json()
    assert (made["state"], made["commit_id"]) == ("COMMENTED", pull)
    assert client.rest.pulls.list_reviews("octo", "math", 1).json()[0]["body"] == "Two."
    first, second = client.rest.pulls.list_review_comments("octo", "math", 1).json()
    assert first["diff_hunk"].endswith("+    return a + b")
    assert (second["start_line"], second["line"], second["pull_request_review_id"]) == (
        1,
        3,
        made["id"],
    )
    heard = receiver.wait_for(
        lambda got: got.title == "pull_request_review_comment.created"
    ).payload
    assert heard["comment"]["user"]["type"] == "Bot"
    wrong = ({"path": "other.py"}, {"line": 40}, {"start_line": 3, "line": 2})
    for one in wrong:
        with pytest.raises(RequestFailed) as refused:
            client.rest.pulls.create_review(
                "octo",
                "math",
                1,
                data={"event": "COMMENT", "body": "b", "comments": [{**suggestion, **one}]},
            )
        assert refused.value.response.status_code == 422
    assert len(local_github.reviews(REPO, 1)) == 1


def test_people_and_the_bot_talk_in_a_review_thread(
    local_github: LocalGitHub, receiver: WebhookReceiver, pull: str
) -> None:
    local_github.webhook_url = receiver.url
    asked = local_github.review_comment(
        REPO, 1, "mona", "/metaagent explain", path="broken_math.py", line=2
    )
    heard = receiver.wait_for(
        lambda got: got.title == "pull_request_review_comment.created"
    ).payload
    assert (heard["comment"]["id"], heard["pull_request"]["head"]["sha"]) == (asked.id, pull)
    client = installed(local_github)
    rest = client.rest
    answer = rest.pulls.create_reply_for_review_comment(
        "octo", "math", 1, asked.id, body="Because."
    ).json()
    assert (answer["in_reply_to_id"], answer["path"]) == (asked.id, "broken_math.py")
    reacted = [
        rest.reactions.create_for_pull_request_review_comment(
            "octo", "math", asked.id, content="eyes"
        ).status_code
        for _ in range(2)
    ]
    assert reacted == [201, 200]
    assert rest.pulls.get_review_comment("octo", "math", asked.id).json()["reactions"]["eyes"] == 1
    again = local_github.review_comment(REPO, 1, "mona", "Thanks.", reply_to=answer["id"])
    assert again.reply_to == asked.id
    assert rest.pulls.get("octo", "math", 1).json()["review_comments"] == 3


@pytest.mark.usefixtures("pull")
def test_labels_reviewers_and_branches_come_and_go(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.webhook_url = receiver.url
    local_github.label(REPO, 1, "metaagent:fix", "mona")
    labeled = receiver.wait_for(lambda got: got.title == "pull_request.labeled").payload
    assert (labeled["label"]["name"], labeled["sender"]["login"]) == ("metaagent:fix", "mona")
    client = installed(local_github)
    rest = client.rest
    assert [one["name"] for one in rest.issues.list_labels_on_issue("octo", "math", 1).json()] == [
        "metaagent:fix"
    ]
    rest.issues.remove_label("octo", "math", 1, "metaagent:fix")
    local_github.set_permission(REPO, "lisa", "write")
    asked = rest.pulls.request_reviewers("octo", "math", 1, data={"reviewers": ["lisa"]}).json()
    assert [one["login"] for one in asked["requested_reviewers"]] == ["lisa"]
    with pytest.raises(RequestFailed):
        rest.pulls.request_reviewers("octo", "math", 1, data={"reviewers": ["stranger"]})
    local_github.delete_branch(REPO, "fix")
    gone = receiver.wait_for(lambda got: got.event == "push").payload
    assert (gone["deleted"], gone["after"], gone["head_commit"]) == (True, "0" * 40, None)
    closed = receiver.wait_for(lambda got: got.title == "pull_request.closed").payload[
        "pull_request"
    ]
    assert (closed["state"], closed["merged"]) == ("closed", False)


def test_old_cis_set_commit_statuses(
    local_github: LocalGitHub, receiver: WebhookReceiver, pull: str
) -> None:
    local_github.webhook_url = receiver.url
    local_github.status(REPO, pull, "ci/tests", "pending")
    local_github.status(REPO, pull, "ci/tests", "failure")
    local_github.status(REPO, pull, "ci/lint", "success")
    heard = receiver.wait_for(
        lambda got: got.event == "status" and got.payload["state"] == "failure"
    ).payload
    assert (heard["sha"], heard["context"], heard["branches"][0]["name"]) == (
        pull,
        "ci/tests",
        "fix",
    )
    client = installed(local_github)
    rest = client.rest
    found = rest.repos.get_combined_status_for_ref("octo", "math", pull).json()
    assert (found["state"], found["total_count"]) == ("failure", 2)
    assert len(rest.repos.list_commit_statuses_for_ref("octo", "math", pull).json()) == 3


def test_a_person_sets_a_status(local_github: LocalGitHub, rest: httpx.Client, pull: str) -> None:
    made = rest.post(
        f"repos/octo/math/statuses/{pull}", json={"state": "success", "context": "by hand"}
    )
    assert (made.status_code, made.json()["creator"]["login"]) == (201, "octo")
    assert rest.get(f"repos/octo/math/commits/{pull}/status").json()["state"] == "success"
    assert local_github.push(REPO, "main", {"broken_math.py": GREEN})
