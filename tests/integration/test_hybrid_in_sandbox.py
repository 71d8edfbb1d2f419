"""Bugs in two places: neither the search nor half a fix mends them, and both together do."""

from pathlib import Path

import pytest

from benchmarks.hybrid import measure, summarised
from benchmarks.sets.hybrid import CACHE, FIELDS, HYBRID
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.workspace import Sandboxes

SEARCH_S = 12.0


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
        rows = [await measure(sandboxes, bug, SEARCH_S) for bug in (CACHE, FIELDS)]
    finally:
        await sandboxes.close()
    told = summarised(rows)
    assert (told["search_alone"], told["half_alone"]) == (0, 0), rows
    assert told["only_together"] == len(rows), rows
