"""From the first red check of a commit to the one mission for all of them."""

from bot.domain.request import MissionRequest, RedHead


def first_request(red: RedHead) -> MissionRequest:
    """The mission as the event alone asks for it."""
    return MissionRequest(
        mission_id=red.mission_id,
        trigger=red.trigger,
        repository=red.repository,
        head_sha=red.head_sha,
        head_branch=red.head_branch,
        check=red.check,
        pull_request=red.pull_request,
        tier=red.tier,
        delivery_id=red.delivery_id,
        actors=red.actors,
    )
