"""Which Python an environment gets: the one asked for where the image has it or uv can fetch it, else the nearest."""

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
"""The one Python of a toolchain that is built from a Debian release."""

FETCH_WALL_S = 180.0
AGAIN_S = 3600.0
CONNECT_S = "8"
"""How long one request for a Python may stand still, in seconds."""


class Interpreters:
    """The Pythons to be had, learned as set-ups go.

    Args:
        backend: Where environments are set up.
        spec: Where Pythons may be fetched from.
        patience_s: How long a Python that could not be had is not asked for again.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec, patience_s: float = AGAIN_S) -> None:
        self._backend = backend
        self._spec = spec
        self._patience_s = patience_s
        self._instead: dict[str, tuple[str | None, float]] = {}
        """What stands in for a Python that cannot be had, and until when nobody waits for it again."""

    def expected(self, wanted: str | None) -> str | None:
        """The Python that an environment will get as far as is known; None is the image's own."""
        if wanted is None or wanted == self._own():
            return None
        instead, until = self._instead.get(wanted, (wanted, math.inf))
        return instead if time.monotonic() < until else wanted

    def _own(self) -> str | None:
        """The one Python of a toolchain that we build ourselves."""
        known = self._backend.name == "docker" and self._spec.image is None
        return PYTHON_OF.get(self._spec.debian_suite) if known else None

    async def make_environment(self, shell: Shell, wanted: str | None) -> str | None:
        """Make the environment's folder; returns the Python it has, None for the image's own.

        Raises:
            SetupFailed: not even the image's own makes one.
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
        """Let uv fetch a Python into the environment's folder and make the environment with it; whether it could."""
        if self._spec.python_downloads == "never":
            return False
        sources = {
            "UV_PYTHON_INSTALL_MIRROR": self._spec.python_mirror or "",
            "UV_PYTHON_DOWNLOADS_JSON_URL": self._spec.python_downloads_json or "",
        }
        env = {name: value for name, value in sources.items() if value}
        env |= {"UV_PYTHON_DOWNLOADS": "manual", "UV_HTTP_TIMEOUT": CONNECT_S, "UV_HTTP_RETRIES": "0"}
        listing = ("uv", "python", "list", "--only-downloads", "--show-urls", "--output-format", "json", wanted)
        listed = await shell.run(*listing, env=env, wall_s=FETCH_WALL_S)
        urls = [str(entry.get("url") or "") for entry in _entries(listed)]
        if not urls:
            return False
        # Nothing of anybody else has run in there: what uv says is uv's own word. Hosts that the operator named may be
        # reached already.
        named = hosts_in(sources.values())
        others = [url for url in urls if not set(hosts_in([url])) <= set(named)]
        # One whole address stands for the rest: the hosts it redirects to are the same for every file.
        await self._backend.allow_hosts(shell.guest, (*hosts_in(others), *others[:1]))
        install = ("uv", "python", "install", "--no-bin", "--compile-bytecode", wanted)
        done = await shell.run(*install, env=env, wall_s=FETCH_WALL_S)
        if done.ok and (await _venv(shell, wanted)).ok:
            return True
        log.info("Python %s cannot be fetched: %s", wanted, done.stderr.strip()[-300:])
        await shell.run("rm", "-rf", f"{shell.folder}/python")
        return False


def hosts_in(urls: Iterable[str]) -> tuple[str, ...]:
    """The hosts of addresses, as `name:port`, each once."""
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
    return await shell.run("uv", "venv", "--allow-existing", "--no-project", "--python", python, shell.folder)


def _entries(listed: CommandResult) -> list[dict[str, object]]:
    """CPythons out of a list that uv wrote."""
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
    """The Python of the image that is closest in version; None when that is its own."""
    listed = await shell.run("uv", "python", "list", "--only-installed", "--output-format", "json")
    versions = [str(entry.get("version") or "") for entry in _entries(listed)]
    own = await shell.run(shell.guest.python, "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    chosen = nearest_of(wanted, (own.stdout.strip(), *versions))
    return None if chosen == own.stdout.strip() else chosen


def nearest_of(wanted: str, versions: Iterable[str]) -> str | None:
    """The closest version as `3.11`, the newer one of two that are equally close."""
    minors = {(int(parts[0]), int(parts[1])) for text in versions if (parts := _numbers(text))}
    goal = _numbers(wanted)
    same = [minor for major, minor in minors if goal and major == int(goal[0])]
    if not same or goal is None:
        return None
    best = min(same, key=lambda minor: (abs(minor - int(goal[1])), -minor))
    return f"{goal[0]}.{best}"


def _numbers(version: str) -> list[str] | None:
    parts = version.split(".")[:2]
    return parts if len(parts) == 2 and all(part.isdecimal() for part in parts) else None  # noqa: PLR2004
