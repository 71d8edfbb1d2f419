"""Whether a fix is right: every test in a fresh sandbox, and the reference's behaviour."""

import ast
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.sets.bug import Bug
from sandbox.types import ChangeAction, Checkout, FileChange, FolderSource, JobHints, TestStatus
from sandbox.workspace import Sandboxes, SandboxWorkspace

Likeness = Literal["same text", "alike", "other", "unknown"]
"""Beside the reference: the same program text, the same behaviour on every input tried, another one, nothing known."""
OBSERVER = "bench_observe_calls.py"
OBSERVED = "observed.json"
_WALL_S = 240.0
_LATE = "late"


@dataclass(frozen=True)
class Judgement:
    """What came out about one fix."""

    passes: bool
    likeness: Likeness
    note: str = ""


class Judge:
    """Judges fixes of one bug in a sandbox where nothing was searched.

    Args:
        bug: Which one.
        workspace: With the broken tree and every test.
    """

    def __init__(self, bug: Bug, workspace: SandboxWorkspace) -> None:
        self._bug = bug
        self._workspace = workspace
        self._references: dict[tuple[str, ...], Mapping[str, Mapping[str, str]]] = {}

    async def judge(self, changes: Sequence[FileChange]) -> Judgement:
        """Run every test with a fix, then compare it with the reference."""
        await self._workspace.apply_changes(changes)
        try:
            report = await self._workspace.run_tests()
            broken = [
                test for test in self._bug.tests if report.outcomes.get(test) is not TestStatus.PASS
            ]
            passes = not broken and (bool(self._bug.tests) or report.success)
        finally:
            await self._workspace.revert()
        if not passes:
            return Judgement(passes, "other", f"fails {broken[0]}" if broken else report.summary)
        return Judgement(passes, await self._likeness(changes))

    async def _likeness(self, changes: Sequence[FileChange]) -> Likeness:
        right = [
            FileChange(action=ChangeAction.REPLACE, path=p, content=t)
            for p, t in self._bug.right.items()
        ]
        texts = {change.path: change.content or "" for change in changes}
        if texts.keys() == self._bug.right.keys() and all(
            same_program(texts[p], t) for p, t in self._bug.right.items()
        ):
            return "same text"
        targets = tuple(self._bug.targets) or changed_functions(
            self._bug.right, texts, await self._before(texts)
        )
        if not targets:
            return "unknown"
        if targets not in self._references:
            self._references[targets] = await self._observed(right, targets)
        return likeness(self._references[targets], await self._observed(changes, targets))

    async def _before(self, paths: Mapping[str, str]) -> dict[str, str]:
        return {
            path: await self._workspace.read_file(path) or "" for path in {*paths, *self._bug.right}
        }

    async def _observed(
        self, changes: Sequence[FileChange], targets: Sequence[str]
    ) -> dict[str, dict[str, str]]:
        plugin = Path(__file__).with_name("observe_calls.py").read_text()
        await self._workspace.apply_changes(
            [*changes, FileChange(action=ChangeAction.CREATE, path=OBSERVER, content=plugin)]
        )
        try:
            command = f"{self._bug.command} -p {OBSERVER.removesuffix('.py')}"
            words = f"OBSERVE={','.join(targets)} OBSERVE_PATHS=$PWD/src PYTHONHASHSEED=0 PYTHONPATH=.:$PYTHONPATH"
            await self._workspace.run(f"{words} {command}", timeout_s=_WALL_S)
            text = await self._workspace.read_file(OBSERVED)
            found: dict[str, list[tuple[str, str]]] = json.loads(text or "{}")
            return {target: dict(pairs) for target, pairs in found.items()}
        finally:
            await self._workspace.revert()


def likeness(
    reference: Mapping[str, Mapping[str, str]], found: Mapping[str, Mapping[str, str]]
) -> Likeness:
    """Compare what was observed; inputs that the reference takes no result from say nothing."""
    compared = 0
    for target, pairs in reference.items():
        for given, result in pairs.items():
            now = found.get(target, {}).get(given)
            if now is None or result == _LATE or result.startswith("raises "):
                continue
            compared += 1
            if now != result:
                return "other"
    return "alike" if compared else "unknown"


def same_program(one: str, other: str) -> bool:
    """Whether two texts are the same program but for comments, docstrings and layout."""
    try:
        return _bare(one) == _bare(other)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _bare(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [
                s
                for s in body
                if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
            ]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.dump(tree)


def changed_functions(
    right: Mapping[str, str], new: Mapping[str, str], broken: Mapping[str, str]
) -> tuple[str, ...]:
    """`module:function` of every function that differs between broken, right and mended; empty when more differs."""
    found: list[str] = []
    for path in sorted({*right, *new}):
        texts = (
            broken.get(path, ""),
            right.get(path, broken.get(path, "")),
            new.get(path, broken.get(path, "")),
        )
        parts = [_functions(text) for text in texts]
        names = {name for part in parts for name in part}
        differing = {name for name in names if len({part.get(name) for part in parts}) > 1}
        if "" in differing:
            return ()
        found += [f"{_module(path)}:{name}" for name in sorted(differing)]
    return tuple(found)


def _functions(text: str) -> dict[str, str]:
    """Outermost functions and methods by qualified name; what stands outside of them under the empty name."""
    found: dict[str, str] = {}

    def take(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[prefix + node.name] = found.get(prefix + node.name, "") + ast.dump(node)
            elif isinstance(node, ast.ClassDef):
                take(node.body, f"{prefix}{node.name}.")
                outside.extend(ast.dump(part) for part in (*node.bases, *node.decorator_list))
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                outside.append(ast.dump(node))

    outside: list[str] = []
    take(ast.parse(text).body, "")
    found[""] = "\n".join(outside)
    return found


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/").replace("/", ".")


@asynccontextmanager
async def open_judge(sandboxes: Sandboxes, bug: Bug) -> AsyncIterator[Judge]:
    """A judge in a sandbox of its own."""
    with tempfile.TemporaryDirectory() as folder:
        bug.plant(Path(folder), ())
        async with open_bug(sandboxes, bug, Path(folder)) as workspace:
            yield Judge(bug, workspace)


@asynccontextmanager
async def open_bug(sandboxes: Sandboxes, bug: Bug, folder: Path) -> AsyncIterator[SandboxWorkspace]:
    """A sandbox on a planted bug."""
    source = FolderSource(path=str(folder), repository_id=bug.repository)
    hints = JobHints(command=bug.command, setup=tuple(bug.setup))
    async with sandboxes.open_workspace(Checkout(source=source, hints=hints)) as workspace:
        await workspace.facts()
        yield workspace
