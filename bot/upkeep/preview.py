"""Previews: the work that a red head or a request would start; nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from bot.domain.request import MissionRequest, RedHead
from bot.intake.admission import admit
from bot.intake.settle import settle
from bot.ports import Services
from bot.queue.memory import MemoryCheckpoint


@dataclass
class Preview:
    """The findings, as lines and as data."""

    lines: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def say(self, line: str, **data: Any) -> None:
        """Add a line and its data."""
        self.lines.append(line)
        self.data.update(data)


async def preview_red(red: RedHead, services: Services, found: Preview) -> MissionRequest | None:
    """Describe the mission for a red head, and return its request if there would be one.

    Args:
        red: The head; other checks of it are not waited for.
        services: The services to use; GitHub and registry are only read.
        found: Receives the description.

    Raises:
        MetaAgentError: GitHub or the registry could not be read.
    """
    settled = await settle(red, services, MemoryCheckpoint(), settle_s=0.0)
    if settled is None:
        found.say("no mission: its checks are green by now, or the head is a fork's", settled=None)
        return None
    names = [
        check.name for check in (*((settled.check,) if settled.check else ()), *settled.also_red)
    ]
    found.say(
        f"one mission for {len(names)} red checks: {', '.join(names)}", settled=as_data(settled)
    )
    admitted = await preview_mission(settled, services, found)
    return settled if admitted else None


async def preview_mission(request: MissionRequest, services: Services, found: Preview) -> bool:
    """Describe the admission of a request; return True if it would be admitted.

    Raises:
        MetaAgentError: GitHub or the registry could not be read.
    """
    admission = await admit(
        request,
        services.github,
        registry=services.registry,
        own_app_slug=services.app_slug,
        secrets=services.secrets,
    )
    found.say(f"mission {request.mission_id}", admission=as_data(admission))
    policy = admission.policy
    found.lines += [f"    {problem}" for problem in policy.problems]
    if admission.checkout is None:
        advice = f" ({admission.advice})" if admission.advice else ""
        found.say(f"    not admitted: {admission.refusal}, {admission.reason}{advice}")
        return False
    hints = admission.checkout.hints
    found.say(
        f"    admitted at {(admission.request.head_sha or '')[:12]}, trust "
        f"{admission.checkout.tier.value}"
    )
    for name, value in (
        ("job", hints.job_name),
        ("step", hints.step_name),
        ("workflow", hints.workflow_path),
        ("command", hints.command),
        (
            "mode",
            "staged: nothing but our check would be written" if policy.mode == "staged" else None,
        ),
        ("rungs", ", ".join(str(rung) for rung in policy.rungs)),
    ):
        if value:
            found.lines.append(f"    {name}: {value}")
    return True


def as_data(value: BaseModel) -> Mapping[str, Any]:
    """Return a value with the name of its type."""
    return {"type": type(value).__name__, **value.model_dump(mode="json")}
