"""The seeds of the benchmark are many, and belong to tools that rung 0 knows."""

import pytest

from benchmarks.sets.autofix import NODE_SETS, NODE_TESTS, PYTHON_SETS, PYTHON_TESTS, Seeds
from bot.fixers.rung0_tools import TOOLS
from bot.fixers.rung0_tools.calls import read_calls
from sandbox.changes import PathClass, can_prove_tests, protected_class
from sandbox.runners import detect_runner

SETS = (*PYTHON_SETS, *NODE_SETS)
TESTS = (*PYTHON_TESTS, *NODE_TESTS)


def test_there_are_enough() -> None:
    assert len({seeds.tool for seeds in SETS}) >= 20
    assert sum(len(seeds.texts) for seeds in SETS) >= 100


@pytest.mark.parametrize("seeds", [*SETS, *TESTS], ids=lambda seeds: seeds.tool)
def test_a_command_is_read_and_fixed_by_its_tool(seeds: Seeds) -> None:
    (call,) = read_calls(seeds.command, TOOLS)
    assert call.tool.name == seeds.tool
    assert detect_runner(seeds.command).name == "diagnostics"
    assert len(set(seeds.texts)) == len(seeds.texts)


@pytest.mark.parametrize("seeds", TESTS, ids=lambda seeds: seeds.tool)
def test_a_seeded_test_is_a_test_file_that_can_be_proved(seeds: Seeds) -> None:
    assert protected_class(seeds.path) is PathClass.TESTS
    assert can_prove_tests(seeds.path)
