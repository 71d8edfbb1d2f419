"""Plan the recipe of a checkout: from a given command, the failing job's workflow, or its files."""

import re
from collections.abc import Collection, Mapping
from posixpath import dirname

from sandbox.errors import SetupFailed
from sandbox.recipe.actions.reading import find_job
from sandbox.recipe.assemble import Rebuilt, rebuild, rebuild_command, start_at_top
from sandbox.recipe.building import build_in_place
from sandbox.recipe.command import (
    classify_command,
    is_node_script,
    is_pytest,
    is_wrapper,
    plain_pytest,
    tools_for,
)
from sandbox.recipe.declared import Project, project_in
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, beside
from sandbox.recipe.go_modules import needs_go, plan_go
from sandbox.recipe.job import Job, merge_folders
from sandbox.recipe.left_out import find_test_only
from sandbox.recipe.local import with_local_projects
from sandbox.recipe.needs import needs_of_tests
from sandbox.recipe.node_packages import plan_node
from sandbox.recipe.python_versions import read_version
from sandbox.recipe.relevant import FOREIGN
from sandbox.recipe.requirements import (
    Local,
    Requirements,
    clean_line,
    distribution_name,
    read_requirement_file,
)
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.interpret import new_context
from sandbox.types import JobHints, Part, PythonPart, Recipe, StepKind

_TEST_FILE = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests)\.py")
_REQUIREMENT_FILES = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "requirements-tests.txt",
    "dev-requirements.txt",
    "dev_requirements.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "requirements/base.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "requirements/local.txt",
    "tests/requirements.txt",
    "test/requirements.txt",
)
_INSTALLERS = (
    ("uv.lock", "uv sync"),
    ("poetry.lock", "poetry install"),
    ("pdm.lock", "pdm install"),
    ("Pipfile", "pipenv install --dev"),
)
"""Files that show how a project is installed, in order of precedence."""
_NOTHING = (
    "There is nothing to run: no test command was given and none was found in the repository."
)
_NAME_ONE = "Name the command: `--test COMMAND`, or `test_command` in .github/metaagent.yml."
_MOST_OBSTACLES = 30
_LONGEST_OBSTACLE = 500
_TOOLS_ALONE = frozenset(
    {"identify", "pytest", "ruff", "mypy", "flake8", "pylint", "black", "tox", "nox"}
)


def plan_recipe(hints: JobHints, names: Collection[str], contents: Mapping[str, bytes]) -> Recipe:
    """Plan how to rebuild the failing job.

    Args:
        hints: External information about the job.
        names: All regular files of the checkout.
        contents: The relevant files, see `relevant_files`.

    Raises:
        SetupFailed: There is nothing to run.
    """
    recipe = describe_recipe(hints, names, contents)
    if recipe.command:
        return recipe
    if recipe.job is None:
        raise SetupFailed(_NOTHING, _NAME_ONE)
    reason = next(iter(recipe.obstacles), "its steps run nothing that is known to test or check")
    raise SetupFailed(f"The job has no check that can be run here: {reason}.", _NAME_ONE)


def describe_recipe(
    hints: JobHints, names: Collection[str], contents: Mapping[str, bytes]
) -> Recipe:
    """Plan like `plan_recipe`; a recipe with nothing to run has an empty command."""
    log = FidelityLog()
    files = CheckoutFiles(contents, names, log)
    job = find_job(hints, contents, log)
    python = hints.python or (job.python if job is not None else None)
    context = new_context(files, python or _python_file(contents))
    plan = _plan(hints, job, context)
    # a given command runs at the top of the checkout
    folder = plan.folder if not hints.command else "."
    project = project_in(files, folder)
    plan = _complete_requirements(plan, project, context, folder)
    return _recipe(hints, job, plan.with_(folder=folder, python=python or plan.python), context)


def _plan(hints: JobHints, job: Job | None, context: ToolContext) -> Rebuilt:
    """Return the commands and requirements from the first source with any."""
    rebuilt = rebuild(job, context) if job is not None else Rebuilt()
    if hints.command is not None and hints.command.strip():
        return _plan_given(hints.command.strip(), rebuilt, context)
    tested = _has_tests(context, project_in(context.files, rebuilt.folder))
    if job is not None and rebuilt.command:
        return _without_wrapper(rebuilt, context, tested=tested)
    if job is not None and (job.obstacles or rebuilt.obstacles) and not rebuilt.command:
        return rebuilt.with_(command="python -m pytest", kind=StepKind.TEST) if tested else rebuilt
    found = _detect_command(context, tested=tested)
    if job is not None and not rebuilt.obstacles:
        obstacle = "the failed step runs nothing that is known to test or check and can be run here"
        rebuilt = rebuilt.with_(obstacles=(*rebuilt.obstacles, obstacle))
    return found.with_(
        wanted=rebuilt.wanted.plus(found.wanted),
        node_folders=merge_folders(rebuilt.node_folders, found.node_folders),
        node_install=rebuilt.node_install.plus(found.node_install),
        node_tools=(*rebuilt.node_tools, *found.node_tools),
        node_optional=found.node_folders is None,
        prepare=rebuilt.prepare,
        may_fail=rebuilt.may_fail,
        obstacles=(*rebuilt.obstacles, *found.obstacles),
    )


def _plan_given(command: str, rebuilt: Rebuilt, context: ToolContext) -> Rebuilt:
    """Plan a given command: it runs unchanged, unless a tool's configuration defines it."""
    read = rebuild_command(command, context)
    wanted = rebuilt.wanted.plus(read.wanted)
    install = rebuilt.node_install.plus(read.node_install)
    if (is_wrapper(command) or is_node_script(command)) and read.command:
        environment = {**rebuilt.environment, **read.environment}
        read = read.with_(wanted=wanted, environment=environment, node_install=install)
        return start_at_top(read)
    obstacles = read.obstacles if not is_pytest(command) else ()
    return rebuilt.with_(
        wanted=wanted,
        node_folders=merge_folders(rebuilt.node_folders, read.node_folders),
        node_install=install,
        node_optional=read.node_folders is None,
        command=command,
        kind=classify_command(command),
        prepare=(),
        may_fail=(),
        folder=".",
        obstacles=obstacles,
    )


def _without_wrapper(rebuilt: Rebuilt, context: ToolContext, *, tested: bool) -> Rebuilt:
    """Replace a tool with unreadable configuration by a direct pytest run."""
    if is_wrapper(rebuilt.command) and rebuilt.kind in {StepKind.TEST, StepKind.OTHER} and tested:
        context.log.replaced(rebuilt.command, "its tests are run with pytest directly")
        return rebuilt.with_(command="python -m pytest", kind=StepKind.TEST)
    return rebuilt


def _has_tests(context: ToolContext, project: Project) -> bool:
    return project.configures_pytest or any(
        _TEST_FILE.fullmatch(name) and not FOREIGN.match(name) for name in context.files.names
    )


def _detect_command(context: ToolContext, *, tested: bool) -> Rebuilt:
    """Plan without a workflow: the repository's own tools, pytest first; empty without any."""
    files = context.files
    if tested:
        project = project_in(files, ".")
        if (
            files.is_file("manage.py")
            and not project.configures_pytest
            and not files.is_file("conftest.py")
        ):
            return Rebuilt(command="python manage.py test", kind=StepKind.TEST)
        return Rebuilt(
            command="python -m pytest", kind=StepKind.TEST, wanted=_tool_requirements(context)
        )
    for name, command in (
        ("tox.ini", "tox"),
        ("noxfile.py", "nox"),
        ("package.json", "npm test"),
        ("go.mod", "go test ./..."),
        ("Makefile", "make test"),
    ):
        if files.is_file(name):
            found = rebuild_command(command, context)
            if found.command and not is_wrapper(found.command):
                return found
    return Rebuilt()


def _tool_requirements(context: ToolContext) -> Requirements:
    """Return the tools' requirements for tests, if no requirement file or extra has any."""
    files = context.files
    project = project_in(files, ".")
    for lock, command in _INSTALLERS:
        if files.is_file(lock):
            return rebuild_command(command, context).wanted
    if project.test_extras() or any(files.is_file(name) for name in _REQUIREMENT_FILES[1:]):
        return Requirements()
    for name, command in (
        ("tox.ini", "tox"),
        ("noxfile.py", "nox"),
        ("hatch.toml", "hatch run test"),
        ("pyproject.toml", "hatch run test"),
    ):
        if files.is_file(name) and (
            name != "pyproject.toml" or "[tool.hatch.envs" in files.text(name)
        ):
            found = rebuild_command(command, context)
            if is_pytest(found.command.rpartition("&& ")[2]):
                return found.wanted
    return Requirements()


def _complete_requirements(
    plan: Rebuilt, project: Project, context: ToolContext, folder: str
) -> Rebuilt:
    """Complete the requirements: declared ones if steps install none, and the commands' tools."""
    wanted = plan.wanted.with_own_project(folder)
    is_ours = not _is_sufficient(wanted)
    if is_ours:
        wanted = wanted.plus(_declared_requirements(project, context, folder))
    wanted = with_local_projects(wanted, context.files)
    if is_ours:
        # A job that says what it installs is left alone: its tests skip in CI, too.
        needs = needs_of_tests(context.files, project, wanted)
        wanted = wanted.plus(needs.as_for_tests())
    if plan.kind not in {StepKind.LINT, StepKind.FORMAT}:
        built = build_in_place(wanted, context.files, folder)
        wanted = wanted.plus(built.wanted)
        plan = plan.with_(
            prepare=(*built.prepare, *plan.prepare), obstacles=(*plan.obstacles, *built.obstacles)
        )
    kinds = [tools_for(part.strip(), project.pytest_options) for part in plan.command.split("&&")]
    present = _names(wanted)
    tools = [tool for tools in kinds for tool in tools if tool not in present]
    # ruff is for rung 0, and pytest lets repositories with a lint job share an environment with the
    # others. A job of Node.js or Go alone needs neither.
    is_node = plan.node_folders is not None and not plan.node_optional
    is_other = is_node or needs_go(plan.command)
    ours = () if is_other and not _is_sufficient(wanted) else ("pytest", "ruff")
    usual = (*tools, *(tool for tool in ours if tool not in tools))
    lines = tuple(tool for tool in usual if tool not in present)
    return plan.with_(wanted=wanted.plus(Requirements(lines=lines)))


def _is_sufficient(wanted: Requirements) -> bool:
    return bool(wanted.local or wanted.files or _names(wanted) - _TOOLS_ALONE)


def _declared_requirements(project: Project, context: ToolContext, folder: str) -> Requirements:
    """Return the requirement files and the project, with its test requirements."""
    wanted = Requirements()
    found = [f"{prefix}{name}" for prefix in _prefixes(folder) for name in _REQUIREMENT_FILES]
    found = [path for path in found if path in context.files.contents]
    # developer requirements are large, and tests seldom need them
    tests = any("test" in path for path in found)
    for path in found:
        if not (tests and "dev" in path):
            wanted = wanted.plus(read_requirement_file(path, context.files, folder=folder))
    if (
        project.name
        or context.files.is_file(beside(folder, "setup.py"))
        or context.files.is_file(beside(folder, "setup.cfg"))
    ):
        return wanted.plus(
            Requirements(local=(Local(folder=folder, extras=project.test_extras()),))
        )
    return wanted.plus(project.with_extras(project.test_extras()))


def _recipe(hints: JobHints, job: Job | None, plan: Rebuilt, context: ToolContext) -> Recipe:
    wanted = plan.wanted
    is_given = bool(hints.command and hints.command.strip())
    origin = "given" if is_given else "workflow" if job is not None else "detected"
    if origin == "workflow":
        _note_command(plan, job, context)
    found = (*(job.obstacles if job else ()), *plan.obstacles)
    missing = () if is_given else tuple(dict.fromkeys(found))
    return Recipe(
        command=plan.command,
        kind=plan.kind
        if plan.kind is not StepKind.OTHER
        else classify_command(plan.command, hints.step_name),
        working_directory=plan.folder,
        parts=_parts(plan, job, context),
        setup=hints.setup,
        prepare=plan.prepare,
        may_fail=plan.may_fail,
        environment=plan.environment,
        origin=origin,
        fidelity=context.log.entries(),
        workflow=job.workflow if job else None,
        called=job.called if job else (),
        job=job.name if job else None,
        step=next((step.name for step in job.steps if step.failed), None) if job else None,
        matrix=job.matrix if job else {},
        container=job.container if job else None,
        services=job.services if job else (),
        obstacles=_short((*missing, *wanted.missing)),
    )


def _parts(plan: Rebuilt, job: Job | None, context: ToolContext) -> tuple[Part, ...]:
    parts: tuple[Part, ...] = (_python_part(plan, context),)
    if plan.node_folders is not None:
        version, pnpm = (job.node, job.pnpm) if job else (None, None)
        node = plan_node(context.files, plan.node_folders, version, plan.node_install, pnpm=pnpm)
        parts = (*parts, node.with_(optional=plan.node_optional, tools=plan.node_tools))
    lines = (*plan.prepare, plan.command)
    go = plan_go(context.files, lines, plan.folder, job.go if job else None)
    return parts if go is None else (*parts, go)


def _python_part(plan: Rebuilt, context: ToolContext) -> PythonPart:
    wanted = plan.wanted
    folders = tuple(dict.fromkeys(local.folder for local in wanted.local))
    own = [project_in(context.files, folder) for folder in {".", plan.folder, *folders}]
    is_test = plan.kind is StepKind.TEST
    return PythonPart(
        version=plan.python or _python_file(context.files.contents),
        requirements=wanted.lines,
        requirement_files=wanted.files,
        install_project=bool(folders),
        projects=folders,
        extras=tuple(dict.fromkeys(extra for local in wanted.local for extra in local.extras)),
        constraints=_usable_constraints(wanted),
        test_only=find_test_only(wanted, (*plan.prepare, plan.command), own) if is_test else (),
    )


def _short(obstacles: Collection[str]) -> tuple[str, ...]:
    """Return the obstacles with limits, because they contain names from the repository."""
    plain = (" ".join(text.split())[:_LONGEST_OBSTACLE] for text in obstacles)
    return tuple(dict.fromkeys(plain))[:_MOST_OBSTACLES]


def _note_command(plan: Rebuilt, job: Job | None, context: ToolContext) -> None:
    failed = next((step for step in job.steps if step.failed), None) if job is not None else None
    if failed is None or not failed.script.strip() or not plan.command:
        return
    written = " ".join(failed.script.split())
    if written == plan.command:
        context.log.replayed(plan.command)
    else:
        context.log.replaced(written, f"run as `{plain_pytest(plan.command)}`")


def _usable_constraints(wanted: Requirements) -> tuple[str, ...]:
    """Return the constraints, without those of local projects or exact requirements."""
    exact = {distribution_name(line) for line in wanted.lines if "==" in line.partition(";")[0]}
    return tuple(
        line
        for line in wanted.constraints
        if distribution_name(line) not in exact and clean_line(line) is not None
    )


def _prefixes(folder: str) -> tuple[str, ...]:
    return (
        ("",)
        if folder == "."
        else (f"{folder}/", "", f"{dirname(folder)}/" if "/" in folder else "")
    )


def _names(wanted: Requirements) -> set[str]:
    return {distribution_name(line) for line in wanted.lines if clean_line(line) is not None}


def _python_file(contents: Mapping[str, bytes]) -> str | None:
    return read_version(contents.get(".python-version", b"").decode("utf-8", "replace"))
