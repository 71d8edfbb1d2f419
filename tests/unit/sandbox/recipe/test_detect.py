"""The order in which a command is found: given, workflow, detected."""

import pytest

from sandbox.errors import SetupFailed
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.relevant import relevant_files
from sandbox.types import JobHints, Recipe, StepKind

WORKFLOW = ".github/workflows/ci.yml"


def plan(hints: JobHints | None = None, **contents: str) -> Recipe:
    files = {name.replace("__", "."): text.encode() for name, text in contents.items()}
    if "workflow" in files:
        files[WORKFLOW] = files.pop("workflow")
    return plan_recipe(hints or JobHints(), files.keys(), files)


def test_a_given_command_wins_and_runs_at_the_top() -> None:
    recipe = plan(
        JobHints(command=" python -m pytest -x "),
        workflow="jobs: {a: {steps: [{run: tox, working-directory: sub}]}}",
        test_x__py="",
    )
    assert (recipe.command, recipe.origin, recipe.working_directory) == (
        "python -m pytest -x",
        "given",
        ".",
    )


def test_the_workflow_comes_next() -> None:
    recipe = plan(
        workflow="jobs: {a: {steps: [{run: pip install attrs}, {run: pytest -q}]}}", test_x__py=""
    )
    assert (recipe.command, recipe.origin) == ("python -m pytest -q", "workflow")
    assert recipe.python.requirements == ("attrs", "pytest", "ruff")


def test_obstacles_are_few_and_short_whatever_a_workflow_says() -> None:
    long = "x" * 60_000
    recipe = plan(
        JobHints(job_name="a"),
        workflow=f"jobs: {{a: {{steps: [{{run: 'pytest ${{{{ secrets.{long} }}}} && docker run'}}]}}}}",
    )
    assert recipe.obstacles
    assert max(map(len, recipe.obstacles)) <= 500
    workflow = f"jobs: {{a: {{steps: [{{uses: a/{long}}}]}}}}"
    recipe = plan(JobHints(job_name="a"), workflow=workflow, test_x__py="")
    assert all(len(obstacle) <= 500 for obstacle in recipe.obstacles)
    many = "".join(f"docker run x{n}; cargo{n} test; npm run t{n};" for n in range(100))
    assert len(plan(workflow=f"jobs: {{a: {{steps: [{{run: '{many} pytest'}}]}}}}").obstacles) <= 30


def test_a_requirement_file_that_is_not_read_is_named() -> None:
    workflow = b"jobs: {a: {steps: [{run: pip install -r needs.lst}, {run: pytest}]}}"
    names = {WORKFLOW, "needs.lst", "test_x.py"}
    recipe = plan_recipe(JobHints(job_name="a"), names, {WORKFLOW: workflow})
    assert recipe.obstacles == (
        "the requirement file needs.lst: it was not recognised as one, and is not read",
    )


def test_a_job_without_a_known_check_is_refused() -> None:
    workflow = "jobs: {a: {steps: [{uses: x/deploy@v1}]}}"
    with pytest.raises(SetupFailed, match=r"no check that can be run here: .*x/deploy@v1"):
        plan(JobHints(job_name="a"), workflow=workflow)
    assert plan(JobHints(job_name="a"), workflow=workflow, test_x__py="").obstacles


def test_an_action_of_the_repository_is_read_from_any_folder() -> None:
    action = "runs: {using: composite, steps: [{run: pip install attrs, shell: bash}]}"
    folders = (".github/workflows/install", ".github/setup", "ci/actions/install")
    for folder in folders:
        files = {
            WORKFLOW: f"jobs: {{a: {{steps: [{{uses: ./{folder}}}, {{run: pytest}}]}}}}".encode(),
            f"{folder}/action.yml": action.encode(),
        }
        read = {name: files[name] for name in relevant_files(files)}
        recipe = plan_recipe(JobHints(job_name="a"), files.keys(), read)
        assert (recipe.obstacles, recipe.python.requirements[0]) == ((), "attrs")


@pytest.mark.parametrize("name", ["__init__.py", "test/index.mjs", "test/test.cts"])
def test_configuration_is_read_before_many_modules(name: str) -> None:
    names = [f"package{number:03}/{name}" for number in range(250)]
    assert "a/b/c/package.json" in relevant_files([*names, "a/b/c/package.json"])


def test_tests_alone_are_enough() -> None:
    recipe = plan(test_x__py="")
    assert (recipe.command, recipe.origin, recipe.kind) == (
        "python -m pytest",
        "detected",
        StepKind.TEST,
    )
    assert recipe.python.requirements == ("pytest", "ruff")
    assert not recipe.python.install_project


def test_nothing_to_run_is_said_clearly() -> None:
    with pytest.raises(SetupFailed, match="nothing to run") as caught:
        plan(readme__md="")
    assert "--test" in caught.value.advice


def test_tests_of_others_do_not_count() -> None:
    with pytest.raises(SetupFailed):
        plan_recipe(JobHints(), {"node_modules/x/test_a.py", ".venv/lib/test_b.py"}, {})


def test_requirement_files_and_declared_extras_are_installed_when_no_step_says_so() -> None:
    recipe = plan(
        test_x__py="",
        requirements__txt="numpy\n",
        pyproject__toml='[project]\nname="m"\ndependencies=["attrs"]\n[project.optional-dependencies]\ntest=["pytest<9"]\n',
    )
    assert recipe.python.requirements == ("numpy", "attrs", "pytest<9", "ruff")
    assert recipe.python.requirement_files == ("requirements.txt",)
    assert recipe.python.install_project


def test_a_step_that_installs_only_tools_does_not_hide_what_is_declared() -> None:
    recipe = plan(
        workflow="jobs: {a: {steps: [{run: pip install pytest}, {run: pytest}]}}",
        requirements__txt="numpy\n",
        test_x__py="",
    )
    assert "numpy" in recipe.python.requirements


def test_tox_is_replaced_by_pytest_and_told() -> None:
    recipe = plan(workflow="jobs: {a: {steps: [{name: Tests, run: tox -e py}]}}", test_x__py="")
    assert recipe.command == "python -m pytest"
    assert any(entry.treatment == "replaced" for entry in recipe.fidelity)


def test_a_lint_step_brings_its_tool() -> None:
    recipe = plan(workflow="jobs: {a: {steps: [{run: flake8 .}]}}")
    assert recipe.kind is StepKind.LINT
    assert recipe.python.requirements == ("flake8", "pytest", "ruff")


def test_hints_carry_python_and_set_up() -> None:
    recipe = plan(JobHints(python="3.12", setup=("make gen",)), test_x__py="")
    assert (recipe.python.version, recipe.setup) == ("3.12", ("make gen",))
    assert (
        plan_recipe(JobHints(), {"test_x.py"}, {".python-version": b"3.10.4\n"}).python.version
        == "3.10"
    )


def test_plugins_of_addopts_are_installed() -> None:
    recipe = plan(test_x__py="", pytest__ini="[pytest]\naddopts = -n 2 --cov=x\n")
    assert {"pytest-xdist", "pytest-cov"} <= set(recipe.python.requirements)


def test_only_files_that_matter_are_read() -> None:
    names = {
        WORKFLOW,
        "pyproject.toml",
        "a/b/setup.cfg",
        "a/b/c/d/setup.cfg",
        "requirements/x.txt",
        "requirements/test",
        "test-requirements",
        "requirements/test.py",
        "m.py",
        "venv/setup.py",
    }
    assert relevant_files(names) == [
        WORKFLOW,
        "a/b/setup.cfg",
        "pyproject.toml",
        "requirements/test",
        "requirements/x.txt",
        "test-requirements",
    ]
    assert len(relevant_files({f"requirements{n}.txt" for n in range(1000)})) == 200
