"""Paths that a fix must not change, because they could decide its own verdict or run elsewhere."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase

from sandbox.languages import LANGUAGES


class PathClass(StrEnum):
    """The reason why a path is protected. A policy may open a class by this name."""

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


_FOLDERS: tuple[tuple[PathClass, str], ...] = (
    (
        PathClass.CI,
        (
            ".github .circleci .gitlab .azure .azure-pipelines .buildkite .drone .forgejo .gitea "
            ".woodpecker"
        ),
    ),
    (PathClass.CI, ".teamcity .tekton .ci"),
    (
        PathClass.TOOLS,
        ".husky .githooks .devcontainer .vscode .idea .claude .cursor .codex .metaagent",
    ),
    (PathClass.TOOLS, ".windsurf .gemini .continue .roo .clinerules .aider .cargo .bazel .yarn"),
    (PathClass.SECRETS, ".aws .ssh .docker .kube .env"),
    (PathClass.STARTUP, "site-packages"),
    (PathClass.SNAPSHOTS, "__snapshots__ snapshots cassettes golden goldens"),
    (PathClass.TESTS, "test tests testing __tests__ spec specs e2e testdata test_data"),
)
"""Folder names, at any depth."""

_FILES: tuple[tuple[PathClass, str], ...] = (
    (
        PathClass.CI,
        "action.y*ml .gitlab-ci* .travis* .drone* .cirrus* .woodpecker* .semaphore* appveyor.y*ml",
    ),
    (
        PathClass.CI,
        (
            ".appveyor* azure-pipelines*.y*ml bitbucket-pipelines.y*ml buildspec*.y*ml "
            "cloudbuild*.y*ml"
        ),
    ),
    (
        PathClass.CI,
        "jenkinsfile* codeowners owners dependabot.y*ml renovate.json* codecov.y*ml .codecov.y*ml",
    ),
    (
        PathClass.TOOLS,
        ".cursorrules .windsurfrules .clinerules .aider* .goosehints .gitignore .*shrc .profile",
    ),
    (
        PathClass.TOOLS,
        ".bash_profile .zshenv .lintstagedrc* lint-staged.config.* commitlint.config.* .huskyrc*",
    ),
    (
        PathClass.TOOLS,
        (
            ".pre-commit-* .mcp.json mcp.json agents.md claude.md gemini.md metaagent.toml "
            "metaagent.y*ml"
        ),
    ),
    (PathClass.SECRETS, ".npmrc .yarnrc* .pypirc .netrc .env .env.* .envrc pip.conf"),
    (
        PathClass.TEST_CONFIG,
        "conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini tox.toml noxfile.py",
    ),
    (
        PathClass.TEST_CONFIG,
        ".coveragerc jest.config.* vitest.config.* karma.conf.* .mocharc* playwright.config.*",
    ),
    (
        PathClass.LINT_CONFIG,
        "ruff.toml .ruff.toml .flake8 mypy.ini .mypy.ini .pylintrc pylintrc pyrightconfig.json",
    ),
    (
        PathClass.LINT_CONFIG,
        ".isort.cfg .eslintrc* eslint.config.* .eslintignore .prettierrc* .prettierignore",
    ),
    (
        PathClass.LINT_CONFIG,
        ".editorconfig tsconfig*.json .golangci.y*ml clippy.toml rustfmt.toml biome.json*",
    ),
    (
        PathClass.BUILD,
        "pyproject.toml setup.py setup.cfg manifest.in makefile gnumakefile justfile taskfile.y*ml",
    ),
    (
        PathClass.BUILD,
        (
            "dockerfile* *.dockerfile compose*.y*ml docker-compose*.y*ml package.json cargo.toml "
            "go.mod"
        ),
    ),
    (
        PathClass.BUILD,
        "hatch.toml hatch_build.py pdm_build.py uv.toml poetry.toml fabfile.py dodo.py rakefile",
    ),
    (
        PathClass.BUILD,
        (
            "webpack.config.* babel.config.* .babelrc* gulpfile.* gruntfile.* vite.config.* "
            "rollup.config.*"
        ),
    ),
    (
        PathClass.BUILD,
        (
            ".bazelrc .dockerignore mise.toml .mise.toml .tool-versions .*-version .nvmrc "
            "environment*.y*ml"
        ),
    ),
    (
        PathClass.BUILD,
        "go.work build.rs build.gradle* build.xml pom.xml cmakelists.txt meson.build build.bazel",
    ),
    (
        PathClass.LOCKFILE,
        (
            "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock* poetry.lock "
            "uv.lock"
        ),
    ),
    (
        PathClass.LOCKFILE,
        "pdm.lock pixi.lock pipfile* cargo.lock go.sum gemfile* composer.json composer.lock",
    ),
    *((PathClass.LOCKFILE, " ".join(language.lock_files)) for language in LANGUAGES),
    (PathClass.STARTUP, "*.pth *.egg-link sitecustomize.py usercustomize.py"),
    (PathClass.SNAPSHOTS, "*.snap *.ambr"),
    *((PathClass.TESTS, " ".join(language.test_files)) for language in LANGUAGES),
    (
        PathClass.TESTS,
        "test_*.txt *.doctest *_test.go",
    ),
    (
        PathClass.TESTS,
        "*_test.rs *_test.c *_test.cc *_test.cpp *_test.rb *_spec.rb *test.java *tests.java",
    ),
    (
        PathClass.TESTS,
        "test_*.js test_*.ts *_test.js *_test.ts *.test.*js *.test.*ts *.test.jsx *.test.tsx",
    ),
    (PathClass.TESTS, "*.spec.*js *.spec.*ts *.spec.jsx *.spec.tsx"),
)
"""Patterns of file names, in lower case."""


_ROOTS = frozenset({"src", "lib", "python"})
"""Folders that are often on the import path."""
_IMPORTED_FIRST = sys.stdlib_module_names | {
    "_pytest", "pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup",
    "tomli", "coverage",
    "hypothesis", "xdist", "setuptools", "pip", "pkg_resources", "_distutils_hack",
}  # fmt: skip


def protected_class(path: str) -> PathClass | None:
    """Return why a path is protected, or None."""
    # In lower case, because file systems may ignore case.
    *folders, name = path.lower().split("/")
    for kind, names in _FOLDERS:
        if not set(folders).isdisjoint(names.split()):
            return kind
    if any(folder.endswith((".egg-info", ".dist-info")) for folder in folders):
        return PathClass.STARTUP
    # Such files often have plain names: `requirements/dev.txt`.
    if folders and folders[-1] == "requirements" and name.endswith((".txt", ".in")):
        return PathClass.LOCKFILE
    return next(
        (
            kind
            for kind, patterns in _FILES
            if any(fnmatchcase(name, pattern) for pattern in patterns.split())
        ),
        None,
    )


def shadows(path: str) -> bool:
    """Return True if a new file would shadow a module of Python or of the test tools."""
    parts = path.split("/")
    # The import path may start below these folders.
    if parts[0] in _ROOTS:
        parts = parts[1:]
    if not parts or not path.endswith((".py", ".pyc", ".so", ".pyd")):
        return False
    return parts[0].split(".")[0] in _IMPORTED_FIRST


def is_protected(path: str, allowed: Iterable[str] = ()) -> bool:
    """Return True if a fix must not change a path.

    Args:
        path: Relative to the checkout.
        allowed: Exceptions of the policy: names of classes (`lockfile`), paths, or patterns
            (`tests/**`).
    """
    kind = protected_class(path)
    if kind is None:
        return False
    return not any(opening in {kind, path} or fnmatchcase(path, opening) for opening in allowed)
