"""rerun: ask GitHub Actions to run the failed jobs of a commit again."""

from bot.conversation.desk import Desk, Done, done, refuse
from bot.conversation.scene import Scene
from bot.domain.github import WorkflowRunState
from bot.errors import Conflict, NotPermitted
from bot.intake import guards

MOST = 10
"""Runs of one commit that are run again."""

_AGAIN = frozenset({"failure", "timed_out", "cancelled", "startup_failure"})


async def rerun(scene: Scene, desk: Desk) -> Done:
    """Run again what failed; a check that turns green without a change was a flake."""
    if scene.head_sha is None:
        return refuse("This works on the runs of a commit, so it is understood in pull requests only.")
    runs = await desk.github.runs_at(scene.repository, scene.head_sha)
    wanted = scene.command.target.casefold()
    red = [run for run in runs if run.status == "completed" and run.conclusion in _AGAIN]
    meant = [run for run in red if wanted in run.name.casefold() or wanted == (run.path or "").casefold()]
    if not meant:
        return refuse(await _nothing(scene, desk, runs, red))
    try:
        asked = [run for run in meant[:MOST] if await _started(run, scene, desk)]
    except NotPermitted:
        return refuse(
            "GitHub does not let us run jobs again: that needs the permission `actions: write`, which this "
            "installation does not give. *Re-run failed jobs* on the page of the run does the same."
        )
    names = "\n".join(f"- {desk.pen.code(run.name or str(run.id))}, attempt {run.run_attempt + 1}" for run in asked)
    if not asked:
        return done("The failed jobs run again already.")
    return done(
        f"The failed jobs of `{scene.head_sha[:8]}` run again:\n\n{names}\n\n"
        "What turns green without any change was a flake; `/metaagent reproduce` measures how often it is red."
    )


async def _started(run: WorkflowRunState, scene: Scene, desk: Desk) -> bool:
    """Whether it was us who started it; one that runs again already is as good."""
    try:
        await desk.github.rerun_failed_jobs(scene.repository, run.id)
    except Conflict:
        return False
    return True


async def _nothing(scene: Scene, desk: Desk, runs: tuple[WorkflowRunState, ...], red: list[WorkflowRunState]) -> str:
    """Why there is nothing to run again."""
    commit = f"`{(scene.head_sha or '')[:8]}`"
    if red:
        named = ", ".join(desk.pen.code(run.name or str(run.id)) for run in red[:MOST])
        return f"No failed workflow is called {desk.pen.code(scene.command.target)}. Failed on {commit}: {named}."
    if going := [run for run in runs if run.status != "completed"]:
        named = ", ".join(desk.pen.code(run.name or str(run.id)) for run in going[:MOST])
        return f"Nothing has failed on {commit} yet; still running: {named}."
    checks = await desk.github.check_runs(scene.repository, scene.head_sha or "")
    others = sorted({run.name for run in checks if run.conclusion in guards.RED and run.app_slug != desk.app_slug})
    if others:
        named = ", ".join(desk.pen.code(name) for name in others[:MOST])
        return f"Only runs of GitHub Actions can be run again from here; red on {commit} is {named}, of another CI."
    return f"No run has failed on {commit}."
