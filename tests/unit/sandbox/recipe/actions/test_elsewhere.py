"""Jobs of reusable workflows in other repositories, at the commits that GitHub's record names."""

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import Job
from sandbox.recipe.workflow import find_job
from sandbox.types import CalledWorkflow, JobHints

CI = ".github/workflows/ci.yml"
FOLDER = ".github/workflows"
ONE, TWO = "1" * 40, "2" * 40
PYTHON = """
on: {workflow_call: {inputs: {python: {type: string}}}}
jobs:
  tests:
    strategy: {matrix: {k: [a, b]}}
    steps:
      - uses: actions/checkout@v4
      - {uses: actions/setup-python@v5, with: {python-version: "${{ inputs.python }}"}}
      - uses: ./.github/actions/prepare
      - {run: "pytest -k ${{ matrix.k }}"}
"""
PREPARE = "runs: {using: composite, steps: [{run: pip install attrs, shell: bash}]}"
NESTED = f"jobs: {{inner: {{uses: ./{FOLDER}/python.yml, with: {{python: '3.10'}}}}}}"


def calling(uses: str) -> str:
    return f"jobs: {{py: {{uses: '{uses}', with: {{python: '3.12'}}, secrets: inherit}}}}"


def shared(text: str = PYTHON, name: str = "python.yml", **more: str) -> CalledWorkflow:
    about = {"repository": "org/ci", "ref": "v1", "sha": ONE, **more}
    return CalledWorkflow(path=f"{FOLDER}/{name}", text=text, **about)


def find(
    name: str, uses: str, *called: CalledWorkflow, more: dict[str, str] | None = None
) -> tuple[Job, list[str]]:
    files = {CI: calling(uses), ".github/actions/prepare/action.yml": PREPARE, **(more or {})}
    contents = {path: text.encode() for path, text in files.items()}
    log = FidelityLog()
    job = find_job(JobHints(job_name=name, called=called), contents, log)
    assert job is not None
    return job, [f"{entry.step}: {entry.reason}" for entry in log.entries()]


@pytest.mark.parametrize("ref", ["v1", "refs/tags/v1", "refs/heads/v1"])
def test_a_job_of_another_repository_is_read_with_its_inputs_and_matrix(ref: str) -> None:
    job, notes = find("py / tests (b)", f"Org/ci/{FOLDER}/python.yml@v1", shared(ref=ref))
    assert (job.python, job.workflow, job.obstacles) == ("3.12", CI, ())
    assert job.steps[-1].script == "pytest -k b"
    # A local action is the caller's, as the checkout is.
    assert any(step.script == "pip install attrs" for step in job.steps)
    assert f"org/ci/{FOLDER}/python.yml@{ref}: read from GitHub at {ONE}" in notes


@pytest.mark.parametrize("uses", [f"org/ci/{FOLDER}/python.yml@{ONE}"])
def test_a_workflow_is_found_by_its_commit(uses: str) -> None:
    assert find("py / tests (a)", uses, shared(ref=ONE))[0].obstacles == ()


@pytest.mark.parametrize("prefix", ["./", "$/"])
def test_a_path_in_a_called_workflow_means_its_own_repository_and_commit(prefix: str) -> None:
    outer = shared(NESTED.replace("./", prefix), "outer.yml")
    wrong = shared("jobs: {tests: {steps: [{run: pytest wrong}]}}", sha=TWO, ref="v2")
    decoy = {f"{FOLDER}/python.yml": "jobs: {tests: {steps: [{run: pytest decoy}]}}"}
    own = shared(ref="refs/heads/other")
    uses = f"org/ci/{FOLDER}/outer.yml@v1"
    job, notes = find("py / inner / tests (a)", uses, wrong, outer, own, more=decoy)
    assert (job.python, job.steps[-1].script) == ("3.10", "pytest -k a")
    assert sum("read from GitHub at" in note for note in notes) == 2
    job, _ = find("py / inner", uses, wrong, outer, more=decoy)
    assert "GitHub's record of the run does not name it" in job.obstacles[0]


def test_a_local_workflow_leads_elsewhere_and_never_back() -> None:
    more = {f"{FOLDER}/local.yml": f"jobs: {{inner: {{uses: org/ci/{FOLDER}/python.yml@v1}}}}"}
    job, _ = find("py / inner / tests (a)", f"./{FOLDER}/local.yml", shared(), more=more)
    assert job.steps[-1].script == "pytest -k a"


def test_a_circle_over_two_repositories_ends() -> None:
    there = shared(calling(f"org/two/{FOLDER}/python.yml@v1"))
    back = shared(calling(f"org/ci/{FOLDER}/python.yml@v1"), repository="org/two")
    job, _ = find("py / py / py / py / py", f"org/ci/{FOLDER}/python.yml@v1", there, back)
    assert "workflows call each other too deeply" in job.obstacles[0]


@pytest.mark.parametrize(
    ("called", "why"),
    [
        ((), "it is in another repository, which is read only for a run on GitHub, with a token"),
        (
            (shared(ref="v2", sha=TWO),),
            "it is in another repository, and GitHub's record of the run does not name it",
        ),
        ((shared("", problem="GitHub does not let us read org/ci"),), "GitHub does not let us"),
        ((shared("jobs: ["),), "it is not valid YAML"),
        ((shared("#" * 300_000),), "it is too large"),
        ((shared(repository="org/ci-2"),), "GitHub's record of the run does not name it"),
    ],
)
def test_what_is_missing_is_named(called: tuple[CalledWorkflow, ...], why: str) -> None:
    uses = f"org/ci/{FOLDER}/python.yml@v1"
    job, _ = find("py / tests (a)", uses, *called)
    assert f"the reusable workflow {uses} cannot be read" in job.obstacles[0]
    assert why in job.obstacles[0]


@pytest.mark.parametrize(
    "change",
    [
        {"repository": "org/../user"},
        {"repository": "org"},
        {"repository": "org/ci?x="},
        {"path": ".github/workflows/../../x.yml"},
        {"path": ".github/workflows/a/b.yml"},
        {"path": ".github/workflows/%2e%2e.yml"},
        {"path": "x.yml"},
        {"sha": "main"},
        {"sha": ONE + "\n"},
        {"ref": "a b"},
        {"ref": "v1\n"},
    ],
)
def test_names_that_an_address_could_misread_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="pattern"):
        shared().with_(**change)


def test_the_recipe_says_what_was_read() -> None:
    contents = {CI: calling(f"org/ci/{FOLDER}/python.yml@v1").encode()}
    hints = JobHints(job_name="py / tests (a)", called=(shared(PYTHON.replace("prepare", "x")),))
    recipe = plan_recipe(hints, set(contents), contents)
    assert recipe.called == (f"org/ci/{FOLDER}/python.yml@{ONE}",)
    assert recipe.fidelity[0].reason == f"read from GitHub at {ONE}"
