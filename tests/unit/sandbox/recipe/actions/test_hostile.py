"""Workflows that were written to break their reader: bounded in time and size, and never an exception."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.workflow import find_job, list_jobs
from sandbox.types import JobHints

CI = ".github/workflows/ci.yml"
ENOUGH_S = 15.0


def job(**more: Any) -> dict[str, Any]:
    return {"runs-on": "ubuntu-latest", "steps": [{"run": "pytest"}], **more}


def flow(jobs: dict[str, Any] | None = None, **more: Any) -> str:
    return json.dumps({"on": "push", "jobs": {"t": job()} if jobs is None else jobs, **more})


def steps(*scripts: str, **more: Any) -> str:
    return flow({"t": job(steps=[{"run": script} for script in scripts], **more)})


OWN = "./.github/workflows/again.yml"
MANY = {f"j{n}": {"uses": OWN, "strategy": {"matrix": {"a": list(range(250))}}} for n in range(200)}
DOUBLING = {
    "inputs": {"z": {"default": "x"}},
    "runs": {"using": "composite", "steps": [{"uses": "./x", "with": {"z": "${{ inputs.z }}" * 900}}, {"run": "${{ inputs.z }}", "shell": "bash"}]},
}  # fmt: skip
HOSTILE: dict[str, dict[str, str]] = {
    "a matrix of millions": {CI: flow({"t": job(strategy={"matrix": {f"a{n}": list(range(250)) for n in range(20)}})})},
    "includes of includes": {
        CI: flow({"t": job(strategy={"matrix": {"a": list(range(250)), "include": [{f"k{n}": n} for n in range(250)]}})})
    },
    "workflows that call themselves": {CI: flow(MANY), OWN[2:]: json.dumps({"on": "workflow_call", "jobs": MANY})},
    "workflows that call empty ones": {CI: flow(MANY), OWN[2:]: json.dumps({"on": "workflow_call", "jobs": {}, "x": list(range(9_000))})},
    "many workflows": {f".github/workflows/w{n}.yml": flow(x=["y" * 100] * 2_000) for n in range(60)},
    "inputs that double": {CI: flow({"t": job(steps=[{"uses": "./x", "with": {"z": "y" * 900}}, {"run": "pytest"}])}), "x/action.yml": json.dumps(DOUBLING)},
    "variables that double": {CI: steps(*['echo "A=$A$A$A$A" >> $GITHUB_ENV'] * 150, "pytest", env={"A": "xxxx"})},
    "texts that multiply": {CI: steps("${{ format('" + "{0}" * 5_000 + "', format('" + "{0}" * 5_000 + "', 'xxxxxxxxxxxxxxxxxxxxxxxxxxx')) }}", "pytest")},
    "names with many holes": {CI: flow({"t": job(name="a${{ x }}" * 2_000)})},
    "a name of brackets": {CI: flow({"t": job(name="t (" + "(a)" * 20_000)})},
    "blanks without end": {CI: steps(" " * 200_000 + "\\\npytest", "cat >> $GITHUB_ENV <<EOF\n" + "\n" * 40_000, "pytest")},
    "blanks before GITHUB_ENV": {CI: steps("echo" + " " * 45_000 + "GITHUB_ENV", "pytest")},
    "conditions without end": {CI: flow({"t": job(steps=[{"if": "(" * 9_000, "run": "pytest"}, {"if": "!" * 9_000, "run": "x"}])})},
    "expressions without end": {CI: steps("${{ '" * 5_000, "${{ 1 }}" * 5_000, "pytest")},
    "many steps": {CI: steps(*["pip install x"] * 3_000, "pytest")},
    "many variables": {CI: flow(env={f"A{n}": "x" * 1_500 for n in range(150)})},
    "an artifact in a long path": {
        CI: flow({"t": job(steps=[{"uses": "actions/download-artifact@v4", "with": {"path": "a"}}, {"run": "pytest " + "a/" * 100_000}])})
    },
    "a long script": {CI: steps("pytest\n" * 20_000)},
    "versions without end": {CI: flow({"t": job(steps=[{"uses": "actions/setup-python@v5", "with": {"python-version": ">=3." + "9," * 50_000}}, {"run": "pytest"}])})},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_workflow_is_read_within_bounds(name: str) -> None:
    contents = {path: text.encode() for path, text in HOSTILE[name].items()}
    started = time.process_time()
    found = find_job(JobHints(job_name="t"), contents, FidelityLog())
    find_job(JobHints(job_name="a" * 5_000 + "b (" + "(" * 5_000), contents, FidelityLog())
    list_jobs(contents)
    assert time.process_time() - started < ENOUGH_S
    size = len(found.model_dump_json()) if found is not None else 0
    assert size < 40_000_000


WORDS = st.sampled_from(
    [
        *(
            "jobs",
            "steps",
            "run",
            "uses",
            "with",
            "env",
            "strategy",
            "matrix",
            "include",
            "exclude",
            "name",
            "if",
            "on",
        ),
        *(
            "container",
            "services",
            "image",
            "defaults",
            "shell",
            "working-directory",
            "id",
            "inputs",
            "default",
            "t",
        ),
        *(
            "pytest",
            "ruff check .",
            "pip install -r x.txt",
            "./x",
            "./.github/workflows/ci.yml",
            "actions/checkout@v4",
        ),
        *(
            "${{ matrix.a }}",
            "${{ secrets.X }}",
            "${{ fromJSON(needs.a.outputs.b) }}",
            "${{",
            "}}",
            "..",
            "/",
            "",
        ),
        *(
            "actions/setup-python@v5",
            "python-version",
            "3.11",
            "composite",
            "using",
            "runs",
            "echo A=1 >> $GITHUB_ENV",
        ),
    ]
)
LEAVES = (
    WORDS
    | st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
)
SHAPES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SHAPES, SHAPES, SHAPES, WORDS)
def test_no_shape_makes_the_reader_fail(one: Any, two: Any, three: Any, asked: str) -> None:
    files = {
        CI: json.dumps(
            {
                "on": two,
                "env": one,
                "jobs": {"t": {"steps": [one, {"run": "pytest", "with": two}], "name": three}},
            }
        ),
        ".github/workflows/b.yml": json.dumps({"jobs": one, "defaults": two}),
        ".github/workflows/c.yml": json.dumps(
            {"jobs": {"t": {"strategy": {"matrix": one}, "steps": two, "services": three}}}
        ),
        "x/action.yml": json.dumps({"inputs": one, "runs": {"using": "composite", "steps": two}}),
    }
    contents = {path: text.encode() for path, text in files.items()}
    for hints in (
        JobHints(),
        JobHints(job_name=asked, step_name=asked),
        JobHints(job_name="t", matrix={"a": asked}),
    ):
        find_job(hints, contents, FidelityLog())
        plan_recipe(hints, [*contents, "test_x.py"], contents)
    list_jobs(contents)
