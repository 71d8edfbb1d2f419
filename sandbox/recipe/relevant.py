"""Select the files of a checkout that are read to plan a recipe."""

import re
from collections.abc import Collection

from sandbox.recipe.needs import read_for_needs

_TOP = (
    r"pyproject\.toml|poe_tasks\.toml|setup\.cfg|setup\.py|tox\.ini|tox\.toml|pytest\.ini|hatch\.toml|noxfile\.py"
    r"|Pipfile|package\.json|package-lock\.json|npm-shrinkwrap\.json|\.npmrc|\.nvmrc|\.node-version"
    r"|GNUmakefile|[Mm]akefile(?:[.-][\w.-]+)?|[\w.-]+\.mk|\.?[Jj]ustfile"
    r"|environment\.ya?ml|runtime\.txt|\.python-version|\.tool-versions"
    r"|poetry\.lock|uv\.lock|pdm\.lock|pylock\.toml|Pipfile\.lock|requirements(?:-dev)?\.lock"
    r"|manage\.py|(?:tests?/(?:tests?|index)|tests?)\.[cm]?[jt]s"
    r"|pnpm-lock\.yaml|pnpm-workspace\.yaml|yarn\.lock|\.yarnrc\.yml|bun\.lockb?"
    r"|\.nycrc(?:\.json|\.ya?ml)?|(?:turbo|nx|lerna|tsconfig|project)\.json"
    r"|go\.mod|go\.sum|go\.work|go\.work\.sum|\.go-version|rust-toolchain(?:\.toml)?"
)
_RELEVANT = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml"
    r"|\.github/(?:metaagent\.ya?ml|actions/(?:[^/]+/){1,2}[^/]+\.(?:ya?ml|sh))"
    r"|(?:[^/]+/){0,3}action\.ya?ml"
    r"|\.pre-commit-config\.ya?ml"
    r"|(?:\.yarn/|[^/]+/)?patches/(?:@[^/]+/)?[^/]+\.(?:patch|diff)"
    rf"|(?:[^/]+/){{0,3}}(?:{_TOP})|(?:[^/]+/){{4,6}}(?:package|project)\.json"
    r"|(?:[^/]+/){0,2}[^/]*(?:requirements|constraints|require)[^/]*\.(?:txt|in|pip)"
    r"|(?:[^/]+/){0,2}(?:requirements|reqs|requires|deps)/(?:[^/]+/)?[^/]+\.(?:txt|in|pip)"
    r"|(?:[^/]+/){0,2}(?:(?:requirements|reqs|requires)/(?:[^/]+/)?[\w-]+|[\w-]*requirements[\w-]*)"
    r"|(?:scripts?|ci|\.ci|bin|tools?|dev|etc|\.github|\.github/scripts|build_tools"
    r"|tests)/[^/]+\.(?:sh|bash)"
    r"|(?:scripts?|ci|bin)/[^/.]+|[^/]+\.sh"
    r"|(?:[^/]+/){0,2}(?:src/|lib/)?[\w-]+/(?:__init__|__about__|_version|__version__|version"
    r"|about)\.py|VERSION(?:\.txt)?"
)
FOREIGN = re.compile(r"(?:.*/)?(?:node_modules|site-packages|\.venv|venv|vendor)/")
"""Folders with code of others."""
_MOST_RELEVANT = 200
_DEEP = 3
_LAST = (
    "__init__.py",
    "tsconfig.json",
    "/project.json",
    ".mk",
    ".js",
    ".cjs",
    ".mjs",
    ".ts",
    ".cts",
    ".mts",
)


def relevant_files(names: Collection[str]) -> list[str]:
    """Return the files of a checkout that describe its tests, and tests; only these are read."""
    found = [name for name in names if _RELEVANT.fullmatch(name) and not FOREIGN.match(name)]
    ranked = sorted(found, key=_rank)
    tests = read_for_needs([name for name in names if not FOREIGN.match(name)])
    return sorted({*ranked[:_MOST_RELEVANT], *tests})


def _rank(name: str) -> tuple[bool, int, str]:
    """Return the place of a file in the order of reading: deep ones and modules come last.

    Modules are only read for their version.
    """
    depth = name.count("/")
    return name.endswith(_LAST) or depth > _DEEP, depth, name
