"""Every benchmark runs on its smallest input and prints one line of JSON of the agreed shape; no figure is judged here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.figures import figure, measured, missed, spread
from benchmarks.measure import summary
from benchmarks.mission import stages_of
from benchmarks.sets.programs import programs_of
from benchmarks.startup import WRONG_USE
from bot.publish.evidence import evidence
from bot.publish.story import build_story
from tests.builders import a_mission
from tests.patience import COMMAND_S
from tests.unit.bot.intake import payloads

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = {"median", "p99", "min", "max"}


def run(name: str, *words: str) -> dict[str, Any]:
    """The one line of a benchmark."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    assert found["benchmark"] == name
    assert found["machine"].keys() >= {"cpus", "load_1m", "python", "bytecode"}
    return found


def test_the_webhook_benchmark_compares_with_a_null_route(tmp_path: Path) -> None:
    (tmp_path / "check_run").mkdir()
    (tmp_path / "check_run" / "red.json").write_bytes(payloads.encoded(payloads.check_run()))
    found = run("webhook", str(tmp_path), "--rounds", "1")
    assert (found["payloads"], found["answers"]) == (1, {"202": 1})
    assert found["ours_ms"].keys() == found["null_route_ms"].keys() == SUMMARY
    assert "own_time_median_ms" in found


def test_the_flood_benchmark_watches_memory_and_health() -> None:
    found = run("flood", "--kind", "half a head", "--seconds", "1")["floods"]["half a head"]
    assert found.keys() >= {
        "grown_mib",
        "healthz_slowest_s",
        "healthz_unanswered",
        "most_files",
        "answers",
        "holds",
    }
    assert sum(found["answers"].values()) == 2_000
    assert found["healthz_asked"] > 0


def test_the_webhook_benchmark_without_payloads_is_wrong_use(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.webhook", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    assert done.returncode == 2
    assert "no payloads" in done.stderr


@pytest.mark.slow
def test_the_start_up_benchmark_compares_with_an_empty_application() -> None:
    found = run("startup", "--runs", "1")
    for name in (
        "help_s",
        "help_of_fix_s",
        "bare_interpreter_s",
        "import_fastapi_s",
        "import_fix_command_s",
    ):
        assert found[name].keys() == SUMMARY
    assert {
        kind: figures.keys() for kind, figures in found["wrong_use_s"].items()
    } == dict.fromkeys(WRONG_USE, SUMMARY)
    assert found["serve_idle_rss_mb"] > found["empty_fastapi_rss_mb"] > 0


@pytest.mark.docker
@pytest.mark.slow
def test_the_sandbox_benchmark_compares_with_docker_and_a_plain_process(docker_ready: None) -> None:
    found = run("sandbox", "--runs", "1", "--small")
    for name in ("without_pool", "from_pool"):
        assert found[name].keys() == {"open_s", "run_true_s", "pytest_s"}
    for name in ("docker_run", "docker_exec", "plain_process"):
        assert found[name].keys() == {"run_true_s", "pytest_s"}
        assert found[name]["pytest_s"].keys() == SUMMARY
    figures = found["figures"]
    assert figures.keys() == {
        *(
            "warm_start_ms",
            "from_pool_ms",
            "spawn_ms",
            "kill_after_timeout_ms",
            "kill_fork_bomb_ms",
        ),
        *(
            "survivors",
            "wall_precision_ms",
            "supervisor_idle_mb",
            "repository_in_ms",
            "changes_out_ms",
        ),
        *("flood_growth_mb", "one_line_growth_mb", "sanitiser_worst_s", "sanitiser_whole_s"),
    }
    assert {name: one["reason"] for name, one in figures.items() if "reason" in one} == {}, (
        "each could be measured"
    )
    assert all(
        one["demand"] is not None and one["met"] in {True, False} for one in figures.values()
    )
    assert figures["survivors"]["value"] == 0


def test_a_figure_is_met_when_every_demanded_number_is() -> None:
    assert figure(5, "ms", 5)["met"] is True
    assert figure({"p50": 5, "p95": 50}, "ms", {"p50": 6})["met"] is True
    assert figure({"p50": 5, "p95": 50}, "ms", {"p50": 6, "p95": 40})["met"] is False
    assert figure(5, "ms")["met"] is None
    assert spread([0.001 * number for number in range(1, 101)]) == {
        "p50": 50.0,
        "p95": 95.0,
        "max": 100.0,
        "n": 100,
    }


@pytest.mark.anyio
async def test_a_figure_that_cannot_be_measured_says_why_and_costs_no_other() -> None:
    async def breaks() -> dict[str, Any]:
        raise RuntimeError("no such thing here")

    found = await measured(breaks, "one", "two")
    assert missed(found) == ["one", "two"]
    assert "no such thing here" in found["one"]["reason"]


@pytest.mark.docker
@pytest.mark.slow
def test_the_mission_benchmark_tells_time_by_stage(docker_ready: None) -> None:
    found = run("mission", "--runs", "1", "--only", "broken_math")
    (numbers,) = found["repositories"].values()
    assert (numbers["outcome"], numbers["problems"]) == ("FIXED", [])
    assert numbers["to_pull_request_s"].keys() == SUMMARY
    assert numbers["stages_s"].keys() == {"mission", "reproduce_once", "fix", "verify"}
    assert numbers["stages_s"]["mission"] > 0
    assert numbers["plain_run_s"] > 0


@pytest.mark.docker
@pytest.mark.shared
@pytest.mark.slow
def test_the_repair_benchmark_tells_of_every_bug_and_goes_on_where_it_ended(
    docker_ready: None, shared: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    programs = list(programs_of(shared / "quixbugs"))
    # `--only` takes beginnings of names; the fewest tests are the quickest.
    alone = [p for p in programs if sum(other.name.startswith(p.name) for other in programs) == 1]
    chosen = min(alone, key=lambda program: (len(program.tests), program.name))
    words = (
        "--set",
        "quixbugs",
        "--tests",
        "half",
        "--only",
        chosen.name,
        "--data",
        str(shared),
        "--rows",
        str(rows),
    )
    found = run("repair", *words, "--limit", "30")
    assert (found["set"], found["tests"], found["bugs"], found["broken_runs"]) == (
        "quixbugs",
        "half",
        1,
        0,
    )
    assert found.keys() >= {
        *(
            "correct_first",
            "correct_shown",
            "plausible",
            "abstained",
            "precision",
            "tried",
            "seconds",
        ),
        *("candidates_per_s", "not_compared", "as_reference_first"),
    }
    (row,) = [json.loads(line) for line in rows.read_text().splitlines()]
    assert row["given"]["hidden"] == len(chosen.tests) // 2
    assert row["given"]["failing"] >= 1
    again = run("repair", *words, "--resume")
    assert again["seconds"] == found["seconds"], "what was measured is not measured again"


def test_stages_are_read_from_the_evidence_as_it_is_written() -> None:
    stages = stages_of(evidence(build_story(a_mission())))
    assert stages == {"mission": 6.5, "reproduce_once": 0.1, "fix": 1.2, "verify": 2.5}


def test_a_summary_of_one_value_is_that_value() -> None:
    assert summary([0.12345]) == {"median": 0.123, "p99": 0.123, "min": 0.123, "max": 0.123}
    assert summary([3.0, 1.0, 2.0])["median"] == 2.0


@pytest.mark.docker
@pytest.mark.slow
def test_the_triage_benchmark_tells_what_each_world_was_called(docker_ready: None) -> None:
    found = run("triage", "--only", "outage_runner_lost")
    assert found["confusion"] == {"INFRA": {"INFRA": 1}}
    assert found["flaky_or_base_red_with_a_fix"] == 0
    assert found["seconds"].keys() == SUMMARY


def test_the_load_benchmark_counts_what_is_lost_and_doubled() -> None:
    found = run("load", "--missions", "3", "--rate", "10", "--database", "sqlite")
    (only,) = found["rounds"]
    assert found["met"]
    assert (only["answers"], only["missions_done"], only["lost"], only["doubled"]) == (
        {"202": 3},
        3,
        0,
        0,
    )
