"""Steps side by side, in the background, of another repository, or wrapped by an action."""

import json
from typing import Any

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import Job
from sandbox.recipe.workflow import find_job, list_jobs
from sandbox.types import JobHints

CI = ".github/workflows/ci.yml"
OTHER = {"uses": "actions/checkout@v4", "with": {"repository": "a/dep"}}
OTHER_IN = {"uses": "actions/checkout@v4", "with": {"repository": "a/dep", "path": "dep"}}


def contents_of(steps: list[dict[str, Any]], **files: str) -> dict[str, bytes]:
    workflow = {"on": "push", "jobs": {"t": {"runs-on": "ubuntu-latest", "steps": steps}}}
    found = {CI: json.dumps(workflow), **{name.replace("__", "."): files[name] for name in files}}
    return {name: text.encode() for name, text in found.items()}


def job_of(steps: list[dict[str, Any]], step: str | None = None, **files: str) -> Job:
    hints = JobHints(job_name="t", step_name=step)
    found = find_job(hints, contents_of(steps, **files), FidelityLog())
    assert found is not None
    return found


def test_steps_that_run_side_by_side_are_steps() -> None:
    group = [{"name": "Unit", "run": "npm test"}, {"run": "npm run lint"}, "broken"]
    steps: list[dict[str, Any]] = [{"run": "npm ci"}, {"parallel": group}, {"run": "npm run b"}]
    assert [one.script for one in job_of(steps).steps] == ["npm ci", "npm test"]
    lint = job_of(steps, "Run npm run lint")
    assert [one.script for one in lint.steps] == ["npm ci", "npm test", "npm run lint"]
    (listed,) = list_jobs(contents_of(steps))
    assert listed.steps == ("Run npm ci", "Unit", "Run npm run lint", "Run npm run b")


def test_a_step_in_the_background_is_a_service_if_it_is_cancelled() -> None:
    server = {"id": "web", "name": "Server", "run": "npm start", "background": True}
    ended = job_of([server, {"run": "npm test"}, {"cancel": "web"}])
    assert [one.script for one in ended.steps] == ["npm test"]
    assert ended.obstacles == ("needs the step `Server` beside it, no service is started",)
    awaited = job_of([server, {"wait": "web"}, {"run": "npm test"}])
    assert [one.script for one in awaited.steps] == ["npm start", "npm test"]
    assert awaited.obstacles == ()


def test_a_wrapped_command_may_need_what_only_github_knows() -> None:
    given = {"command": "yarn jest --shard=${{ matrix.x }} -w ${{ steps.cpu.outputs.count }}"}
    retry = {"name": "tests", "uses": "nick-fields/retry@v3", "with": given}
    step = job_of([{"id": "cpu", "uses": "a/b@v1"}, retry]).steps[-1]
    assert (step.name, step.script) == ("tests", "yarn jest --shard= -w")
    assert any("cpu" in name or "a/b" in name for name in step.unknown)


MISSING = "needs the repository a/dep, which is not fetched: it would lie in "


@pytest.mark.parametrize(
    ("steps", "package", "expected"),
    [
        ([OTHER, {"run": "npm run lint"}], "{}", (f"{MISSING}.",)),
        ([OTHER_IN, {"run": "tsc", "working-directory": "dep"}], "{}", (f"{MISSING}dep",)),
        ([OTHER_IN, {"run": "tsc", "working-directory": "dep/x"}], "{}", (f"{MISSING}dep",)),
        ([OTHER_IN, {"run": "npm test", "working-directory": "deps"}], "{}", ()),
        ([OTHER_IN, {"run": "npm test"}], "{}", ()),
        ([OTHER, {"run": "npm test"}], '{"repository": "github:a/dep"}', ()),
        ([OTHER_IN, {"run": "npm test", "working-directory": "dep"}],
         '{"homepage": "https://code.example/A/Dep#readme"}', ()),
    ],
)  # fmt: skip
def test_a_job_in_another_repository_is_no_job_of_this_one(
    steps: list[dict[str, Any]], package: str, expected: tuple[str, ...]
) -> None:
    found = job_of(steps, package__json=package)
    assert found.obstacles == expected
    if "ep" in package:
        assert found.steps[-1].working_directory == "."


def test_a_folder_of_built_packages_is_no_missing_artifact() -> None:
    download = {"uses": "actions/download-artifact@v4", "with": {"name": "d", "path": "dist"}}
    install = {"run": "pip install --no-index --find-links=./dist m"}
    assert job_of([download, install, {"run": "pytest"}]).obstacles == ()


def test_an_action_that_is_not_run_may_have_set_any_variable() -> None:
    asked = "env.MODE == 'full'"
    steps: list[dict[str, Any]] = [{"if": asked, "run": "npm i x"}, {"run": "npm test"}]
    assert [one.script for one in job_of(steps).steps] == ["npm test"]
    for action in ("a/foreign@v1", "./own"):
        found = job_of([{"uses": action}, *steps], **{"own/action__yml": "runs: {using: node20}"})
        scripts = [(one.script, one.runs) for one in found.steps if one.script]
        assert scripts == [("npm i x", "unknown"), ("npm test", "yes")]
    known = {"uses": "actions/setup-node@v4"}
    assert "npm i x" not in [one.script for one in job_of([known, *steps]).steps]


@pytest.mark.parametrize(
    ("events", "script"),
    [
        ({"push": None, "workflow_dispatch": {"inputs": {"x": {"default": "a"}}}}, "tox -e py"),
        ({"workflow_dispatch": {"inputs": {"x": {"default": "a"}}}}, "tox -e a"),
        ({"workflow_call": {"inputs": {"x": {"default": "a", "type": "string"}}}}, "tox -e a"),
        ({"workflow_call": {"inputs": {"x": {"type": "string"}}}}, None),
    ],
)
def test_inputs_without_a_caller_are_those_of_the_usual_start(
    events: dict[str, Any], script: str | None
) -> None:
    steps = [{"run": "tox -e ${{ inputs.x || 'py' }}"}]
    workflow = {"on": events, "jobs": {"t": {"steps": steps}}}
    job = find_job(JobHints(job_name="t"), {CI: json.dumps(workflow).encode()}, FidelityLog())
    assert job is not None
    step = job.steps[-1]
    assert (step.script if not step.unknown else None) == script
