"""A check run failed: ask for a mission."""

from bot.domain.request import CheckRef, Ignored, MissionRequest, RepositoryRef, Trigger
from bot.github.events import CheckRunEvent, Delivery, cut
from bot.intake import guards
from bot.intake.identity import OwnApp
from sandbox.types import TrustTier


def on_check_run(delivery: Delivery, own: OwnApp) -> MissionRequest | Ignored:
    """`check_run.completed`: a mission for a red check on a branch of this repository.

    Every red check of one commit asks for the same mission.
    """
    event = cut(delivery, CheckRunEvent)
    if (reason := guards.no_to_check_run(event, own.app_id)) is not None:
        return Ignored(reason=reason)
    run = event.check_run
    repository = event.repository_ref
    branch = run.check_suite.head_branch if run.check_suite else None
    pulls = [p for p in guards.pull_requests_here(event) if p.head.sha == run.head_sha]
    return MissionRequest(
        mission_id=automatic_mission(repository, run.head_sha),
        trigger=Trigger.CHECK_RUN,
        repository=repository,
        head_sha=run.head_sha,
        head_branch=branch,
        check=CheckRef(
            id=run.id,
            name=run.name,
            app_slug=(run.app.slug if run.app else None) or "",
            conclusion=run.conclusion or "failure",
            details_url=run.details_url,
        ),
        pull_request=pulls[0].number if pulls else None,
        tier=TrustTier.DEFAULT_BRANCH if branch == repository.default_branch else TrustTier.BRANCH,
        delivery_id=delivery.id,
    )


def automatic_mission(repository: RepositoryRef, head_sha: str) -> str:
    """The one mission that all red checks of a commit ask for."""
    return f"mission:{repository.id}:{head_sha}:auto"
