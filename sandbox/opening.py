"""Open a checkout: import it, plan its recipe, prepare its environment, start a sandbox."""

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from sandbox.archive import take_archive
from sandbox.backends.base import Backend, Guest
from sandbox.baseline import Baseline
from sandbox.checkout import CheckoutSource, CommitSource, FolderContents, take_folder
from sandbox.drifted_lock import is_refused_there, repair_lock
from sandbox.errors import LockDrift, SandboxUnavailable, SetupFailed
from sandbox.gate import clean
from sandbox.housekeeping import Housekeeping
from sandbox.importer import Importer
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.editable import WORKDIR, editable_files, source_roots
from sandbox.recipe.given import check_given
from sandbox.recipe.go_modules import go_files
from sandbox.recipe.left_out import without_requirement
from sandbox.recipe.node_packages import node_files, without_node
from sandbox.recipe.programs import RUNTIMES, debian_packages, settle
from sandbox.recipe.relevant import relevant_files
from sandbox.snapshot import Environment, EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import (
    ArchiveSource,
    Checkout,
    Fidelity,
    GitSource,
    JobHints,
    LockRepair,
    Recipe,
    WorkspaceFacts,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

_REMEMBERED_S = 3600.0
"""Time before a failed part of a recipe is tried again, in seconds. All workspaces of a mission
must be alike, so it is longer than a mission; a registry may recover, so it is not for ever."""
_MOST_REMEMBERED = 200
_MOST_LOCKS = 20
"""Remembered lock files, of at most 1 MiB each."""


class Remembered(Generic[T]):
    """Memory of the last results, for a limited time.

    Args:
        most: The number of results.
    """

    def __init__(self, most: int = _MOST_REMEMBERED) -> None:
        self._most = most
        self._results: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def find(self, key: str) -> T | None:
        """Return a recent result; None if there is none."""
        added_at, result = self._results.get(key, (0.0, None))
        return result if time.monotonic() - added_at < _REMEMBERED_S else None

    def add(self, key: str, result: T) -> None:
        """Remember a result."""
        self._results[key] = (time.monotonic(), result)
        while len(self._results) > self._most:
            self._results.popitem(last=False)


@dataclass(frozen=True)
class Parts:
    """Objects that all workspaces share."""

    backend: Backend
    spec: SandboxSpec
    importer: Importer
    snapshotter: Snapshotter
    housekeeping: Housekeeping
    reduced: Remembered[Recipe] = field(default_factory=Remembered)
    """Recipes without the parts that could not be set up."""
    recipes: Remembered[Recipe] = field(default_factory=Remembered)
    locks: Remembered[LockRepair] = field(default_factory=lambda: Remembered(_MOST_LOCKS))
    """The lock files that package managers wrote instead of refused ones."""


@dataclass(frozen=True)
class OpenCheckout:
    """A checkout that is open in a sandbox."""

    guest: Guest
    source: CheckoutSource
    baseline: Baseline
    recipe: Recipe
    facts: WorkspaceFacts
    refused_lock: LockRepair | None = None
    """The lock file without which every command is red; None if the checkout's own one fits."""


async def take_source(checkout: Checkout, parts: Parts) -> CheckoutSource:
    """Import the source of a checkout.

    Raises:
        ImportRejected: The source is unavailable or exceeds a limit.
    """
    source = checkout.source
    if isinstance(source, GitSource):
        return CommitSource(await parts.importer.fetch(source), checkout.revision)
    if isinstance(source, ArchiveSource):
        return await take_archive(source.content, parts.spec)
    return await take_folder(source.path, parts.spec, since=source.since)


async def open_checkout(checkout: Checkout, parts: Parts, stack: AsyncExitStack) -> OpenCheckout:
    """Open a checkout in a sandbox.

    Args:
        checkout: The checkout to open.
        parts: Objects that all workspaces share.
        stack: The stack that closes the sandbox.

    Raises:
        SandboxError: The checkout cannot be imported, or its environment cannot be rebuilt.
    """
    started = time.perf_counter()
    source = await take_source(checkout, parts)
    source.origin = checkout.hints.repository
    names = source.names()
    contents = await source.read(relevant_files(names))
    given = checkout.recipe
    recipe = (
        check_given(given)
        if given is not None
        else await _planned(checkout.hints, names, contents, parts.recipes)
    )
    imported = _Imported(checkout, source, names, contents, started)
    key = imported.key(recipe)
    # Settings that the set-up does not see decide, too, whether a lock file may be written.
    lock_key = f"{key} {_digest(names, contents)}"
    planned = recipe
    recipe = parts.reduced.find(key) or planned
    repair = parts.locks.find(lock_key)
    while True:
        try:
            opened = await _open_repaired(imported, recipe, parts, stack, repair=repair)
        except SetupFailed as error:
            why = error.message.rstrip(".")
            # If it was Python that failed, it fails again without Node.js, and that error counts.
            reduced = without_requirement(recipe, error, parts.spec.left_out_most) or without_node(
                recipe, why
            )
            if reduced is not None:
                log.warning("set-up failed, trying again without a part of the job: %s", why)
                recipe = reduced
            elif repair is None and isinstance(error, LockDrift):
                repair = await _repair(imported, recipe, error, parts)
            else:
                raise
        else:
            if recipe is not planned:
                parts.reduced.add(key, recipe)
            if repair is not None:
                parts.locks.add(lock_key, repair)
            return opened


async def _repair(
    imported: "_Imported", recipe: Recipe, drift: LockDrift, parts: Parts
) -> LockRepair:
    """Let the package manager write the refused lock file again.

    Raises:
        LockDrift: It cannot.
    """
    try:
        return await repair_lock(
            drift,
            recipe,
            imported.names,
            imported.contents,
            origin=imported.origin,
            snapshotter=parts.snapshotter,
        )
    except SetupFailed as error:
        # It may quote addresses and paths of the checkout.
        why = clean(error.message, cap=300)
        log.warning("writing a lock file failed: %s", why)
        drift.advice = f"It was not written for you: {why}"
        raise drift from error


async def _open_repaired(
    imported: "_Imported",
    recipe: Recipe,
    parts: Parts,
    stack: AsyncExitStack,
    *,
    repair: LockRepair | None,
) -> OpenCheckout:
    """Open a checkout in the environment of its own lock file or of the repaired one.

    The installation refuses a repaired one like any other if it does not fit.
    """
    if repair is None:
        return await _open_recipe(imported, recipe, parts, stack)
    contents = {**imported.contents, repair.path: repair.content.encode()}
    opened = await _open_recipe(replace(imported, contents=contents), recipe, parts, stack)
    refused = await is_refused_there(recipe, imported.source, imported.names, imported.contents)
    facts = opened.facts.with_(lock_repair=repair)
    return replace(opened, facts=facts, refused_lock=repair if refused else None)


async def _planned(
    hints: JobHints,
    names: Collection[str],
    contents: Mapping[str, bytes],
    known: Remembered[Recipe],
) -> Recipe:
    """Plan a recipe, or return that of the same files: a mission opens them several times."""
    # Hints may hold the texts of workflows, which the key need not keep.
    given = hashlib.sha256(hints.model_dump_json().encode()).hexdigest()
    key = f"{given} {_digest(names, contents)}"
    recipe = known.find(key)
    if recipe is None:
        # Parsing the tests of a large repository takes seconds.
        recipe = await asyncio.to_thread(plan_recipe, hints, names, contents)
        known.add(key, recipe)
    return recipe


def _digest(names: Collection[str], contents: Mapping[str, bytes]) -> str:
    """Return a digest of the files that a recipe is planned from."""
    digest = hashlib.sha256(f"{len(names)}".encode())
    for part in (*sorted(names), *(half for item in sorted(contents.items()) for half in item)):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()


@dataclass(frozen=True)
class _Imported:
    """A checkout whose source is imported."""

    checkout: Checkout
    source: CheckoutSource
    names: Collection[str]
    contents: Mapping[str, bytes]
    started: float

    @property
    def origin(self) -> EnvironmentOrigin:
        """Return where the code comes from that may run while the environment is set up."""
        return EnvironmentOrigin(
            repository_id=self.checkout.source.repository_id,
            tier=self.checkout.tier,
            head_repository_id=self.checkout.head_repository_id,
        )

    def key(self, recipe: Recipe) -> str:
        """Return a key of everything that the set-up of Python and Node.js depends on."""
        files = node_files(recipe, self.names, self.contents)
        inputs = [
            self.checkout.source.repository_id,
            recipe.model_dump_json(),
            sorted(files.items()),
        ]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


async def _open_recipe(
    imported: _Imported, recipe: Recipe, parts: Parts, stack: AsyncExitStack
) -> OpenCheckout:
    """Open an imported checkout by a recipe.

    Raises:
        SandboxError: Its environment cannot be rebuilt. Nothing is left open then.
    """
    checkout, source = imported.checkout, imported.source
    names, contents = imported.names, imported.contents
    files = editable_files(recipe, names, contents)
    files |= node_files(recipe, names, contents) | go_files(recipe, names, contents)

    async def ensure() -> Environment:
        return await parts.snapshotter.ensure(
            recipe, imported.origin, files=files, checkout=source, packages=debian_packages(recipe)
        )

    environment, surroundings = await ensure(), checkout.surroundings
    # Set-up commands may install the checkout under its usual path, and a command may name it.
    # Through a link, files would have two paths, and the search would find less evidence.
    if not recipe.setup and WORKDIR not in recipe.command:
        surroundings = surroundings.named(checkout.name)
    async with AsyncExitStack() as opened:
        try:
            guest = await opened.enter_async_context(
                parts.backend.open(environment.image, surroundings=surroundings)
            )
        except SandboxUnavailable:
            if await parts.backend.find_environment(environment.key) is not None:
                raise
            environment = await ensure()  # another process removed it between lookup and opening
            guest = await opened.enter_async_context(
                parts.backend.open(environment.image, surroundings=surroundings)
            )
        parts.housekeeping.begin(added=not environment.warm)
        recipe = await _with_programs(guest, recipe)
        wall_s = parts.spec.command_wall_s
        baseline = Baseline(guest, source, recipe, wall_s, surroundings=surroundings)
        count = await baseline.make()
        recipe = baseline.recipe
        interpreter = await _check_origin(guest, recipe, source_roots(recipe, names, contents))
        facts = await _facts(
            source, recipe, environment, backend=parts.backend, interpreter=interpreter
        )
        seconds = time.perf_counter() - imported.started - environment.setup_s
        facts = facts.with_(files=count, open_s=seconds)
        stack.push_async_exit(opened.pop_all())
    return OpenCheckout(
        guest=guest, source=source, baseline=baseline, recipe=facts.recipe, facts=facts
    )


async def _with_programs(guest: Guest, recipe: Recipe) -> Recipe:
    """Complete the recipe with facts that only the sandbox has: which runtimes are installed."""
    for runtime in RUNTIMES:
        if runtime.is_needed(recipe):
            command = ("/bin/sh", "-c", f"command -v {runtime.program}")
            found = await guest.run(command, limits=RunLimits(wall_s=30.0))
            recipe = settle(recipe, runtime, present=found.ok)
    return recipe


async def _check_origin(guest: Guest, recipe: Recipe, roots: tuple[str, ...]) -> str:
    """Return the version of Python, if the tests import the checkout's own modules.

    Raises:
        SetupFailed: They would import an installed package of the same name.
    """
    program: tuple[str, ...] = ("-V",)
    if roots:
        command = " ".join((*(f"{name}=" for name in recipe.environment), recipe.command))
        program = (f"{guest.guest_dir}/checkout_origin.py", guest.workdir, command, *roots)
    limits = RunLimits(wall_s=30.0)
    done = await guest.run((guest.python, "-I", "-S", *program), limits=limits)
    version, _, rest = done.stdout.strip().partition("\n")
    try:
        found = json.loads(rest or "[]")
    except (ValueError, RecursionError):
        found = []
    if isinstance(found, list) and len(found) == 2:  # noqa: PLR2004 - module and folder
        module, folder = (str(part)[:200] for part in found)
        raise SetupFailed(
            f"The tests import `{module}` from {folder}/{module.replace('.', '/')}, not from the "
            "checkout.",
            f"A dependency installs another distribution with the module `{module}`.",
        )
    return version[:100]


async def _facts(
    source: CheckoutSource,
    recipe: Recipe,
    environment: Environment,
    *,
    backend: Backend,
    interpreter: str,
) -> WorkspaceFacts:
    notes = [*environment.notes]
    wanted = f"Python {recipe.python.version}"
    if recipe.python.version is not None and not f"{interpreter}.".startswith(f"{wanted}."):
        reason = f"{wanted} is not available here; {interpreter} is used"
        notes.append(Fidelity(step=wanted, treatment="replaced", reason=reason))
    if isinstance(source, FolderContents):
        notes += [
            Fidelity(step="import the folder", treatment="dropped", reason=note)
            for note in source.notes
        ]
    return WorkspaceFacts(
        backend=backend.name,
        image=environment.image,
        image_digest=await backend.digest(environment.image),
        environment_key=environment.key,
        interpreter=interpreter,
        head_sha=source.head_sha,
        base_sha=source.base_sha,
        recipe=recipe.with_(fidelity=(*recipe.fidelity, *notes)),
        red_diff=source.red_diff,
        setup_s=environment.setup_s,
        warm=environment.warm,
        lock_hash=environment.lock_hash,
        egress=environment.egress,
    )
