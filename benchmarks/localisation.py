"""How well the place of a bug is found without any search: one line of JSON on standard output.

    python -m benchmarks.localisation TREE ... [--mutants N] [--seed N] [--branches] [--keep FOLDER]
        [--variant NAME=WEIGHT ...]

A tree is a package's source with its tests, as its source distribution has it. Bugs are planted by `sets/mutation.py`
and run in a sandbox only; what the tracing told of each is kept in a folder, so that weights can be compared on it.
"""

import argparse
import ast
import asyncio
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.sets.mutation import mutations
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.guest.search.locate.code import Modules, read_files
from sandbox.guest.search.locate.observe import read
from sandbox.guest.search.locate.score import FaultEvidence, Scorer
from sandbox.guest.search.locate.weights import WEIGHTS
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FileEdit, FolderSource, JobHints
from sandbox.workspace import Sandboxes, SandboxWorkspace

HERE = Path(__file__).parent
DRIVER = "locate_in_sandbox.py"
DRAWS = 6
"""Planted for each one that is wanted: some break no test, or too many."""
OUTSIDE = 0.25
"""The share of bugs outside functions that is asked for."""
COMMAND = "python -m pytest -q"


async def run(workspace: SandboxWorkspace, *arguments: str) -> Any:
    """Run the driver inside; what it writes."""
    done = await workspace.run(
        f"python -B {DRIVER} {GUEST_DIR} {' '.join(arguments)}", timeout_s=1500
    )
    opened = await workspace._open()  # noqa: SLF001 - more than a file of a checkout may hold
    text = await opened.guest.read(f"{arguments[0]}.json", max_bytes=512 << 20)
    if not text or text == b"null":
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(text)


def conditions(text: str) -> set[int]:
    """Lines on which the condition of a branch or loop stands."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.If | ast.While)]
    return {n.test.lineno for n in nodes}


def planted(
    tree: Path, covered: dict[str, list[int]], chance: random.Random, count: int
) -> list[dict[str, Any]]:
    """Bugs of a package, inside functions and outside them."""
    inside, outside = list[dict[str, Any]](), list[dict[str, Any]]()
    hits = [(path, line) for path, lines in sorted(covered.items()) for line in lines]
    rests = [
        (path, line)
        for path, lines in sorted(covered.items())
        for line in sorted(outside_functions((tree / path).read_text()) - set(lines))
    ]
    few = int(count * OUTSIDE)
    for found, places, most in ((inside, hits, count - few), (outside, rests, few)):
        for path, line in chance.sample(places, min(len(places), 8 * most)):
            text = (tree / path).read_text()
            if len(found) < most and (here := list(mutations(text, {line}))):
                bug = chance.choice(here)
                found.append(
                    {"path": path, "line": bug.line, "kind": bug.kind, "text": bug.applied(text)}
                )
    drawn = inside + outside
    chance.shuffle(drawn)
    return [{**bug, "number": number} for number, bug in enumerate(drawn)]


def outside_functions(text: str) -> set[int]:
    """Lines that no function's body holds."""
    nodes = [
        n
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = {line for n in nodes for line in range(n.body[0].lineno, (n.end_lineno or 0) + 1)}
    return set(range(1, text.count("\n") + 2)) - inside


async def observe(tree: Path, keep: Path, mutants: int, seed: int, *, branches: bool) -> None:
    """Plant bugs in one package and keep what their tracing tells.

    Args:
        tree: The package.
        keep: Where it is kept.
        mutants: How many bugs.
        seed: Chooses them.
        branches: Only in the conditions of branches and loops.
    """
    home = keep / f"{tree.name}.json"
    if home.exists():
        return
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), Path(data))
        checkout = Checkout(source=FolderSource(path=str(tree)), hints=JobHints(command=COMMAND))
        async with sandboxes.open_workspace(checkout) as workspace:
            await place(workspace, DRIVER, (HERE / DRIVER).read_text())
            survey = await run(workspace, "survey")
            if not survey or not survey["covered"]:
                print(f"{tree.name}: nothing to survey", file=sys.stderr)
                return
            chance = random.Random(seed)  # noqa: S311 - which bugs are planted is no secret
            covered: dict[str, list[int]] = survey["covered"]
            if branches:
                covered = {
                    path: sorted(set(lines) & conditions((tree / path).read_text()))
                    for path, lines in covered.items()
                }
            bugs = planted(tree, covered, chance, mutants * DRAWS)
            await place(workspace, "bugs.json", json.dumps(bugs))
            told = await run(workspace, "mutants", "bugs.json", str(mutants)) or []
            print(tree.name, len(bugs), "bugs,", len(told), "fail tests", file=sys.stderr)
    rows = [
        {"bug": bugs[one["bug"]], **{k: v for k, v in one.items() if k != "bug"}} for one in told
    ]
    home.write_text(json.dumps({"tree": str(tree), "tests": len(survey["green"]), "rows": rows}))


async def place(workspace: SandboxWorkspace, name: str, text: str) -> None:
    """Write a file into the checkout."""
    opened = await workspace._open()  # noqa: SLF001 - a file that is no edit of the checkout
    await opened.guest.write([FileEdit(path=name, mode="100644", content=text.encode())])


def evidence_of(tree: Path, row: dict[str, Any]) -> FaultEvidence:
    """What the scorer would have known."""
    bug = row["bug"]
    observations = read(row["reports"])
    tests = observations.tests
    failing = [i for i in row["failing"] if i in tests]
    hit = {path for i in failing for path in tests[i].lines}
    hit |= {path for i in failing for path, _ in tests[i].functions}
    hit |= {path for path, _ in observations.collected}
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted({*row["known"], *hit} - {DRIVER}):
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(bug["text"] if path == bug["path"] else (tree / path).read_text())
        files = read_files(folder, hit, {*row["known"], *hit})
    return FaultEvidence(
        tests=tests,
        failing=failing,
        names=row["names"],
        mentioned=set(row["mentioned"]),
        literals=row["literals"],
        files=files,
        modules=Modules({*row["known"], *hit}),
        changed={},
        hints={},
        used=observations.observed.failing_values(),
        once=observations.once,
        collected=observations.collected,
    )


def ranks(
    evidence: FaultEvidence, bug: dict[str, Any], weights: dict[str, float]
) -> dict[str, Any]:
    """Where the true line and its function come; lines that tie count half."""
    scores, _ = Scorer(evidence, weights).result()
    flat = {(path, line): score for path, lines in scores.items() for line, score in lines.items()}
    file = evidence.files.get(bug["path"])
    unit = file.unit_at(bug["line"]) if file else None
    statement = file.statement_at(bug["line"]) if file and unit else None
    mine = [(bug["path"], n) for n in (bug["line"], *([statement.lineno] if statement else []))]
    score = max((flat.get(place, 0.0) for place in mine), default=0.0)
    functions: dict[Any, float] = {}
    for (path, line), value in flat.items():
        home = evidence.files[path].unit_at(line) if path in evidence.files else None
        key = (path, home.first_line) if home else (path, -line)
        functions[key] = max(functions.get(key, 0.0), value)
    key = (bug["path"], unit.first_line) if unit else (bug["path"], -bug["line"])
    return {
        "line": place_in(flat.values(), score),
        "function": place_in(functions.values(), functions.get(key, 0.0)),
        "of": len(flat),
        "outside": unit is None,
        "score": score,
    }


def place_in(values: Collection[float], score: float) -> float:
    """The rank of a score, the middle of those that tie; infinite when it is nought."""
    if score <= 0:
        return math.inf
    return float(sum(v > score for v in values)) + (sum(v == score for v in values) + 1) / 2


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a set."""
    told: dict[str, Any] = {"bugs": len(rows)}
    for what in ("line", "function"):
        found = [row[what] for row in rows]
        told[what] = {"median": statistics.median(found) if found else None}
        told[what] |= {
            f"top{n}": round(sum(v <= n for v in found) / max(1, len(found)), 3)
            for n in (1, 5, 10, 30)
        }
        told[what]["cost"] = (
            round(statistics.mean(math.log2(min(v, 2000)) for v in found), 3) if found else None
        )
    return told


def kept(keep: Path, trees: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """What was observed."""
    for tree in trees:
        home = keep / f"{tree.name}.json"
        if home.exists():
            yield tree, json.loads(home.read_text())


async def main() -> None:
    """Observe and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--mutants", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--branches", action="store_true", help="plant only in conditions of branches and loops"
    )
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir()) / "metaagent-localisation"
    )
    parser.add_argument("--variant", action="append", default=[], help="NAME=WEIGHT,NAME=WEIGHT")
    parser.add_argument("--each", action="store_true", help="tell every bug on standard error")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    for tree in arguments.trees:
        await observe(
            tree.resolve(),
            arguments.keep,
            arguments.mutants,
            arguments.seed,
            branches=arguments.branches,
        )
    told: dict[str, Any] = {}
    cases = [
        (evidence_of(tree, row), row, tree)
        for tree, found in kept(arguments.keep, [t.resolve() for t in arguments.trees])
        for row in found["rows"]
    ]
    alone = ",".join(f"{name}={int(name == 'spectrum')}" for name in WEIGHTS)
    for variant in ["", alone, *arguments.variant]:
        weights = {n: float(w) for n, w in (pair.split("=") for pair in variant.split(",") if pair)}
        rows = [
            {**ranks(evidence, row["bug"], weights), "tree": tree.name, "bug": row["bug"]}
            for evidence, row, tree in cases
        ]
        told["spectrum alone" if variant == alone else variant or "as it is"] = {
            "inside": summary([row for row in rows if not row["outside"]]),
            "outside": summary([row for row in rows if row["outside"]]),
        }
        if arguments.each and not variant:
            for row, (_, case, _) in zip(rows, cases, strict=True):
                bug = row.pop("bug")
                print(
                    json.dumps(
                        {
                            **row,
                            "path": bug["path"],
                            "at": bug["line"],
                            "kind": bug["kind"],
                            "failing": len(case["failing"]),
                        }
                    ),
                    file=sys.stderr,
                )
    costs = [row["traced_s"] / row["plain_s"] for _, row, _ in cases if row["plain_s"] > 0.05]
    told["cost"] = {"traced_to_plain_median": round(statistics.median(costs), 2) if costs else None}
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
