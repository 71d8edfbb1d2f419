"""Find changes that behave like a known one, by running all of them on the same inputs."""

from collections.abc import Mapping, Sequence

from bot.fixers.rung1_search.attempt import SearchResult, run_search
from bot.fixers.rung1_search.request import build_mission_request
from bot.fixers.rung1_search.span_edits import convert_change
from bot.fixers.rung1_search.trial_runs import resolve_changes
from bot.fixers.trials import Failure, Proposed
from bot.ports import Recall
from sandbox.types import FileChange, GivenChange, KnownBehaviour, SpanEdit

TIME_LIMIT_S = 60.0

Key = frozenset[SpanEdit]


async def find_alike(
    recall: Recall,
    failure: Failure,
    offered: Mapping[str, Sequence[FileChange]],
    *,
    known: Sequence[Sequence[FileChange]],
    behaviours: Sequence[KnownBehaviour] = (),
) -> frozenset[str]:
    """Return the ids of offered changes that behave like a known change.

    A change counts as alike if it has the same results on every input of the comparison, or on
    every call that was kept of a known behaviour.

    Args:
        recall: Past results, for the order of templates.
        failure: The failure, and the workspace on the failing tree, which is left unchanged.
        offered: The changes to examine, by id.
        known: Known changes that fit this tree.
        behaviours: Behaviours of known changes that may no longer fit.
    """
    report = failure.context.test_results
    if report is None or not (known or behaviours) or not report.traits.searched_by:
        return frozenset()
    before = [change for one in known if (change := await _as_given(failure, one))]
    examined = {name: await _as_given(failure, changes) for name, changes in offered.items()}
    given = (*before, *(one for one in examined.values() if one))
    if len(given) == len(before) or not (before or behaviours):
        return frozenset()
    facts = await failure.workspace.facts()
    request = await build_mission_request(recall, failure.context, failure.diagnosis, facts, report)
    request = request.with_(
        given=given,
        sources=("given",),
        known=tuple(behaviours),
        max_survivors=len(given),
        most_survivors=0,
        red_hunks=(),
        time_limit_s=TIME_LIMIT_S,
    )
    found = await run_search(failure.workspace, request)
    alike = _alike(found, {_key(one.edits) for one in before})
    return frozenset(name for name, one in examined.items() if one and _key(one.edits) in alike)


def _alike(found: SearchResult, known: set[Key]) -> set[Key]:
    """Return the edits of survivors that behave like a known change or behaviour."""
    keys = [_key(survivor.edits) for survivor in found.survivors]
    compared = found.compared
    if compared is None:
        return known & set(keys)
    clusters = {
        cluster for key, cluster in zip(keys, compared.clusters, strict=True) if key in known
    }
    recognized = compared.recognized or ((),) * len(keys)
    return {
        key
        for key, cluster, one in zip(keys, compared.clusters, recognized, strict=True)
        if cluster in clusters or one
    }


async def _as_given(failure: Failure, changes: Sequence[FileChange]) -> GivenChange | None:
    """Return a change as the search takes it; None if it cannot be tried."""
    made = await resolve_changes(failure.workspace, changes)
    proposed = Proposed(id="", title="a change", changes=tuple(changes))
    return None if made.refused else convert_change(proposed, made.edits, dict(made.originals))


def _key(edits: Sequence[SpanEdit]) -> Key:
    return frozenset(edits)
