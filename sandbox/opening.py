"""Open a checkout: import it, plan its recipe, prepare its environment, start a sandbox."""

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

from sandbox.archive import take_archive
from sandbox.backends.base import Backend, Guest
from sandbox.baseline import Baseline
from sandbox.checkout import CheckoutSource, CommitSource, FolderContents, take_folder
from sandbox.errors import SandboxUnavailable
from sandbox.housekeeping import Housekeeping
from sandbox.importer import Importer
from sandbox.recipe.detect import plan_recipe, relevant_files
from sandbox.recipe.editable import editable_files
from sandbox.recipe.given import check_given
from sandbox.recipe.node_packages import node_files
from sandbox.recipe.tools.npm import needs_node, settle_node
from sandbox.snapshot import Environment, EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import ArchiveSource, Checkout, Fidelity, GitSource, Recipe, WorkspaceFacts


@dataclass(frozen=True)
class Parts:
    """Objects that all workspaces share."""

    backend: Backend
    spec: SandboxSpec
    importer: Importer
    snapshotter: Snapshotter
    housekeeping: Housekeeping


@dataclass(frozen=True)
class OpenCheckout:
    """A checkout that is open in a sandbox."""

    guest: Guest
    source: CheckoutSource
    baseline: Baseline
    recipe: Recipe
    facts: WorkspaceFacts


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
    names = source.names()
    contents = await source.read(relevant_files(names))
    given = checkout.recipe
    recipe = (
        check_given(given) if given is not None else plan_recipe(checkout.hints, names, contents)
    )
    files = editable_files(recipe, names, contents) | node_files(recipe, names, contents)

    async def ensure() -> Environment:
        origin = EnvironmentOrigin(
            repository_id=checkout.source.repository_id,
            tier=checkout.tier,
            head_repository_id=checkout.head_repository_id,
        )
        return await parts.snapshotter.ensure(recipe, origin, files=files, checkout=source)

    environment, surroundings = await ensure(), checkout.surroundings
    try:
        guest = await stack.enter_async_context(
            parts.backend.open(environment.image, surroundings=surroundings)
        )
    except SandboxUnavailable:
        if await parts.backend.find_environment(environment.key) is not None:
            raise
        environment = await ensure()  # another process removed it between lookup and opening
        guest = await stack.enter_async_context(
            parts.backend.open(environment.image, surroundings=surroundings)
        )
    parts.housekeeping.begin(added=not environment.warm)
    recipe = await _with_programs(guest, recipe)
    baseline = Baseline(guest, source, recipe, parts.spec.command_wall_s, surroundings=surroundings)
    count = await baseline.make()
    facts = await _facts(guest, source, recipe, environment, backend=parts.backend)
    seconds = time.perf_counter() - started - environment.setup_s
    facts = facts.with_(files=count, open_s=seconds)
    return OpenCheckout(
        guest=guest, source=source, baseline=baseline, recipe=facts.recipe, facts=facts
    )


async def _with_programs(guest: Guest, recipe: Recipe) -> Recipe:
    """Complete the recipe with facts that only the sandbox has: whether Node.js is installed."""
    if not needs_node(recipe):
        return recipe
    found = await guest.run(("/bin/sh", "-c", "command -v node"), limits=RunLimits(wall_s=30.0))
    return settle_node(recipe, present=found.ok)


async def _facts(
    guest: Guest,
    source: CheckoutSource,
    recipe: Recipe,
    environment: Environment,
    *,
    backend: Backend,
) -> WorkspaceFacts:
    version = await guest.run((guest.python, "-I", "-S", "-V"), limits=RunLimits(wall_s=30.0))
    interpreter = version.stdout.strip()[:100]
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
