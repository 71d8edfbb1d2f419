"""Sends a program into a sandbox of its own on the same checkout, with one door outward; only its edits come back."""

from sandbox.baseline import Baseline
from sandbox.opening import Opened, Parts
from sandbox.spec import RunLimits
from sandbox.types.errand import WAY_OUT, Door, Errand, Returned

_RELAYS = "HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy"
_BEFORE = f'export {WAY_OUT}="$http_proxy"; unset {_RELAYS}; '
"""What goes through the relay is a plain server to the program, and no proxy."""


async def run_errand(errand: Errand, door: Door, opened: Opened, parts: Parts) -> Returned:
    """Run it to its end or its limit.

    Args:
        errand: What is run, and for how long.
        door: Answers whatever the program sends out.
        opened: The checkout, as it stands now; its own sandbox is not used.
        parts: Where sandboxes are made.

    Raises:
        SandboxUnavailable: this place of execution has no such sandboxes.
        ChangeRejected: it changed more than may come back.
    """
    async with parts.backend.open(opened.facts.image, door=door) as guest:
        baseline = Baseline(guest, opened.source, opened.recipe, parts.spec.command_wall_s)
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
