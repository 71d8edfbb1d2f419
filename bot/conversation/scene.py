"""Where a command stands: the pull request as GitHub has it now, its head, and whether it is one of ours."""

from bot.conversation.desk import Desk
from bot.domain.command import Command
from bot.domain.github import PullRequestState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import LiveMission, OfferedFix
from bot.domain.request import RepositoryRef
from bot.intake.guards import is_own_branch
from sandbox.types import Frozen


class Scene(Frozen):
    """A command with what GitHub says about its place."""

    command: Command
    pull: PullRequestState | None = None
    head_sha: str | None = None
    head_branch: str | None = None
    """None for a fork's: it is not ours to look at or push to."""
    ours: bool = False
    """The pull request is one that we opened."""
    policy: RepositoryPolicy = RepositoryPolicy()

    @property
    def repository(self) -> RepositoryRef:
        """Where."""
        return self.command.repository

    @property
    def from_fork(self) -> bool:
        """Whether the head lies in another repository."""
        return self.pull is not None and self.pull.from_fork

    @property
    def place(self) -> str:
        """The place in words that are safe to show."""
        if self.pull is not None:
            return f"#{self.pull.number}"
        if self.head_sha is not None:
            return f"commit {self.head_sha[:8]}"
        return "this repository"

    @property
    def is_somewhere(self) -> bool:
        """Whether a pull request or a branch is meant; an issue is about everything, which few commands may touch."""
        return self.pull is not None or self.head_branch is not None


async def look(command: Command, policy: RepositoryPolicy, desk: Desk) -> Scene:
    """The place of a command as it is now.

    Raises:
        GitHubError: GitHub could not be asked.
    """
    pull = await _pull_of(command, desk)
    if pull is None:
        return Scene(command=command, head_sha=command.head_sha, head_branch=command.head_branch, policy=policy)
    ours = not pull.from_fork and is_own_branch(pull.head_ref) and pull.author == desk.login
    branch = None if pull.from_fork else pull.head_ref
    return Scene(command=command, pull=pull, head_sha=pull.head_sha, head_branch=branch, ours=ours, policy=policy)


async def _pull_of(command: Command, desk: Desk) -> PullRequestState | None:
    """The pull request it stands in, or the one its commit is the head of."""
    if command.number is not None:
        return await desk.github.pull_request(command.repository, command.number) if command.is_pull_request else None
    if command.head_sha is None:
        return None
    found = await desk.github.pull_requests_at(command.repository, command.head_sha)
    ours = [pull for pull in found if not pull.from_fork]
    here = [pull for pull in ours if pull.head_ref == command.head_branch]
    if not here and (command.head_branch is None or not ours):
        # Of a fork's commit GitHub names no branch, or one that is called like one of ours.
        here = ours or list(found)
    return here[0] if here else None


async def missions_here(scene: Scene, desk: Desk) -> tuple[LiveMission, ...]:
    """What waits or runs for this pull request or on its branch, oldest first; in an issue, everywhere."""
    live = await desk.registry.live(scene.repository.id)
    return tuple(m for m in live if _is_here(scene, (m.pull_request,), m.branch))


async def fixes_here(scene: Scene, desk: Desk) -> tuple[OfferedFix, ...]:
    """The fixes we offered for this pull request or its branch, newest first; in an issue, everywhere."""
    fixes = await desk.registry.offered(scene.repository.id)
    return tuple(f for f in fixes if _is_here(scene, (f.pull_request, f.for_pull_request), f.base_branch))


def _is_here(scene: Scene, numbers: tuple[int | None, ...], branch: str | None) -> bool:
    """Whether something belongs to the place of a command. Numbers are sure; a fork may call its branch like ours."""
    if not scene.is_somewhere:
        return True
    if scene.pull is not None and any(number is not None for number in numbers):
        return scene.pull.number in numbers
    return branch is not None and branch == scene.head_branch
