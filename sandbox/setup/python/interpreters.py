"""Select the Python of an environment: the requested one if available, else the nearest."""

import json
import logging
import math
import time
from collections.abc import Iterable
from types import MappingProxyType
from urllib.parse import urlsplit

from sandbox.backends.base import Backend
from sandbox.setup.shell import Shell
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult

log = logging.getLogger(__name__)

PYTHON_OF = MappingProxyType({"bookworm": "3.11", "trixie": "3.13"})
"""The Python version of a toolchain built from each Debian release."""

FETCH_WALL_S = 180.0
AGAIN_S = 3600.0
CONNECT_S = "8"
"""Timeout of one request for a Python, in seconds."""


class Interpreters:
    """The available Pythons, updated by each set-up.

    Args:
        backend: Where environments are set up.
        spec: Sources of Pythons.
        patience_s: Seconds before an unavailable Python is requested again.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec, patience_s: float = AGAIN_S) -> None:
        self._backend = backend
        self._spec = spec
        self._patience_s = patience_s
        self._instead: dict[str, tuple[str | None, float]] = {}
        """The replacement of each unavailable Python, and the time of the next attempt."""

    def expected(self, wanted: str | None) -> str | None:
        """Return the Python that an environment will probably get; None is the image's own."""
        if wanted is None or wanted == self._own():
            return None
        instead, until = self._instead.get(wanted, (wanted, math.inf))
        return instead if time.monotonic() < until else wanted

    def _own(self) -> str | None:
        """Return the Python of a toolchain that we build ourselves."""
        known = self._backend.name == "docker" and self._spec.image is None
        return PYTHON_OF.get(self._spec.debian_suite) if known else None

    async def make_environment(self, shell: Shell, wanted: str | None) -> str | None:
        """Create the environment's folder. Return its Python version, None for the image's own.

        Raises:
            SetupFailed: The image's own Python cannot create an environment.
        """
        if wanted is not None:
            if (await _venv(shell, wanted)).ok:
                return wanted
            if await self._fetch(shell, wanted):
                return wanted
            nearest = await _nearest(shell, wanted)
            self._instead[wanted] = (nearest, time.monotonic() + self._patience_s)
            if nearest is not None and (await _venv(shell, nearest)).ok:
                return nearest
        await shell.check(await _venv(shell, shell.guest.python), "make the environment")
        return None

    async def _fetch(self, shell: Shell, wanted: str) -> bool:
        """Let uv fetch a Python into the environment's folder.

        Return True if the environment uses it.
        """
        if self._spec.python_downloads == "never":
            return False
        sources = {
            "UV_PYTHON_INSTALL_MIRROR": self._spec.python_mirror or "",
            "UV_PYTHON_DOWNLOADS_JSON_URL": self._spec.python_downloads_json or "",
        }
        env = {name: value for name, value in sources.items() if value}
        env |= {
            "UV_PYTHON_DOWNLOADS": "manual",
            "UV_HTTP_TIMEOUT": CONNECT_S,
            "UV_HTTP_RETRIES": "0",
        }
        listing = (
            "uv",
            "python",
            "list",
            "--only-downloads",
            "--show-urls",
            "--output-format",
            "json",
            wanted,
        )
        listed = await shell.run(*listing, env=env, wall_s=FETCH_WALL_S)
        urls = [str(entry.get("url") or "") for entry in _entries(listed)]
        if not urls:
            return False
        # No untrusted code has run in this sandbox yet, so that uv's output is trustworthy. The
        # operator's hosts are already allowed.
        named = list_hosts(sources.values())
        others = [url for url in urls if not set(list_hosts([url])) <= set(named)]
        # One address is enough: all files have the same redirect hosts.
        await self._backend.allow_hosts(shell.guest, (*list_hosts(others), *others[:1]))
        install = ("uv", "python", "install", "--no-bin", "--compile-bytecode", wanted)
        done = await shell.run(*install, env=env, wall_s=FETCH_WALL_S)
        if done.ok and (await _venv(shell, wanted)).ok:
            return True
        log.info("fetching Python %s failed: %s", wanted, done.stderr.strip()[-300:])
        await shell.run("rm", "-rf", f"{shell.folder}/python")
        return False


def list_hosts(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts of addresses as `name:port`, without duplicates."""
    found: dict[str, None] = {}
    for url in urls:
        try:
            parts = urlsplit(url)
            port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
        except ValueError:
            continue
        if parts.hostname and port:
            found[f"{parts.hostname}:{port}"] = None
    return tuple(found)


async def _venv(shell: Shell, python: str) -> CommandResult:
    return await shell.run(
        "uv", "venv", "--allow-existing", "--no-project", "--python", python, shell.folder
    )


def _entries(listed: CommandResult) -> list[dict[str, object]]:
    """Return the CPython entries of a list by uv."""
    try:
        found = json.loads(listed.stdout) if listed.ok else []
    except ValueError:
        return []
    plain = ("cpython", "default")
    return [
        entry
        for entry in found
        if isinstance(entry, dict) and (entry.get("implementation"), entry.get("variant")) == plain
    ]


async def _nearest(shell: Shell, wanted: str) -> str | None:
    """Return the image's Python that is closest in version; None if that is its own."""
    listed = await shell.run("uv", "python", "list", "--only-installed", "--output-format", "json")
    versions = [str(entry.get("version") or "") for entry in _entries(listed)]
    own = await shell.run(
        shell.guest.python, "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"
    )
    chosen = choose_nearest(wanted, (own.stdout.strip(), *versions))
    return None if chosen == own.stdout.strip() else chosen


def choose_nearest(wanted: str, versions: Iterable[str]) -> str | None:
    """Return the closest version as `3.11`. Of two equally close ones, the newer wins."""
    minors = {(int(parts[0]), int(parts[1])) for text in versions if (parts := _numbers(text))}
    goal = _numbers(wanted)
    same = [minor for major, minor in minors if goal and major == int(goal[0])]
    if not same or goal is None:
        return None
    best = min(same, key=lambda minor: (abs(minor - int(goal[1])), -minor))
    return f"{goal[0]}.{best}"


def _numbers(version: str) -> list[str] | None:
    parts = version.split(".")[:2]
    is_complete = len(parts) == 2  # noqa: PLR2004
    return parts if is_complete and all(part.isdecimal() for part in parts) else None
