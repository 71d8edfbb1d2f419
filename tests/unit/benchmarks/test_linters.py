"""The samples of rules: each rule once, in two halves, and ruff finds the rule of each of its samples."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.sets.linters import SETS, LinterSet, read_samples


@pytest.mark.parametrize("chosen", SETS, ids=lambda one: one.name)
def test_each_rule_has_one_sample_and_both_halves_have_some(chosen: LinterSet) -> None:
    samples = read_samples(chosen)
    assert len({sample.rule for sample in samples}) == len(samples)
    assert {sample.half for sample in samples} == {"learn", "judge"}
    assert all(sample.text.endswith("\n") for sample in samples)


def test_ruff_finds_the_rule_of_each_sample(tmp_path: Path) -> None:
    (chosen,) = (one for one in SETS if one.name == "ruff")
    samples = read_samples(chosen)
    for sample in samples:
        (tmp_path / f"{sample.rule}.py").write_text(sample.text)
    options = chosen.command.split()[1:]
    ruff = str(Path(sys.executable).parent / "ruff")
    done = subprocess.run(
        [ruff, *options, "--isolated", "--no-cache", "--output-format", "json", "--exit-zero", "."],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    found = {(Path(row["filename"]).stem, row["code"]) for row in json.loads(done.stdout)}
    without = [sample.rule for sample in samples if (sample.rule, sample.rule) not in found]
    assert without == []
