"""Which paths a fix may not touch."""

import pytest

from sandbox.changes.protected import PathClass, is_protected, protected_class

PROTECTED = {
    ".github/workflows/ci.yml": "ci",
    ".github/actions/a/action.yml": "ci",
    "sub/action.yaml": "ci",
    ".gitlab-ci.yml": "ci",
    "Jenkinsfile": "ci",
    "docs/CODEOWNERS": "ci",
    "conftest.py": "test-config",
    "src/conftest.py": "test-config",
    "pytest.ini": "test-config",
    "tox.ini": "test-config",
    "setup.cfg": "build",
    "setup.py": "build",
    "pyproject.toml": "build",
    "Makefile": "build",
    "Dockerfile": "build",
    "docker/Dockerfile.dev": "build",
    "uv.lock": "lockfile",
    "requirements.txt": "lockfile",
    "requirements-dev.txt": "lockfile",
    "requirements/base.txt": "lockfile",
    "package-lock.json": "lockfile",
    "tests/test_a.py": "tests",
    "tests/helpers.py": "tests",
    "pkg/test_mod.py": "tests",
    "pkg/mod_test.go": "tests",
    "src/a.test.ts": "tests",
    "src/__snapshots__/a.snap": "snapshots",
    "x.pth": "startup",
    "sitecustomize.py": "startup",
    ".env": "secrets",
    ".npmrc": "secrets",
    "ruff.toml": "lint-config",
    "mypy.ini": "lint-config",
    ".pre-commit-config.yaml": "tools",
    ".claude/settings.json": "tools",
    "AGENTS.md": "tools",
}
FREE = [
    "src/app.py",
    "latest.py",
    "contest.py",
    "attest/mod.py",
    "pkg/testing_tools.md",
    "README.md",
    "protest.js",
]


@pytest.mark.parametrize(("path", "kind"), PROTECTED.items())
def test_what_could_decide_its_own_verdict_is_protected(path: str, kind: str) -> None:
    assert protected_class(path) == kind
    assert is_protected(path)
    assert is_protected(path.upper())


@pytest.mark.parametrize("path", FREE)
def test_source_is_free(path: str) -> None:
    assert not is_protected(path)


def test_a_policy_opens_a_class_a_path_or_a_pattern() -> None:
    assert not is_protected("uv.lock", [PathClass.LOCKFILE])
    assert not is_protected("uv.lock", ["uv.lock"])
    assert not is_protected("tests/data/a.json", ["tests/data/*"])
    assert is_protected("tests/test_a.py", ["tests/data/*", "lockfile"])
