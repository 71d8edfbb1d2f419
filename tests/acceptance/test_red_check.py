"""A red check becomes a pull request, or an honest answer; nothing is lost and nothing is doubled."""

import hashlib
import json
import time
from pathlib import Path

import psutil
import pytest

from tests.acceptance.test_replay import replay
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import broken_repositories, broken_repository
from tests.demo.story import (
    ACTIONS_APP,
    POLL_S,
    problems_of,
    push_green,
    push_red,
    wait,
    wait_for_ci,
    watch,
)
from tests.github_server.entities import CheckRun
from tests.github_server.server import LocalGitHub

pytestmark = [pytest.mark.docker, pytest.mark.shared, pytest.mark.slow]


# `make demo` is the same on SQLite, and a test runs it.
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("name", [broken.name for broken in broken_repositories()])
def test_a_red_push_ends_as_it_must(github: LocalGitHub, bot: BotProcess, name: str) -> None:
    broken = broken_repository(name)
    push_green(github, broken)
    told = watch(github, broken, push_red(github, broken))
    assert problems_of(broken, told) == [], told.own_check.summary


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_pull_request_tells_the_whole_story(github: LocalGitHub, bot: BotProcess) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    told = watch(github, broken, push_red(github, broken))
    assert told.pull_request is not None, told.own_check.summary
    assert told.pull_request.pull is not None
    body = told.pull_request.body or ""
    for wanted in (
        "FIXED",
        "test_add",
        "test_is_even",
        "```diff",
        "Confidence",
        "What was checked",
        "metaagent:mission=",
        "/metaagent reject",
        "metaagent replay",
    ):
        assert wanted in body, wanted
    assert told.pull_request.pull.head_ref.startswith("metaagent/main/")
    assert told.pull_request.pull.base_ref == "main"
    assert told.pull_request.user == f"{github.app_slug}[bot]"
    fixed = github.files("acme/broken_math", told.pull_request.pull.head_sha)
    assert fixed["tests/test_broken_math.py"].decode() == broken.green["tests/test_broken_math.py"]
    assert b"return a + b" in fixed["broken_math.py"]
    (bundle,) = (bot.data / "blobs" / "evidence").glob("*/*")
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() == bundle.name
    assert bundle.name in body
    status, found = replay(bundle, folder=bot.data.parent / "elsewhere")
    assert (status, found["verdict"], found["head_sha"]) == (0, "CONFIRMED", told.sha), found


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_the_same_delivery_again_makes_no_second_mission(
    github: LocalGitHub, bot: BotProcess
) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    sha = push_red(github, broken)
    watch(github, broken, sha)
    red = next(
        d
        for d in github.deliveries
        if d.event == "check_run" and d.payload["check_run"]["conclusion"] == "failure"
    )
    github.webhooks.redeliver(red.id)
    github.settle()
    time.sleep(1.0)
    assert len(github.pull_requests("acme/broken_math")) == 1
    assert len(github.own_check_runs(sha)) == 1


def test_a_killed_service_finishes_the_mission_once(github: LocalGitHub, bot: BotProcess) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    sha = push_red(github, broken)

    def accepted() -> bool:
        return any(
            d.event == "check_run"
            and d.status_code == 202
            and d.payload["check_run"]["conclusion"] == "failure"
            for d in github.deliveries
        )

    wait(accepted, 20, "the 202")
    bot.kill()
    assert github.pull_requests("acme/broken_math") == []
    bot.start()
    told = watch(github, broken, sha)
    assert problems_of(broken, told) == []
    assert len(github.pull_requests("acme/broken_math")) == 1
    assert len(github.own_check_runs(sha)) == 1


def test_killing_it_again_and_again_still_makes_one_pull_request(
    github: LocalGitHub, bot: BotProcess
) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    sha = push_red(github, broken)
    for pause in (0.8, 2.0, 3.0):
        time.sleep(pause)
        bot.kill()
        bot.start()
    told = watch(github, broken, sha)
    assert problems_of(broken, told) == []
    assert len(github.pull_requests("acme/broken_math")) == 1
    assert len(github.own_check_runs(sha)) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_the_next_like_failure_recalls_the_lesson(github: LocalGitHub, bot: BotProcess) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    first = watch(github, broken, push_red(github, broken))
    assert first.pull_request is not None
    github.merge("acme/broken_math", first.pull_request.number)
    wait_for_ci(github, github.store("acme/broken_math").ref("refs/heads/main") or "")
    again = github.push("acme/broken_math", "main", broken.red, message="Break it again")
    wait_for_ci(github, again)

    def told() -> bool:
        return any(run.status == "completed" for run in github.own_check_runs(again))

    wait(told, 90, "the result of the second mission")
    (own,) = github.own_check_runs(again)
    assert "recalled from earlier missions" in (own.text or "").lower()
    # The very patch that was merged and undone since is not offered again unasked; another one may be.
    pulls = github.pull_requests("acme/broken_math")
    assert len(pulls) == (1 if (own.title or "").startswith("DUPLICATE") else 2)


COMMAND_ONLY = {".github/metaagent.yml": "automatic: false\n"}


def red_pull_request(github: LocalGitHub) -> tuple[str, int]:
    """A pull request that breaks broken_math, in a repository where only commands start missions."""
    broken = broken_repository("broken_math")
    github.create_repository("acme", "broken_math", {**broken.green, **COMMAND_ONLY})
    sha = github.push(
        "acme/broken_math", "faster-math", broken.red, message="Make it faster", author="ann"
    )
    pull = github.open_pull_request(
        "acme/broken_math", "faster-math", user="ann", title="Faster math"
    )
    wait_for_ci(github, sha)
    return sha, pull.number


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_command_in_a_comment_repairs_the_pull_request(
    github: LocalGitHub, bot: BotProcess
) -> None:
    github_user = "ann"
    _, number = red_pull_request(github)
    github.set_permission("acme/broken_math", github_user, "write")
    github.comment("acme/broken_math", number, github_user, "/metaagent fix")

    def opened() -> bool:
        return any(pull.number != number for pull in github.pull_requests("acme/broken_math"))

    wait(opened, 60, "the pull request")
    fix = next(pull for pull in github.pull_requests("acme/broken_math") if pull.number != number)
    assert fix.pull is not None
    assert fix.pull.base_ref == "faster-math"

    def answered() -> bool:
        return any(
            f"#{fix.number}" in c.body or "FIXED" in c.body
            for c in github.comments("acme/broken_math", number)[1:]
        )

    wait(answered, 20, "the reply")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_command_by_a_stranger_is_not_heard(github: LocalGitHub, bot: BotProcess) -> None:
    _, number = red_pull_request(github)
    github.set_permission("acme/broken_math", "mallory", "read")
    github.set_permission("acme/broken_math", "ann", "write")
    unheard = github.comment("acme/broken_math", number, "mallory", "/metaagent fix")
    heard = github.comment("acme/broken_math", number, "ann", "/metaagent status")

    def answered() -> bool:
        return len(heard.reactions) > 1 and len(github.comments("acme/broken_math", number)) > 2

    wait(answered, 30, "the answer to whoever may ask")
    assert unheard.reactions == []
    (reply,) = github.comments("acme/broken_math", number)[2:]
    assert f"Status of #{number}" in reply.body
    # The red check itself may still be looked at, to be left alone by policy; nothing is done for the stranger.
    assert "mallory" not in reply.body
    assert len(github.pull_requests("acme/broken_math")) == 1


def own_check_of(github: LocalGitHub, name: str, sha: str, red: str) -> CheckRun:
    """Let a check of another app turn red; our own check run, when it is completed."""
    wait_for_ci(github, sha)
    github.third_party_check(name, sha, red, "failure")
    wait(
        lambda: any(run.status == "completed" for run in github.own_check_runs(sha)),
        60,
        "our check run",
    )
    return github.own_check_runs(sha)[-1]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_repository_without_tests_is_told_so(github: LocalGitHub, bot: BotProcess) -> None:
    github.create_repository("acme", "empty", {"README.md": "# nothing here\n"}, ci="true")
    sha = github.push("acme/empty", "main", {"notes.txt": "still nothing\n"})
    own = own_check_of(github, "acme/empty", sha, "other checks")
    assert "ENV_UNBUILDABLE" in (own.title or "")
    assert "test" in (own.summary or "").lower()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_command_that_does_not_exist_is_told_so(github: LocalGitHub, bot: BotProcess) -> None:
    files = {"app.py": "x = 1\n", ".github/metaagent.yml": "test_command: no-such-tool --all\n"}
    github.create_repository("acme", "odd", files, ci="true")
    sha = github.push("acme/odd", "main", {"app.py": "x = 2\n"})
    own = own_check_of(github, "acme/odd", sha, "other checks")
    assert "ENV_UNBUILDABLE" in (own.title or "")
    assert "no-such-tool" in json.dumps([own.title, own.summary, own.text])


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_red_formatter_becomes_a_pull_request(github: LocalGitHub, bot: BotProcess) -> None:
    files = {
        "words.py": 'WORDS = {"a": 1}\n',
        "requirements.txt": "black\n",
        ".github/metaagent.yml": "test_command: black --check .\n",
    }
    github.create_repository("acme", "words", files, ci="true")
    sha = github.push("acme/words", "main", {"words.py": "WORDS = {'a':1 }\n"})
    own = own_check_of(github, "acme/words", sha, "format")
    assert (own.title or "").startswith("FIXED"), own.summary
    (fix,) = github.pull_requests("acme/words")
    assert fix.pull is not None
    assert github.files("acme/words", fix.pull.head_sha)["words.py"].decode() == files["words.py"]
    assert "black" in fix.title


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_second_service_on_the_same_data_refuses_to_start_and_says_why(
    github: LocalGitHub, bot: BotProcess
) -> None:
    second = BotProcess(github, bot.data)
    with pytest.raises(RuntimeError, match="another process already uses"):
        second.start()
    assert push_green(github, broken_repository("broken_math")), "the first one goes on"


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_services_on_one_server_share_the_work(
    github: LocalGitHub, bot: BotProcess, tmp_path: Path
) -> None:
    broken = broken_repository("broken_math")
    with BotProcess(github, tmp_path / "second", bot.more):
        push_green(github, broken)
        sha = push_red(github, broken)
        told = watch(github, broken, sha)
    assert problems_of(broken, told) == []
    assert len(github.own_check_runs(sha)) == 1


def test_the_idle_service_is_small(bot: BotProcess) -> None:
    assert bot.process is not None
    assert psutil.Process(bot.process.pid).memory_info().rss < 200_000_000


def test_no_secret_is_written_anywhere(github: LocalGitHub, bot: BotProcess) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    told = watch(github, broken, push_red(github, broken))
    bot.stop()
    secrets = [
        github.webhook_secret.encode(),
        github.private_key_pem.splitlines()[3].encode(),
        b"ghs_",
        b"x-access-token",
    ]
    for path in bot.data.rglob("*"):
        if path.is_file() and path.name != "app.pem":
            content = path.read_bytes()
            assert not [s for s in secrets if s in content], path
    assert "ghs_" not in (told.pull_request.body or "" if told.pull_request else "")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_bot_asks_only_what_it_needs(github: LocalGitHub, bot: BotProcess) -> None:
    broken = broken_repository("broken_math")
    push_green(github, broken)
    before = len(github.requests)
    watch(github, broken, push_red(github, broken))
    time.sleep(POLL_S)
    # A third of them are for tokens that may do one thing only, and are given back. Both pushes to
    # the default branch and the daily look at its schedule read the policy, seven requests each.
    assert len(github.requests) - before < 95, github.requests[before:]
    assert ACTIONS_APP
