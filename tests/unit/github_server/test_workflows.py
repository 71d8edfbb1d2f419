"""Workflow files and the annotations a log brings."""

import pytest

from tests.github_server.entities import Step
from tests.github_server.job_results import annotations
from tests.github_server.permissions import Permissions
from tests.github_server.runner import Outcome
from tests.github_server.workflows import read_workflow

WORKFLOW = """
name: CI
on:
  push:
    branches: [main]
  pull_request:
jobs:
  test:
    timeout-minutes: 1
    steps:
      - uses: actions/checkout@v6
      - run: |
          pip install .
          pytest
      - name: Lint
        run: ruff check .
  deploy:
    steps: []
"""


def test_a_jobs_commands_are_its_steps() -> None:
    ci = read_workflow(WORKFLOW, "ci.yml")
    assert ci is not None
    assert (ci.workflow, ci.job, ci.path, ci.timeout) == (
        "CI",
        "test",
        ".github/workflows/ci.yml",
        60,
    )
    assert ci.events == ("push", "pull_request")
    assert ci.steps == (
        Step("Run pip install .", "pip install .\npytest\n"),
        Step("Lint", "ruff check ."),
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "a: [", "jobs: {}", "on: push\njobs: {a: {steps: [{uses: x}]}}"]
)
def test_a_file_without_a_command_runs_nothing(text: str) -> None:
    assert read_workflow(text, "ci.yml") is None


@pytest.mark.parametrize(
    ("line", "path", "number", "message"),
    [
        ("::error file=a/b.py,line=7,title=T::it: broke", "a/b.py", 7, "it: broke"),
        ("::error::plain", ".github", 1, "plain"),
        ("::warning file=C:/x.py,line=2::win", "C:/x.py", 2, "win"),
    ],
)
def test_workflow_commands_become_annotations(
    line: str, path: str, number: int, message: str
) -> None:
    found = annotations([line, "not ::error:: this"], [Outcome("Test", "success")])
    assert [(one["path"], one["start_line"], one["message"]) for one in found] == [
        (path, number, message)
    ]


def test_a_failed_step_always_leaves_its_exit_status() -> None:
    found = annotations([], [Outcome("Test", "failure", 3), Outcome("After", "skipped")])
    assert [one["message"] for one in found] == ["Process completed with exit code 3."]


@pytest.mark.parametrize(
    ("method", "template", "needed"),
    [
        ("GET", "/app", "jwt"),
        ("GET", "/repos/{owner}/{repo}/installation", "jwt"),
        ("POST", "/repos/{owner}/{repo}/check-runs", "checks:write"),
        ("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs", "checks:read"),
        ("GET", "/repos/{owner}/{repo}/commits/{ref}", "contents:read"),
        (
            "POST",
            "/repos/{owner}/{repo}/issues/{issue_number}/comments",
            "issues:write or pull_requests:write",
        ),
        ("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", "metadata:read"),
        ("GET", "/meta", "none"),
    ],
)
def test_the_built_in_permissions_cover_the_routes(method: str, template: str, needed: str) -> None:
    assert Permissions.load(None).needed(method, template) == needed


def test_a_matrix_is_spread_out() -> None:
    axes = "strategy: {matrix: {python: ['3.10', '3.11'], os: [a, b], include: [{x: y}]}}"
    text = f"on: push\njobs: {{one: {{{axes}, steps: [{{run: 'tox ${{{{ matrix.python }}}}'}}]}}, lint: {{steps: [{{run: ruff}}]}}}}"
    ci = read_workflow(text, "ci.yml")
    assert ci is not None
    assert [one.job for one in ci.jobs] == [
        "one (3.10, a)",
        "one (3.10, b)",
        "one (3.11, a)",
        "one (3.11, b)",
        "lint",
    ]
    assert ci.jobs[2].steps[0].run == "tox 3.11"
