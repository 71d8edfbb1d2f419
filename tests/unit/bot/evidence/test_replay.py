"""A verdict run again: what is confirmed, what is not, and what nobody can compare."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.domain.evidence import Claim, EvidenceBundle, Replay
from bot.domain.mission import MissionContext, Outcome
from bot.evidence.bundle import read_bundle, write_bundle
from bot.evidence.claim import build_bundle
from bot.evidence.replay import MOST_RUNS, build_checkout, replay_bundle
from bot.publish.story import build_story
from sandbox.errors import SandboxUnavailable, SetupFailed
from sandbox.types import ArchiveSource, FileEdit, TestReport, TestStatus, TrustTier
from tests.builders import facts
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_workspace import Asked, World, a_run
from tests.unit.bot.mission.world import (
    ADD,
    ADDS,
    EVEN,
    MENDED,
    PATH,
    SUB,
    Stage,
    a_world,
    honest,
    outcomes,
)

pytestmark = pytest.mark.anyio
Change = Callable[[Claim], Claim]


def bundled(context: MissionContext, change: Change = lambda claim: claim) -> EvidenceBundle:
    """The bundle of a mission, as it comes out of a file; perhaps somebody wrote another claim into it."""
    bundle = build_bundle(build_story(context), b"tar")
    assert bundle is not None
    return read_bundle(write_bundle(bundle.with_(claim=change(bundle.claim))))


async def a_mission(world: World | None = None) -> MissionContext:
    return await Stage(world=world or a_world(ADDS)).play()


async def replayed(bundle: EvidenceBundle, world: World | None = None) -> Replay:
    world = world or a_world(ADDS)
    replay = await replay_bundle(bundle, world.open_workspace, clock=FixedClock(step=1.0))
    assert world.open_now == 0
    return replay


def differing(replay: Replay) -> set[str]:
    return {row.what for row in replay.compared if not row.same}


async def test_an_honest_bundle_is_confirmed() -> None:
    context = await a_mission()
    assert context.outcome is Outcome.FIXED
    replay = await replayed(bundled(context))
    assert (replay.verdict, differing(replay)) == ("CONFIRMED", set())
    assert {
        "unpatched",
        EVEN,
        "edited files",
        "diff",
        "patched: full command, sandbox 1, seed 0",
        "without the change",
        "verdict on the fix",
    } <= {row.what for row in replay.compared}
    assert replay.seconds > 0


async def test_only_the_bundle_decides_what_is_run_and_nothing_is_shared_with_whom_it_names() -> (
    None
):
    bundle = bundled(await a_mission())
    checkout = build_checkout(bundle)
    assert isinstance(checkout.source, ArchiveSource)
    assert checkout.source.content == b"tar"
    assert checkout.source.repository_id.startswith("replay:")
    assert (checkout.tier, checkout.recipe) == (TrustTier.FORK, bundle.claim.recipe)


@pytest.mark.parametrize(
    ("content", "row"),
    [
        (ADDS.replace("== 1", "!= 0"), "verdict on the fix"),
        (ADDS, "verdict on the fix"),
        (
            MENDED.replace("def sub(a, b):\n    return a - b", "def sub(a, b):\n    return a + b"),
            "verdict on the fix",
        ),
        (MENDED + "\n# another word\n", "edited files"),
    ],
    ids=["weaker", "none", "breaks another test", "other bytes"],
)
async def test_another_patch_than_was_verified_is_not_confirmed(content: str, row: str) -> None:
    def weaker(claim: Claim) -> Claim:
        assert claim.fix is not None
        edit = FileEdit(path=PATH, mode="100644", content=content.encode())
        return claim.with_(fix=claim.fix.with_(edits=(edit,)))

    replay = await replayed(bundled(await a_mission(), weaker))
    assert replay.verdict == "NOT CONFIRMED"
    assert differing(replay) & {row, "diff"}


@pytest.mark.parametrize(
    "edit",
    [
        FileEdit(path="../outside.py", mode="100644", content=b"x"),
        FileEdit(path=".git/hooks/pre-commit", mode="100644", content=b"x"),
        FileEdit(path=PATH, mode="100644", content=b"\xff\xfe"),
        FileEdit(path="missing.py", mode="deleted"),
        FileEdit(path="tests/test_math.py", mode="100644", content=b"def test_add():\n    pass\n"),
    ],
    ids=lambda edit: edit.path,
)
async def test_a_patch_no_mission_could_have_verified_is_not_confirmed(edit: FileEdit) -> None:
    def other(claim: Claim) -> Claim:
        assert claim.fix is not None
        return claim.with_(fix=claim.fix.with_(edits=(edit,)))

    replay = await replayed(bundled(await a_mission(), other))
    assert replay.verdict == "NOT CONFIRMED"


def with_red(**changes: TestStatus) -> Change:
    names = {"add": ADD, "even": EVEN, "sub": SUB, "new": "tests/test_math.py::test_new"}
    said = {names[name]: status for name, status in changes.items()}
    return lambda claim: claim.with_(red=claim.red.with_(outcomes=claim.red.outcomes | said))


@pytest.mark.parametrize(
    "change",
    [
        with_red(sub=TestStatus.FAIL),
        with_red(even=TestStatus.PASS),
        with_red(new=TestStatus.PASS),
        with_red(new=TestStatus.FAIL),
        lambda claim: claim.with_(outcome="NO_FIX"),
        lambda claim: claim.with_(fix=claim.fix.with_(green=False)),
        lambda claim: claim.with_(fix=None),
        lambda claim: claim.with_(fix=claim.fix.with_(runs=claim.fix.runs[:1] * 5)),
        lambda claim: claim.with_(criteria=()),
    ],
    ids=["one more red", "one less red", "one more test", "a red test nobody has", *("outcome", "not green", "no fix"),
         "other runs", "no criteria"],
)  # fmt: skip
async def test_a_claim_that_was_edited_is_not_confirmed(change: Change) -> None:
    replay = await replayed(bundled(await a_mission(), change))
    assert replay.verdict == "NOT CONFIRMED", replay.reason
    assert replay.reason


async def test_a_diff_that_is_not_the_one_verified_is_not_confirmed() -> None:
    bundle = bundled(await a_mission())
    replay = await replayed(bundle.with_(diff=bundle.diff.replace("+", "-", 1)))
    assert replay.verdict == "NOT CONFIRMED"
    assert "contradicts itself" in replay.reason


@pytest.mark.parametrize(
    ("place", "verdict"),
    [({}, "NOT CONFIRMED"), ({"lock_hash": "2" * 64}, "CANNOT BE COMPARED"), ({"interpreter": "Python 3.9.1"}, "CANNOT BE COMPARED"),
     ({"image_digest": "sha256:" + "9" * 64}, "NOT CONFIRMED")],
    ids=["same", "packages", "interpreter", "image only"],
)  # fmt: skip
async def test_where_the_environment_differs_a_run_that_does_not_fail_again_proves_nothing(
    place: dict[str, Any], verdict: str
) -> None:
    then = facts(lock_hash="1" * 64)
    bundle = bundled(await a_mission(a_world(ADDS, facts=then)))
    replay = await replayed(bundle, a_world(MENDED, facts=then.with_(**place)))
    assert replay.verdict == verdict
    assert {row.what for row in replay.environment if not row.same} == {
        {"lock_hash": "installed packages", "interpreter": "interpreter", "image_digest": "image"}[
            name
        ]
        for name in place
    }


async def test_an_environment_that_differs_is_told_beside_a_confirmed_verdict() -> None:
    bundle = bundled(await a_mission(a_world(ADDS, facts=facts(lock_hash="1" * 64))))
    replay = await replayed(bundle, a_world(ADDS, facts=facts(lock_hash="2" * 64)))
    assert replay.verdict == "CONFIRMED"
    assert [row.what for row in replay.environment if not row.same] == ["installed packages"]


async def test_an_environment_that_cannot_be_rebuilt_cannot_be_compared() -> None:
    world = a_world(ADDS, trouble=lambda _: SetupFailed("no wheel for it"))
    replay = await replayed(bundled(await a_mission()), world)
    assert (replay.verdict, "no wheel for it" in replay.reason) == ("CANNOT BE COMPARED", True)


async def test_a_host_without_a_sandbox_is_an_error_and_no_verdict() -> None:
    world = a_world(ADDS, trouble=lambda _: SandboxUnavailable("Docker does not answer"))
    with pytest.raises(SandboxUnavailable):
        await replayed(bundled(await a_mission()), world)


def beyond_repair(asked: Asked) -> TestReport:
    return a_run({ADD: "AssertionError: assert 'a' == 'b'", SUB: ""}, targets=asked.targets)


def every_other(asked: Asked) -> TestReport:
    return a_run(outcomes(MENDED if asked.number % 2 else ADDS), targets=asked.targets)


@pytest.mark.parametrize(
    ("world", "outcome"),
    [
        (lambda: a_world(ADDS, base=ADDS), Outcome.BASE_RED),
        (lambda: a_world(MENDED), Outcome.NOT_REPRODUCED),
        (lambda: a_world(base=None, run=beyond_repair), Outcome.NO_FIX),
        (lambda: a_world(run=every_other), Outcome.FLAKY),
    ],
    ids=lambda value: value.value if isinstance(value, Outcome) else "",
)
async def test_a_mission_without_a_fix_replays_its_runs(
    world: Callable[[], World], outcome: Outcome
) -> None:
    context = await a_mission(world())
    assert context.outcome is outcome, context.reason
    replay = await replayed(bundled(context), world())
    assert replay.verdict == "CONFIRMED", replay.reason
    assert not any(row.what.startswith("patched") for row in replay.compared)


async def test_a_flake_that_does_not_flicker_again_cannot_be_compared() -> None:
    context = await a_mission(a_world(run=every_other))
    steady = a_world(MENDED, run=honest)
    replay = await replayed(bundled(context), steady)
    assert replay.verdict == "CANNOT BE COMPARED"
    assert "chance" in replay.reason


async def test_a_claim_cannot_have_its_tests_run_without_end() -> None:
    context = await a_mission(a_world(run=every_other))
    steady = a_world(MENDED, run=honest)
    await replayed(bundled(context, lambda claim: claim.with_(runs=10_000)), steady)
    assert len(steady.runs) == MOST_RUNS


async def test_something_green_that_is_red_now_is_not_confirmed() -> None:
    context = await a_mission(a_world(MENDED))
    assert context.outcome is Outcome.NOT_REPRODUCED
    replay = await replayed(bundled(context), a_world(ADDS))
    assert replay.verdict == "NOT CONFIRMED"


@pytest.mark.parametrize("told", [5, ["x"], {"a": 1}, True])
async def test_a_bundle_whose_evidence_is_of_another_form_is_not_confirmed(told: Any) -> None:
    bundle = bundled(await a_mission())
    bundle = bundle.with_(evidence={**bundle.evidence, "fix": {"patch_sha256": told}})
    replay = await replayed(bundle)
    assert (replay.verdict, differing(replay)) == ("NOT CONFIRMED", {"patch in evidence.json"})
