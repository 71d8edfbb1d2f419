"""`mode: staged`: publish only our check, which lists the writes that would have been made."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from bot.domain.counted import counted
from bot.domain.publication import Publication
from bot.domain.registry import (
    InstallationState,
    LiveMission,
    OfferedFix,
    Proposal,
    Switch,
)
from bot.github.staged import Notebook, stage
from bot.ports import Registry, RegistryReads
from bot.publish.publisher import publish_outcome
from bot.publish.services import PublishServices
from bot.publish.story import Story


async def publish_staged(story: Story, services: PublishServices) -> Publication:
    """Report the outcome only in our own check, with all writes it would have made.

    Args:
        story: The finished mission.
        services: External dependencies of publishing.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
    """
    notebook = Notebook()
    staged = replace(
        services,
        github=stage(services.github, notebook),
        registry=stage_registry(services.registry) if services.registry is not None else None,
    )
    publication = await publish_outcome(story, staged)
    return Publication(
        mission_id=publication.mission_id,
        outcome=publication.outcome,
        check_run=publication.check_run,
        skipped=f"staged: the check lists {counted(len(notebook.writes), 'write')}",
    )


class _StagedRegistry:
    """The registry without its writes."""

    def __init__(self, inner: Registry) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """Return one of the port's reads, and nothing else: an unknown call may be a write."""
        if name not in vars(RegistryReads):
            raise AttributeError(name)
        return getattr(self._inner, name)

    async def begin(self, _: LiveMission) -> None:
        """Drop the write."""

    async def end(self, _: str) -> None:
        """Drop the write."""

    async def forgive(self, _: int, *, branch: str) -> None:
        """Drop the write."""

    async def offer(self, _: OfferedFix) -> None:
        """Drop the write."""

    async def revise(self, _: str, __: Callable[[OfferedFix], OfferedFix]) -> OfferedFix | None:
        """Drop the write; return None."""

    async def propose(self, _: Proposal) -> None:
        """Drop the write."""

    async def switch(self, _: Switch) -> None:
        """Drop the write."""

    async def note_installation(self, _: InstallationState) -> None:
        """Drop the write."""


def stage_registry(inner: Registry) -> Registry:
    """Return the registry for staged mode: reads are passed through, writes are dropped."""
    return cast("Registry", _StagedRegistry(inner))
