"""Probe a running sandbox from inside for privileges that repository code must not have."""

import json

from sandbox.backends.base import Backend
from sandbox.errors import SandboxError
from sandbox.spec import RunLimits

_WALL_S = 30.0
_MOST_CHARACTERS = 200


async def find_excess_privileges(backend: Backend) -> tuple[str, ...]:
    """Return the forbidden privileges that repository code would have in this backend.

    An empty result means that the isolation holds.

    Raises:
        SandboxError: No sandbox can be opened, or the probe returned no result.
    """
    async with backend.open(await backend.ensure_toolchain()) as guest:
        probe = ("/usr/bin/python3", "-I", "-S", f"{guest.guest_dir}/probe.py")
        done = await guest.run(probe, limits=RunLimits(wall_s=_WALL_S), cwd="/")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise SandboxError("The sandbox probe returned no result.", done.stderr[-_MOST_CHARACTERS:])
    return tuple(str(name)[:_MOST_CHARACTERS] for name in found)
