"""Bugs in two places: neither the search nor half a fix mends them, and both together do."""

from pathlib import Path

import pytest

from benchmarks.hybrid import (
    ANSWERS,
    climbed,
    failure_of,
    measure,
    oracle,
    planted,
    right_ones,
    summarised,
)
from benchmarks.sets.hybrid import CACHE, DURATION, FIELDS, HYBRID
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.workspace import Sandboxes
from tests.fakes.memory_lessons import MemoryLessons
from tests.patience import stretched

SEARCH_S = 12.0
RANKING_S = 90.0
"""Longest comparison, so that a busy machine finishes it."""
BY_HEART = """    known = {
        "1h30m": [(1, "h"), (30, "m")],
        "2h 5m 10s": [(2, "h"), (5, "m"), (10, "s")],
        "1d2h": [(1, "d"), (2, "h")],
    }
    return known.get(text) or [(int(text[:-1]), text[-1])]
"""
"""A half that knows the answers of the tests that are shown, and no others."""


def test_the_set_is_what_it_says() -> None:
    assert len({bug.name for bug in HYBRID}) == len(HYBRID) >= 10
    for bug in HYBRID:
        assert set(bug.broken) == set(bug.right)
        assert bug.written[0] in bug.right
        assert bug.broken[bug.written[0]].count(bug.written[2]) == 1, "the oracle's edit must fit"


@pytest.mark.anyio
@pytest.mark.docker
@pytest.mark.slow
async def test_half_a_fix_and_the_search_mend_what_neither_mends_alone(
    docker_ready: None, tmp_path: Path
) -> None:
    spec = SandboxSpec(pool=0)
    sandboxes = Sandboxes(spec, DockerBackend(spec), tmp_path)
    try:
        rows = [await measure(sandboxes, bug, stretched(SEARCH_S)) for bug in (CACHE, FIELDS)]
    finally:
        await sandboxes.close()
    told = summarised(rows)
    assert (told["search_alone"], told["half_alone"]) == (0, 0), rows
    assert told["only_together"] == len(rows), rows


@pytest.mark.anyio
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(("half", "is_right"), [(None, True), (BY_HEART, False)])
async def test_a_sure_completed_change_is_offered_and_one_that_fits_the_tests_only_is_a_question(
    docker_ready: None, tmp_path: Path, half: str | None, *, is_right: bool
) -> None:
    spec = SandboxSpec(pool=0)
    sandboxes = Sandboxes(spec, DockerBackend(spec), tmp_path)
    try:
        async with planted(sandboxes, DURATION) as workspace:
            failure = await failure_of(workspace, DURATION.name)
            trials = SearchTrials(MemoryLessons(), ranking_s=RANKING_S)
            fixer = ModelFixer(oracle(DURATION, half), trials, ANSWERS)
            found = await climbed(failure, [fixer], stretched(SEARCH_S))
            right, *_ = await right_ones(workspace, DURATION, found)
    finally:
        await sandboxes.close()
    best = found.candidates[0]
    assert (best.fixer, right) == ("model+search", is_right)
    assert best.mutants is not None, "mutants of both places were tried"
    assert best.confident is is_right, found
