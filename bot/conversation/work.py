"""fix, explain, reproduce, retry: ask for a mission, which answers by itself."""

import hashlib
import re
from collections.abc import Sequence

from bot.conversation.desk import Desk, Done, done, refuse
from bot.conversation.scene import Scene, missions_here
from bot.conversation.verbs import VERBS
from bot.domain.command import Command, Origin, Verb
from bot.domain.github import CheckRunState
from bot.domain.request import Answer, CheckRef, Depth, MissionRequest, Trigger
from bot.intake import guards
from bot.policy.rules import LABEL_FIX
from sandbox.types import Frozen, TrustTier

LONGEST_S = 600.0
"""The most `--time-limit` may ask for."""
SHOWN = 10

DEPTHS = {Verb.EXPLAIN: Depth.EXPLAIN, Verb.REPRODUCE: Depth.REPRODUCE}


_FILE = re.compile(r"[\w./-]+\.py(?::\d{1,6})?")


class Wish(Frozen):
    """What the options ask for."""

    check: str = ""
    hint: str = ""
    """Where to look."""
    command: str | None = None
    rungs: tuple[int, ...] = (0, 1, 2)
    time_limit_s: float | None = None


async def work(scene: Scene, desk: Desk) -> Done:
    """Ask for a mission on the head as it is now."""
    if (no := no_place(scene)) is not None:
        return no
    wish = _wish(scene, desk)
    if isinstance(wish, Done):
        return wish
    check: CheckRef | Done | None = None
    if wish.check:
        check = await _named_check(scene, desk, wish.check)
        if isinstance(check, Done):
            return check
    asked = a_mission(scene).with_(
        check=check, hint=wish.hint, command=wish.command, rungs=wish.rungs, time_limit_s=wish.time_limit_s
    )
    return await ask_for(asked, scene, desk)


def no_place(scene: Scene) -> Done | None:
    """Why no mission can be had here, or None."""
    pull = scene.pull
    if scene.head_sha is None:
        return refuse("This works on code, so it is understood in pull requests only.")
    if pull is None and scene.head_branch is None:
        # A fork's commit must never be taken for one of ours.
        return refuse(f"Whose {scene.place} is cannot be told; ask in its pull request.")
    if pull is not None and pull.state != "open":
        return refuse(f"{scene.place} is not open any more.")
    if scene.ours:
        return refuse(
            "This pull request is one of ours, and we do not repair our own repairs. "
            "Ask in the pull request it wants to repair; here `/metaagent reject` and `/metaagent undo` are understood."
        )
    return None


def a_mission(scene: Scene) -> MissionRequest:
    """The mission a command asks for."""
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
        # Another try shall not climb the ladder in the same order.
        seed=_seed(command) if command.verb is Verb.RETRY else 0,
    )


def mission_id(command: Command) -> str:
    """Deterministic: the same comment, press or label asks for one mission."""
    comment, repository = command.comment, command.repository.id
    if comment is None:
        return f"mission:{repository}:{command.command_id.rpartition(':')[2]}"
    return f"mission:{repository}:pr{comment.number}:{'r' if comment.in_review else 'c'}{comment.id}"


async def ask_for(asked: MissionRequest, scene: Scene, desk: Desk) -> Done:
    """Put a mission in line, unless one is at work on the same commit.

    An automatic one that has not begun to work gives way to a person's: policy may still end it without a word.
    """
    for live in await missions_here(scene, desk):
        if live.mission_id == asked.mission_id or live.head_sha not in {None, asked.head_sha}:
            continue
        state = await desk.queue.status(live.mission_id)
        unasked = live.requested_by is None
        if state == "running" and (live.admitted or not unasked):
            since = f" since {desk.pen.line(live.since, cap=40)}" if live.since else ""
            return refuse(
                f"A mission is at work on `{(asked.head_sha or '')[:8]}` already{since}; what it finds is told here. "
                "`/metaagent stop` ends it."
            )
        if state in {"waiting", "running"} and unasked and asked.depth is Depth.FIX:
            await desk.queue.cancel(live.mission_id)
            await desk.registry.end(live.mission_id)
    await desk.queue.submit(asked)
    if asked.head_branch is not None and not scene.from_fork:
        await desk.registry.forgive(scene.repository.id, branch=asked.head_branch)
    if scene.command.origin is Origin.LABEL and scene.pull is not None:
        await desk.github.remove_label(scene.repository, scene.pull.number, LABEL_FIX)
    return done(mission_id=asked.mission_id)


def unknown_options(command: Command, desk: Desk) -> Done | None:
    """What was given that this verb does not take, or None."""
    takes = VERBS[command.verb].options if command.verb else ()
    strangers = [key for key in command.options if key not in takes]
    if not strangers:
        return None
    named = ", ".join(desk.pen.code(f"--{key}") for key in strangers[:SHOWN])
    known = ", ".join(f"`--{key}`" for key in takes) or "none"
    return refuse(f"{named} means nothing here. Options of `{command.verb}`: {known}.")


def answered(scene: Scene, proposal_id: str, *, choice: int | None = None, text: str = "") -> MissionRequest:
    """The mission that goes on with what a person said; files they name are looked at."""
    return a_mission(scene).with_(answer=Answer(proposal_id=proposal_id, choice=choice, text=text), hint=text)


def _wish(scene: Scene, desk: Desk) -> Wish | Done:
    """The options, read; or what is wrong with them."""
    options = scene.command.options
    rungs = [part.strip() for part in options.get("rungs", "0,1,2").split(",")]
    if not all(part in {"0", "1", "2"} for part in rungs):
        return refuse("`--rungs` takes numbers from 0 to 2, separated by commas: `--rungs=0,1`.")
    limit = options.get("time-limit")
    if limit is not None and not (limit.isascii() and limit.isdecimal() and 0 < int(limit[:9]) <= LONGEST_S):
        return refuse(f"`--time-limit` takes seconds, 1 to {LONGEST_S:.0f}.")
    check, target = options.get("check", ""), scene.command.target
    hint = f"{scene.command.path}:{scene.command.line}" if scene.command.path and scene.command.line else ""
    if _FILE.fullmatch(target):
        hint, target = target, ""
    if check and target and check.casefold() != target.casefold():
        return refuse(f"Which check is meant: {desk.pen.code(target)} or {desk.pen.code(check)}?")
    command = options.get("command", "").strip()
    if "command" in options and command in {"", "true"}:
        return refuse('`--command` takes the command that is red: `--command="python -m pytest tests"`.')
    return Wish(
        check=check or target,
        hint=hint,
        command=command or None,
        rungs=tuple(sorted({int(part) for part in rungs})),
        time_limit_s=float(limit) if limit else None,
    )


async def _named_check(scene: Scene, desk: Desk, name: str) -> CheckRef | Done:
    """The one red check that is meant, or what there is to choose from."""
    runs = await desk.github.check_runs(scene.repository, scene.head_sha or "")
    red = {run.name: run for run in sorted(runs, key=lambda run: run.id) if _may_be_repaired(run, desk)}
    meant = _meant(name, tuple(red))
    if len(meant) == 1:
        run = red[meant[0]]
        return CheckRef(id=run.id, name=run.name, app_slug=run.app_slug, conclusion=run.conclusion or "failure")
    names = ", ".join(desk.pen.code(one) for one in (meant or sorted(red))[:SHOWN])
    said = desk.pen.code(name)
    if meant:
        return refuse(f"{said} names more than one red check: {names}.")
    if red:
        return refuse(f"No red check is called {said}. Red now: {names}.")
    return refuse(f"No check is red on `{(scene.head_sha or '')[:8]}`; `/metaagent fix` alone runs the tests anyway.")


def _meant(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names somebody may mean: the very name, else those that begin so, else those that have it in them."""
    wanted = name.casefold()
    for fits in (
        lambda one: one == wanted,
        lambda one: one.startswith(wanted),
        lambda one: wanted in one,
    ):
        if found := tuple(one for one in names if fits(one.casefold())):
            return found
    return ()


def _may_be_repaired(run: CheckRunState, desk: Desk) -> bool:
    return run.conclusion in guards.RED and run.app_slug not in {desk.app_slug, *guards.NOT_TESTS}


def _tier(scene: Scene) -> TrustTier:
    if scene.from_fork:
        return TrustTier.FORK
    on_default = scene.pull is None and scene.head_branch == scene.repository.default_branch
    return TrustTier.DEFAULT_BRANCH if on_default else TrustTier.BRANCH


def _seed(command: Command) -> int:
    return int.from_bytes(hashlib.sha256(command.command_id.encode()).digest()[:4], "big") >> 1
