"""How many right fixes of a bug set the verdict accepts, without any search, and how long it takes; one line of JSON.

    python -m benchmarks.verify_known SET [--data FOLDER] [--packages FOLDER] [--only NAME ...] [--limit N] [--beside] [--time-limit SECONDS]

Every case is opened broken, measured red, and verified with its right text. `lost` names the cases whose right fix is
not accepted, with the reason. `--beside` verifies each again with the second sandbox in the surroundings of the first.
"""

import argparse
import ast
import asyncio
import sys
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, as_users_have_it, report, summary
from benchmarks.sets.bug import Bug
from benchmarks.sets.catalogue import SETS, bugs_of
from bot.clock import SystemClock
from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Rung
from bot.domain.request import MissionRequest, Trigger
from bot.mission.judging.plan import plan_fix
from bot.mission.verifying.verify import verify_fix
from sandbox.backends import open_backend
from sandbox.spec import SandboxSpec
from sandbox.types import USUAL, ChangeAction, Checkout, FileChange, FolderSource, JobHints
from sandbox.workspace import Sandboxes, SandboxWorkspace


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=SETS)
    parser.add_argument(
        "--data",
        type=Path,
        default=ROOT.parent / "shared" / "data",
        help="folder of the program sets",
    )
    parser.add_argument(
        "--packages",
        type=Path,
        default=ROOT / "build" / "bench",
        help="folder of the built packages",
    )
    parser.add_argument("--only", nargs="*", help="names of cases; all by default")
    parser.add_argument("--limit", type=int, help="at most so many cases")
    parser.add_argument("--beside", action="store_true", help="measure alike surroundings too")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=SandboxSpec().test_wall_s,
        help="seconds of one run of the tests; that of a user by default",
    )
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    bugs = [b for b in bugs_of(arguments.set, arguments.data, arguments.packages) if b.right]
    chosen = [b for b in bugs if not arguments.only or b.name in arguments.only][: arguments.limit]
    spec = SandboxSpec(test_wall_s=arguments.time_limit)
    results = asyncio.run(_all(chosen, spec, beside=arguments.beside))
    seconds = [result["seconds"] for result in results.values() if result["verified"]]
    figures = {
        "set": arguments.set,
        "cases": len(results),
        "verified": len(seconds),
        "lost": {
            name: result["reason"] for name, result in results.items() if not result["verified"]
        },
        "doubts": {name: result["doubts"] for name, result in results.items() if result["doubts"]},
        "verification_s": summary(seconds) if seconds else None,
        "alike_s": summary([one["alike_s"] for one in results.values()])
        if arguments.beside and results
        else None,
    }
    report("verify_known", figures, bytecode_was_off=was_off)
    return 0


async def _all(bugs: list[Bug], spec: SandboxSpec, *, beside: bool) -> dict[str, dict[str, Any]]:
    """One case after the other; the first pays for the environment and for what is kept ready."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        sandboxes = Sandboxes(spec, open_backend(spec), Path(folder) / "data")

        def alike(checkout: Checkout) -> AbstractAsyncContextManager[SandboxWorkspace]:
            return sandboxes.open_workspace(checkout.with_(surroundings=USUAL))

        try:
            for number, bug in enumerate(bugs):
                place = Path(folder) / str(number)
                bug.plant(place, ())
                found = await _verified(bug, place, sandboxes.open_workspace)
                if beside:
                    found["alike_s"] = (await _verified(bug, place, alike))["seconds"]
                results[bug.name] = found
                print(f"{bug.name}: {results[bug.name]}", file=sys.stderr, flush=True)
        finally:
            await sandboxes.close()
    return results


async def _verified(bug: Bug, folder: Path, opens: Any) -> dict[str, Any]:
    """The verdict on the right text of one case."""
    source = FolderSource(path=str(folder), repository_id=bug.repository)
    checkout = Checkout(source=source, hints=JobHints(command=bug.command, setup=tuple(bug.setup)))
    async with opens(checkout) as workspace:
        facts, red = await workspace.facts(), await workspace.run_tests()
    if red.success:
        return {"verified": False, "reason": "not red", "doubts": (), "seconds": 0.0}
    diagnosis = Diagnosis(
        kind=FailureKind.BUG, title=bug.name, cause="", failures=red.failures, confidence=1.0
    )
    context = MissionContext(
        mission_id=bug.name,
        request=MissionRequest(
            mission_id=bug.name, trigger=Trigger.COMMAND_LINE, folder=str(folder)
        ),
        created_at="",
        target_path=str(folder),
        facts=facts,
        test_results=red,
        acceptance_criteria=plan_fix(diagnosis, red, facts, tuple(Rung)).acceptance_criteria,
    )
    changes = []
    for path, text in sorted(bug.right.items()):
        content = _documented((folder / path).read_text(), text)
        changes.append(FileChange(action=ChangeAction.REPLACE, path=path, content=content))
    fix = Candidate(
        id=bug.name, rung=Rung.SEARCH, fixer="known", title="the right text", changes=tuple(changes)
    )
    found = await verify_fix(fix, context, checkout, opens, clock=SystemClock())
    return {
        "verified": found.green,
        "reason": found.reason,
        "doubts": found.doubts,
        "seconds": found.seconds,
        "newly_failing": found.newly_failing,
    }


def _documented(broken: str, right: str) -> str:
    """The right text with the documentation of the broken one, which references of the sets leave out."""
    texts = [
        ast.get_source_segment(broken, node) or ""
        for node in ast.parse(broken).body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    return "\n\n".join([right.rstrip(), *(text for text in texts if text not in right)]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
