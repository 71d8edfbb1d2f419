"""The recipe of a checkout: from an explicit command, the failing job's workflow, or what lies in the repository."""

import re
from collections.abc import Collection, Mapping
from posixpath import dirname

from sandbox.errors import SetupFailed
from sandbox.recipe.actions.reading import find_job
from sandbox.recipe.assemble import Rebuilt, rebuild, rebuild_command
from sandbox.recipe.building import build_in_place
from sandbox.recipe.command import is_pytest, is_wrapper, kind_of, plain_pytest, tools_for
from sandbox.recipe.declared import Project, project_in
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import Files, beside
from sandbox.recipe.job import Job
from sandbox.recipe.local import with_local_projects
from sandbox.recipe.python_versions import read_version
from sandbox.recipe.requirements import Local, Wanted, clean_line, name_of, read_requirement_file
from sandbox.recipe.tools.base import Desk
from sandbox.recipe.tools.interpret import new_desk
from sandbox.types import JobHints, Recipe, StepKind

_TOP = (
    r"pyproject\.toml|setup\.cfg|setup\.py|tox\.ini|tox\.toml|pytest\.ini|hatch\.toml|noxfile\.py|Pipfile|package\.json"
    r"|GNUmakefile|[Mm]akefile|\.?[Jj]ustfile|environment\.ya?ml|runtime\.txt|\.python-version|\.tool-versions"
    r"|poetry\.lock|uv\.lock|pdm\.lock|pylock\.toml|Pipfile\.lock|requirements(?:-dev)?\.lock|manage\.py"
)
_RELEVANT = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml"
    r"|\.github/(?:metaagent\.ya?ml|actions/(?:[^/]+/){1,2}[^/]+\.(?:ya?ml|sh))|(?:[^/]+/){0,2}action\.ya?ml"
    r"|\.pre-commit-config\.ya?ml"
    rf"|(?:[^/]+/){{0,3}}(?:{_TOP})"
    r"|(?:[^/]+/){0,2}[^/]*(?:requirements|constraints|require)[^/]*\.(?:txt|in|pip)"
    r"|(?:[^/]+/){0,2}(?:requirements|reqs|requires|deps)/(?:[^/]+/)?[^/]+\.(?:txt|in|pip)"
    r"|(?:scripts?|ci|\.ci|bin|tools?|dev|etc|\.github|\.github/scripts|build_tools|tests)/[^/]+\.(?:sh|bash)"
    r"|(?:scripts?|ci|bin)/[^/.]+|[^/]+\.sh"
    r"|(?:[^/]+/){0,2}(?:src/|lib/)?[\w-]+/(?:__init__|__about__|_version|__version__|version|about)\.py|VERSION(?:\.txt)?"
)
_TEST_FILE = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests)\.py")
_FOREIGN = re.compile(r"(?:.*/)?(?:node_modules|site-packages|\.venv|venv|vendor)/")
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
"""Files whose presence says how a project is installed, in the order they are asked."""
_MOST_RELEVANT = 200
_MOST_OBSTACLES = 30
_LONGEST_OBSTACLE = 500
_TOOLS_ALONE = frozenset({"pytest", "ruff", "mypy", "flake8", "pylint", "black", "tox", "nox"})


def relevant_files(names: Collection[str]) -> list[str]:
    """The files of a checkout that say how it is tested; only these are read."""
    found = [name for name in names if _RELEVANT.fullmatch(name) and not _FOREIGN.match(name)]
    # modules are read for the version in them only: they give way to files that say how to test
    ranked = sorted(found, key=lambda name: (name.endswith("__init__.py"), name.count("/"), name))
    return sorted(ranked[:_MOST_RELEVANT])


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
    files = Files(contents, names, log)
    job = find_job(hints, contents, log)
    python = hints.python or (job.python if job is not None else None)
    desk = new_desk(files, python or _python_file(contents))
    plan = _plan(hints, job, desk)
    # a given command is run where the person stands: at the top
    folder = plan.folder if not hints.command else "."
    project = project_in(files, folder)
    plan = _installed(plan, project, desk, folder)
    return _recipe(hints, job, plan.with_(folder=folder, python=python or plan.python), desk)


def _plan(hints: JobHints, job: Job | None, desk: Desk) -> Rebuilt:
    """The commands and what their steps install, from the first source that has any."""
    rebuilt = rebuild(job, desk) if job is not None else Rebuilt()
    if hints.command is not None and hints.command.strip():
        return _given(hints.command.strip(), rebuilt, desk)
    tested = _has_tests(desk, project_in(desk.files, rebuilt.folder))
    if job is not None and rebuilt.command:
        return _without_wrapper(rebuilt, desk, tested=tested)
    if job is not None and (job.obstacles or rebuilt.obstacles) and not rebuilt.command:
        return rebuilt.with_(command="python -m pytest" if tested else "true", kind=StepKind.TEST)
    found = _detected(desk, tested=tested)
    if job is not None and not rebuilt.obstacles:
        obstacle = "the failed step runs nothing that is known to test or check and can be run here"
        rebuilt = rebuilt.with_(obstacles=(*rebuilt.obstacles, obstacle))
    return found.with_(
        wanted=rebuilt.wanted.plus(found.wanted),
        prepare=rebuilt.prepare,
        obstacles=(*rebuilt.obstacles, *found.obstacles),
    )


def _given(command: str, rebuilt: Rebuilt, desk: Desk) -> Rebuilt:
    """A command somebody names: it runs as it stands, unless only a tool's configuration says what it means."""
    read = rebuild_command(command, desk)
    wanted = rebuilt.wanted.plus(read.wanted)
    if is_wrapper(command) and read.command:
        return read.with_(wanted=wanted, environment={**rebuilt.environment, **read.environment})
    obstacles = read.obstacles if not is_pytest(command) else ()
    return rebuilt.with_(
        wanted=wanted, command=command, kind=kind_of(command), prepare=(), folder=".", obstacles=obstacles
    )


def _without_wrapper(rebuilt: Rebuilt, desk: Desk, *, tested: bool) -> Rebuilt:
    """A tool whose configuration could not be read: its tests are run directly."""
    if is_wrapper(rebuilt.command) and rebuilt.kind in {StepKind.TEST, StepKind.OTHER} and tested:
        desk.log.replaced(rebuilt.command, "its tests are run with pytest directly")
        return rebuilt.with_(command="python -m pytest", kind=StepKind.TEST)
    return rebuilt


def _has_tests(desk: Desk, project: Project) -> bool:
    return project.configures_pytest or any(
        _TEST_FILE.fullmatch(name) and not _FOREIGN.match(name) for name in desk.files.names
    )


def _detected(desk: Desk, *, tested: bool) -> Rebuilt:
    """No workflow tells: what the repository's own tools would run, pytest first."""
    files = desk.files
    if tested:
        project = project_in(files, ".")
        if files.is_file("manage.py") and not project.configures_pytest and not files.is_file("conftest.py"):
            return Rebuilt(command="python manage.py test", kind=StepKind.TEST)
        return Rebuilt(command="python -m pytest", kind=StepKind.TEST, wanted=_of_tools(desk))
    for name, command in (
        ("tox.ini", "tox"),
        ("noxfile.py", "nox"),
        ("package.json", "npm test"),
        ("Makefile", "make test"),
    ):
        if files.is_file(name):
            found = rebuild_command(command, desk)
            if found.command and not is_wrapper(found.command):
                return found
    raise SetupFailed(
        "There is nothing to run: no test command was given and none was found in the repository.",
        "Name the command: `--test COMMAND`, or `test_command` in .github/metaagent.yml.",
    )


def _of_tools(desk: Desk) -> Wanted:
    """What the repository's tools install for its tests, where no requirement file or extra says so."""
    files = desk.files
    project = project_in(files, ".")
    for lock, command in _INSTALLERS:
        if files.is_file(lock):
            return rebuild_command(command, desk).wanted
    if project.test_extras() or any(files.is_file(name) for name in _REQUIREMENT_FILES[1:]):
        return Wanted()
    for name, command in (
        ("tox.ini", "tox"),
        ("noxfile.py", "nox"),
        ("hatch.toml", "hatch run test"),
        ("pyproject.toml", "hatch run test"),
    ):
        if files.is_file(name) and (name != "pyproject.toml" or "[tool.hatch.envs" in files.text(name)):
            found = rebuild_command(command, desk)
            if is_pytest(found.command.rpartition("&& ")[2]):
                return found.wanted
    return Wanted()


def _installed(plan: Rebuilt, project: Project, desk: Desk, folder: str) -> Rebuilt:
    """What the steps install, made whole: what is declared where they say nothing, and the tools of the commands."""
    wanted = plan.wanted.placed(folder)
    if not _says_enough(wanted):
        wanted = wanted.plus(_declared(project, desk, folder))
    wanted = with_local_projects(wanted, desk.files)
    if plan.kind not in {StepKind.LINT, StepKind.FORMAT}:
        built = build_in_place(wanted, desk.files, folder)
        wanted = wanted.plus(built.wanted)
        plan = plan.with_(prepare=(*built.prepare, *plan.prepare), obstacles=(*plan.obstacles, *built.obstacles))
    kinds = [tools_for(part, project.pytest_options) for part in re.split(r"\s*&&\s*", plan.command)]
    tools = [tool for tools in kinds for tool in tools if tool not in _names(wanted)]
    # ruff is there for rung 0, and pytest so that repositories with a lint job share the environment of all others
    usual = (*tools, *(tool for tool in ("pytest", "ruff") if tool not in tools))
    return plan.with_(wanted=wanted.plus(Wanted(lines=tuple(tool for tool in usual if tool not in _names(wanted)))))


def _says_enough(wanted: Wanted) -> bool:
    return bool(wanted.local or wanted.files or _names(wanted) - _TOOLS_ALONE)


def _declared(project: Project, desk: Desk, folder: str) -> Wanted:
    """The requirement files and the project, with what its tests need."""
    wanted = Wanted()
    found = [f"{prefix}{name}" for prefix in _prefixes(folder) for name in _REQUIREMENT_FILES]
    found = [path for path in found if path in desk.files.contents]
    # what developers need besides the tests is much, and seldom needed for them
    tests = any("test" in path for path in found)
    for path in found:
        if not (tests and "dev" in path):
            wanted = wanted.plus(read_requirement_file(path, desk.files.contents, desk.log, folder=folder))
    if (
        project.name
        or desk.files.is_file(beside(folder, "setup.py"))
        or desk.files.is_file(beside(folder, "setup.cfg"))
    ):
        return wanted.plus(Wanted(local=(Local(folder=folder, extras=project.test_extras()),)))
    return wanted.plus(project.with_extras(project.test_extras()))


def _recipe(hints: JobHints, job: Job | None, plan: Rebuilt, desk: Desk) -> Recipe:
    wanted = plan.wanted
    origin = "given" if hints.command and hints.command.strip() else "workflow" if job is not None else "detected"
    if origin == "workflow":
        _note_command(plan, job, desk)
    missing = () if origin == "given" else tuple(dict.fromkeys((*(job.obstacles if job else ()), *plan.obstacles)))
    folders = tuple(dict.fromkeys(local.folder for local in wanted.local))
    return Recipe(
        command=plan.command,
        kind=plan.kind if plan.kind is not StepKind.OTHER else kind_of(plan.command, hints.step_name),
        working_directory=plan.folder,
        python=plan.python or _python_file(desk.files.contents),
        requirements=wanted.lines,
        requirement_files=wanted.files,
        install_project=bool(folders),
        projects=folders,
        extras=tuple(dict.fromkeys(extra for local in wanted.local for extra in local.extras)),
        constraints=_bounds(wanted),
        setup=hints.setup,
        prepare=plan.prepare,
        environment=plan.environment,
        origin=origin,
        fidelity=desk.log.entries(),
        workflow=job.workflow if job else None,
        job=job.name if job else None,
        step=next((step.name for step in job.steps if step.failed), None) if job else None,
        matrix=job.matrix if job else {},
        container=job.container if job else None,
        services=job.services if job else (),
        obstacles=_short((*missing, *wanted.missing)),
    )


def _short(obstacles: Collection[str]) -> tuple[str, ...]:
    """What is missing, bounded: the names in it are the repository's."""
    plain = (" ".join(text.split())[:_LONGEST_OBSTACLE] for text in obstacles)
    return tuple(dict.fromkeys(plain))[:_MOST_OBSTACLES]


def _note_command(plan: Rebuilt, job: Job | None, desk: Desk) -> None:
    failed = next((step for step in job.steps if step.failed), None) if job is not None else None
    if failed is None or not failed.script.strip():
        return
    written = " ".join(failed.script.split())
    if written == plan.command:
        desk.log.replayed(plan.command)
    else:
        desk.log.replaced(written, f"run as `{plain_pytest(plan.command)}`")


def _bounds(wanted: Wanted) -> tuple[str, ...]:
    """The constraints, without those that contradict an exact requirement; indexes know nothing of local projects."""
    exact = {name_of(line) for line in wanted.lines if "==" in line.partition(";")[0]}
    return tuple(line for line in wanted.constraints if name_of(line) not in exact and clean_line(line) is not None)


def _prefixes(folder: str) -> tuple[str, ...]:
    return ("",) if folder == "." else (f"{folder}/", "", f"{dirname(folder)}/" if "/" in folder else "")


def _names(wanted: Wanted) -> set[str]:
    return {name_of(line) for line in wanted.lines if clean_line(line) is not None}


def _python_file(contents: Mapping[str, bytes]) -> str | None:
    return read_version(contents.get(".python-version", b"").decode("utf-8", "replace"))
