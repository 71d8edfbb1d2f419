"""Asks a running sandbox for the rights it must not have: the specification, checked from inside."""

import json

from sandbox.backends.base import Backend
from sandbox.errors import SandboxError
from sandbox.spec import RunLimits

_WALL_S = 30.0
_MOST_CHARACTERS = 200


async def rights_left(backend: Backend) -> tuple[str, ...]:
    """The rights that repository code would have in this backend and must not; empty when it is tight.

    Raises:
        SandboxError: no sandbox can be opened, or the probe gave no answer.
    """
    async with backend.open(await backend.ensure_toolchain()) as guest:
        probe = ("/usr/bin/python3", "-I", "-S", f"{guest.guest_dir}/probe.py")
        done = await guest.run(probe, limits=RunLimits(wall_s=_WALL_S), cwd="/")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise SandboxError("The probe of the sandbox gave no answer.", done.stderr[-_MOST_CHARACTERS:])
    return tuple(str(name)[:_MOST_CHARACTERS] for name in found)
