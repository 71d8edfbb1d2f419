"""The command improve: request a mission that improves code, which replies itself."""

from bot.conversation.result import CommandOutcome, done, refuse
from bot.conversation.scene import Scene
from bot.conversation.work import build_request, place_refusal, read_wish
from bot.domain.request import improvement_id
from bot.ports import Services


async def improve(scene: Scene, services: Services) -> CommandOutcome:
    """Request an improvement of the pull request's branch, or of the default branch in an issue."""
    if scene.from_fork:
        return refuse("A fork's branch cannot be improved from here: it belongs to its owner.")
    command = scene.command
    if scene.head_sha is None:
        branch = scene.repository.default_branch
        head = await services.github.branch_head(scene.repository, branch)
        scene = scene.with_(head_sha=head, head_branch=branch)
    if (no := place_refusal(scene)) is not None:
        return no
    # The target is a path here, and no check.
    wish = read_wish(scene.with_(command=command.with_(target="", line=None)), services)
    if isinstance(wish, CommandOutcome):
        return wish
    name = command.command_id.rpartition(":")[2]
    asked = build_request(scene).with_(
        mission_id=improvement_id(scene.repository.id, name),
        improve=command.target or command.path or "",
        command=wish.command,
        rungs=wish.rungs,
    )
    await services.queue.submit(asked)
    return done(mission_id=asked.mission_id)
