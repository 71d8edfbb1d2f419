"""The Action's file, its examples and the code say the same, and the linters of workflows find nothing."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.action.inputs import ActionInputs
from tests.architecture.tracked import ROOT
from tests.missing import missing

ACTION = ROOT / "action.yml"
EXAMPLES = sorted((ROOT / "examples" / "workflows").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOADED: dict[str, Any] = yaml.safe_load(ACTION.read_text())
STEP: dict[str, Any] = LOADED["runs"]["steps"][0]
NOT_READ = {"WORKFLOW_TOKEN"}


def tool(name: str, *arguments: Path | str) -> str:
    """What a linter installed beside Python says; empty when it finds nothing."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        missing(f"{name}, a development dependency, is not installed")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_every_input_is_read_and_every_read_one_is_an_input() -> None:
    assert {name.replace("-", "_") for name in LOADED["inputs"]} == set(ActionInputs.model_fields)


def test_every_input_is_handed_over_by_the_environment_and_none_by_the_shell() -> None:
    handed = {name: value for name, value in STEP["env"].items() if name not in NOT_READ}
    wanted = {
        f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}"
        for name in LOADED["inputs"]
    }
    assert handed == wanted
    assert "${{" not in STEP["run"]


def test_defaults_say_the_same_in_both_places() -> None:
    given = {
        f"INPUT_{name.upper().replace('-', '_')}": str(told["default"])
        for name, told in LOADED["inputs"].items()
        if "default" in told and name != "github-token"
    }
    assert ActionInputs.of(given) == ActionInputs()


def test_every_output_comes_from_the_step() -> None:
    for name, told in LOADED["outputs"].items():
        assert told["value"] == f"${{{{ steps.{STEP['id']}.outputs.{name} }}}}"
        assert told["description"]


def test_the_action_is_composite_and_its_only_step_is_a_script_of_ours() -> None:
    assert LOADED["runs"]["using"] == "composite"
    script = re.fullmatch(r'"\$GITHUB_ACTION_PATH/(.+)"', STEP["run"])
    assert script is not None
    path = ROOT / script.group(1)
    assert path.stat().st_mode & 0o111
    assert len(LOADED["runs"]["steps"]) == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_an_example_gives_no_rights_but_those_a_job_asks_for(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, name
        steps = [step for step in job["steps"] if "uses" in step]
        assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in steps), name
        inputs = [step.get("with", {}) for step in steps if "metaagent/" in step["uses"]]
        assert {key for given in inputs for key in given} <= set(LOADED["inputs"]), name
        checkouts = [step for step in steps if step["uses"].startswith("actions/checkout@")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts), name


def test_of_two_jobs_one_has_no_rights_and_the_other_runs_nothing() -> None:
    jobs = yaml.safe_load((ROOT / "examples/workflows/two-jobs.yml").read_text())["jobs"]
    assert set(jobs["find"]["permissions"].values()) == {"read"}
    steps = jobs["hand-over"]["steps"]
    assert not [
        step for step in steps if "run" in step or step["uses"].startswith("actions/checkout@")
    ]
    assert steps[-1]["with"]["from-report"]


def test_check_jsonschema_finds_nothing() -> None:
    assert tool("check-jsonschema", "--builtin-schema", "vendor.github-actions", ACTION) == ""
    assert (
        tool(
            "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *EXAMPLES, *WORKFLOWS
        )
        == ""
    )


def test_actionlint_finds_nothing() -> None:
    assert tool("actionlint", "-shellcheck=", "-pyflakes=", *EXAMPLES, *WORKFLOWS) == ""


def test_zizmor_finds_nothing() -> None:
    assert tool("zizmor", "--offline", "--no-progress", ROOT / ".github", ACTION, *EXAMPLES) == ""
