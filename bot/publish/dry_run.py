"""`mode: staged`: an outcome is worked out to the last word, and our check says what would have been written."""

from collections.abc import Callable
from dataclasses import replace

from bot.domain.publication import Publication
from bot.domain.registry import FixState, InstallationState, LiveMission, OfferedFix, Proposal, Switch
from bot.github.staged import Notebook, StagedGitHub, StagedUpkeep
from bot.ports import Registry
from bot.publish.places import Places
from bot.publish.publisher import publish_outcome
from bot.publish.story import Story


async def publish_staged(story: Story, places: Places) -> Publication:
    """Tell the outcome in our own check only, with everything that would have been written besides.

    Args:
        story: The finished mission.
        places: Where it would be told.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
    """
    notebook = Notebook()
    staged = replace(
        places,
        github=StagedGitHub(places.github, notebook),
        upkeep=StagedUpkeep(places.upkeep, notebook) if places.upkeep is not None else None,
        registry=StagedRegistry(places.registry) if places.registry is not None else None,
    )
    told = await publish_outcome(story, staged)
    return Publication(
        mission_id=told.mission_id,
        outcome=told.outcome,
        check_run=told.check_run,
        skipped=f"staged: {len(notebook.writes)} writes were noted in the check",
    )


class StagedRegistry:
    """The registry for a dry run: reads go through, nothing new is remembered.

    Args:
        inner: Who is asked.
    """

    def __init__(self, inner: Registry) -> None:
        self._inner = inner

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Read through."""
        return await self._inner.live(repository_id, branch=branch, pull_request=pull_request)

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """Read through."""
        return await self._inner.last(repository_id, branch=branch)

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Read through."""
        return await self._inner.attempts(repository_id, branch=branch)

    async def offered(
        self,
        repository_id: int,
        *,
        fingerprint: str | None = None,
        state: FixState | None = None,
        pull_request: int | None = None,
    ) -> tuple[OfferedFix, ...]:
        """Read through."""
        return await self._inner.offered(repository_id, fingerprint=fingerprint, state=state, pull_request=pull_request)

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """Read through."""
        return await self._inner.is_blocked(repository_id, patch_id)

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """Read through."""
        return await self._inner.proposal(repository_id, pull_request=pull_request, proposal_id=proposal_id)

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """Read through."""
        return await self._inner.off(repository_id, pull_request)

    async def installation(self, installation_id: int) -> InstallationState | None:
        """Read through."""
        return await self._inner.installation(installation_id)

    async def begin(self, _: LiveMission) -> None:
        """Nothing begins."""

    async def end(self, _: str) -> None:
        """Nothing ends."""

    async def forgive(self, _: int, *, branch: str) -> None:
        """Nothing is forgiven."""

    async def offer(self, _: OfferedFix) -> None:
        """Nothing was offered."""

    async def revise(self, _: str, __: Callable[[OfferedFix], OfferedFix]) -> OfferedFix | None:
        """Nothing is changed."""

    async def propose(self, _: Proposal) -> None:
        """Nothing was proposed."""

    async def switch(self, _: Switch) -> None:
        """Nothing is turned."""

    async def note_installation(self, _: InstallationState) -> None:
        """Nothing is noted."""
