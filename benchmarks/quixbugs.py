"""How many programs of a bug set the search repairs, through the real sandbox; one line of JSON on standard output.

A set is a folder of programs, each a folder with a `meta.json` (`failing`, `passing`), the program, its tests, and the
reference under `correct/`. Every program found is taken.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from bot.fixers.rung1_search.changes import changes_of
from bot.fixers.rung1_search.rank import rank_survivors
from sandbox.backends.docker_container import DockerBackend
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import (
    ChangeAction,
    Checkout,
    FileChange,
    FolderSource,
    JobHints,
    SearchRequest,
    Survivor,
    TrialDone,
)
from sandbox.workspace import Sandboxes, SandboxWorkspace

COMMAND = "python -m pytest -q"
COMPARE = """
import copy, importlib.util, json, random, signal, sys, time, types
sys.path.insert(0, ".")
from pathlib import Path


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def vary(value, chance):
    if isinstance(value, bool): return chance.random() < 0.5
    if isinstance(value, int):
        moved = value + chance.choice([-2, -1, 0, 1, 2])
        return max(0, moved) if value >= 0 else moved
    if isinstance(value, float): return value + chance.choice([-0.5, 0, 0.5, 1.0])
    if isinstance(value, str):
        letters = list(value)
        if letters and chance.random() < 0.5: letters.pop(chance.randrange(len(letters)))
        elif letters: letters.insert(chance.randrange(len(letters)), chance.choice(letters))
        return "".join(letters)
    if isinstance(value, list):
        items = [vary(v, chance) if chance.random() < 0.4 else v for v in value]
        if items and chance.random() < 0.3: items.pop(chance.randrange(len(items)))
        return items
    return value


class Late(BaseException): pass


def stop(*_): raise Late


def result(function, arguments, seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        value = function(*copy.deepcopy(arguments))
        if isinstance(value, types.GeneratorType): value = list(value)
        return ("value", repr(value))
    except Late: return ("late", "")
    except BaseException as error: return ("raises", type(error).__name__)
    finally: signal.setitimer(signal.ITIMER_REAL, 0)


signal.signal(signal.SIGALRM, stop)
stem = sys.argv[1]
new, old = load(f"{stem}.py", "new"), load(f"correct/{stem}.py", "old")
name = sys.argv[2]
cases = [json.loads(line)[0] for line in Path("cases.json").read_text().splitlines()]
cases = [case if isinstance(case, list) else [case] for case in cases]
chance, same, compared, end = random.Random(1), True, 0, time.monotonic() + 20
for number in range(150 + len(cases)):
    arguments = cases[number] if number < len(cases) else [vary(a, chance) for a in chance.choice(cases)]
    want = result(getattr(old, name), arguments, 0.5)
    if time.monotonic() > end and compared >= len(cases): break
    if want[0] != "value": continue
    compared += 1
    if result(getattr(new, name), arguments, 1.5) != want: same = False; break
print("SAME" if same and compared else "OTHER" if compared else "UNKNOWN")
"""
"""Runs inside the sandbox: the repaired program against the reference on the tests' inputs and on varied ones."""


def request_for(folder: Path, limit_s: float) -> SearchRequest:
    """What to search in one program's folder."""
    meta = json.loads((folder / "meta.json").read_text())
    test = next(folder.glob("test_*.py")).name
    return SearchRequest(
        command=COMMAND,
        failing=tuple(f"{test}::{name}" for name in meta["failing"]),
        passing=tuple(f"{test}::{name}" for name in meta["passing"]),
        protected=("test_*.py", "correct/*"),
        time_limit_s=limit_s,
    )


def entry_point(folder: Path, path: str) -> str | None:
    """The function to compare, or None when there is no reference or no input to compare on."""
    if not (folder / "correct" / path).is_file() or not (folder / "cases.json").is_file():
        return None
    return str(json.loads((folder / "meta.json").read_text()).get("entry_point", Path(path).stem))


async def repair(sandboxes: Sandboxes, folder: Path, limit_s: float) -> dict[str, object]:
    """One program: whether it was repaired, and whether the first fix behaves as the reference."""
    request = request_for(folder, limit_s)
    checkout = Checkout(source=FolderSource(path=str(folder)), hints=JobHints(command=COMMAND))
    async with sandboxes.open_workspace(checkout) as workspace:
        await workspace.facts()
        started = time.monotonic()
        events = [event async for event in workspace.search(request)]
        seconds = time.monotonic() - started
        found = [event for event in events if isinstance(event, Survivor)]
        originals = {path: await workspace.read_file(path) or "" for path in {e.path for s in found for e in s.edits}}
        ranked = rank_survivors(found, originals)
        same = await behaves_as_reference(workspace, folder, ranked[0].survivor) if ranked else False
    done = next((event for event in events if isinstance(event, TrialDone)), TrialDone(reason="refused"))
    return {
        "program": folder.name,
        "plausible": bool(found),
        "correct": same,
        "template": ranked[0].survivor.template if ranked else None,
        "behaviours": ranked[0].behaviours if ranked else 0,
        "tried": done.tried,
        "first_s": round(found[0].seconds, 2) if found else None,
        "seconds": round(seconds, 2),
        "end": f"{done.reason} {done.detail}".strip(),
    }


async def repair_or_tell(sandboxes: Sandboxes, folder: Path, limit_s: float) -> dict[str, object]:
    """The same; a sandbox that goes away under it is tried once more, then told."""
    end = ""
    for _ in range(2):
        try:
            return await repair(sandboxes, folder, limit_s)
        except SandboxError as error:
            end = error.message
    return {"program": folder.name, "plausible": False, "correct": False, "seconds": 0.0, "end": end}


async def behaves_as_reference(workspace: SandboxWorkspace, folder: Path, survivor: Survivor) -> bool | None:
    """Whether the repaired program gives the reference's results; None when that cannot be told."""
    entry = entry_point(folder, survivor.path)
    if entry is None:
        return None
    changes = [
        *(changes_of(survivor.edits, {e.path: await workspace.read_file(e.path) or "" for e in survivor.edits}) or ()),
        FileChange(action=ChangeAction.CREATE, path="compare_with_reference.py", content=COMPARE),
    ]
    await workspace.apply_changes(changes)
    result = await workspace.run(f"python compare_with_reference.py {Path(survivor.path).stem} {entry}", timeout_s=120)
    await workspace.revert()
    return {"SAME": True, "OTHER": False}.get(result.stdout.strip())


async def main() -> None:
    """Measure a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of search per program")
    parser.add_argument("--only", nargs="*", default=[], help="programs to take")
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in arguments.folder.glob("*/meta.json"))
    results = []
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec()), Path(data))
        for folder in folders:
            if not arguments.only or folder.name in arguments.only:
                results.append(await repair_or_tell(sandboxes, folder, arguments.limit))
                print(results[-1], file=sys.stderr, flush=True)
    told = {
        "programs": len(results),
        "plausible": sum(bool(r["plausible"]) for r in results),
        "correct": sum(r["correct"] is True for r in results),
        "not_compared": sum(bool(r["plausible"]) and r["correct"] is None for r in results),
        "seconds": round(sum(float(str(r["seconds"])) for r in results), 1),
        "results": results,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
