"""Set up each environment once, keep it as an image, and find it by a hash of all its inputs."""

import asyncio
import hashlib
import json
import logging
import platform
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Protocol
from weakref import WeakValueDictionary

from pydantic import ValidationError

from sandbox.backends.base import TREE_NOTE, Backend, Guest
from sandbox.errors import SandboxUnavailable
from sandbox.image.build import UV_VERSION
from sandbox.setup.go.install import GoToolchain
from sandbox.setup.node.install import NodeToolchain
from sandbox.setup.node.relock import WrittenLock, write_lock
from sandbox.setup.notes import note_packages, note_runtimes
from sandbox.setup.python.install import PythonToolchain
from sandbox.setup.shell import Shell
from sandbox.setup.toolchain import Toolchain
from sandbox.spec import SandboxSpec
from sandbox.types import Egress, Fidelity, Frozen, NodePart, Recipe, TrustTier

log = logging.getLogger(__name__)

_VERSION = "9"
"""Version of the installation procedure. A higher number invalidates older environments."""


class Environment(Frozen):
    """An environment that can be opened."""

    image: str
    key: str
    setup_s: float = 0.0
    warm: bool = False
    notes: tuple[Fidelity, ...] = ()
    """Differences from what the recipe requested."""
    lock_hash: str = ""
    """SHA-256 over the installed distributions."""
    egress: Egress = Egress()
    """Hosts that its set-up reached."""


class EnvironmentOrigin(Frozen):
    """The source of the code that may run while an environment is set up."""

    repository_id: str
    tier: TrustTier
    head_repository_id: str | None = None
    """The repository that a fork's commit was pushed to; None for other commits or if unknown."""


class Placeable(Protocol):
    """A checkout that set-up commands can run in."""

    async def digest(self) -> str:
        """Return a digest of everything that `place` puts into a guest."""
        ...

    async def place(self, guest: Guest) -> None:
        """Put the checkout into a guest."""
        ...


class _Order(Frozen):
    """All inputs of an environment."""

    base: str
    stands_on: str
    """The image from which the set-up starts."""
    recipe: Recipe
    """The recipe, with the runtimes that the environment gets instead of the requested ones."""
    files: dict[str, str]
    origin: EnvironmentOrigin
    unlinked: bool = False
    """It is a runtime for others, whose programs are not in the environment's `bin` yet."""


class _Installed(Frozen):
    """The result of an installation."""

    built: tuple[str, ...] = ()
    """`name==version` of each Python package whose code ran, `name@version` of each Node.js one."""
    substituted: tuple[str, ...] = ()
    """`name@version for version` of each package that the registry no longer has."""
    left_out: tuple[str, ...] = ()
    """Development packages of Node.js that come from git."""
    egress: Egress = Egress()


class _Record(_Installed):
    """Metadata about the set-up, stored with an environment."""

    lock_hash: str = ""


class Snapshotter:
    """Provider of environments: reuses existing ones and sets up missing ones.

    Args:
        backend: The backend that sets up and keeps environments.
        spec: Limits, and the operator's package index and certificates.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self._backend = backend
        self._spec = spec
        self._toolchains: tuple[Toolchain, ...] = (
            PythonToolchain(backend, spec),
            NodeToolchain(backend, spec),
            GoToolchain(backend, spec),
        )
        # Weak: the key of an environment for one tree changes with every commit.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ensure(
        self,
        recipe: Recipe,
        origin: EnvironmentOrigin,
        *,
        files: Mapping[str, str] | None = None,
        checkout: Placeable | None = None,
        packages: tuple[str, ...] = (),
    ) -> Environment:
        """Return the environment of a recipe.

        Args:
            recipe: What to install.
            origin: Repository and trust tier, for environments in whose set-up repository or
                package code runs.
            files: `site/...` and `bin/...` files that make the checkout count as installed.
            checkout: Where set-up commands run; without it they are skipped.
            packages: Debian packages that no set-up installs; left out where none can be added.

        Raises:
            SetupFailed: An installation failed.
            SandboxUnavailable: There is no backend.
        """
        order = await self._begin(recipe, origin, files or {}, packages)
        if not recipe.setup or checkout is None:
            made = await self._with_requirements(order.with_(recipe=order.recipe.with_(setup=())))
        else:
            made = await self._with_setup_commands(order, checkout)
        return made.with_(notes=(*made.notes, *note_runtimes(recipe, order.recipe)))

    async def write_lock(
        self, recipe: Recipe, origin: EnvironmentOrigin, files: Mapping[str, str], folder: str
    ) -> WrittenLock:
        """Let the package manager of Node.js write a lock file, in a set-up sandbox of its own.

        Args:
            recipe: The recipe with its Node part.
            origin: Repository and trust tier.
            files: The files that the manager sees.
            folder: The folder of the lock file.

        Raises:
            SetupFailed: The manager cannot write it, or changes more than this file.
        """
        order = await self._begin(recipe, origin, files)
        async with self._backend.open_setup(order.stands_on) as guest:
            shell = await Shell.of(guest, self._spec)
            return await write_lock(
                self._backend,
                shell,
                order.recipe.node or NodePart(),
                files,
                folder=folder,
                registry=self._spec.npm_registry,
            )

    async def _begin(
        self,
        recipe: Recipe,
        origin: EnvironmentOrigin,
        files: Mapping[str, str],
        packages: tuple[str, ...] = (),
    ) -> _Order:
        """Return the order of a recipe, based on an image with the requested runtimes."""
        toolchain = await self._ensure_toolchain(packages)
        notes = await self._backend.environment_notes(toolchain)
        # The image without guest programs, because those change with every version.
        base = notes.get("base") or await self._backend.digest(toolchain)
        for each in self._toolchains:
            recipe = each.expect(recipe)
        order = _Order(
            base=base, stands_on=toolchain, recipe=recipe, files=dict(files), origin=origin
        )
        return await self._select_base(order)

    async def _ensure_toolchain(self, packages: tuple[str, ...]) -> str:
        """Return the toolchain with further packages; without them where none can be added."""
        if packages:
            try:
                return await self._backend.ensure_toolchain(packages)
            except SandboxUnavailable as error:
                log.warning("no image with %s: %s", ", ".join(packages), error.message)
        return await self._backend.ensure_toolchain()

    async def _select_base(self, order: _Order) -> _Order:
        """Select the base image with the requested runtimes."""
        for toolchain in self._toolchains:
            order = await self._with_runtime(order, toolchain)
        return order

    async def _with_runtime(self, order: _Order, toolchain: Toolchain) -> _Order:
        """Return the order based on an image with the requested runtime.

        A runtime that the toolchain image lacks is fetched once, into an environment on which
        others are based.
        """
        runtime = toolchain.runtime(order.recipe)
        if runtime is None:
            return order
        # A recipe may ask for nothing but the runtime. That of Python alone is complete.
        bare = order.with_(recipe=runtime, files={}, unlinked=len(runtime.parts) > 1)
        key = self._key(bare)
        async with self._lock(key):
            if (image := await self._backend.find_environment(key)) is not None:
                return order.with_(stands_on=image)
            async with self._backend.open_setup(order.stands_on) as guest:
                shell = await Shell.of(guest, self._spec)
                provided = await toolchain.provide(shell, order.recipe)
                if toolchain.runtime(provided) == runtime:
                    done = _Installed(egress=await self._backend.end_egress(guest))
                    return order.with_(stands_on=(await self._keep(shell, bare, key, done)).image)
        return await self._with_runtime(order.with_(recipe=provided), toolchain)

    async def _with_requirements(self, order: _Order) -> Environment:
        """Return the environment with the requirements installed.

        A set-up that only unpacks wheels of named requirements runs no code, and its result depends
        only on the key. Every repository and tier can share that environment, so that the first run
        of a plain pytest repository finds it warm. A set-up that builds runs code of packages. That
        code sees no checkout, only the requirements, constraints and files, which are all in the
        key. No tree can plant anything there that another tree did not request by name. Repository
        and tier are part of that key all the same.
        """
        shared = self._key(order)
        private = self._key(
            order, order.origin.model_dump(mode="json", include={"repository_id", "tier"})
        )
        # Other missions wait for this set-up and reuse its result.
        async with self._lock(shared):
            if (found := await self._find(order, shared, private)) is not None:
                return found
            started = time.perf_counter()
            below = _parse_record(await self._backend.environment_notes(order.stands_on))
            async with self._backend.open_setup(order.stands_on) as guest:
                shell = await Shell.of(guest, self._spec)
                done = await self._install(shell, order)
                done = done.with_(egress=_merge_egress(below.egress, done.egress))
                kept = await self._keep(shell, order, private if done.built else shared, done)
                return kept.with_(setup_s=time.perf_counter() - started)

    async def _install(self, shell: Shell, order: _Order) -> _Installed:
        """Install all parts of a recipe. Afterwards the set-up sandbox has no network."""
        # Python comes last: its wheels may place files anywhere in the environment, even over
        # the programs of another toolchain, which must not run with the network then.
        toolchains = self._toolchains[::-1]
        fetched = [
            await toolchain.fetch(shell, order.recipe, order.files) for toolchain in toolchains
        ]
        # From here on package code may run, so the network must be cut.
        egress = await self._backend.end_egress(shell.guest)
        for toolchain, packages in zip(toolchains, fetched, strict=True):
            await toolchain.build(shell, order.recipe, order.files, packages)
        return _Installed(
            built=tuple(chain.from_iterable(fetched)),
            substituted=tuple(shell.substituted),
            left_out=tuple(shell.left_out),
            egress=egress,
        )

    async def _with_setup_commands(self, order: _Order, checkout: Placeable) -> Environment:
        """Return the environment after the set-up commands: it serves one tree only.

        The commands belong to the policy, but the files that they run belong to the checkout.
        Everything that they can read of the checkout is therefore part of the key, with the
        repository, the tier and the fork. The key does not depend on which files they did read: a
        missing file or the history can influence them, too.
        """
        below = await self._with_requirements(order.with_(recipe=order.recipe.with_(setup=())))
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
                egress = _merge_egress(below.egress, await self._backend.end_egress(guest))
                record = _parse_record(await self._backend.environment_notes(below.image))
                done = record.with_(egress=egress)
                kept = await self._keep(shell, order, key, done, tree=tree)
                return kept.with_(setup_s=time.perf_counter() - started)

    async def _keep(
        self, shell: Shell, order: _Order, key: str, done: _Installed, *, tree: str | None = None
    ) -> Environment:
        await shell.compile()
        hashes = [await toolchain.lock_hash(shell) for toolchain in self._toolchains]
        record = _Record(**{**dict(done), "lock_hash": _merge_hashes(hashes)})
        notes = {"record": record.model_dump_json()} | ({} if tree is None else {TREE_NOTE: tree})
        image = await self._backend.keep_environment(shell.guest, key, notes=notes)
        return _environment(order, image, key, record)

    async def _find(self, order: _Order, *keys: str) -> Environment | None:
        for key in keys:
            if (image := await self._backend.find_environment(key)) is not None:
                record = _parse_record(await self._backend.environment_notes(image))
                return _environment(order, image, key, record).with_(warm=True)
        return None

    def _lock(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())

    def _key(self, order: _Order, owner: Mapping[str, str | None] | None = None) -> str:
        """Return the key of an order. With an owner, the environment serves only that owner."""
        recipe = order.recipe
        parts: dict[str, Any] = {
            "version": (_VERSION, UV_VERSION),
            "base": order.base,
            "platform": platform.machine(),
            "setup": recipe.setup,
            "files": sorted(order.files.items()),
            "index": self._spec.index_url,
            "origin": owner,
        }
        for toolchain in self._toolchains:
            parts |= toolchain.key(recipe)
        if order.unlinked:
            parts["unlinked"] = True
        return _sha256(json.dumps(parts, sort_keys=True))


def _environment(order: _Order, image: str, key: str, record: _Record) -> Environment:
    """Build the same description for a new environment and for a cached one."""
    notes = []
    if any(name.startswith("site/") for name in order.files):
        reason = (
            "its folders are on the import path and its metadata is written from what it declares"
        )
        notes.append(Fidelity(step="install the project", treatment="replaced", reason=reason))
    notes += note_packages(record.built, record.substituted, record.left_out)
    return Environment(
        image=image, key=key, notes=tuple(notes), lock_hash=record.lock_hash, egress=record.egress
    )


def _parse_record(notes: Mapping[str, str]) -> _Record:
    """Return the record stored with an environment, or an empty one if it is unreadable."""
    try:
        return _Record.model_validate_json(notes.get("record", "{}"))
    except ValidationError:
        return _Record()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _merge_hashes(hashes: Sequence[str]) -> str:
    """Return the hash over all toolchains' packages; one hash alone stays as it is."""
    found = [one for one in hashes if one]
    return found[0] if len(found) == 1 else _sha256("".join(found)) if found else ""


def _merge_egress(one: Egress, other: Egress) -> Egress:
    return Egress(
        hosts=tuple(sorted({*one.hosts, *other.hosts})),
        refused=tuple(sorted({*one.refused, *other.refused})),
        received_bytes=one.received_bytes + other.received_bytes,
    )
