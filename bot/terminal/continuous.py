"""metaagent improve --continuous: missions on a folder until its tests pass."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import total
from bot.domain.request import MissionRequest, Trigger
from bot.errors import UsageError
from bot.improve.history import History
from bot.improve.promotion import promote_fix
from bot.improve.target import refuse_copy
from bot.pipeline import handle_folder
from bot.publish.model_costs import usd_or_none
from bot.queue.memory import MemoryCheckpoint
from bot.settings import Settings
from bot.telemetry import set_up_logging
from bot.terminal.improve import FOLDER, ImproveOrder, ImproveResult
from bot.terminal.misuse import detect_misuse
from bot.terminal.prepare import check_folder
from bot.wiring.mission_services import (
    BuildMissionServices,
    build_mission_services,
    open_mission_services,
)
from sandbox.errors import ChangeRejected
from sandbox.gate import clean
from sandbox.types import TrustTier

_GREEN = frozenset({Outcome.FIXED, Outcome.NOT_REPRODUCED})
"""Outcomes after which the folder's tests pass."""


def run_continuous(
    order: ImproveOrder,
    settings: Settings,
    *,
    build: BuildMissionServices = build_mission_services,
    running: Path | None = None,
) -> ImproveResult:
    """Run missions on a folder, and put a verified fix in place.

    Args:
        order: The options; `cycles` is the most missions.
        settings: All settings.
        build: Builds the external dependencies from settings.
        running: The folder of the running package; None for this one.

    Raises:
        UsageError: there is no such folder, or its command was not red for a reason of the user.
        SandboxError: there is no sandbox.
    """
    set_up_logging(level="warning", secrets=settings.secrets)
    folder = Path(order.target).resolve()
    refuse_copy(order.target, folder, running=running)
    check_folder(order.target, settings.sandbox, command=order.command, since=None)
    reported, contexts = asyncio.run(_missions(order, folder, settings, build))
    if (misuse := detect_misuse(reported)) is not None:
        raise misuse
    backup, problem = None, ""
    if not order.evaluate_only:
        backup, problem = _apply(reported, folder, History(settings.data_dir / FOLDER))
    result = _result(order, reported, contexts, problem)
    return replace(result, data=result.data | {"backup": backup})


async def _missions(
    order: ImproveOrder, folder: Path, settings: Settings, build: BuildMissionServices
) -> tuple[MissionContext, tuple[MissionContext, ...]]:
    """Return the mission to report, and all of them."""
    found: list[MissionContext] = []
    async with open_mission_services(settings, build) as opened:
        limits = opened.limits.with_(missions_in_a_row=order.cycles)
        services = replace(opened, limits=limits, each=found.extend)
        name = hashlib.sha256(f"{folder}\n{services.clock.now().isoformat()}".encode()).hexdigest()[
            :12
        ]
        request = MissionRequest(
            mission_id=f"local:{name}",
            trigger=Trigger.COMMAND_LINE,
            folder=str(folder),
            command=order.command,
            tier=TrustTier.LOCAL,
        )
        reported = await handle_folder(
            request, services, MemoryCheckpoint(), is_misuse=lambda done: bool(detect_misuse(done))
        )
    return reported, tuple(found) or (reported,)


def _apply(context: MissionContext, folder: Path, history: History) -> tuple[str | None, str]:
    """Write a verified fix into the folder; return where the way back is, and the problem."""
    if context.outcome is not Outcome.FIXED or context.fix is None:
        return None, ""
    diff = context.fix[1].diff
    # Like the ids of cycles: the newest version has the greatest.
    name = f"{datetime.fromisoformat(context.created_at):%Y%m%dT%H%M%S.%f}Z-fix"
    try:
        with history.locked():
            return str(promote_fix(history.fallback_versions, name, folder, diff)), ""
    except (ChangeRejected, UsageError) as error:
        return None, f"the fix is not in place: {error.message}"
    except OSError as error:
        return None, f"the fix is not in place: the way back cannot be stored ({error.strerror})"


def _result(
    order: ImproveOrder,
    reported: MissionContext,
    contexts: tuple[MissionContext, ...],
    problem: str,
) -> ImproveResult:
    outcome = reported.outcome or Outcome.ERROR
    is_green = outcome in _GREEN and not problem
    count = len(contexts)
    message = (
        problem or f"{outcome.value} after {count} mission{'s' * (count != 1)}: {reported.reason}"
    )
    data: dict[str, Any] = {
        "target": order.target,
        "missions": [_as_data(context) for context in contexts],
        "promoted": outcome is Outcome.FIXED and is_green and not order.evaluate_only,
        "advice": clean(reported.advice, cap=1_000),
        "notes": list(order.notes),
    }
    return ImproveResult(ok=is_green, message=clean(message, cap=1_000), data=data)


def _as_data(context: MissionContext) -> dict[str, Any]:
    return {
        "mission_id": context.mission_id,
        "outcome": str(context.outcome or Outcome.ERROR),
        "reason": clean(context.reason, cap=1_000),
        "diff": context.fix[1].diff if context.fix else "",
        "candidates_tried": context.candidates_tried,
        "recalled": [recalled.lesson.id for recalled in context.lessons],
        "seconds": round(context.seconds, 3),
        "cost_usd": usd_or_none(total(context.calls)),
    }
