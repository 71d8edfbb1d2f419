"""Which paths a fix may not touch: whatever could decide its own verdict or run somewhere else."""

import re
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase


class PathClass(StrEnum):
    """Why a path is protected; a policy may open a class by this name."""

    CI = "ci"
    TESTS = "tests"
    SNAPSHOTS = "snapshots"
    TEST_CONFIG = "test-config"
    LINT_CONFIG = "lint-config"
    BUILD = "build"
    LOCKFILE = "lockfile"
    STARTUP = "startup"
    SECRETS = "secrets"
    TOOLS = "tools"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


PROTECTED: tuple[tuple[PathClass, re.Pattern[str]], ...] = (
    (PathClass.CI, _pattern(r"^\.(?:github|circleci|gitlab|azure|azure-pipelines|buildkite|drone|forgejo|gitea|woodpecker|teamcity|tekton|ci)(?:/|$)")),
    (PathClass.CI, _pattern(r"(?:^|/)\.(?:gitlab-ci|travis|drone|cirrus|woodpecker|appveyor|semaphore)(?:\.\w+)*$")),
    (PathClass.CI, _pattern(r"(?:^|/)(?:action|azure-pipelines|bitbucket-pipelines|appveyor|buildspec|cloudbuild|codecov|dependabot|renovate)\.(?:ya?ml|json5?)$")),
    (PathClass.CI, _pattern(r"(?:^|/)(?:Jenkinsfile|CODEOWNERS|OWNERS|renovate\.json5?)$")),
    (PathClass.TOOLS, _pattern(r"(?:^|/)\.(?:husky|githooks|devcontainer|vscode|idea|claude|cursor|codex|metaagent|mcp\.json|pre-commit-[\w-]+)(?:/|\.\w+$|$)")),
    (PathClass.TOOLS, _pattern(r"(?:^|/)(?:AGENTS|CLAUDE|GEMINI)\.md$|(?:^|/)(?:metaagent|\.mcp)\.(?:toml|json|ya?ml)$")),
    (PathClass.SECRETS, _pattern(r"(?:^|/)\.(?:npmrc|yarnrc(?:\.yml)?|pypirc|netrc|env(?:\.[\w-]+)*|envrc|aws|ssh|docker|kube)(?:/|$)")),
    (PathClass.TEST_CONFIG, _pattern(r"(?:^|/)(?:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|noxfile\.py|\.coveragerc|jest\.config\.\w+|vitest\.config\.\w+|karma\.conf\.\w+|\.mocharc\.\w+)$")),
    (PathClass.LINT_CONFIG, _pattern(r"(?:^|/)(?:\.?ruff\.toml|\.flake8|\.?mypy\.ini|\.pylintrc|pylintrc|pyrightconfig\.json|\.isort\.cfg|\.eslintrc(?:\.\w+)?|eslint\.config\.\w+|\.prettierrc(?:\.\w+)?|\.editorconfig|tsconfig[\w.-]*\.json|\.golangci\.ya?ml|clippy\.toml|rustfmt\.toml|\.eslintignore|\.prettierignore|biome\.jsonc?)$")),
    (PathClass.BUILD, _pattern(r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|MANIFEST\.in|(?:GNU)?Makefile|justfile|Taskfile\.ya?ml|(?:[\w.-]+\.)?Dockerfile(?:\.[\w.-]+)?|(?:docker-)?compose[\w.-]*\.ya?ml|package\.json|Cargo\.toml|go\.(?:mod|work)|build\.(?:rs|gradle(?:\.kts)?|xml)|pom\.xml|CMakeLists\.txt|meson\.build|BUILD(?:\.bazel)?|WORKSPACE)$")),
    (PathClass.LOCKFILE, _pattern(r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock|pdm\.lock|pixi\.lock|Pipfile(?:\.lock)?|Cargo\.lock|go\.sum|Gemfile(?:\.lock)?|composer\.(?:json|lock)|(?:[\w-]+-)?(?:requirements|constraints)[\w.-]*\.(?:txt|in)|pylock[\w.-]*\.toml)$")),
    (PathClass.LOCKFILE, _pattern(r"(?:^|/)requirements/[^/]+\.(?:txt|in)$")),
    (PathClass.STARTUP, _pattern(r"\.pth$|(?:^|/)(?:sitecustomize|usercustomize)\.py$|(?:^|/)site-packages/")),
    (PathClass.SNAPSHOTS, _pattern(r"(?:^|/)(?:__snapshots__|snapshots|cassettes|golden|goldens)(?:/|$)|\.(?:snap|ambr)$")),
    (PathClass.TESTS, _pattern(r"(?:^|/)(?:tests?|testing|__tests__|specs?|e2e|testdata|test_data)(?:/|$)")),
    (PathClass.TESTS, _pattern(r"(?:^|/)(?:test_[^/]*|[^/]*_tests?|tests?)\.(?:py|pyi|go|rs|js|ts|jsx|tsx|mjs|cjs|rb|java|c|cpp|doctest|txt)$|\.(?:test|spec)\.[cm]?[jt]sx?$")),
)  # fmt: skip
"""In this order; the first that matches names the class."""


def protected_class(path: str) -> PathClass | None:
    """Why a path is protected, or None."""
    return next((kind for kind, pattern in PROTECTED if pattern.search(path)), None)


def is_protected(path: str, allowed: Iterable[str] = ()) -> bool:
    """Whether a fix may not touch a path.

    Args:
        path: Relative to the checkout.
        allowed: What the policy opens: names of classes (`lockfile`), paths, or patterns (`tests/**`).
    """
    kind = protected_class(path)
    if kind is None:
        return False
    return not any(opening == kind or opening == path or fnmatchcase(path, opening) for opening in allowed)
