"""The same failure again: the fix that is known is verified first, and the report names it."""

from pathlib import Path

import pytest

from tests.acceptance.test_fix_command import fix
from tests.demo.repositories import broken_repository

MOST_CANDIDATES = 10


@pytest.mark.docker
@pytest.mark.slow
def test_the_second_time_is_a_short_search_even_if_lines_moved(
    tmp_path: Path, docker_ready: None
) -> None:
    tree = broken_repository("broken_math").write(tmp_path / "tree")
    words = (str(tree), "--test", "python -m pytest -q")
    _, first = fix(*words, folder=tmp_path)
    assert (first["outcome"], first["recalled_from"]) == ("FIXED", "")
    assert first["candidates_tried"] > MOST_CANDIDATES
    source = tree / "broken_math.py"
    source.write_text(f'"""Moved."""\n\nUNUSED = 1\n\n\n{source.read_text()}')
    _, second = fix(*words, folder=tmp_path)
    assert (second["outcome"], second["recalled_from"]) == ("FIXED", first["mission_id"])
    assert second["candidates_tried"] <= MOST_CANDIDATES
    saved = f"its fix was tried first and saved a search of {first['candidates_tried']} candidates"
    assert saved in second["report"]
    changed = [line for line in first["diff"].splitlines() if line[:1] in "+-"]
    assert [line for line in second["diff"].splitlines() if line[:1] in "+-"] == changed
