"""The evaluation of MetaAgent itself: its self-test, and the unit tests of the changed file."""

import posixpath
from collections.abc import Collection
from importlib import metadata
from pathlib import Path

from bot.improve.evaluate import SELF_TEST_OPTION, EvaluationPlan
from sandbox.types import JobHints

_SELF_TEST = f"python -B -m bot improve {SELF_TEST_OPTION}"


def plan_for_self(root: Path, *, is_checkout: bool, timeout_s: float) -> EvaluationPlan:
    """Return the plan for MetaAgent's own code.

    Args:
        root: The folder with its packages.
        is_checkout: True for a source checkout, which has tests; False for an installation.
        timeout_s: The time limit of the self-test, in seconds.
    """
    hints = JobHints(command="python -m pytest -q tests/unit")
    if not is_checkout:
        # An installation has no lock file: its own versions are installed in the sandbox.
        pinned = " ".join(_installed_dependencies())
        hints = JobHints(command="true", setup=(f"uv pip install {pinned}",))
    return EvaluationPlan(
        repository_id=f"improve:{root}",
        hints=hints,
        has_tests=is_checkout,
        self_test_timeout_s=timeout_s,
        self_test=_SELF_TEST,
    )


def with_fast_checks(plan: EvaluationPlan, path: str, tree: Collection[str]) -> EvaluationPlan:
    """Return the plan with the unit tests of one file: its test file, or the nearest folder.

    Args:
        plan: The plan for MetaAgent's own code.
        path: The improved file.
        tree: All files of the project.
    """
    if not plan.has_tests:
        return plan
    folder, name = posixpath.split(path)
    tests = f"tests/unit/{folder}/test_{name}"
    while tests != "tests/unit" and not _exists(tests, tree):
        folder, tests = posixpath.dirname(folder), posixpath.normpath(f"tests/unit/{folder}")
    hints = plan.hints.with_(command=f"python -m pytest -q {tests}")
    return plan.with_(hints=hints)


def _exists(path: str, tree: Collection[str]) -> bool:
    return path in tree or any(one.startswith(f"{path}/") for one in tree)


def _installed_dependencies() -> tuple[str, ...]:
    """Return the installed versions of the distributions that MetaAgent always needs."""
    try:
        wanted = metadata.requires("metaagent") or []
    except metadata.PackageNotFoundError:
        return ()
    pinned = []
    for requirement in wanted:
        if "extra ==" in requirement:
            continue
        name = requirement.split(";")[0].strip()
        for character in "[<>=!~ (":
            name = name.split(character)[0]
        try:
            pinned.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue  # of another platform
    return tuple(pinned)
