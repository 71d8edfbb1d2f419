"""undo: open, merged and pushed fixes are taken back; what people changed since is left to people."""

from typing import Any

import pytest
from typing_extensions import override

from bot.domain.github import BranchRules, PullRequestFile
from bot.domain.registry import FixState, OfferedFix
from bot.errors import Conflict, GitHubError
from tests.builders import FIXED_SOURCE, HEAD, SOURCE
from tests.fakes.memory_registry import MemoryRegistry
from tests.unit.bot.conversation.desks import BRANCH, FIX, FIX_PULL, PULL, Office, a_fix, put_fix

pytestmark = pytest.mark.anyio

NOW = "e" * 40
"""The head of the red branch after the fix came in."""
UNDO = f"metaagent/undo/{FIX[:12]}"


def office_with(
    state: FixState = FixState.MERGED, now: str | None = FIXED_SOURCE, **changes: Any
) -> Office:
    office = Office()
    put_fix(office, state=state, **changes)
    office.github.branches[BRANCH] = NOW
    if now is not None:
        office.github.files[NOW, "calculator.py"] = now.encode()
    return office


def state_of(office: Office) -> FixState:
    (fix,) = office.registry.fixes.values()
    return fix.state


async def test_an_open_fix_is_closed() -> None:
    office = office_with(FixState.OPEN)
    assert "is closed" in (await office.say("undo")).text
    assert state_of(office) is FixState.CLOSED


class MergedMeanwhile(MemoryRegistry):
    """Somebody merges what was read a moment ago."""

    @override
    async def offered(self, repository_id: int, **of: Any) -> tuple[OfferedFix, ...]:
        read = await super().offered(repository_id, **of)
        self.fixes = {key: fix.with_(state=FixState.MERGED) for key, fix in self.fixes.items()}
        return read


async def test_what_is_merged_while_it_is_closed_stays_known_as_merged() -> None:
    office = office_with(FixState.OPEN)
    known, office.registry = office.registry.fixes, MergedMeanwhile()
    office.registry.fixes = known
    await office.say("undo")
    assert state_of(office) is FixState.MERGED, "a revert of it has to be recognised"


@pytest.mark.parametrize(
    "words", ["undo", f"undo #{FIX_PULL}", f"undo {FIX_PULL}", f"undo {FIX[:10]}"]
)
async def test_a_merged_fix_is_taken_back_by_a_pull_request(words: str) -> None:
    office = office_with()
    reply = await office.say(words)
    assert reply.ok, reply.text
    (pull,) = await office.github.pull_requests_from(a_fix().repository, UNDO)
    assert (pull.base_ref, pull.base_sha) == (BRANCH, NOW)
    (edit,) = office.github.edits[office.github.branches[UNDO]]
    assert (edit.path, edit.content.decode()) == ("calculator.py", SOURCE)
    assert f"#{pull.number} reverts the fix of #{FIX_PULL}" in reply.text
    assert state_of(office) is FixState.REVERTED
    assert await office.registry.is_blocked(42, "patch-1") is not None
    assert office.queue.feedback[0].fate == "reverted"
    assert f"Revert the fix of #{FIX_PULL}" in office.github.titles[pull.number]


async def test_undone_twice_is_undone_once() -> None:
    office = office_with()
    office.github.after["open_pull_request"] = [GitHubError("time ran out", retryable=True)]
    await office.say("undo")
    assert (await office.say("undo")).ok
    assert len(await office.github.pull_requests_from(a_fix().repository, UNDO)) == 1
    assert "was already reverted" in (await office.say("undo")).text


PUSHED: dict[str, Any] = {"state": FixState.OPEN, "pull_request": None, "branch": BRANCH}


async def test_a_pushed_fix_is_taken_back_on_its_branch() -> None:
    office = office_with(**PUSHED)
    reply = await office.say("undo")
    assert reply.ok, reply.text
    head = office.github.branches[BRANCH]
    assert office.github.commits[head].parents == (NOW,)
    assert office.github.edits[head][0].content.decode() == SOURCE
    assert state_of(office) is FixState.REVERTED
    (feedback,) = office.queue.feedback
    (fix,) = office.registry.fixes.values()
    # A commit has no pull request, so its lesson is found by the mission.
    assert (feedback.fate, feedback.mission_id) == ("reverted", fix.mission_id)


async def test_where_rules_forbid_a_push_a_pull_request_takes_it_back() -> None:
    office = office_with(**PUSHED)
    office.github.rules[BRANCH] = BranchRules(needs_pull_request=True)
    assert (await office.say("undo")).ok
    assert UNDO in office.github.branches
    assert office.github.branches[BRANCH] == NOW


async def test_a_file_changed_since_is_left_to_a_person() -> None:
    office = office_with(now="def add(a, b):\n    return sum((a, b))\n", merge_sha="d" * 40)
    reply = await office.say("undo")
    assert "`calculator.py` changed since" in reply.text
    assert f"git revert {'d' * 12}" in reply.text
    assert "commit_on_new_branch" not in office.github.calls


async def test_what_is_back_already_is_only_noted() -> None:
    office = office_with(now=SOURCE)
    assert "no longer contains the fix" in (await office.say("undo")).text
    assert state_of(office) is FixState.REVERTED


async def test_a_file_the_fix_made_is_taken_away_and_modes_are_kept() -> None:
    office = office_with(files={"new.py": "100644", "run.sh": "100755"})
    office.github.files |= {(FIX, "new.py"): b"1", (NOW, "new.py"): b"1"}
    office.github.files |= {(HEAD, "run.sh"): b"a", (FIX, "run.sh"): b"b", (NOW, "run.sh"): b"b"}
    await office.say("undo")
    edits = {edit.path: edit.mode for edit in office.github.edits[office.github.branches[UNDO]]}
    assert edits == {"new.py": "deleted", "run.sh": "100755"}


async def test_files_that_were_not_noted_are_asked_for() -> None:
    office = office_with(files={})
    office.github.pull_files[FIX_PULL] = (PullRequestFile(path="calculator.py"),)
    assert (await office.say("undo")).ok
    office = office_with(files={}, **PUSHED)
    assert "git revert" in (await office.say("undo")).text


@pytest.mark.parametrize(
    "state", [FixState.CLOSED, FixState.REVERTED, FixState.SUPERSEDED, FixState.EXPIRED]
)
async def test_what_is_gone_cannot_be_undone(state: FixState) -> None:
    assert "already" in (await office_with(state).say("undo")).text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("undo #99", "is no fix of ours"),
        ("undo nonsense", "is no fix of ours"),
        ("undo abc", "is no"),
    ],
)
async def test_only_fixes_of_ours_are_undone(words: str, said: str) -> None:
    assert said in (await office_with().say(words)).text


async def test_without_a_fix_there_is_nothing_to_undo() -> None:
    assert f"There is no fix of ours for #{PULL}" in (await Office().say("undo")).text


async def test_a_branch_that_is_gone_needs_no_undoing() -> None:
    office = office_with()
    del office.github.branches[BRANCH]
    assert "no longer exists" in (await office.say("undo")).text


async def test_a_push_in_between_is_not_overwritten() -> None:
    office = office_with(**PUSHED)
    office.github.faults["commit_on_branch"] = [Conflict("the branch moved", status=409)]
    assert "try again" in (await office.say("undo")).text
    assert state_of(office) is FixState.OPEN


async def test_where_nothing_is_to_be_written_it_is_only_said() -> None:
    office = office_with()
    office.policy = office.policy.with_(mode="staged")
    reply = await office.say("undo")
    assert "**Staged**" in reply.text
    assert "Revert the fix of" in reply.text
    assert UNDO not in office.github.branches
    assert state_of(office) is FixState.MERGED
    assert office.queue.feedback == []
    assert office.writes == ["react", "react", "comment"], "people are answered all the same"
