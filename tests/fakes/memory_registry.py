"""MemoryRegistry: the Registry port in memory."""

from collections.abc import Callable

from bot.domain.registry import (
    FixState,
    InstallationState,
    LiveMission,
    OfferedFix,
    Proposal,
    Switch,
)


class MemoryRegistry:
    """What is under way where, in dictionaries. Tests may fill and read its public attributes."""

    def __init__(self) -> None:
        self.missions: dict[str, LiveMission] = {}
        self.ended: dict[str, LiveMission] = {}
        self.tries: set[tuple[int, str, str]] = set()
        """Repository, branch and mission of every automatic attempt."""
        self.fixes: dict[str, OfferedFix] = {}
        self.proposals: dict[tuple[int, str], Proposal] = {}
        self.switches: dict[tuple[int, int | None], Switch] = {}
        self.installations: dict[int, InstallationState] = {}

    async def begin(self, mission: LiveMission) -> None:
        """The same id again replaces it, and is the same attempt."""
        self.missions[mission.mission_id] = mission
        self.ended.pop(mission.mission_id, None)
        if mission.branch is not None and mission.requested_by is None:
            self.tries.add((mission.repository.id, mission.branch, mission.mission_id))

    async def end(self, mission_id: str) -> None:
        """It does not any more."""
        if mission_id in self.missions:
            self.ended[mission_id] = self.missions.pop(mission_id)

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Oldest first."""
        found = [
            mission
            for mission in self.missions.values()
            if mission.repository.id == repository_id
            and branch in {None, mission.branch}
            and pull_request in {None, mission.pull_request}
        ]
        return tuple(sorted(found, key=lambda mission: mission.since))

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """Ended or not."""
        begun = [*self.ended.values(), *self.missions.values()]
        found = [one for one in begun if (one.repository.id, one.branch) == (repository_id, branch)]
        return max(found, key=lambda one: one.since, default=None)

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Automatic missions since forgiven."""
        return sum(tried[:2] == (repository_id, branch) for tried in self.tries)

    async def forgive(self, repository_id: int, *, branch: str) -> None:
        """Count from zero."""
        self.tries = {tried for tried in self.tries if tried[:2] != (repository_id, branch)}

    async def offer(self, fix: OfferedFix) -> None:
        """The same key again replaces it."""
        self.fixes[fix.key] = fix

    async def revise(
        self, key: str, become: Callable[[OfferedFix], OfferedFix]
    ) -> OfferedFix | None:
        """Nobody else has a turn between the look and the change."""
        known = self.fixes.get(key)
        if known is None or (revised := become(known)) == known:
            return None
        self.fixes[key] = revised
        return revised

    async def offered(
        self,
        repository_id: int,
        *,
        fingerprint: str | None = None,
        state: FixState | None = None,
        pull_request: int | None = None,
    ) -> tuple[OfferedFix, ...]:
        """Newest first."""
        found = [
            fix
            for fix in reversed(self.fixes.values())
            if fix.repository.id == repository_id
            and fingerprint in {None, fix.fingerprint}
            and state in {None, fix.state}
            and pull_request in {None, fix.pull_request}
        ]
        return tuple(sorted(found, key=lambda fix: fix.at, reverse=True))

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """The newest that a person closed or undid."""
        fixes = await self.offered(repository_id)
        return next((fix for fix in fixes if fix.patch_id == patch_id and fix.state.blocks), None)

    async def propose(self, proposal: Proposal) -> None:
        """The same id again replaces it."""
        self.proposals[proposal.repository.id, proposal.proposal_id] = proposal

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """The newest open one for a pull request, or the one with this id."""
        if proposal_id is not None:
            found = self.proposals.get((repository_id, proposal_id))
            return found if found and pull_request in {None, found.pull_request} else None
        open_ones = [
            proposal
            for proposal in reversed(self.proposals.values())
            if proposal.repository.id == repository_id
            and pull_request is not None
            and proposal.pull_request == pull_request
            and not proposal.decided
        ]
        return max(open_ones, key=lambda proposal: proposal.at, default=None)

    async def undecided(self, repository_id: int) -> tuple[Proposal, ...]:
        """Newest first."""
        found = [
            one
            for one in reversed(self.proposals.values())
            if one.repository.id == repository_id and not one.decided
        ]
        return tuple(sorted(found, key=lambda one: one.at, reverse=True)[:50])

    async def switch(self, switch: Switch) -> None:
        """Turn off or on."""
        self.switches[switch.repository_id, switch.pull_request] = switch

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """The pull request's own wins."""
        here = self.switches.get((repository_id, pull_request)) or self.switches.get(
            (repository_id, None)
        )
        return here if here and here.off else None

    async def switched_off(self) -> dict[int, Switch]:
        """For whole repositories."""
        return {
            one.repository_id: one
            for one in self.switches.values()
            if one.off and one.pull_request is None
        }

    async def turned_off(self, repository_id: int) -> tuple[Switch, ...]:
        """The repository's first, then by pull request."""
        here = [one for one in self.switches.values() if one.repository_id == repository_id]
        here.sort(key=lambda one: one.pull_request or 0)
        return tuple(one for one in here if one.off)

    async def note_installation(self, state: InstallationState) -> None:
        """What it is like now."""
        self.installations[state.installation_id] = state

    async def installation(self, installation_id: int) -> InstallationState | None:
        """What was last known."""
        return self.installations.get(installation_id)
