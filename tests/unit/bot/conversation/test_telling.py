"""off, on, stop, status, config, lessons, help: what changes, and what is said."""

import pytest

from bot.conversation.verbs import OPTIONS, VERBS
from bot.domain.github import PullRequestFile
from bot.domain.policy import PolicyLimits
from bot.domain.registry import LiveMission
from bot.domain.request import RedHead
from bot.errors import GitHubError
from bot.policy.policy_file import POLICY_PATH
from tests.builders import HEAD, a_lesson, a_repository
from tests.unit.bot.conversation.desks import (
    BRANCH,
    FIX_PULL,
    PULL,
    Office,
    a_command,
    a_label,
    a_press,
    a_red_pull,
    put_fix,
    put_proposal,
)

pytestmark = pytest.mark.anyio


async def begun(
    office: Office, mission: str = "m-1", state: str = "running", number: int = PULL
) -> None:
    live = LiveMission(
        mission_id=mission,
        repository=a_repository(),
        head_sha=HEAD,
        branch=BRANCH,
        pull_request=number,
        since="now",
    )
    await office.registry.begin(live)
    office.queue.states[mission] = state


async def test_off_is_for_this_pull_request_and_sticks() -> None:
    office = Office()
    reply = await office.say("off")
    assert reply.text.startswith(f"Off for #{PULL}")
    assert await office.registry.off(42, PULL) is not None
    assert await office.registry.off(42, 6) is None


@pytest.mark.parametrize("words", ["off repository", "off Repo", "off everywhere"])
async def test_off_can_be_for_the_whole_repository(words: str) -> None:
    office = Office()
    await begun(office)
    await begun(office, "m-2", number=6)
    reply = await office.say(words)
    assert "Off for this repository" in reply.text
    assert "Stopped 2 missions" in reply.text
    assert await office.registry.off(42, 6) is not None


async def test_off_stops_what_runs_there_and_says_so_in_its_check() -> None:
    office = Office()
    await begun(office)
    await begun(office, "m-2", number=6)
    reply = await office.say("off")
    assert "Stopped 1 mission" in reply.text
    assert office.queue.states == {"m-1": "cancelled", "m-2": "running"}
    (check,) = office.github.checks
    assert check.updates[-1].title.startswith("CANCELLED")
    assert check.updates[-1].external_id == "m-1"


async def test_the_label_keeps_us_off_by_itself() -> None:
    office = Office()
    await begun(office)
    reply = await office.ask(a_label("off"))
    assert "while the label" in reply.text
    assert office.registry.switches == {}
    assert office.queue.states["m-1"] == "cancelled"


async def test_on_turns_on_again_and_takes_the_label_off() -> None:
    office = Office()
    office.github.pull_labels[PULL] = ["metaagent:off"]
    office.registry.tries = {(42, BRANCH, "m-1")}
    await office.say("off")
    assert (await office.say("on")).text == f"On for #{PULL}."
    assert await office.registry.off(42, PULL) is None
    assert office.github.pull_labels[PULL] == []
    assert office.registry.tries == set()


async def test_on_for_one_pull_request_wins_over_off_for_the_repository() -> None:
    office = Office()
    await office.say("off repository")
    await office.say("on")
    assert await office.registry.off(42, PULL) is None
    assert await office.registry.off(42, 6) is not None


@pytest.mark.parametrize(
    ("policy", "said"),
    [({"enabled": False}, "disables MetaAgent"), ({"automatic": False}, "on request only")],
)
async def test_on_says_what_the_policy_still_forbids(policy: dict[str, bool], said: str) -> None:
    assert said in (await Office(**policy).say("on")).text


async def test_in_an_issue_the_repository_has_to_be_meant() -> None:
    office = Office()
    assert "`/metaagent off repository`" in (await office.say("off", is_pull_request=False)).text
    assert office.registry.switches == {}
    assert (await office.say("off repository", is_pull_request=False)).ok


async def test_whoever_may_write_to_one_repository_does_not_decide_for_the_organisation() -> None:
    office = Office()
    assert "Only an owner of" in (await office.say("off organisation")).text
    assert office.registry.switches == {}


async def test_a_place_nobody_knows_is_not_turned_off() -> None:
    assert "is not a valid target" in (await Office().say("off #6")).text


async def test_the_button_turns_off_its_pull_request() -> None:
    office = Office()
    await office.ask(a_press("off", number=None))
    assert await office.registry.off(42, PULL) is not None


async def test_stop_drops_what_waits_and_runs_here() -> None:
    office = Office()
    await begun(office)
    await begun(office, "m-2", "waiting")
    await begun(office, "m-3", "done")
    assert (await office.say("stop")).text == f"Stopped 2 missions: `{HEAD[:8]}` of #{PULL}."
    assert office.queue.states == {"m-1": "cancelled", "m-2": "cancelled", "m-3": "done"}
    assert set(office.registry.missions) == {"m-3"}, "the engine itself ends what is done"
    assert "No mission is waiting or running" in (await office.say("stop")).text


@pytest.mark.parametrize("words", ["stop", "off"])
async def test_checks_that_still_settle_lead_to_no_mission_either(words: str) -> None:
    office = Office()
    red = RedHead(repository=a_repository(), head_sha=HEAD, head_branch=BRANCH)
    assert await office.queue.settle(red)
    assert "Stopped 1 mission" in (await office.say(words)).text
    assert not await office.queue.settle(red.with_(delivery_id="a late job"))
    (check,) = office.github.checks
    assert (check.updates[-1].title, check.updates[-1].external_id) == (
        "CANCELLED: stopped on request",
        red.mission_id,
    )
    assert "No mission is waiting or running" in (await office.say("stop")).text


async def test_in_an_issue_nothing_is_stopped_unless_everything_is_meant() -> None:
    office = Office()
    await begun(office)
    assert "`/metaagent stop repository`" in (await office.say("stop", is_pull_request=False)).text
    assert "is not a valid target" in (await office.say("stop #6")).text
    assert office.queue.states["m-1"] == "running"
    assert (await office.say("stop repository", is_pull_request=False)).ok
    assert office.queue.states["m-1"] == "cancelled"


async def test_a_stop_that_died_half_way_is_finished_the_next_time() -> None:
    office = Office()
    await begun(office, state="cancelled")
    assert "Stopped 1 mission" in (await office.say("stop")).text
    assert office.github.checks[0].updates[-1].status == "completed"


async def test_stop_stops_even_where_its_check_cannot_be_written() -> None:
    office = Office()
    await begun(office)
    office.github.faults["publish_check"] = [GitHubError("a bad gateway", retryable=True)]
    assert (await office.say("stop")).ok


async def test_status_tells_what_is_under_way() -> None:
    office = Office(limits=PolicyLimits(attempts=4))
    office.registry.tries = {(42, BRANCH, "m-0")}
    await begun(office)
    await begun(office, "m-2", "done")
    put_fix(office)
    put_proposal(office, 2)
    text = (await office.say("status")).text
    for said in (
        f"Status of #{PULL}",
        "**on**, red checks start missions automatically",
        f"3 of 4 automatic attempts on `{BRANCH}`",
        "| `now` | running |",
        f"| #{FIX_PULL} | `tests (3.11)` | open |",
        "Which is meant?",
        "`/metaagent answer 1` to `/metaagent answer 2`",
    ):
        assert said in text, said


async def test_status_of_a_quiet_place_says_so() -> None:
    assert "No mission is active" in (await Office().say("status")).text


async def test_status_says_who_turned_us_off() -> None:
    office = Office()
    await office.say("off")
    assert "**off** for #5: `alice` turned it off" in (await office.say("status")).text
    assert "by the policy" in (await Office(enabled=False).say("status")).text
    assert "staged" in (await Office(mode="staged", problems=("x:1: y",)).say("status")).text


async def test_status_in_an_issue_is_about_the_repository() -> None:
    office = Office()
    await begun(office, number=6)
    text = (await office.say("status", is_pull_request=False)).text
    assert "Status of this repository" in text
    assert "#6" in text


async def test_config_shows_every_key_and_where_it_comes_from() -> None:
    origins, problems = (
        {"automatic": ".github/metaagent.yml:3"},
        (".github/metaagent.yml:7: unknown key <b>",),
    )
    office = Office(automatic=False, origins=origins, problems=problems)
    text = (await office.say("config")).text
    assert "| `automatic` | `false` | **.github/metaagent.yml:3** |" in text
    assert "| `limits.attempts` | `3` | default |" in text
    assert "unknown key" in text
    assert "<b>" not in text


async def test_config_shows_the_problems_of_the_policy_that_a_pull_request_changes() -> None:
    office = Office()
    assert "this pull request" not in (await office.say("config")).text
    office.github.pull_files[PULL] = (PullRequestFile(path=POLICY_PATH),)
    office.github.files[HEAD, POLICY_PATH] = b"automatic: true\ncolour<b>: 1\n"
    text = (await office.say("config")).text
    assert "The policy of this pull request" in text
    assert f"- `{POLICY_PATH}:2`: unknown key `colour<b>`" in text
    office.github.files[HEAD, POLICY_PATH] = b"automatic: false\n"
    assert "It is valid." in (await office.say("config")).text


async def test_lessons_are_shown_newest_first_or_by_words() -> None:
    office = Office()
    for number, sentence in enumerate(
        ("swap the operands of add", "close the socket after use"), start=1
    ):
        await office.lessons.remember(
            a_lesson(
                id=f"m-{number}",
                sentence=sentence,
                keywords=(),
                created_at=f"2026-01-0{number}T00:00:00+00:00",
            )
        )
    text = (await office.say("lessons")).text
    assert text.index("close the socket") < text.index("swap the operands")
    text = (await office.say("lessons socket close")).text
    assert "close the socket" in text
    assert "swap" not in text


async def test_lessons_of_forks_and_of_others_are_kept_apart() -> None:
    office = Office()
    for key in ("42:fork", "43"):
        await office.lessons.remember(a_lesson(id=key, repository_id=key, sentence=f"of {key}"))
    assert "none yet" in (await office.say("lessons")).text
    office.github.pulls[PULL] = a_red_pull(from_fork=True)
    text = (await office.say("lessons")).text
    assert "of 42:fork" in text
    assert "of 43" not in text


async def test_what_became_of_fixes_is_counted() -> None:
    office = Office()
    for number, fate in enumerate(("merged", "closed", "reverted")):
        await office.lessons.remember(a_lesson(id=str(number), fate=fate, confidence=0.9))
    assert "Merged: 1 of 3 decided fixes." in (await office.say("lessons")).text


async def test_help_names_every_verb_and_option() -> None:
    text = (await Office().say("help")).text
    assert all(f"/metaagent {entry.usage}" in text for entry in VERBS.values())
    assert all(f"--{option}" in text for option in OPTIONS)


async def test_the_bare_call_is_help() -> None:
    reply = await Office().ask(a_command("help", word=""))
    assert reply.ok
    assert "/metaagent fix" in reply.text
