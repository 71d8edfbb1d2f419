"""Hooks of pre-commit run in a real sandbox: the files that CI checked, with the pinned tools."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, RunVerdict, TrustTier
from sandbox.workspace import Sandboxes

pytestmark = [pytest.mark.docker, pytest.mark.slow]

CONFIG = """
exclude: ^vendor/
repos:
  - repo: https://example.org/pre-commit-hooks
    rev: v6.0.0
    hooks:
      - id: end-of-file-fixer
        exclude: (?x)^(data/.*|pictures/.*)$
      - {id: requirements-txt-fixer}
  - repo: https://example.org/pygrep-hooks
    rev: v1.10.0
    hooks: [{id: rst-backticks}]
  - repo: https://example.org/check-jsonschema
    rev: 0.33.0
    hooks: [{id: check-github-workflows}]
  - repo: https://example.org/mirrors-eslint
    rev: v9.39.1
    hooks:
      - id: eslint
        files: \\.mjs$
        args: [--fix]
        types: [file]
        additional_dependencies: [eslint@9.39.1, eslint-plugin-unicorn@61.0.0]
  - repo: https://example.org/mirrors-prettier
    rev: v3.6.2
    hooks: [{id: prettier, types_or: [css, scss]}]
"""
ESLINT = """import { createRequire } from "node:module";
const unicorn = createRequire(import.meta.url)("eslint-plugin-unicorn");
export default [{ plugins: { unicorn: unicorn.default ?? unicorn } }];
"""
UGLY = "a{color:red}\n"
FILES = {
    ".pre-commit-config.yaml": CONFIG,
    "eslint.config.mjs": ESLINT,
    "requirements.txt": "a\nb\n",
    "vendor/a.rst": "a `b` c\n",
    "docs/a.rst": "a ``b`` c\n",
    "data/no_end.txt": "x",
    "vendor/no_end.txt": "x",
    "vendor/a.css": UGLY,
    "style/a.css": UGLY,
    "style/b.html": "<b   >\n",
}


@pytest.fixture
async def sandboxes(docker_ready: None, tmp_path: Path) -> AsyncIterator[Sandboxes]:
    """The door to the sandboxes."""
    backend = DockerBackend(SandboxSpec(pool=0))
    yield Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    await backend.close()


@pytest.mark.anyio
async def test_only_the_files_that_ci_checked_are_red(sandboxes: Sandboxes, tmp_path: Path) -> None:
    job = {"runs-on": "ubuntu-latest", "steps": [{"uses": "pre-commit/action@v3.0.1"}]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}})
    for name, content in {**FILES, ".github/workflows/ci.yml": workflow + "\n"}.items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    source = FolderSource(path=str(tmp_path / "repository"), repository_id="hooks")
    hints = JobHints(job_name="check", step_name="Run pre-commit/action@v3.0.1")
    checkout = Checkout(source=source, tier=TrustTier.LOCAL, hints=hints)
    async with sandboxes.open_workspace(checkout) as workspace:
        report = await workspace.run_tests()
        facts = await workspace.facts()
        own = await workspace.run("prettier --version; npx --no-install prettier --version")
    assert facts.recipe.obstacles == ()
    assert report.verdict is RunVerdict.FAIL, report.summary + report.raw_output[-2000:]
    assert list(report.failing) == ["style/a.css:format"]
    assert own.stdout.split() == ["3.6.2", "3.6.2"]
