"""The recipe of a checkout: from an explicit command, the failing job's workflow, or what lies in the repository."""

import re
from collections.abc import Collection, Mapping
from posixpath import dirname

from sandbox.errors import SetupFailed
from sandbox.recipe.command import is_wrapper, kind_of, plain_pytest, tools_for
from sandbox.recipe.declared import Project, read_project
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.python_versions import read_version
from sandbox.recipe.requirements import Wanted, clean_line, name_of, read_requirement_file
from sandbox.recipe.workflow import Step, find_step
from sandbox.types import JobHints, Recipe, StepKind

_RELEVANT = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml"
    r"|(?:[^/]+/){0,2}(?:pyproject\.toml|setup\.cfg|setup\.py|tox\.ini|pytest\.ini|\.python-version|runtime\.txt)"
    r"|(?:[^/]+/){0,2}[^/]*requirements[^/]*\.(?:txt|in)"
    r"|(?:[^/]+/)?requirements/[^/]+\.(?:txt|in)"
)
_TEST_FILE = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
_FOREIGN = re.compile(r"(?:.*/)?(?:node_modules|site-packages|\.venv|venv|vendor)/")
_REQUIREMENT_FILES = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "requirements-tests.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/base.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "tests/requirements.txt",
)
_MOST_RELEVANT = 200


def relevant_files(names: Collection[str]) -> list[str]:
    """The files of a checkout that say how it is tested; only these are read."""
    return sorted(name for name in names if _RELEVANT.fullmatch(name) and not _FOREIGN.match(name))[:_MOST_RELEVANT]


def plan_recipe(hints: JobHints, names: Collection[str], contents: Mapping[str, bytes]) -> Recipe:
    """How to rebuild the failing job.

    Args:
        hints: What is known from outside.
        names: Every regular file of the checkout.
        contents: The relevant ones, see `relevant_files`.

    Raises:
        SetupFailed: there is nothing to run.
    """
    log = FidelityLog()
    step = find_step(hints, contents, log)
    # a given command is run where the person stands: at the top
    folder = step.working_directory if step is not None and not hints.command else "."
    project = read_project(contents, folder, log)
    command, origin = _command(hints, step, _has_tests(project, names), log)
    kind = kind_of(command, hints.step_name)
    wanted = _wanted(step.wanted if step else Wanted(), project, contents, _prefixes(folder), log=log)
    tools = [tool for tool in tools_for(command, project.pytest_options) if tool not in _names(wanted)]
    # ruff is there for rung 0, and pytest so that repositories with a lint job share the environment of all others
    usual = (*tools, *(tool for tool in ("pytest", "ruff") if tool not in tools))
    wanted = wanted.plus(Wanted(lines=tuple(tool for tool in usual if tool not in _names(wanted))))
    has_setup = any(
        f"{prefix}{name}" in contents for prefix in _prefixes(folder)[:1] for name in ("setup.py", "setup.cfg")
    )
    return Recipe(
        command=command,
        kind=kind,
        working_directory=folder,
        python=hints.python or (step.python if step else None) or _python_file(contents),
        requirements=wanted.lines,
        requirement_files=wanted.files,
        install_project=wanted.itself or bool(project.name) or has_setup,
        extras=wanted.extras,
        setup=hints.setup,
        environment=step.environment if step is not None else {},
        origin=origin,
        fidelity=log.entries(),
    )


def _has_tests(project: Project, names: Collection[str]) -> bool:
    return project.configures_pytest or any(_TEST_FILE.fullmatch(n) and not _FOREIGN.match(n) for n in names)


def _command(hints: JobHints, step: Step | None, has_tests: bool, log: FidelityLog) -> tuple[str, str]:  # noqa: FBT001
    """The one command and where it comes from."""
    if hints.command is not None and hints.command.strip():
        return hints.command.strip(), "given"
    if step is not None:
        if is_wrapper(step.command) and step.kind in {StepKind.TEST, StepKind.OTHER} and has_tests:
            log.replaced(step.command, "its tests are run with pytest directly")
            return "python -m pytest", "workflow"
        plain = plain_pytest(step.command)
        if plain == step.command:
            log.replayed(step.command)
        else:
            log.replaced(step.command, f"run as `{plain}`")
        return plain, "workflow"
    if has_tests:
        return "python -m pytest", "detected"
    raise SetupFailed(
        "There is nothing to run: no test command was given and none was found in the repository.",
        "Name the command: `--test COMMAND`, or `test_command` in .github/metaagent.yml.",
    )


def _wanted(
    asked: Wanted, project: Project, contents: Mapping[str, bytes], prefixes: tuple[str, ...], *, log: FidelityLog
) -> Wanted:
    """What the job's steps install; when they say nothing useful, what the repository declares."""
    if asked.itself:
        return asked.plus(project.with_extras(asked.extras))
    if asked.files or _names(asked) - {"pytest", "ruff", "mypy", "flake8", "pylint", "black", "tox", "nox"}:
        return asked
    for prefix in prefixes:
        for name in _REQUIREMENT_FILES:
            if f"{prefix}{name}" in contents:
                asked = asked.plus(read_requirement_file(f"{prefix}{name}", contents, log))
    return asked.plus(project.with_extras((*asked.extras, *project.test_extras())))


def _prefixes(folder: str) -> tuple[str, ...]:
    return ("",) if folder == "." else (f"{folder}/", "", f"{dirname(folder)}/" if "/" in folder else "")


def _names(wanted: Wanted) -> set[str]:
    return {name_of(line) for line in wanted.lines if clean_line(line) is not None}


def _python_file(contents: Mapping[str, bytes]) -> str | None:
    return read_version(contents.get(".python-version", b"").decode("utf-8", "replace"))
