"""How many mined fixes are among the candidates of the templates at the changed lines; nothing is run."""

import ast
import json
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.repair_reach import LAYOUT, common_ends
from benchmarks.sets.built import ROOT
from benchmarks.sets.clones import Clone
from benchmarks.sets.mined import Fix, Package, small_change
from benchmarks.sets.syntax_changes import normalized_tree
from sandbox.guest.search.candidates.generator import (
    MAX_PER_NODE,
    CandidatePatch,
    Generator,
    Suspicion,
)
from sandbox.guest.search.candidates.outer import outer_candidates
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import CodeScope, SeenLiterals

RESULTS = ROOT / "build" / "mined"
MOST = 60_000
"""Candidates compared for each fix at most."""
SECONDS = 4.0
"""Processor time for one fix."""
COMMAND_SECONDS = 16.0
"""Processor time for one package; a further command goes on from there."""


class Goal:
    """The text that a candidate must make.

    Args:
        source: The file before the fix.
        right: The file after it.
        lines: The changed lines.
    """

    def __init__(self, source: SourceFile, right: str, lines: frozenset[int]) -> None:
        self.source = source
        self.lines = lines
        old = source.data.decode()
        before, after = common_ends(old, right)
        self._start = len(old[:before].encode())
        self._end = len(source.data) - len(old[len(old) - after :].encode())
        self._part = sorted(LAYOUT.sub("", right[before : len(right) - after]))
        self._tree = _unordered(right)

    def is_made_by(self, edits: tuple[TextEdit, ...]) -> bool:
        """Return True if edits turn the file into the fixed program.

        Args:
            edits: Of a candidate.
        """
        # An edit elsewhere cannot make the goal, and the text nearby is compared first.
        if not edits or not all(self._start <= e.start and e.end <= self._end for e in edits):
            return False
        pieces, at = [], self._start
        for edit in sorted(edits):
            pieces += [self.source.data[at : edit.start], edit.text.encode()]
            at = edit.end
        text = b"".join([*pieces, self.source.data[at : self._end]]).decode("utf-8", "replace")
        if sorted(LAYOUT.sub("", text)) != self._part:
            return False
        whole = self.source.render(edits).decode("utf-8", "replace")
        try:
            return _unordered(whole) == self._tree
        except SyntaxError:
            return False


def _unordered(text: str) -> str:
    """Return the tree of a program as text, with keywords and entries of constants sorted."""
    tree = normalized_tree(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=ast.dump)
        elif isinstance(node, ast.Set):
            node.elts.sort(key=ast.dump)
        elif isinstance(node, ast.Dict) and all(isinstance(k, ast.Constant) for k in node.keys):
            pairs = sorted(zip(node.keys, node.values, strict=True), key=_dump_pair)
            node.keys, node.values = [k for k, _ in pairs], [v for _, v in pairs]
        elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
            node.type.elts.sort(key=ast.dump)
    return ast.dump(tree)


def _dump_pair(pair: tuple[ast.expr | None, ast.expr]) -> str:
    return "".join(ast.dump(one) for one in pair if one is not None)


def measure(package: Package, clones: Path, label: str) -> None:
    """Compare the fixes of a package with the candidates, and keep the results.

    Args:
        package: The package.
        clones: Where its clone is.
        label: Name of the measurement.
    """
    place = RESULTS / label / f"{package.name}.json"
    known: dict[str, Any] = json.loads(place.read_text()) if place.is_file() else {}
    rows = {fix.commit: known[fix.commit] for fix in package.fixes if fix.commit in known}
    end = time.process_time() + COMMAND_SECONDS
    with Clone(clones / package.name) as clone:
        for fix in package.fixes:
            if fix.commit not in rows and time.process_time() < end:
                found = find(clone, fix)
                # Only whether a fix of the half `judge` is reached is kept, never how.
                rows[fix.commit] = found if package.half == "learn" else {"cost": found["cost"]}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(rows))
    print(f"{package.name}: {len(rows)} of {len(package.fixes)} compared", flush=True)


def find(clone: Clone, fix: Fix) -> dict[str, Any]:
    """Return the template that makes a fix and its cost; None for both if there is none.

    Args:
        clone: Its repository.
        fix: The fix.
    """
    old, new = clone.text(fix.parent, fix.path), clone.text(fix.commit, fix.path)
    change = small_change(old or "", new or "")
    nothing = {"template": None, "cost": None}
    if old is None or change is None:
        return nothing
    try:
        source = SourceFile(fix.path, old.encode())
    except (SyntaxError, ValueError):
        return nothing
    seen = _literals(clone, fix)
    goal = Goal(source, change[0], frozenset(range(fix.lines[0], fix.lines[1] + 1)))
    best: dict[str, Any] = nothing
    end = time.process_time() + SECONDS
    for name, cost, edits, scope in islice(_candidates(goal, seen), MOST):
        if (best["cost"] is None or cost < best["cost"]) and goal.is_made_by(edits):
            extra = scope.plausibility.extra_cost(edits) if scope is not None else 0.0
            if extra is not None:
                best = {"template": name, "cost": round(cost + extra, 2)}
        if time.process_time() > end:
            break
    return best


_Candidate = tuple[str, float, tuple[TextEdit, ...], CodeScope | None]
"""Template, cost, edits, and the function."""


def _candidates(goal: Goal, seen: SeenLiterals) -> Iterator[_Candidate]:
    source = goal.source
    templates = load_templates()
    for unit in list_units(source, f"/{source.path}"):
        if not goal.lines & set(range(unit.first_line, unit.last_line + 1)):
            continue
        scope = CodeScope(source, unit.node, seen)
        generator = Generator(templates, {})
        for node in [n for n in [*scope.nodes, scope.root] if _is_near(n, goal, scope)]:
            for name in templates:
                proposals = generator.proposals(name, node, scope)
                for cost, proposal in islice(proposals, MAX_PER_NODE):
                    try:
                        edits = proposal.edits
                    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
                        continue
                    yield name, cost, edits, scope
    yield from _outer_candidates(goal, seen)


def _outer_candidates(goal: Goal, seen: SeenLiterals) -> Iterator[_Candidate]:
    suspicion = Suspicion({goal.source.path: dict.fromkeys(goal.lines, 1.0)})
    templates = {**load_templates(), **load_outer_templates()}
    for found in outer_candidates(goal.source, suspicion, seen, templates=templates, shifts={}):
        if isinstance(found, CandidatePatch):
            yield found.template, found.cost, found.edits, None


def _is_near(node: ast.AST, goal: Goal, scope: CodeScope) -> bool:
    """Return True for a node on the changed lines, and for statements around them."""
    if node is scope.root or not hasattr(node, "lineno"):
        return True
    lines = range(node.lineno, (getattr(node, "end_lineno", None) or node.lineno) + 1)
    return any(line in lines for line in goal.lines)


def _literals(clone: Clone, fix: Fix) -> SeenLiterals:
    """Return the literals of the changed test functions."""
    found: list[Any] = []
    exceptions: list[str] = []
    for path, names in fix.tests.items():
        wanted = {name.rpartition(".")[2] for name in names}
        for node in ast.walk(ast.parse(clone.text(fix.commit, path) or "")):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in wanted:
                found += [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
                exceptions += _expected(node)
    numbers = [
        value
        for value in found
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
    ]
    strings = [value for value in found if isinstance(value, str) and len(value) <= 40]
    return SeenLiterals(
        tuple(dict.fromkeys(numbers))[:20],
        tuple(dict.fromkeys(strings))[:20],
        tuple(dict.fromkeys(exceptions)),
    )


def _expected(test: ast.AST) -> list[str]:
    """Return the exceptions that a test expects."""
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call) and node.args]
    named = [
        call.args[0]
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("raises", "assertRaises")
    ]
    return [ast.unparse(one).rpartition(".")[2] for one in named]


def print_tables(packages: list[Package], labels: list[str]) -> None:
    """Print kinds with their counts and reach in the half `learn`, and totals of both halves.

    Args:
        packages: The manifest.
        labels: Names of measurements, which become columns.
    """
    reached = {label: _reached(packages, label) for label in labels}
    learn = [fix for one in packages if one.half == "learn" for fix in one.fixes]
    kinds = Counter(fix.kind for fix in learn)
    print(f"| kind | fixes | {' | '.join(labels)} |")
    print(f"| --- | --- | {' | '.join('---' for _ in labels)} |")
    for kind, count in kinds.most_common():
        cells = [
            str(sum(fix.commit in reached[label] for fix in learn if fix.kind == kind))
            for label in labels
        ]
        print(f"| {kind} | {count} | {' | '.join(cells)} |")
    for half in ("learn", "judge"):
        fixes = [fix for one in packages if one.half == half for fix in one.fixes]
        some = sum(1 for one in packages if one.half == half and one.fixes)
        totals = [sum(fix.commit in reached[label] for fix in fixes) for label in labels]
        print(json.dumps({"half": half, "packages": some, "fixes": len(fixes), "reached": totals}))


def _reached(packages: list[Package], label: str) -> set[str]:
    found: set[str] = set()
    for package in packages:
        place = RESULTS / label / f"{package.name}.json"
        rows: dict[str, Any] = json.loads(place.read_text()) if place.is_file() else {}
        found |= {commit for commit, row in rows.items() if row["cost"] is not None}
    return found
