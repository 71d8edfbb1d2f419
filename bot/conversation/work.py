"""The commands fix, explain, reproduce and retry: they request a mission, which replies itself."""

import hashlib
import re
from collections.abc import Sequence

from bot.conversation.result import CommandOutcome, done, pen, refuse
from bot.conversation.scene import Scene, missions_here
from bot.conversation.verbs import VERBS
from bot.domain.command import Command, Origin, Verb
from bot.domain.github import CheckRunState
from bot.domain.request import (
    Answer,
    CheckRef,
    Depth,
    MissionRequest,
    Trigger,
    is_improvement,
)
from bot.intake import guards
from bot.policy.rules import LABEL_FIX
from bot.ports import Services
from sandbox.types import Frozen, TrustTier

LONGEST_S = 600.0
"""Largest `--time-limit`, in seconds."""
SHOWN = 10

DEPTHS = {Verb.EXPLAIN: Depth.EXPLAIN, Verb.REPRODUCE: Depth.REPRODUCE}


_FILE = re.compile(r"[\w./-]+\.py(?::\d{1,6})?")
"""A target that is a file instead of a check, with or without a line."""


class Wish(Frozen):
    """The parsed options of a command."""

    check: str = ""
    hint: str = ""
    """A file, with or without a line, to suspect first."""
    command: str | None = None
    rungs: tuple[int, ...] = (0, 1, 2)
    time_limit_s: float | None = None


async def work(scene: Scene, services: Services) -> CommandOutcome:
    """Request a mission on the current head."""
    if (no := place_refusal(scene)) is not None:
        return no
    wish = read_wish(scene, services)
    if isinstance(wish, CommandOutcome):
        return wish
    check: CheckRef | CommandOutcome | None = None
    if wish.check:
        check = await _named_check(scene, services, wish.check)
        if isinstance(check, CommandOutcome):
            return check
    asked = build_request(scene).with_(
        check=check,
        hint=wish.hint,
        command=wish.command,
        rungs=wish.rungs,
        time_limit_s=wish.time_limit_s,
    )
    return await request_mission(asked, scene, services)


def place_refusal(scene: Scene) -> CommandOutcome | None:
    """Return a refusal if no mission is possible here, or None."""
    pull = scene.pull
    if scene.head_sha is None:
        return refuse("This command needs a commit, so it works in pull requests only.")
    if pull is None and scene.head_branch is None:
        # A fork's commit must never be mistaken for ours.
        return refuse(f"The owner of {scene.place} is unknown; use its pull request.")
    if pull is not None and pull.state != "open":
        return refuse(f"{scene.place} is no longer open.")
    if scene.ours:
        return refuse(
            "This pull request is one of our fixes, which we do not repair. Use the command in the "
            "pull request that it fixes; `/metaagent reject` and `/metaagent undo` work here."
        )
    return None


def build_request(scene: Scene) -> MissionRequest:
    """Return the mission that a command requests."""
    command = scene.command
    return MissionRequest(
        mission_id=mission_id(command),
        trigger=Trigger.COMMENT,
        repository=scene.repository,
        head_sha=scene.head_sha,
        head_branch=scene.pull.head_ref if scene.pull else scene.head_branch,
        pull_request=scene.pull.number if scene.pull else None,
        comment=command.comment,
        tier=_tier(scene),
        delivery_id=command.delivery_id,
        requested_by=command.author,
        actors=(command.author,),
        depth=DEPTHS.get(command.verb or Verb.FIX, Depth.FIX),
        rungs=(0, 1, 2),
        # A retry uses another seed, so that the search takes another order.
        seed=_seed(command) if command.verb is Verb.RETRY else 0,
    )


def mission_id(command: Command) -> str:
    """Return the mission id: deterministic for a comment, press or label."""
    comment, repository = command.comment, command.repository.id
    if comment is None:
        return f"mission:{repository}:{command.command_id.rpartition(':')[2]}"
    return (
        f"mission:{repository}:pr{comment.number}:{'r' if comment.in_review else 'c'}{comment.id}"
    )


async def request_mission(
    asked: MissionRequest, scene: Scene, services: Services
) -> CommandOutcome:
    """Enqueue a mission, unless one is running on the same commit.

    An automatic mission that is not yet admitted is replaced: the policy may end it unreported.
    """
    for live in await missions_here(scene, services):
        if live.mission_id == asked.mission_id or is_improvement(live.mission_id):
            continue
        if live.head_sha not in {None, asked.head_sha}:
            continue
        state = await services.queue.status(live.mission_id)
        unasked = live.requested_by is None
        if state == "running" and (live.admitted or not unasked):
            since = f" since {pen(services).line(live.since, cap=40)}" if live.since else ""
            return refuse(
                f"A mission is already running on `{(asked.head_sha or '')[:8]}`{since}; "
                "its result is reported here. `/metaagent stop` cancels it."
            )
        if state in {"waiting", "running"} and unasked and asked.depth is Depth.FIX:
            await services.queue.cancel(live.mission_id)
            await services.registry.end(live.mission_id)
    await services.queue.submit(asked)
    # A fork's branch may have the name of one of ours.
    if asked.head_branch is not None and not scene.from_fork:
        await services.registry.forgive(scene.repository.id, branch=asked.head_branch)
    # Setting the label again then requests another mission.
    if scene.command.origin is Origin.LABEL and scene.pull is not None:
        await services.github.remove_label(scene.repository, scene.pull.number, LABEL_FIX)
    return done(mission_id=asked.mission_id)


def unknown_options(command: Command, services: Services) -> CommandOutcome | None:
    """Return a refusal if the verb does not accept all options, or None."""
    takes = VERBS[command.verb].options if command.verb else ()
    strangers = [key for key in command.options if key not in takes]
    if not strangers:
        return None
    named = ", ".join(pen(services).code(f"--{key}") for key in strangers[:SHOWN])
    known = ", ".join(f"`--{key}`" for key in takes) or "none"
    return refuse(f"Unknown option {named}. Options of `{command.verb}`: {known}.")


def build_follow_up(
    scene: Scene, proposal_id: str, *, choice: int | None = None, text: str = ""
) -> MissionRequest:
    """Return the mission that continues with a person's answer; files it names become suspects."""
    return build_request(scene).with_(
        answer=Answer(proposal_id=proposal_id, choice=choice, text=text), hint=text
    )


def read_wish(scene: Scene, services: Services) -> Wish | CommandOutcome:
    """Return the parsed options, or a refusal."""
    options = scene.command.options
    rungs = [part.strip() for part in options.get("rungs", "0,1,2").split(",")]
    if not all(part in {"0", "1", "2"} for part in rungs):
        return refuse("`--rungs` takes numbers from 0 to 2, separated by commas: `--rungs=0,1`.")
    limit = options.get("time-limit")
    # Nine digits bound the conversion of untrusted input.
    if limit is not None and not (
        limit.isascii() and limit.isdecimal() and 0 < int(limit[:9]) <= LONGEST_S
    ):
        return refuse(f"`--time-limit` takes seconds, 1 to {LONGEST_S:.0f}: `--time-limit=60`.")
    check, target = options.get("check", ""), scene.command.target
    hint = (
        f"{scene.command.path}:{scene.command.line}"
        if scene.command.path and scene.command.line
        else ""
    )
    if _FILE.fullmatch(target):
        hint, target = target, ""
    if check and target and check.casefold() != target.casefold():
        return refuse(
            f"Which check do you mean: {pen(services).code(target)} or {pen(services).code(check)}?"
        )
    command = options.get("test", "").strip()
    if "test" in options and command in {"", "true"}:
        return refuse('`--test` takes the command to repair: `--test="python -m pytest tests"`.')
    return Wish(
        check=check or target,
        hint=hint,
        command=command or None,
        rungs=tuple(sorted({int(part) for part in rungs})),
        time_limit_s=float(limit) if limit else None,
    )


async def _named_check(scene: Scene, services: Services, name: str) -> CheckRef | CommandOutcome:
    """Return the red check or status of this name, or a refusal that lists the choices."""
    runs = await services.github.check_runs(scene.repository, scene.head_sha or "")
    # A rerun creates another check run of the same name; the newest one counts.
    red = {
        run.name: CheckRef(
            id=run.id, name=run.name, app_slug=run.app_slug, conclusion=run.conclusion or "failure"
        )
        for run in sorted(runs, key=lambda run: run.id)
        if _may_be_repaired(run, services)
    }
    meant = _matching_names(name, tuple(red))
    if not meant:
        red |= await _red_statuses(scene, services)
        meant = _matching_names(name, tuple(red))
    if len(meant) == 1:
        return red[meant[0]]
    names = ", ".join(pen(services).code(one) for one in (meant or sorted(red))[:SHOWN])
    said = pen(services).code(name)
    if meant:
        return refuse(f"{said} matches several red checks: {names}.")
    if red:
        return refuse(f"No red check is named {said}. Red now: {names}.")
    return refuse(
        f"No check is red on `{(scene.head_sha or '')[:8]}`; "
        "`/metaagent fix` without a check runs the tests anyway."
    )


async def _red_statuses(scene: Scene, services: Services) -> dict[str, CheckRef]:
    """Return the red commit statuses of the head by name."""
    found = await services.github.commit_statuses(scene.repository, scene.head_sha or "")
    return {
        one.context: CheckRef(id=0, name=one.context)
        for one in found
        if one.is_red and guards.is_test_status(one.context)
    }


def _matching_names(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that equal, else begin with, else contain the given one."""
    wanted = name.casefold()
    for fits in (
        lambda one: one == wanted,
        lambda one: one.startswith(wanted),
        lambda one: wanted in one,
    ):
        if found := tuple(one for one in names if fits(one.casefold())):
            return found
    return ()


def _may_be_repaired(run: CheckRunState, services: Services) -> bool:
    return run.conclusion in guards.RED and run.app_slug not in {
        services.app_slug,
        *guards.NOT_TESTS,
    }


def _tier(scene: Scene) -> TrustTier:
    if scene.from_fork:
        return TrustTier.FORK
    on_default = scene.pull is None and scene.head_branch == scene.repository.default_branch
    return TrustTier.DEFAULT_BRANCH if on_default else TrustTier.BRANCH


def _seed(command: Command) -> int:
    # Deterministic for a redelivered command; 31 bits fit a signed integer.
    return int.from_bytes(hashlib.sha256(command.command_id.encode()).digest()[:4], "big") >> 1
