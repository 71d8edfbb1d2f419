"""Set up an environment once, keep it as an image, and find it again by a key of everything that went into it."""

import asyncio
import hashlib
import json
import platform
import time
from collections.abc import Mapping
from typing import Any, Protocol
from weakref import WeakValueDictionary

from pydantic import ValidationError

from sandbox.backends.base import TREE_NOTE, Backend, Guest
from sandbox.image.build import UV_VERSION
from sandbox.setup.install import Installed, install
from sandbox.setup.interpreters import Interpreters
from sandbox.setup.shell import Shell
from sandbox.spec import SandboxSpec
from sandbox.types import Egress, Fidelity, Frozen, Recipe, TrustTier

_VERSION = "4"
"""Raise when the way of installing changes: older environments are then not found."""


class Environment(Frozen):
    """An environment that is ready to be opened."""

    image: str
    key: str
    setup_s: float = 0.0
    warm: bool = False
    notes: tuple[Fidelity, ...] = ()
    """Where it differs from what the recipe asked for."""
    lock_hash: str = ""
    """SHA-256 over the distributions it holds."""
    egress: Egress = Egress()
    """What its set-up reached."""


class Origin(Frozen):
    """The source of the code that may run while an environment is set up."""

    repository_id: str
    tier: TrustTier
    head_repository_id: str | None = None
    """The repository that a fork's commit was pushed to; None when there is none, or it is not known."""


class Placeable(Protocol):
    """A checkout that set-up commands can run in."""

    async def digest(self) -> str:
        """Return a digest of everything that `place` puts into a guest."""
        ...

    async def place(self, guest: Guest) -> None:
        """Put the checkout into a guest."""
        ...


class _Order(Frozen):
    """Everything that goes into an environment."""

    base: str
    stands_on: str
    """The image that the set-up begins with."""
    recipe: Recipe
    """With the Python that the environment gets, not the one that was wished for."""
    files: dict[str, str]
    origin: Origin


class _Record(Frozen):
    """What is kept with an environment about its set-up."""

    lock_hash: str = ""
    built: tuple[str, ...] = ()
    egress: Egress = Egress()


class Snapshotter:
    """Gives environments: found when they were set up before, set up once otherwise.

    Args:
        backend: Where they are set up and kept.
        spec: Limits, and the operator's package index and certificates.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self._backend = backend
        self._spec = spec
        self._interpreters = Interpreters(backend, spec)
        # Weak: keys of environments that serve one tree come and go with every commit.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ensure(
        self,
        recipe: Recipe,
        origin: Origin,
        *,
        files: Mapping[str, str] | None = None,
        checkout: Placeable | None = None,
    ) -> Environment:
        """Return the environment of a recipe.

        Args:
            recipe: What to install.
            origin: Repository and trust tier, for environments in whose set-up code of others runs.
            files: `site/...` and `bin/...` files that make the checkout count as installed.
            checkout: Where set-up commands run; without it they are left out.

        Raises:
            SetupFailed: something could not be installed.
            SandboxUnavailable: there is no backend.
        """
        toolchain = await self._backend.ensure_toolchain()
        notes = await self._backend.environment_notes(toolchain)
        base = notes.get("base") or await self._backend.digest(toolchain)
        recipe = recipe.with_(python=self._interpreters.expected(recipe.python))
        order = _Order(base=base, stands_on=toolchain, recipe=recipe, files=dict(files or {}), origin=origin)
        order = await self._on_its_python(order)
        if not recipe.setup or checkout is None:
            return await self._installed(order.with_(recipe=order.recipe.with_(setup=())))
        return await self._furnished(order, checkout)

    async def _on_its_python(self, order: _Order) -> _Order:
        """A Python that is not the image's own is fetched once: an environment of its own that all others stand on."""
        wanted = order.recipe.python
        if wanted is None:
            return order
        bare = order.with_(recipe=Recipe(command="", python=wanted), files={})
        key = self._key(bare)
        async with self._lock(key):
            if (image := await self._backend.find_environment(key)) is not None:
                return order.with_(stands_on=image)
            async with self._backend.open_setup(order.stands_on) as guest:
                shell = await Shell.of(guest, self._spec)
                python = await self._interpreters.make_environment(shell, wanted)
                if python == wanted:
                    egress = await self._backend.end_egress(guest)
                    return order.with_(stands_on=(await self._keep(shell, bare, key, Installed(egress=egress))).image)
        return await self._on_its_python(order.with_(recipe=order.recipe.with_(python=python)))

    async def _installed(self, order: _Order) -> Environment:
        """Return the environment with the requirements in it.

        A set-up that only unpacks wheels of named requirements runs nothing, and its result is a function of the lines
        in the key: the same environment serves every repository and tier, so that the first run of a plain pytest
        repository finds it warm. A set-up that builds runs code of packages. That code sees no checkout, only the
        requirements, constraints and files, which are all in the key: no tree can leave anything in there that
        another tree did not ask for by name. Repository and tier are part of the key all the same.
        """
        shared = self._key(order)
        private = self._key(order, order.origin.model_dump(mode="json", include={"repository_id", "tier"}))
        async with self._lock(shared):
            if (found := await self._find(order, shared, private)) is not None:
                return found
            started = time.perf_counter()
            below = _read(await self._backend.environment_notes(order.stands_on))
            async with self._backend.open_setup(order.stands_on) as guest:
                shell = await Shell.of(guest, self._spec)
                if order.recipe.python is None:
                    await self._interpreters.make_environment(shell, None)
                done = await install(self._backend, shell, order.recipe, order.files)
                done = done.with_(egress=_both(below.egress, done.egress))
                kept = await self._keep(shell, order, private if done.built else shared, done)
                return kept.with_(setup_s=time.perf_counter() - started)

    async def _furnished(self, order: _Order, checkout: Placeable) -> Environment:
        """Return the same with the set-up commands run in it: the environment of one tree.

        The commands are the policy's, but the files that they run are the checkout's. So everything that they can
        read of it is part of the key, and with it the repository, the tier and the fork. Which files they did read
        is not asked: they may have learned from a file that is not there, or from the history.
        """
        below = await self._installed(order.with_(recipe=order.recipe.with_(setup=())))
        tree = await checkout.digest()
        key = self._key(order, {**order.origin.model_dump(mode="json"), "tree": tree})
        async with self._lock(key):
            if (found := await self._find(order, key)) is not None:
                return found
            started = time.perf_counter() - below.setup_s
            async with self._backend.open_setup(below.image) as guest:
                shell = await Shell.of(guest, self._spec)
                await checkout.place(guest)
                for line in order.recipe.setup:
                    ran = await shell.run("/bin/sh", "-c", line, cwd=guest.workdir)
                    await shell.check(ran, line)
                egress = _both(below.egress, await self._backend.end_egress(guest))
                record = await self._backend.environment_notes(below.image)
                built = _read(record).built
                done = Installed(built=built, egress=egress)
                kept = await self._keep(shell, order, key, done, tree=tree)
                return kept.with_(setup_s=time.perf_counter() - started)

    async def _keep(
        self, shell: Shell, order: _Order, key: str, done: Installed, *, tree: str | None = None
    ) -> Environment:
        await shell.compile()
        record = _Record(lock_hash=await shell.lock_hash(), built=done.built, egress=done.egress)
        notes = {"record": record.model_dump_json()} | ({} if tree is None else {TREE_NOTE: tree})
        image = await self._backend.keep_environment(shell.guest, key, notes=notes)
        return _environment(order, image, key, record)

    async def _find(self, order: _Order, *keys: str) -> Environment | None:
        for key in keys:
            if (image := await self._backend.find_environment(key)) is not None:
                record = _read(await self._backend.environment_notes(image))
                return _environment(order, image, key, record).with_(warm=True)
        return None

    def _lock(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())

    def _key(self, order: _Order, owner: Mapping[str, str | None] | None = None) -> str:
        """Return the key of an order; an owner is the only one whom the environment serves."""
        recipe, spec = order.recipe, self._spec
        sources = (spec.python_downloads, spec.python_mirror, spec.python_downloads_json)
        parts: dict[str, Any] = {
            "version": (_VERSION, UV_VERSION),
            "base": order.base,
            "platform": platform.machine(),
            "python": (recipe.python, *sources) if recipe.python is not None else None,
            "requirements": sorted(recipe.requirements),
            "constraints": sorted(recipe.constraints),
            "setup": recipe.setup,
            "files": sorted(order.files.items()),
            "index": spec.index_url,
            "origin": owner,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _environment(order: _Order, image: str, key: str, record: _Record) -> Environment:
    """The same notes for an environment just made and one found again."""
    notes = []
    if order.files:
        reason = "its folders are on the import path and its metadata is written from what it declares"
        notes.append(Fidelity(step="install the project", treatment="replaced", reason=reason))
    if record.built:
        names = ", ".join(record.built[:10])
        reason = f"some requirements have no wheel and were built from source: {names}"
        notes.append(Fidelity(step="install the requirements", treatment="replayed", reason=reason))
    return Environment(image=image, key=key, notes=tuple(notes), lock_hash=record.lock_hash, egress=record.egress)


def _read(notes: Mapping[str, str]) -> _Record:
    """What was kept with an environment; nothing when it is not readable."""
    try:
        return _Record.model_validate_json(notes.get("record", "{}"))
    except ValidationError:
        return _Record()


def _both(one: Egress, other: Egress) -> Egress:
    return Egress(
        hosts=tuple(sorted({*one.hosts, *other.hosts})),
        refused=tuple(sorted({*one.refused, *other.refused})),
        received_bytes=one.received_bytes + other.received_bytes,
    )
