"""The place of a command: its pull request, head commit, and whether it is one of ours."""

from bot.domain.command import Command, Origin
from bot.domain.github import PullRequestState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import LiveMission, OfferedFix
from bot.domain.request import RepositoryRef
from bot.intake.guards import is_own_branch
from bot.ports import Services
from sandbox.types import Frozen


class Scene(Frozen):
    """A command with the current state of its place."""

    command: Command
    pull: PullRequestState | None = None
    head_sha: str | None = None
    head_branch: str | None = None
    """None for a fork's branch, which we neither inspect nor push to."""
    ours: bool = False
    """True if we opened the pull request."""
    policy: RepositoryPolicy = RepositoryPolicy()

    @property
    def repository(self) -> RepositoryRef:
        """Return the repository."""
        return self.command.repository

    @property
    def from_fork(self) -> bool:
        """Return True if the head is in another repository."""
        return self.pull is not None and self.pull.from_fork

    @property
    def place(self) -> str:
        """Return a description of the place that is safe to show."""
        if self.pull is not None:
            return f"#{self.pull.number}"
        if self.head_sha is not None:
            return f"commit {self.head_sha[:8]}"
        return "this repository"

    @property
    def is_somewhere(self) -> bool:
        """Return True for a pull request or a branch.

        An issue refers to the whole repository, which few commands may affect.
        """
        return self.pull is not None or self.head_branch is not None


async def find_scene(command: Command, policy: RepositoryPolicy, services: Services) -> Scene:
    """Return the current place of a command.

    Raises:
        GitHubError: GitHub could not be queried.
    """
    pull = await _find_pull(command, services)
    if pull is None:
        head_sha = command.head_sha
        if command.origin is Origin.BOX and command.head_branch is not None:
            # The box names the commit of a mission, and the branch may have moved since.
            head = await services.github.branch_head(command.repository, command.head_branch)
            head_sha = head or head_sha
        return Scene(
            command=command,
            head_sha=head_sha,
            head_branch=command.head_branch,
            policy=policy,
        )
    # A branch name under our prefix proves nothing: anyone may push one.
    ours = not pull.from_fork and is_own_branch(pull.head_ref) and pull.author == services.login
    branch = None if pull.from_fork else pull.head_ref
    return Scene(
        command=command,
        pull=pull,
        head_sha=pull.head_sha,
        head_branch=branch,
        ours=ours,
        policy=policy,
    )


async def _find_pull(command: Command, services: Services) -> PullRequestState | None:
    """Return the command's pull request, or the one whose head is its commit."""
    if command.number is not None:
        return (
            await services.github.pull_request(command.repository, command.number)
            if command.is_pull_request
            else None
        )
    if command.head_sha is None:
        return None
    found = await services.github.pull_requests_at(command.repository, command.head_sha)
    ours = [pull for pull in found if not pull.from_fork]
    here = [pull for pull in ours if pull.head_ref == command.head_branch]
    if not here and (command.head_branch is None or not ours):
        # For a fork's commit, GitHub names no branch, or one with the same name as ours.
        here = ours or list(found)
    return here[0] if here else None


async def missions_here(scene: Scene, services: Services) -> tuple[LiveMission, ...]:
    """Return active missions of the pull request or branch, oldest first.

    In an issue, all of them.
    """
    live = await services.registry.live(scene.repository.id)
    return tuple(m for m in live if _is_here(scene, (m.pull_request,), m.branch))


async def fixes_here(scene: Scene, services: Services) -> tuple[OfferedFix, ...]:
    """Return the fixes offered for the pull request or branch, newest first; in an issue, all."""
    fixes = await services.registry.offered(scene.repository.id)
    return tuple(
        f for f in fixes if _is_here(scene, (f.pull_request, f.for_pull_request), f.base_branch)
    )


def _is_here(scene: Scene, numbers: tuple[int | None, ...], branch: str | None) -> bool:
    """Return True if something belongs to the command's place.

    Numbers are compared first, because a fork's branch may have the same name as ours.
    """
    if not scene.is_somewhere:
        return True
    if scene.pull is not None and any(number is not None for number in numbers):
        return scene.pull.number in numbers
    return branch is not None and branch == scene.head_branch
