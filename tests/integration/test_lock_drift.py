"""A lock file that npm refuses, in the real sandbox: npm writes it, and a fresh installation proves it."""

import json
from pathlib import Path

import pytest

from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy
from bot.fixers.rung0_tools import tool_fixers
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import JobHints
from tests.integration.red_commit import run_on_red_commit

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

WORKFLOW = """on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: npm ci
      - run: npm test
"""
PROJECT = {"name": "web", "version": "1.0.0", "license": "MIT", "scripts": {"test": "node --test"}}
ROOT = {"name": "web", "version": "1.0.0", "license": "MIT"}
LOCK = {"name": "web", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": ROOT}}
GREEN: dict[str, str | bytes | None] = {
    ".github/workflows/ci.yml": WORKFLOW,
    "package.json": json.dumps(PROJECT, indent=2) + "\n",
    "package-lock.json": json.dumps(LOCK | {"requires": True}, indent=2) + "\n",
    "web.test.js": 'require("node:test")("counts", () => {});\n',
}
NEEDS_MS = """require("node:test")("counts", () => {
  require("node:assert").strictEqual(require("ms")("2s"), 2000);
});
"""
DRIFTED: dict[str, str | bytes | None] = {
    "package.json": json.dumps(PROJECT | {"dependencies": {"ms": "2.1.3"}}, indent=2) + "\n",
    "web.test.js": NEEDS_MS,
}
"""A commit that declares a package and forgets the lock file."""


async def test_a_forgotten_lock_file_is_written_verified_and_offered_by_policy(
    docker_ready: None, tmp_path: Path
) -> None:
    context = await run_on_red_commit(
        DockerBackend(SandboxSpec(pool=0)),
        tmp_path,
        (GREEN, DRIFTED),
        JobHints(job_name="test", step_name="Run npm ci"),
        tool_fixers(),
        RepositoryPolicy(dependencies="fix"),
    )
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.triage is not None
    assert context.triage.base_checked, context.triage
    assert context.fix is not None
    candidate, verification = context.fix
    assert "`ms` 2.1.3 is added" in candidate.explanation
    (edit,) = verification.edits
    lock = json.loads(edit.content)
    assert edit.path == "package-lock.json"
    assert lock["packages"][""] == {**ROOT, "dependencies": {"ms": "2.1.3"}}
    assert lock["packages"]["node_modules/ms"]["resolved"].endswith("/ms/-/ms-2.1.3.tgz")
    assert all("counts" in name for run in verification.runs for name in run.report.passing)
    assert len({run.sandbox for run in verification.runs}) == 2
