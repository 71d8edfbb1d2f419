"""The failing step, read from a workflow as data."""

import time

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.workflow import Step, find_step
from sandbox.types import JobHints, StepKind

PATH = ".github/workflows/ci.yml"
JOB = """
name: CI
on: [push]
env: {LEVEL: 1, TOKEN: "${{ secrets.X }}", LD_PRELOAD: x, PATH: /evil, FLAG: true, LIST: [1]}
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: 3.10}
      - run: pip install ruff mypy
      - name: Ruff
        run: ruff check .
      - name: Types
        run: mypy .
  test:
    name: test (${{ matrix.python }})
    strategy: {matrix: {python: ["3.9", "3.11", "pypy-3.10"]}}
    env: {JOB: job}
    defaults: {run: {working-directory: pkg}}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python }}"}
      - name: Install
        working-directory: .
        run: |
          set -e
          python -m pip install --upgrade pip
          pip install -r requirements.txt && pip install "attrs>=1"
          sudo apt-get install -y libfoo
      - name: Test
        env: {STEP: step}
        run: |
          coverage run -m pytest \\
            -q
          codecov --token ${{ secrets.X }}
"""


def find(
    job: str | None = None, step: str | None = None, text: str = JOB, **more: bytes
) -> tuple[Step | None, FidelityLog]:
    log = FidelityLog()
    contents = {PATH: text.encode(), "requirements.txt": b"numpy==1\n", **more}
    return find_step(JobHints(job_name=job, step_name=step), contents, log), log


def test_the_job_of_a_matrix_is_found_by_its_name_and_its_version_taken() -> None:
    step, log = find("test (3.11)", "Test")
    assert step is not None
    assert step.command == "coverage run -m pytest -q"
    assert step.kind is StepKind.TEST
    assert step.python == "3.11"
    assert step.working_directory == "pkg"
    assert step.wanted.lines == ("numpy==1", "attrs>=1")
    assert any(entry.step.endswith("apt-get install -y libfoo") for entry in log.entries())


def test_only_harmless_literal_variables_are_passed_on() -> None:
    step, log = find("test (3.9)")
    assert step is not None
    assert step.environment == {"LEVEL": "1", "FLAG": "true", "LIST": "", "JOB": "job", "STEP": "step"}
    assert {entry.step for entry in log.entries()} >= {"env TOKEN", "env LD_PRELOAD", "env PATH"}


def test_a_step_is_found_by_name_by_default_name_and_by_kind() -> None:
    assert [find("lint", name)[0].command for name in ("Types", "Run mypy .", None)] == [  # type: ignore[union-attr]
        "mypy .",
        "mypy .",
        "ruff check .",
    ]


def test_an_unquoted_version_in_yaml_is_understood() -> None:
    step, _ = find("lint", "Ruff")
    assert step is not None
    assert step.python == "3.10"


def test_a_job_that_is_not_there_is_noted() -> None:
    step, log = find("deploy")
    assert step is None
    assert log.entries()[0].treatment == "dropped"


def test_a_command_made_of_expressions_is_not_run() -> None:
    step, _ = find(text="jobs: {a: {steps: [{run: 'pytest ${{ inputs.x }}'}]}}")
    assert step is None


def test_cd_in_a_step_moves_and_never_leaves_the_checkout() -> None:
    step, _ = find(text='jobs: {a: {steps: [{run: "cd lib\\npytest"}]}}')
    assert step is not None
    assert step.working_directory == "lib"
    step, _ = find(text='jobs: {a: {steps: [{run: "cd ../../etc\\npytest", working-directory: "/etc"}]}}')
    assert step is not None
    assert step.working_directory == "."


def test_uv_sync_asks_for_the_project() -> None:
    step, _ = find(text='jobs: {a: {steps: [{run: "uv sync --extra test"}, {run: "uv run pytest"}]}}')
    assert step is not None
    assert step.wanted.itself
    assert step.wanted.extras == ("test",)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{n}: &{n} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n" for p, n in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE = {
    "not yaml": "jobs: [unclosed",
    "a list": "[1, 2]",
    "a scalar": "x",
    "jobs is a list": "jobs: [1]",
    "steps is text": "jobs: {a: {steps: text}}",
    "a step is a number": "jobs: {a: {steps: [1, {run: 5}, {run: ''}]}}",
    "a python object": "!!python/object/apply:os.system ['touch /tmp/attack-marker']",
    "aliases that grow": BOMB
    + "env: {X: *j}\njobs: {a: {name: *j, steps: [{name: *j, run: pytest, with: *j}], strategy: {matrix: {p: *j}}}}",
    "itself": "a: &a {jobs: *a}",
    "deep": "[" * 20_000,
    "large": "x: " + "y" * 300_000,
    "not utf-8": "\udcff",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_workflow_is_noted_and_never_raises(name: str) -> None:
    started = time.perf_counter()
    log = FidelityLog()
    find_step(JobHints(), {PATH: HOSTILE[name].encode("utf-8", "surrogateescape")}, log)
    assert time.perf_counter() - started < 30


def test_the_named_workflow_is_read_first() -> None:
    contents = {
        ".github/workflows/a.yml": b"jobs: {t: {steps: [{run: pytest a}]}}",
        ".github/workflows/b.yml": b"jobs: {t: {steps: [{run: pytest b}]}}",
    }
    hints = JobHints(workflow_path=".github/workflows/b.yml@refs/heads/main")
    step = find_step(hints, contents, FidelityLog())
    assert step is not None
    assert step.command == "pytest b"
