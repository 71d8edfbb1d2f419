"""The command rerun: ask GitHub Actions to rerun the failed jobs of a commit."""

from bot.conversation.result import CommandOutcome, done, pen, refuse
from bot.conversation.scene import Scene
from bot.domain.github import WorkflowRunState
from bot.errors import Conflict, NotPermitted
from bot.intake import guards
from bot.ports import Services

MOST = 10
"""Most runs of one commit to rerun; each is a write, paced by a second."""

_AGAIN = frozenset({"failure", "timed_out", "cancelled", "startup_failure"})


async def rerun(scene: Scene, services: Services) -> CommandOutcome:
    """Rerun the failed jobs; a check that turns green without a change was flaky."""
    if scene.head_sha is None:
        return refuse(
            "This command reruns the jobs of a commit, so it works in pull requests only."
        )
    runs = await services.github.runs_at(scene.repository, scene.head_sha)
    wanted = scene.command.target.casefold()
    red = [run for run in runs if run.status == "completed" and run.conclusion in _AGAIN]
    # An empty target is part of every name.
    meant = [
        run for run in red if wanted in run.name.casefold() or wanted == (run.path or "").casefold()
    ]
    if not meant:
        return refuse(await _nothing(scene, services, runs, red))
    try:
        asked = [run for run in meant[:MOST] if await _started(run, scene, services)]
    except NotPermitted:
        return refuse(
            "Rerunning jobs requires the permission `actions: write`, which this installation does "
            "not grant. Use *Re-run failed jobs* on the page of the run instead."
        )
    names = "\n".join(
        f"- {pen(services).code(run.name or str(run.id))}, attempt {run.run_attempt + 1}"
        for run in asked
    )
    if not asked:
        return done("The failed jobs are already running again.")
    return done(
        f"Rerunning the failed jobs of `{scene.head_sha[:8]}`:\n\n{names}\n\n"
        "A check that turns green without a change is flaky; `/metaagent reproduce` measures how "
        "often it fails."
    )


async def _started(run: WorkflowRunState, scene: Scene, services: Services) -> bool:
    """Return True if our request started the rerun; False if it was already running."""
    try:
        await services.github.rerun_failed_jobs(scene.repository, run.id)
    except Conflict:
        return False
    return True


async def _nothing(
    scene: Scene,
    services: Services,
    runs: tuple[WorkflowRunState, ...],
    red: list[WorkflowRunState],
) -> str:
    """Return the reason why nothing can be rerun."""
    commit = f"`{(scene.head_sha or '')[:8]}`"
    if red:
        named = ", ".join(pen(services).code(run.name or str(run.id)) for run in red[:MOST])
        wanted = pen(services).code(scene.command.target)
        return f"No failed workflow is named {wanted}. Failed on {commit}: {named}."
    if going := [run for run in runs if run.status != "completed"]:
        named = ", ".join(pen(services).code(run.name or str(run.id)) for run in going[:MOST])
        return f"Nothing has failed on {commit} yet; still running: {named}."
    checks = await services.github.check_runs(scene.repository, scene.head_sha or "")
    others = sorted(
        {
            run.name
            for run in checks
            if run.conclusion in guards.RED and run.app_slug != services.app_slug
        }
    )
    if others:
        named = ", ".join(pen(services).code(name) for name in others[:MOST])
        return (
            "Only runs of GitHub Actions can be rerun from here. "
            f"Red on {commit}, from another CI: {named}."
        )
    return f"No run has failed on {commit}."
