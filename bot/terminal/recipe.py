"""metaagent recipe: show how the failing job would be rebuilt; no repository code runs."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.domain.policy import RepositoryPolicy
from bot.errors import UsageError
from bot.policy.policy_file import read_folder_policy
from bot.settings import Settings
from bot.terminal.arguments import check_is_folder
from sandbox.errors import SetupFailed
from sandbox.gate import clean
from sandbox.planning import Folder, ListedJob, is_runners_own, read_folder
from sandbox.types import JobHints, Recipe

_MOST_LISTED = 60
"""Maximum number of names in an error's list."""
_MOST_BYTES = 1 << 20
"""Maximum size of a workflow file outside the folder, in bytes."""
_NOT_FOUND = "there is no such"


@dataclass(frozen=True)
class RecipeOrder:
    """The options of one run."""

    path: str = "."
    workflow: str | None = None
    job: str | None = None
    step: str | None = None
    matrix: Sequence[str] = field(default_factory=tuple)
    """`name=value`, each."""


@dataclass(frozen=True)
class RecipeResult:
    """A text for people, and an object for programs."""

    feasible: bool
    text: str
    json_object: dict[str, Any]


def run_recipe(order: RecipeOrder, settings: Settings) -> RecipeResult:
    """Read a folder's CI and describe how its failing job would be rebuilt.

    Args:
        order: The options.
        settings: All settings.

    Raises:
        UsageError: folder, workflow, job or step does not exist, or an option is invalid.
        ImportRejected: the folder is over a limit.
    """
    root = _root(order)
    matrix = _matrix(order.matrix)
    folder = asyncio.run(read_folder(str(root.resolve()), settings.sandbox))
    policy = read_folder_policy(root)
    folder, workflow = _workflow(order, folder, root)
    _check_job(order, folder, workflow)
    hints = JobHints(
        job_name=order.job,
        step_name=order.step,
        workflow_path=workflow,
        command=policy.test_command,
        setup=policy.setup,
        python=policy.python,
        matrix=matrix,
    )
    recipe = _recipe(folder, hints)
    _check_cell(recipe, matrix, folder.jobs)
    if policy.test_command:
        recipe = recipe.with_(origin="policy")
    feasible = bool(recipe.command) and not recipe.obstacles
    json_object = {"feasible": feasible, **recipe.model_dump(mode="json")}
    return RecipeResult(
        feasible=feasible, text=recipe_text(recipe, policy), json_object=json_object
    )


def recipe_text(recipe: Recipe, policy: RepositoryPolicy | None = None) -> str:
    """Describe a recipe for people; text of the repository is shown, never obeyed."""
    lines = _heading(recipe)
    if recipe.command:
        installed = [*_installed(recipe)] or ["nothing besides Python itself"]
        lines += ["", "Installed", *_indent(installed)]
    for title, commands in (
        ("Set up, with the set-up's network", recipe.setup),
        ("Run before, without network", recipe.prepare),
        ("The command that failed", (recipe.command,)),
    ):
        if any(commands):
            lines += ["", title, *_indent(commands)]
    if recipe.environment:
        lines += [
            "",
            "Variables",
            *_indent(f"{name}={value}" for name, value in recipe.environment.items()),
        ]
    if recipe.fidelity:
        lines += ["", "Step by step"]
        for entry in recipe.fidelity:
            reason = f": {entry.reason}" if entry.reason else ""
            lines += _indent([f"{entry.treatment:<9} {entry.step}{reason}"])
    lines += [
        "",
        "It can be rebuilt here."
        if recipe.command and not recipe.obstacles
        else "It cannot be rebuilt here:",
    ]
    lines += _indent(recipe.obstacles)
    lines += policy.problems if policy else ()
    return clean("\n".join(lines)) + "\n"


def _heading(recipe: Recipe) -> list[str]:
    cell = ", ".join(f"{name}={value}" for name, value in recipe.matrix.items())
    shown = {
        "workflow": recipe.workflow,
        "job": recipe.job,
        "cell": cell,
        "step": recipe.step,
        "kind": str(recipe.kind),
        "from": recipe.origin,
        "folder": recipe.working_directory,
        "python": recipe.python.version or "the usual one",
        "container": recipe.container,
        "services": ", ".join(recipe.services),
    }
    return [f"{name:<10}{value}" for name, value in shown.items() if value]


def _installed(recipe: Recipe) -> list[str]:
    python = recipe.python
    found = list(python.requirements)
    found += [f"versions bounded by {line}" for line in python.constraints[:20]]
    found += (
        [f"... and {len(python.constraints) - 20} more bounds"]
        if len(python.constraints) > 20  # noqa: PLR2004
        else []
    )
    if python.install_project:
        extras = f" with {', '.join(python.extras)}" if python.extras else ""
        found.append(f"the project itself, for editing{extras}")
    return found


def _indent(lines: Any) -> list[str]:
    return [f"  {line}" for text in lines for line in str(text).split("\n")]


def _recipe(folder: Folder, hints: JobHints) -> Recipe:
    try:
        return folder.describe(hints)
    except SetupFailed as error:
        raise UsageError(error.message, error.advice) from error


def _matrix(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(
                f"--matrix {word!r} is not NAME=VALUE", "for example --matrix python-version=3.11"
            )
        found[name.strip()] = value.strip()
    return found


def _root(order: RecipeOrder) -> Path:
    """Return the given folder, or else the repository of a workflow file elsewhere."""
    root = check_is_folder(order.path)
    file = Path(order.workflow or "")
    if (
        order.path == "."
        and file.is_file()
        and file.resolve().parent.parts[-2:] == (".github", "workflows")
    ):
        return file.resolve().parents[2]
    return root


def _workflow(order: RecipeOrder, folder: Folder, root: Path) -> tuple[Folder, str | None]:
    """Return the workflow's path: given whole, by its last part, or as any local file."""
    if order.workflow is None:
        return folder, None
    wanted = order.workflow.removeprefix("./")
    file = Path(order.workflow)
    if file.is_file() and file.resolve().is_relative_to(root.resolve()):
        wanted = str(file.resolve().relative_to(root.resolve()))
    for path in folder.workflows:
        if wanted in {path, path.rsplit("/", 1)[-1], path.rsplit("/", 1)[-1].rsplit(".", 1)[0]}:
            return folder, path
    if file.is_file():
        with file.open("rb") as opened:
            path = f".github/workflows/{file.name}"
            return folder.plus(path, opened.read(_MOST_BYTES)), path
    raise UsageError(
        f"{_NOT_FOUND} workflow: {order.workflow}", _list("workflows", folder.workflows)
    )


def _check_job(order: RecipeOrder, folder: Folder, workflow: str | None) -> None:
    """Raise an error that lists the jobs if the given one does not exist."""
    jobs = [job for job in folder.jobs if workflow is None or job.workflow == workflow]
    if order.job is not None:
        meant = order.job.split(" / ")[0].split(" (")[0].strip().casefold()
        if not folder.knows_job(order.job, workflow):
            raise UsageError(
                f"{_NOT_FOUND} job: {order.job}", _list("jobs", [job.name for job in jobs])
            )
        jobs = [
            job
            for job in jobs
            if meant in {job.job_id.casefold(), job.name.split(" (")[0].casefold()}
        ] or jobs
    elif workflow is not None and not jobs:
        raise UsageError(f"{workflow} has no jobs that can be read")
    if order.step is not None:
        _check_step(order.step, [step for job in jobs for step in job.steps])


def _check_step(wanted: str, steps: Sequence[str]) -> None:
    if not is_runners_own(wanted) and not any(
        wanted in {step, step.removeprefix("Run ")} or "${{" in step for step in steps
    ):
        raise UsageError(f"{_NOT_FOUND} step: {wanted}", _list("steps", steps))


def _check_cell(recipe: Recipe, asked: Mapping[str, str], jobs: Sequence[ListedJob]) -> None:
    """Raise an error that lists the matrix cells if none has the given values."""
    if all(recipe.matrix.get(name) == value for name, value in asked.items()):
        return
    same = [job.name for job in jobs if job.workflow == recipe.workflow and job.name == recipe.job]
    ids = {job.job_id for job in jobs if job.workflow == recipe.workflow and job.name in same}
    cells = [job.name for job in jobs if job.workflow == recipe.workflow and job.job_id in ids]
    words = ", ".join(f"{name}={value}" for name, value in asked.items())
    raise UsageError(f"{_NOT_FOUND} cell: {words}", _list("cells", cells))


def _list(what: str, names: Sequence[str]) -> str:
    if not names:
        return f"the folder has no {what}"
    unique = list(dict.fromkeys(names))
    more = f", and {len(unique) - _MOST_LISTED} more" if len(unique) > _MOST_LISTED else ""
    return clean(f"its {what}: {', '.join(unique[:_MOST_LISTED])}{more}")
