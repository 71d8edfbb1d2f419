"""How much of a bug set one edit reaches, and how early; candidates are compared with the reference and never run.

Prints one line of JSON: how many programs have a candidate that is the reference but for layout and docstrings, at
which position of the order it stands (all lines equally suspect), and what making the candidates of a function costs.
"""

import argparse
import ast
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.source.functions import Unit, list_units
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import SeenLiterals

LAYOUT = re.compile(r"[\s()\"',]|#.*")


def main() -> None:
    """Go through a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path, help="folders that hold programs.jsonl")
    parser.add_argument("--most", type=int, default=30_000, help="candidates looked at per program")
    parser.add_argument(
        "--list", action="store_true", help="one line per program on standard error"
    )
    arguments = parser.parse_args()
    for folder in arguments.sets:
        found = []
        for line in (folder / "programs.jsonl").read_text().splitlines():
            program = json.loads(line)
            result = look_for(program["files"], arguments.most)
            found.append(result)
            if arguments.list:
                print(f"{program['id']:40} {result}", file=sys.stderr)
        print(json.dumps({"set": folder.name, **summary(found)}))


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a set."""
    ranks = sorted(result["rank"] for result in found if result["rank"])
    return {
        "programs": len(found),
        "reachable": len(ranks),
        "median_rank": statistics.median(ranks) if ranks else None,
        "p90_rank": ranks[int(len(ranks) * 0.9)] if ranks else None,
        "median_candidates": statistics.median(result["candidates"] for result in found),
        "first_1000_ms": round(statistics.median(result["first_ms"] for result in found), 1),
        "all_ms": round(statistics.median(result["all_ms"] for result in found), 1),
    }


def look_for(files: dict[str, str], most: int) -> dict[str, Any]:
    """The position of the reference among a program's candidates; 0 when it is none of them."""
    name = next(n.removeprefix("correct/") for n in files if n.startswith("correct/"))
    source = SourceFile(name, files[name].encode())
    units = list_units(source, "/" + name)
    wanted = functions(files[f"correct/{name}"])
    lines = dict.fromkeys(range(1, files[name].count("\n") + 2), 1.0)
    order = Generator(load_templates(), {}).best_first(
        units, Suspicion({name: lines}), seen_literals(files)
    )
    started = time.process_time()
    candidates = list(islice(order, 1000))
    first = time.process_time() - started
    candidates += islice(order, most - len(candidates))
    whole = time.process_time() - started
    rank, template = position(candidates, wanted, units)
    return {
        "rank": rank,
        "template": template,
        "candidates": len(candidates),
        "first_ms": 1000 * first,
        "all_ms": 1000 * whole,
    }


def position(
    candidates: list[CandidatePatch], wanted: dict[str, str], units: list[Unit]
) -> tuple[int, str]:
    """Where the first candidate stands that makes every function what the reference has."""
    now = {unit.qualified_name: tidy(unit.source.text(unit.node)) for unit in units}
    open_units = {n for n, (tree, _) in now.items() if n in wanted and tree != wanted[n]}
    for rank, candidate in enumerate(candidates, 1):
        unit = candidate.unit
        if unit is None or open_units - {unit.qualified_name}:
            continue
        goal = wanted.get(unit.qualified_name, "")
        text = text_of(unit, candidate)
        if LAYOUT.sub("", text) != LAYOUT.sub("", REFERENCE.get(goal, "")) and "#" not in text:
            continue
        if tidy(text)[0] == goal:
            return rank, candidate.template
    return 0, ""


REFERENCE: dict[str, str] = {}
"""The text of a reference function by its tree."""


def functions(text: str) -> dict[str, str]:
    """Functions of a reference by name, as trees."""
    found = {}
    for unit in list_units(SourceFile("reference.py", text.encode()), "/reference.py"):
        tree, plain = tidy(unit.source.text(unit.node))
        REFERENCE[tree] = plain
        found[unit.qualified_name] = tree
    return found


def text_of(unit: Unit, candidate: CandidatePatch) -> str:
    """The edited function without its docstring."""
    start, end = unit.source.span(unit.node)
    growth = sum(len(e.text.encode()) - (e.end - e.start) for e in candidate.edits)
    text = unit.source.render(candidate.edits)[start : end + growth].decode()
    body = unit.node.body[0]
    if isinstance(body, ast.Expr) and isinstance(body.value, ast.Constant):
        first, last = unit.source.span(body)
        if all(e.start >= last for e in candidate.edits):
            encoded = text.encode()
            text = (encoded[: first - start] + encoded[last - start :]).decode()
    return text


def tidy(text: str) -> tuple[str, str]:
    """A function as tree and as text, both without docstrings; empty when it is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return "", ""
    plain = text
    for node in reversed(list(docstrings(tree))):
        lines = plain.splitlines(keepends=True)
        plain = "".join([*lines[: node.lineno - 1], *lines[(node.end_lineno or node.lineno) :]])
    for owner in ast.walk(tree):
        if isinstance(owner, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            owner.body = [s for s in owner.body if not is_text(s)] or [ast.Pass()]
    return ast.dump(tree), plain


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Statements that are nothing but text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and is_text(node):
            yield node


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is nothing but text."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def seen_literals(files: dict[str, str]) -> SeenLiterals:
    """What the failing tests mention."""
    failing = {name.partition("[")[0] for name in json.loads(files["meta.json"])["failing"]}
    found: list[Any] = []
    for name, text in files.items():
        if name.startswith("test_"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef) and node.name in failing:
                    found += [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    numbers = [
        v for v in found if isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e9
    ]
    strings = [v for v in found if isinstance(v, str) and len(v) <= 40]
    return SeenLiterals(tuple(dict.fromkeys(numbers))[:20], tuple(dict.fromkeys(strings))[:20])


if __name__ == "__main__":
    main()
