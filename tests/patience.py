"""How long a test waits before it calls something a hang: a busy machine is no error."""

import os

HANG_S = 300.0
"""A bound for anything that should end by itself. Commands that must be stopped run for longer."""
COMMAND_S = 1200.0
"""The same for a command of ours in a process of its own, which may search and verify."""


def hang_after(expected_s: float) -> float:
    """Return the seconds after which something that may take so long on an idle machine hangs."""
    return expected_s * 10 + 60


def stretched(seconds: float) -> float:
    """Return a limit of wall time that leaves as much room under load as on an idle machine."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
