"""A checkout whose lock file does not fit its packages: the file to commit, and the red report.

The job of CI ends at the installation. Here the environment is installed from the lock file that
the package manager itself writes, and a command is red until the checkout has this file.
"""

from collections.abc import Collection, Mapping

from sandbox.backends.base import Guest
from sandbox.checkout import CheckoutSource
from sandbox.errors import ChangeRejected, LockDrift, SetupFailed
from sandbox.gate import clean
from sandbox.recipe.files import beside
from sandbox.recipe.node_packages import node_files, unread_package
from sandbox.recipe.node_settings import SETTINGS, other_registry, unused_choice
from sandbox.setup.node.layout import NODE_FILES
from sandbox.setup.node.lock_file import SHOWN, compare_packages, read_packages
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.types import (
    LOCK_RUNNER,
    LockRepair,
    Recipe,
    RunVerdict,
    TestReport,
    TestResult,
    TestStatus,
)

_MOST_BYTES = 1 << 20
_RULE = "lock-drift"


async def repair_lock(
    drift: LockDrift,
    recipe: Recipe,
    names: Collection[str],
    contents: Mapping[str, bytes],
    *,
    origin: EnvironmentOrigin,
    snapshotter: Snapshotter,
) -> LockRepair:
    """Return the lock file that the package manager writes instead of a refused one.

    Args:
        drift: The refusal.
        recipe: The recipe with its Node part.
        names: The files of the checkout.
        contents: Those that are read.
        origin: Repository and trust tier.
        snapshotter: Opens the set-up sandbox.

    Raises:
        SetupFailed: It cannot be written.
    """
    # A private package may have a namesake of an attacker in the public registry.
    run = (recipe.workflow, *recipe.called) if recipe.workflow else ()
    if path := other_registry(names, contents, drift.folder, run):
        raise SetupFailed(f"Set-up failed: {path} may name another registry for the lock file.")
    if path := unused_choice(names, contents, drift.folder):
        why = f"{path} chooses versions by hooks or by age, which is not done here"
        raise SetupFailed(f"Set-up failed: {why}.")
    files = node_files(recipe, names, contents, for_lock=True)
    if path := unread_package(files, names, contents, drift.folder):
        raise SetupFailed(f"Set-up failed: {path}, which may be of the workspace, is not read.")
    written = await snapshotter.write_lock(recipe, origin, files, drift.folder)
    old = contents[written.path].decode("utf-8", "replace")
    manager = recipe.node.manager if recipe.node is not None else "npm"
    packages = [read_packages(text, manager) for text in (old, written.content)]
    changed = compare_packages(*packages)
    return LockRepair(
        path=written.path,
        content=written.content,
        program=clean(written.program, cap=60).replace("`", "").replace("\n", " "),
        command=written.command,
        refused=drift.refused,
        refusal=drift.log,
        packages=changed[:SHOWN],
        more=max(0, len(changed) - SHOWN),
    )


async def is_refused_there(
    recipe: Recipe,
    source: CheckoutSource,
    names: Collection[str],
    contents: Mapping[str, bytes],
) -> bool:
    """Return True if an installation sees the same files in the placed commit as in the head.

    Args:
        recipe: The recipe with its Node part.
        source: The checkout; the base commit may be the one that is placed.
        names: The files of the head.
        contents: Those that are read.
    """
    head = node_files(recipe, names, contents)
    folders = recipe.node.folders if recipe.node is not None else ()
    # The head may have removed some of these.
    settings = [beside(folder, name) for folder in folders for name in SETTINGS]
    paths = {name.removeprefix(NODE_FILES) for name in head}
    placed = await source.originals({*paths, *settings})
    there = {path: original.content for path, original in placed.items()}
    return node_files(recipe, names, there) == head


async def report_refusal(repair: LockRepair, guest: Guest, command: str) -> TestReport | None:
    """Return the report of a job that ends at its installation; None if the lock file fits.

    Args:
        repair: The lock file from which the environment was installed.
        guest: The sandbox with the checkout.
        command: The failing command, which the job does not reach.
    """
    try:
        there = await guest.read(repair.path, max_bytes=_MOST_BYTES)
    except ChangeRejected:
        there = None
    if there == repair.content.encode():
        return None
    name = f"{repair.path}:1:{_RULE}"
    summary = f"`{repair.refused}` refuses {repair.path}, which does not fit `package.json`"
    failure = TestResult(
        name=name,
        status=TestStatus.FAIL,
        error_message=summary,
        output=repair.refusal,
        file=repair.path,
        line=1,
        error=_RULE,
    )
    return TestReport(
        success=False,
        failed=True,
        exit_code=1,
        target=command,
        summary=summary,
        failure_count=1,
        failures=(failure,),
        raw_output=repair.refusal,
        verdict=RunVerdict.FAIL,
        runner=LOCK_RUNNER,
        outcomes={name: TestStatus.FAIL},
        steps=0,
        ended_at=repair.refused,
    )
