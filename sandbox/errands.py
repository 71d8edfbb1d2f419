"""Run a program in a separate sandbox on the same checkout, with one outbound connection.

Only its edits come back.
"""

from sandbox.baseline import Baseline
from sandbox.opening import OpenCheckout, Parts
from sandbox.spec import RunLimits
from sandbox.types.errand import WAY_OUT, Door, Errand, Returned

_RELAYS = "HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy"
_BEFORE = f'export {WAY_OUT}="$http_proxy"; unset {_RELAYS}; '
"""To the program, the relay is a plain server and not a proxy."""


async def run_errand(errand: Errand, door: Door, opened: OpenCheckout, parts: Parts) -> Returned:
    """Run an errand until it ends or reaches its time limit.

    Args:
        errand: The program and its time limit.
        door: Handler for the program's outbound connections.
        opened: The checkout in its current state. Its own sandbox is not used.
        parts: Shared parts of all workspaces.

    Raises:
        SandboxUnavailable: The backend does not support such sandboxes.
        ChangeRejected: The program changed more than an export may hold.
    """
    surroundings, wall_s = opened.baseline.surroundings, parts.spec.command_wall_s
    async with parts.backend.open(
        opened.facts.image, door=door, surroundings=surroundings
    ) as guest:
        baseline = Baseline(guest, opened.source, opened.recipe, wall_s, surroundings=surroundings)
        await baseline.make()
        await guest.write(await opened.guest.export())
        result = await guest.run(
            ("/bin/sh", "-c", _BEFORE + errand.command),
            limits=RunLimits(wall_s=errand.wall_s),
            cwd=baseline.working_directory,
            env={**baseline.variables, **errand.variables},
            stdin=errand.task.encode("utf-8", "replace"),
        )
        return Returned(result=result, edits=await guest.export())
