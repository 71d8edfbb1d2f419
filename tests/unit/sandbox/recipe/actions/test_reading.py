"""The failing job resolved: which cell, which step, and what each step sees."""

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import Job
from sandbox.recipe.workflow import find_job, knows_job, list_jobs
from sandbox.types import JobHints

CI = ".github/workflows/ci.yml"
WORKFLOW = """
name: CI
on: {push: , workflow_dispatch: {inputs: {x: {default: 1}}}}
env: {LEVEL: 1, TOKEN: "${{ secrets.X }}", PATH: /evil, LD_PRELOAD: x, HERE: "${{ github.workspace }}/a"}
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{uses: actions/checkout@v4}, {run: make}]
  test:
    name: Py ${{ matrix.python-version }} on ${{ matrix.os }}
    runs-on: ${{ matrix.os }}
    container: {image: "images.example.org/x/python:3.12-slim", env: {BOX: "1"}}
    services: {db: {image: "postgres:15"}, redis: {image: redis}}
    strategy:
      matrix:
        python-version: ["3.9", "3.11", 3.10]
        os: [ubuntu-latest, windows-latest]
        exclude: [{os: windows-latest, python-version: "3.9"}]
        include: [{os: ubuntu-latest, flag: "yes"}]
    env: {JOB: "${{ matrix.python-version }}-${{ env.LEVEL }}"}
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@v4
        with: {path: src, submodules: true, lfs: true}
      - uses: actions/setup-python@v5
        id: py
        with: {python-version: "${{ matrix.python-version }}", cache: pip}
      - uses: actions/cache@v4
        id: cache
      - run: echo "X=1" >> $GITHUB_ENV
      - name: Install
        if: steps.cache.outputs.cache-hit != 'true'
        run: pip install -e .[test] --python ${{ steps.py.outputs.python-version }}
        working-directory: src
      - if: runner.os == 'Windows'
        run: choco install x
      - if: github.event_name == 'push'
        run: echo hi
        continue-on-error: true
        timeout-minutes: 2
      - uses: ./src/.github/actions/setup
        with: {who: me}
        env: {ONLY: here}
      - name: Test ${{ matrix.os }}
        run: pytest -n ${{ env.LEVEL }} --flag=${{ matrix.flag }} ${{ env.Y }}
        working-directory: ${{ github.workspace }}/src/pkg
      - uses: codecov/codecov-action@v4
  computed:
    strategy: {matrix: {py: "${{ fromJSON(needs.x.outputs.y) }}", os: [a, b]}}
    steps: [{run: "pytest ${{ matrix.py }}"}]
  lint:
    steps:
      - uses: actions/checkout@v4
      - uses: psf/black@stable
      - {name: Ruff, uses: astral-sh/ruff-action@v1, with: {args: format --check, version: 0.6.1}}
      - {uses: foo/bar@v1}
      - {run: ruff check ., shell: pwsh}
      - {name: Away, run: mypy ., working-directory: /tmp}
  call:
    strategy: {matrix: {v: ["3.10", "3.11"]}}
    uses: ./.github/workflows/re.yml
    with: {python: "${{ matrix.v }}"}
  other: {uses: a/b/.github/workflows/x.yml@v1}
  circle: {uses: ./.github/workflows/circle.yml}
"""
CALLED = """
on: {workflow_call: {inputs: {python: {type: string}, pkg: {default: p}, deep: {type: boolean}}}}
jobs:
  inner:
    name: in ${{ inputs.pkg }}
    strategy: {matrix: {k: [1, 2]}}
    steps:
      - {uses: actions/setup-python@v5, with: {python-version: "${{ inputs.python }}"}}
      - {if: inputs.deep, run: exit 1}
      - {run: "pytest ${{ matrix.k }} ${{ secrets.Z }}"}
"""
ACTION = """
inputs: {who: {default: you}, z: {default: zz}}
runs:
  using: composite
  steps:
    - {run: 'echo "Y=${{ inputs.who }}${{ inputs.z }}" >> $GITHUB_ENV', shell: bash}
    - {uses: actions/setup-node@v4, with: {node-version: 20}}
"""
FILES = {
    CI: WORKFLOW,
    ".github/workflows/re.yml": CALLED,
    ".github/workflows/circle.yml": "on: workflow_call\njobs: {again: {uses: ./.github/workflows/circle.yml}}",
    ".github/workflows/broken.yml": "jobs: [",
    ".github/actions/setup/action.yml": ACTION,
}


def find(
    job: str | None = None,
    step: str | None = None,
    files: dict[str, str] | None = None,
    **matrix: str,
) -> tuple[Job | None, dict[str, str]]:
    log = FidelityLog()
    contents = {path: text.encode() for path, text in (files or FILES).items()}
    found = find_job(JobHints(job_name=job, step_name=step, matrix=matrix), contents, log)
    return found, {entry.step: f"{entry.treatment}: {entry.reason}" for entry in log.entries()}


def job_of(
    job: str | None = None,
    step: str | None = None,
    files: dict[str, str] | None = None,
    **matrix: str,
) -> Job:
    found, _ = find(job, step, files, **matrix)
    assert found is not None
    return found


def one(steps: str, more: str = "", job: str = "") -> dict[str, str]:
    return {CI: f"{more}\njobs:\n  t:\n    runs-on: ubuntu-latest\n    {job}\n    steps: {steps}\n"}


@pytest.mark.parametrize(
    ("asked", "name", "matrix"),
    [
        (
            "Py 3.11 on ubuntu-latest",
            "Py 3.11 on ubuntu-latest",
            {"python-version": "3.11", "os": "ubuntu-latest"},
        ),
        ("py 3.11  on Windows-latest", "Py 3.11 on windows-latest", {"os": "windows-latest"}),
        ("CI / Py 3.11 on windows-latest", "Py 3.11 on windows-latest", {"os": "windows-latest"}),
        ("test", "Py 3.11 on ubuntu-latest", {"python-version": "3.11"}),
        ("test (3.11, windows-latest)", "Py 3.11 on windows-latest", {}),
        ("Py 3.13 on ubuntu-latest", "Py 3.11 on ubuntu-latest", {}),
        ("computed (3.12, b)", "computed (3.12, b)", {"py": "3.12", "os": "b"}),
        ("call (3.11) / in p", "call (3.11) / in p", {"v": "3.11", "k": "1"}),
        ("call (3.11) / in p (2)", "call (3.11) / in p", {"v": "3.11", "k": "2"}),
        ("call / inner", "call (3.11) / in p", {}),
        ("inner", "call (3.11) / in p", {}),
        ("lint", "lint", {}),
        (None, "call (3.11) / in p", {}),
    ],
)
def test_a_check_run_means_one_cell(asked: str | None, name: str, matrix: dict[str, str]) -> None:
    job = job_of(asked)
    assert job.name == name
    assert matrix.items() <= job.matrix.items()


@pytest.mark.parametrize(
    ("asked", "matrix"),
    [
        ("Test (ubuntu-latest, 22)", {"os": "ubuntu-latest", "node": "22"}),
        ("Test (22, macos-14)", {"os": "macos-14", "node": "22"}),
        ("Test (22)", {}),
        ("Test (ubuntu-latest, 22, x)", {}),
        ("Test", {}),
    ],
)
def test_a_computed_matrix_is_read_from_the_name(asked: str, matrix: dict[str, str]) -> None:
    strategy = "{matrix: '${{ fromJSON(needs.matrix.outputs.matrix) }}'}"
    steps = "[{uses: x/y@v1, with: {runtime: 'node@${{ matrix.node }}'}}, {run: pytest}]"
    written = (
        f"{{name: Test, runs-on: '${{{{ matrix.os }}}}', strategy: {strategy}, steps: {steps}}}"
    )
    job = job_of(asked, files={CI: f"jobs: {{t: {written}}}"})
    assert (job.matrix, bool(job.obstacles)) == (matrix, not matrix)
    assert not matrix or job.steps[-1].script == "pytest"


def test_a_runner_that_no_name_of_a_computed_matrix_shows_is_left_open() -> None:
    strategy = "{matrix: '${{ fromJSON(needs.a.outputs.b) }}'}"
    large = f"env: {{A: matrix.a, B: {'x' * 100_000}}}, runs-on: '${{{{ matrix.os }}}}'"
    job = f"{{name: Test, {large}, strategy: {strategy}, steps: [{{run: pytest}}]}}"
    assert job_of("Test (ubuntu-latest)", files={CI: f"jobs: {{t: {job}}}"}).matrix == {
        "a": "ubuntu-latest"
    }


def test_a_computed_matrix_of_unclear_values_is_named() -> None:
    written = "{name: Test, strategy: {matrix: '${{ fromJSON(needs.a.outputs.b) }}'}, "
    steps = "[{run: 'pytest ${{ matrix.a }} ${{ matrix.b }}'}]}"
    job = job_of("Test (1, 2)", files={CI: f"jobs: {{t: {written}steps: {steps}}}"})
    assert "which only GitHub knows" in job.obstacles[0]


def test_values_of_the_matrix_choose_the_cell() -> None:
    assert job_of("test", os="windows-latest").matrix == {
        "python-version": "3.11",
        "os": "windows-latest",
    }
    assert job_of("call / inner", v="3.11", k="2").matrix == {"v": "3.11", "k": "2"}
    _, notes = find("test", os="beos")
    assert "no cell has os=beos" in notes["test"]


def test_names_github_shortened_are_known() -> None:
    long = "a" * 120
    files = one("[{run: pytest}]", job=f"name: {long}")
    assert job_of(f"{long[:97]}...", files=files).job_id == "t"


def test_a_job_or_workflow_that_is_not_there_is_told() -> None:
    job, notes = find("deploy")
    assert job is None
    assert notes["deploy"] == "dropped: no such job in any workflow of the repository"
    assert (
        notes[".github/workflows/broken.yml"]
        == "dropped: the workflow is not used: it is not valid YAML"
    )
    assert find(files={"readme": ""}) == (None, {})


def test_variables_come_from_four_levels_and_what_was_exported() -> None:
    job, notes = find("Py 3.11 on ubuntu-latest", "Test ubuntu-latest")
    assert job is not None
    last = job.steps[-1]
    assert last.failed
    assert last.environment == {
        "LEVEL": "1",
        "HERE": "/work/repo/a",
        "BOX": "1",
        "JOB": "3.11-1",
        "X": "1",
        "Y": "mezz",
    }
    assert last.unknown_environment == {"TOKEN": "secrets.X"}
    assert notes["env TOKEN"] == "dropped: only GitHub knows secrets.X"
    assert {"env PATH", "env LD_PRELOAD"} <= notes.keys()


def test_a_step_is_resolved() -> None:
    job, notes = find("Py 3.11 on ubuntu-latest", "Test ubuntu-latest")
    assert job is not None
    last = job.steps[-1]
    assert (last.script, last.shell, last.working_directory) == (
        "pytest -n 1 --flag=yes mezz",
        "bash",
        "pkg",
    )
    assert [step.name for step in job.steps] == [
        'Run echo "X=1" >> $GITHUB_ENV',
        "Install",
        "Run echo hi",
        'Run echo "Y=mezz" >> $GITHUB_ENV',
        "Test ubuntu-latest",
    ]
    assert job.steps[1].script == "pip install -e .[test] --python 3.11"
    assert job.steps[1].working_directory == "."
    assert (job.steps[2].runs, job.steps[2].continue_on_error, job.steps[2].timeout_s) == (
        "unknown",
        True,
        120.0,
    )
    assert (job.python, job.node, job.container) == (
        "3.11",
        "20",
        "images.example.org/x/python:3.12-slim",
    )
    assert (
        notes["Run choco install x"]
        == "dropped: its condition does not hold here: runner.os == 'Windows'"
    )
    assert "github.event_name" in notes["Run echo hi"]
    assert notes["actions/checkout@v4"] == (
        "replaced: the commit is checked out, without its submodules, without large files (LFS)"
    )
    assert notes["actions/cache@v4"] == "dropped: there is no cache between jobs here"
    assert notes["./src/.github/actions/setup"] == "replayed: its steps are inlined"
    assert notes["container images.example.org/x/python:3.12-slim"].startswith("replaced: ")


@pytest.mark.parametrize(
    ("repository", "steps"),
    [
        ("me/it", [("yes", "src/me/it")]),
        ("you/it", [("yes", ".")]),
        (None, [("unknown", "src")]),
    ],
)
def test_the_name_of_the_repository_is_known_if_the_mission_knows_it(
    repository: str | None, steps: list[tuple[str, str]]
) -> None:
    step = "[{run: pytest, working-directory: 'src/${{ github.repository }}',"
    files = one(step + " if: github.repository_owner == 'me'}, {run: ls}]")
    hints = JobHints(job_name="t", repository=repository)
    contents = {path: text.encode() for path, text in files.items()}
    job = find_job(hints, contents, FidelityLog())
    assert job is not None
    assert [(step.runs, step.working_directory) for step in job.steps] == steps


@pytest.mark.parametrize("path", ["src/it", "${{ github.workspace }}/src/it"])
def test_a_checkout_in_a_folder_is_the_root_however_the_folder_is_written(path: str) -> None:
    where = "${{ github.workspace }}/src/it"
    steps = f"[{{uses: actions/checkout@v4, with: {{path: '{path}'}}}}, {{run: make test}}]"
    job = job_of("t", files=one(steps, job=f"defaults: {{run: {{working-directory: '{where}'}}}}"))
    assert job.steps[-1].working_directory == "."


def test_services_are_obstacles_of_tests_only() -> None:
    assert job_of("test").obstacles == (
        "needs the service postgres:15, no service is started",
        "needs the service redis, no service is started",
    )
    lint = one("[{run: ruff check .}]", job="services: {db: {image: mysql}}")
    assert job_of("t", files=lint).obstacles == ()
    assert job_of("t", files=lint).services == ("mysql",)


@pytest.mark.parametrize(
    ("step", "script"),
    [
        ("Run psf/black@stable", "black --check --diff ."),
        ("Ruff", "pip install ruff==0.6.1\nruff format --check ."),
        ("Away", "mypy ."),
        (None, "ruff check ."),
    ],
)
def test_the_failed_step_is_found_by_its_name_or_by_what_it_does(
    step: str | None, script: str
) -> None:
    files = {
        **FILES,
        CI: WORKFLOW.replace("      - uses: psf/black@stable\n", "") if step is None else WORKFLOW,
    }
    if step is None:
        files[CI] = files[CI].replace("args: format --check, version: 0.6.1", "args: format")
        assert job_of("lint", step, files).steps[-1].script in {script, "ruff format ."}
        return
    assert job_of("lint", step, files).steps[-1].script == script


@pytest.mark.parametrize(
    ("job", "step", "obstacle"),
    [
        ("lint", "Run foo/bar@v1", "the failed step is the action foo/bar@v1, which cannot be run here"),
        ("lint", "Run ruff check .", "the failed step is written for PowerShell, which is not in the sandbox"),
        ("lint", "Set up job", "the failed step `Set up job` is the runner's own: no command of the repository failed"),
        ("lint", "Post Run actions/checkout@v4", "the failed step `Post Run actions/checkout@v4` is the runner's own: no command of the repository failed"),
        ("other / x", None, "the reusable workflow a/b/.github/workflows/x.yml@v1 cannot be read: it is in another repository, which is read only for a run on GitHub, with a token"),
        ("circle / again / again / again / again", None, "the reusable workflow ./.github/workflows/circle.yml cannot be read: workflows call each other too deeply"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(job: str, step: str | None, obstacle: str) -> None:
    found = job_of(job, step)
    assert found.obstacles == (obstacle,)


def test_a_step_that_is_not_there_is_said_and_the_likeliest_taken() -> None:
    job, notes = find("t", "Unit", files=one("[{run: pytest}]"))
    assert job is not None
    assert job.steps[-1].script == "pytest"
    assert notes["Unit"] == "replaced: the job has no step of this name; `Run pytest` is used"


def test_a_secret_the_script_needs_is_named() -> None:
    assert job_of("call (3.11) / in p").steps[-1].unknown == ("secrets.Z",)


COMPUTED = """
on: push
jobs:
  tests:
    name: Tests on ${{ matrix.python }} (${{ matrix.os }})
    strategy: {matrix: {python: "${{ fromJson(needs.build.outputs.pythons) }}", os: [ubuntu, macos]}}
    env: ${{ fromJSON('{"PY":"yes"}') }}
    steps:
      - {run: pytest, working-directory: "${{ needs.build.outputs.folder }}"}
  all:
    name: All of ${{ matrix.python }}
    strategy: {matrix: "${{ fromJson(needs.build.outputs.matrix) }}"}
    steps:
      - run: tox -e ${{ matrix.python }}
  call:
    name: In ${{ matrix.folder.name }}
    strategy: {matrix: {folder: "${{ fromJson(needs.build.outputs.folders) }}"}}
    uses: ./.github/workflows/called.yml
"""
CALLED = "on: workflow_call\njobs: {unit: {name: 'unit #1', steps: [{run: pytest}]}}"
COMPUTED_FILES = {CI: COMPUTED, ".github/workflows/called.yml": CALLED}


def test_values_that_another_job_computes_are_read_from_the_name_of_the_check() -> None:
    found = job_of("Tests on 3.11 (macos)", files=COMPUTED_FILES)
    assert found.matrix == {"python": "3.11", "os": "macos"}
    assert found.steps[-1].environment == {"PY": "yes"}
    assert found.steps[-1].unknown == ("needs.build.outputs.folder",)
    found = job_of("All of py311", files=COMPUTED_FILES)
    assert (found.matrix, found.steps[-1].script) == ({"python": "py311"}, "tox -e py311")


def test_another_repository_that_a_script_needs_is_named() -> None:
    steps = "[{uses: actions/checkout@v4, with: {repository: a/dep, path: dep}}, {run: %s}, {run: pytest}]"
    needed = job_of("t", files=one(steps % "pip install ./dep"))
    assert needed.obstacles == (
        "needs the repository a/dep, which is not fetched: it would lie in dep",
    )
    assert job_of("t", files=one(steps % "pip install six")).obstacles == ()


def test_an_action_that_is_all_a_job_has_is_named() -> None:
    (obstacle,) = job_of(
        "t", files=one("[{uses: actions/checkout@v4}, {uses: a/linter@v7}]")
    ).obstacles
    assert obstacle.endswith("checks anything: what a/linter@v7 does cannot be run here")


def test_a_job_is_known_by_its_check_its_key_and_the_key_of_its_caller() -> None:
    contents = {path: text.encode() for path, text in COMPUTED_FILES.items()}
    for name in ("tests", "Tests on 3.12 (ubuntu)", "In core / unit #1", "call"):
        assert knows_job(name, contents), name
        assert job_of(name, files=COMPUTED_FILES).steps[-1].script == "pytest"
    assert not knows_job("In core / deploy", contents)
    assert not knows_job("tests", contents, ".github/workflows/called.yml")


def test_jobs_are_listed_as_github_names_them() -> None:
    names = [job.name for job in list_jobs({path: text.encode() for path, text in FILES.items()})]
    assert names[:3] == ["build", "Py 3.9 on ubuntu-latest", "Py 3.11 on ubuntu-latest"]
    assert "call (3.11) / in p" in names
    steps = list_jobs({CI: WORKFLOW.encode()})[0].steps
    assert steps == ("Run actions/checkout@v4", "Run make")


def test_defaults_of_the_job_win_over_those_of_the_workflow_and_do_not_reach_into_actions() -> None:
    more = "defaults: {run: {working-directory: a, shell: sh}}"
    files = one("[{uses: ./x}, {run: pytest}]", more, "defaults: {run: {working-directory: b}}")
    files["x/action.yaml"] = "runs: {using: composite, steps: [{run: make x, shell: bash}]}"
    first, last = job_of("t", files=files).steps
    assert (first.working_directory, first.shell) == (".", "bash")
    assert (last.working_directory, last.shell) == ("b", "sh")


def test_actions_that_call_themselves_end() -> None:
    files = one("[{uses: ./x}, {run: pytest}]")
    files["x/action.yml"] = "runs: {using: composite, steps: [{uses: ./x}, {uses: ./x}]}"
    assert job_of("t", files=files).obstacles


def test_an_action_of_the_repository_that_is_no_composite_is_an_obstacle() -> None:
    files = one("[{uses: ./x}, {run: pytest}]")
    files["x/action.yml"] = "runs: {using: docker, image: Dockerfile}"
    assert job_of("t", files=files).obstacles == (
        "needs the action ./x, which is not run here: it runs with docker",
    )


def test_inside_a_failed_action_the_step_that_tests_is_taken() -> None:
    files = one("[{name: All, uses: ./x}]")
    files["x/action.yml"] = (
        "runs: {using: composite, steps: [{run: pip install x}, {run: pytest}, {run: echo}]}"
    )
    job = job_of("t", "All", files)
    assert [step.script for step in job.steps] == ["pip install x", "pytest"]
    assert job.steps[-1].failed


def test_any_check_of_a_failed_action_may_have_failed() -> None:
    files = one("[{run: mypy}, {name: All, uses: ./x}]")
    runs = "[{uses: ./y}, {run: pip install x}, {run: pytest}, {run: echo}]"
    files["x/action.yml"] = f"runs: {{using: composite, steps: {runs}}}"
    files["y/action.yml"] = "runs: {using: composite, steps: [{run: ruff check}]}"
    steps = job_of("t", "All", files).steps
    assert [(step.script, step.failed) for step in steps] == [
        ("mypy", False),
        ("ruff check", True),
        ("pip install x", False),
        ("pytest", True),
    ]


@pytest.mark.parametrize(
    "steps",
    [
        *(
            "text",
            "[1, null, [], {}]",
            "[{run: 5}]",
            "[{uses: {}}]",
            "[{run: pytest, env: 3, with: [], if: [x]}]",
        ),
        *(
            "[{run: pytest, shell: {}, working-directory: []}]",
            "[{uses: ./../../x}, {run: pytest}]",
        ),
        *(
            "[{uses: '', run: pytest}]",
            "[{run: '${{'}]",
            "[{run: '${{ }}'}]",
            "[{if: '${{', run: pytest}]",
        ),
        "[{run: pytest, timeout-minutes: '${{ x }}', continue-on-error: maybe}]",
    ],
)
@pytest.mark.parametrize(
    "job", ["", "strategy: x", "container: []", "services: [1]", "env: x", "runs-on: [a, {b: c}]"]
)
def test_odd_shapes_are_no_trouble(steps: str, job: str) -> None:
    find("t", None, one(steps, job=job))
    find(None, None, one(steps, job=job))


@pytest.mark.parametrize(
    "jobs", ["jobs: x", "jobs: []", "jobs: {a: x}", "jobs: {a: {uses: 3}}", "jobs: {a: {uses: ./}}"]
)
def test_odd_jobs_are_no_trouble(jobs: str) -> None:
    assert find("b", None, {CI: jobs})[0] is None
    find(None, None, {CI: jobs})


def test_the_named_workflow_wins_over_one_with_a_better_name() -> None:
    files = {
        ".github/workflows/a.yml": "jobs: {test: {steps: [{run: pytest a}]}}",
        ".github/workflows/b.yml": "jobs: {test: {name: Tests, steps: [{run: pytest b}]}}",
    }
    contents = {path: text.encode() for path, text in files.items()}
    for path, script in (
        (".github/workflows/b.yml@refs/heads/main", "pytest b"),
        (None, "pytest a"),
    ):
        job = find_job(JobHints(job_name="test", workflow_path=path), contents, FidelityLog())
        assert job is not None
        assert job.steps[-1].script == script


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("steps.a.outcome == 'success'", "yes"),
        ("steps.a.outcome == 'failure'", None),
        ("steps.a.outputs.x == '1'", "yes"),
        ("steps.a.outputs.y == '1'", "unknown"),
        ("steps.b.outcome == 'failure'", "unknown"),
        ("steps.nothing.outputs.y == '1'", None),
        ("steps.later.outputs.y == '1'", "unknown"),
    ],
)
def test_steps_before_the_failed_one_went_well_and_their_outputs_are_known_in_part(
    condition: str, runs: str | None
) -> None:
    files = one(
        "[{id: a, run: 'echo x=1 >> $GITHUB_OUTPUT'}, {id: b, run: make, continue-on-error: true},"
        f' {{name: asked, if: "{condition}", run: make x}}, {{run: pytest, id: later}}]'
    )
    found = [step.runs for step in job_of("t", files=files).steps if step.name == "asked"]
    assert found == ([] if runs is None else [runs])


def test_a_secret_counts_when_the_line_that_checks_needs_it() -> None:
    files = one(
        "[{run: 'pytest\n\n  codecov -t ${{ secrets.T }}'}, {run: 'my-tool ${{ secrets.T }}'}]"
    )
    assert job_of("t", "Run pytest", files).steps[-1].unknown == ()
    assert job_of("t", "Run my-tool ${{ secrets.T }}", files).steps[-1].unknown == ("secrets.T",)
