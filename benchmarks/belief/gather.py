"""Try and judge the answers to each bug: what passes the tests shown, and what is right by all of them."""

import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.belief.answers import Answer, answers_for
from benchmarks.belief.cases import read_cases
from benchmarks.belief.missions import is_right
from benchmarks.sets.bug import Bug
from benchmarks.sets.catalogue import PROGRAMS, unit_of_set
from benchmarks.sets.halves import Mode, hidden_tests
from benchmarks.sets.judge import open_bug
from bot.domain.diagnosis import FailureKind
from bot.fixers.rung1_search.attempt import SearchResult, run_search
from bot.fixers.rung1_search.changes import edited_files
from bot.fixers.rung1_search.request import build_request
from bot.fixers.rung1_search.span_edits import convert_change
from bot.fixers.trials import Proposed
from bot.mission.failures.reports import narrowed
from bot.mission.judging.analyze import analyze_failures
from sandbox.types import (
    ChangeAction,
    FileChange,
    FileEdit,
    GivenChange,
    SearchRequest,
    SpanEdit,
    TestStatus,
)
from sandbox.workspace import Sandboxes, SandboxWorkspace

SEARCH_S, COMPARING_S = 40.0, 40.0
MOST_SHOWN = 5
"""The search's changes that are compared with the written ones."""
Texts = Mapping[str, str]


def key_of(texts: Texts) -> str:
    """Return a name of a change by its resulting texts."""
    whole = json.dumps(sorted(texts.items()))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


async def gather(sandboxes: Sandboxes, name: str, bug: Bug, *, seed: int) -> dict[str, Any]:
    """Return everything about one bug: the search's changes, the written ones, and their labels.

    Args:
        sandboxes: Runs them.
        name: Name of the set.
        bug: The bug.
        seed: Chooses the hidden tests and the slips.
    """
    hidden = hidden_from(name, bug, seed)
    steps = Steps()
    broken, answers = _written(bug, hidden, seed)
    kinds = {key_of({path: a.text}): [a.kind, a.how] for path, a in answers}
    with tempfile.TemporaryDirectory() as folder:
        bug.plant(Path(folder), hidden)
        async with open_bug(sandboxes, bug, Path(folder)) as workspace:
            request = await red_request(workspace, bug, seed)
            if not request.failing:
                return {"set": name, "bug": bug.name, "end": "nothing fails"}
            steps.end("opened")
            search = await run_search(workspace, request.with_(time_limit_s=SEARCH_S))
            steps.end("search")
            broken = {**search.originals, **broken}
            found = [
                {one.path: one.content or "" for one in fix.changes}
                for fix in search.shown[:MOST_SHOWN]
            ]
            written: list[Texts] = [{path: answer.text} for path, answer in answers]
            own = [texts for texts in found if key_of(texts) not in set(map(key_of, written))]
            given = await compared(workspace, request, broken, [*written, *own])
            steps.end("given")
            passing = _texts(given, broken)
            survivors = {**_texts(search, broken), **passing}
            labels = await _judged(sandboxes, bug, broken, survivors, seed=seed)
            steps.end("judged")
            # The others become no mission.
            decided = {
                key: texts
                for key, texts in passing.items()
                if is_right(labels.get(key), kinds.get(key, ["search"])[0]) is not None
            }
            alone = await measured_alone(workspace, request, broken, decided)
            steps.end("alone")
    return {
        "set": name,
        "bug": bug.name,
        "group": bug.name.partition("/")[0] if "/" in bug.name else f"{name}/{bug.name}",
        "failing": len(request.failing),
        "written": [[*kinds[key], key] for key in kinds],
        "search": _kept(search, broken),
        "given": _kept(given, broken),
        "alone": alone,
        "kinds": kinds,
        "labels": labels,
        "seconds": round(sum(steps.seconds.values()), 1),
        "steps": steps.seconds,
    }


class Steps:
    """The seconds of each step of gathering a bug."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begun = time.monotonic()

    def end(self, name: str) -> None:
        """End a step; the next one begins."""
        now = time.monotonic()
        self.seconds[name], self._begun = round(now - self._begun, 1), now


def hidden_from(name: str, bug: Bug, seed: int) -> frozenset[str]:
    """Return the tests that only judge: those the set names, or half of them."""
    named = bug.about.get("hidden")
    if isinstance(named, tuple):
        return frozenset(named)
    mode: Mode = "half" if name in PROGRAMS else "failing"
    return hidden_tests(bug, mode, seed, unit_of_set(name))


def _written(bug: Bug, hidden: frozenset[str], seed: int) -> tuple[Texts, list[tuple[str, Answer]]]:
    """Return the broken files, and the written answers with their paths."""
    with tempfile.TemporaryDirectory() as folder:
        bug.plant(Path(folder), ())
        cases = read_cases(bug, Path(folder), hidden)
        broken = {path: (Path(folder) / path).read_text() for path in bug.right}
    answers = [
        (path, answer)
        for path, right in bug.right.items()
        for answer in answers_for(broken[path], right, cases, seed=f"{seed}/{bug.name}")
    ]
    return broken, answers


async def red_request(workspace: SandboxWorkspace, bug: Bug, seed: int) -> SearchRequest:
    """Return the request that the bot makes of the red run."""
    facts = await workspace.facts()
    report = await workspace.run_tests()
    if not bug.about.get("cases"):
        report = narrowed(report, report.failing - bug.failing)
    diagnosis = await analyze_failures(
        report, workspace, kind=FailureKind.BUG, red_diff=facts.red_diff
    )
    return build_request(facts, report, diagnosis, seed=seed)


async def compared(
    workspace: SandboxWorkspace, request: SearchRequest, broken: Texts, changes: Sequence[Texts]
) -> SearchResult:
    """Try changes as those of a model are tried, and compare those that pass."""
    given = {one.edits: one for texts in changes if (one := _given(texts, broken)) is not None}
    return await run_search(
        workspace,
        request.with_(
            given=tuple(given.values()),
            sources=("given",),
            max_survivors=len(given),
            most_survivors=0,
            red_hunks=(),
            time_limit_s=COMPARING_S,
        ),
    )


async def measured_alone(
    workspace: SandboxWorkspace, request: SearchRequest, broken: Texts, changes: Mapping[str, Texts]
) -> dict[str, Any]:
    """Return the profile of each change, measured as the only one, by its key.

    Beside others, mutants are tried for the first two behaviours only. The right answers come
    first, so which change has mutants would give its label away.

    Args:
        workspace: With the broken tree and the tests that are shown.
        request: The request of the red run.
        broken: The broken files.
        changes: By their keys.
    """
    found: dict[str, Any] = {}
    for key, texts in changes.items():
        seen = (await compared(workspace, request, broken, [texts])).compared
        if seen is not None and len(seen.profiles) == 1:
            found[key] = seen.profiles[0].model_dump(mode="json")
    return found


def _given(texts: Texts, broken: Texts) -> GivenChange | None:
    changes = tuple(
        FileChange(action=ChangeAction.REPLACE, path=path, content=text)
        for path, text in texts.items()
    )
    edits = [
        FileEdit(path=path, content=text.encode(), mode="100644") for path, text in texts.items()
    ]
    proposed = Proposed(id=key_of(texts), title="an answer", changes=changes)
    return convert_change(proposed, edits, {path: broken[path].encode() for path in texts})


def _texts(found: SearchResult, broken: Texts) -> dict[str, Texts]:
    """Return the resulting texts of every survivor that edits the broken files only, by key."""
    texts: dict[str, Texts] = {}
    for survivor in found.survivors:
        made = _made(survivor.edits, {**found.originals, **broken})
        if made is not None:
            texts[key_of(made)] = made
    return texts


def _made(edits: Sequence[SpanEdit], originals: Texts) -> Texts | None:
    changes = edited_files(edits, originals)
    return {one.path: one.content or "" for one in changes} if changes else None


def _kept(found: SearchResult, broken: Texts) -> dict[str, Any]:
    """Return what a ranking needs of a search, and the key of each survivor."""
    originals = {**found.originals, **broken}
    keys = [key_of(made) if (made := _made(s.edits, originals)) else "" for s in found.survivors]
    compared = found.compared.with_(calls=(), recognized=()) if found.compared else None
    return {
        "survivors": [one.model_dump(mode="json") for one in found.survivors],
        "keys": keys,
        "compared": compared.model_dump(mode="json") if compared else None,
        "originals": originals,
        "end": f"{found.done.reason} {found.done.detail}"[:200],
        "tried": found.tried,
    }


async def _judged(
    sandboxes: Sandboxes, bug: Bug, broken: Texts, changes: Mapping[str, Texts], *, seed: int
) -> dict[str, Any]:
    """Return for each change whether it passes every test, and whether it behaves as the reference."""
    right = {path: text for path, text in bug.right.items() if text != broken[path]}
    with tempfile.TemporaryDirectory() as folder:
        bug.plant(Path(folder), ())
        async with open_bug(sandboxes, bug, Path(folder)) as workspace:
            request = await red_request(workspace, bug, seed)
            request = request.with_(passing=(*request.passing, *request.held_out), held_out=())
            found = await compared(workspace, request, broken, [right, *changes.values()])
            told = {key_of(_made(s.edits, broken) or {}) for s in found.survivors}
            # On a busy machine the search may have no time to confirm a change.
            plain = await passing_plainly(
                workspace, bug, {key: texts for key, texts in changes.items() if key not in told}
            )
    passing = [key_of(_made(s.edits, broken) or {}) for s in found.survivors]
    clusters = dict(zip(passing, found.compared.clusters, strict=False)) if found.compared else {}
    reference = clusters.get(key_of(right))
    return {
        key: {
            "passes": key in clusters or key in plain,
            "alike": key == key_of(right)
            or (reference is not None and clusters.get(key) == reference),
        }
        for key in changes
    }


async def passing_plainly(
    workspace: SandboxWorkspace, bug: Bug, changes: Mapping[str, Texts]
) -> set[str]:
    """Return the changes with which a plain run passes every test.

    Args:
        workspace: With the broken tree and every test.
        bug: The bug.
        changes: By their keys.
    """
    passing = set()
    for key, texts in changes.items():
        edits = [
            FileChange(action=ChangeAction.REPLACE, path=path, content=text)
            for path, text in texts.items()
        ]
        await workspace.apply_changes(edits)
        try:
            report = await workspace.run_tests()
        finally:
            await workspace.revert()
        if all(report.outcomes.get(test) is TestStatus.PASS for test in bug.tests):
            passing.add(key)
    return passing
