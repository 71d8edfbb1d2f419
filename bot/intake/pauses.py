"""Pauses of the operator, before a mission is admitted."""

import asyncio

from bot.domain.pause import Pause
from bot.domain.request import MissionRequest
from bot.ports import Switchboard

LOOK_S = 2.0
"""Interval between two checks of a pause, in seconds."""


async def find_pause(request: MissionRequest, switchboard: Switchboard | None) -> Pause | None:
    """Wait while everything is paused; return a pause of the mission's place.

    Waiting for one place would block missions elsewhere. An admitted mission may still be paused
    before it starts: its meter checks again in the transaction that starts it.
    """
    if switchboard is None or request.repository is None:
        return None
    while True:
        pause = await switchboard.of(request.repository)
        if pause is None or pause.place:
            return pause
        await asyncio.sleep(LOOK_S)
