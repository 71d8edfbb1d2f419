"""From the steps of a job to what is installed, what runs before, and the commands that fail."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from sandbox.recipe.command import kind_of, plain_pytest, words_of
from sandbox.recipe.files import Files
from sandbox.recipe.job import Job, JobStep, ToolCommand, ToolReading
from sandbox.recipe.requirements import Wanted
from sandbox.recipe.shell.walk import OUTSIDE
from sandbox.recipe.tools.base import Desk
from sandbox.recipe.tools.interpret import read_script
from sandbox.types import Frozen, StepKind

_MOST_COMMANDS = 12
_MOST_PREPARED = 20
_FILE_TOOLS = frozenset(
    {"cp", "mv", "mkdir", "touch", "echo", "printf", "cat", "sed", "ln", "chmod", "install", "patch"}
    | {"awk", "envsubst", "tee", "tr", "truncate", "sort"}
)
_UNPACKERS = frozenset({"tar", "unzip", "gunzip", "xz"})
_REMOVERS = frozenset({"rm", "rmdir"})
_GENERATORS = frozenset(
    {
        "protoc",
        "cython",
        "cythonize",
        "pybabel",
        "msgfmt",
        "flex",
        "bison",
        "swig",
        "gcc",
        "g++",
        "cc",
        "clang",
        "cmake",
    }
    | {"ninja", "meson", "django-admin", "alembic", "flatc", "capnp", "pyside6-uic", "pyrcc5"}
)
_PREPARING = frozenset({"migrate", "makemigrations", "compilemessages", "collectstatic", "compilejsi18n", "loaddata"})
_DANGEROUS = frozenset(
    {"PATH", "HOME", "VIRTUAL_ENV", "BASH_ENV", "ENV", "IFS", "PYTHONHOME", "PYTHONSTARTUP", "SHELL"}
)
_DANGEROUS_PREFIXES = ("LD_", "GIT_", "GITHUB_", "RUNNER_", "UV_", "PIP_")
_INSTALLS = re.compile(r"\s*(?:(?:python3?\s+-m|uv|sudo)\s+)?pip3?\s+install\b[^\\]*$")
_CHECKS = re.compile(
    r"(?<![\w./-])(?:pytest|py\.test|unittest|ruff|flake8|pylint|mypy|pyright|black|isort)(?![\w-])"
    r"|(?:^|\s)(?:\./|(?:ba)?sh\s+)[\w./-]+",
)
_ACTIVATES = re.compile(r"\s*(?:source|\.)\s+\S*bin/activate\s*(?:#.*)?$")
_FORMATTERS = {
    "black": "--check",
    "isort": "--check-only",
    "ruff format": "--check",
    "ruff check": "--no-fix",
    "yapf": "--diff",
    "pyproject-fmt": "--check",
}
"""Programs that change files, and the option with which they only say so."""
_LONGEST_SCRIPT = 20_000
_GIT_DIFF = re.compile(r"git\s+(?:diff\b.*(?:--exit-code|--quiet)|status\b)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Rebuilt(Frozen):
    """What the steps of a job come to."""

    wanted: Wanted = Wanted()
    prepare: tuple[str, ...] = ()
    command: str = ""
    """Empty when no step runs anything."""
    kind: StepKind = StepKind.OTHER
    folder: str = "."
    environment: dict[str, str] = Field(default_factory=dict)
    python: str | None = None
    obstacles: tuple[str, ...] = ()


def rebuild(job: Job, desk: Desk) -> Rebuilt:
    """A job's steps as one recipe's parts.

    Args:
        job: Its steps up to the failed one.
        desk: The files of the checkout.
    """
    before = ToolReading()
    failing = ToolReading()
    failed = JobStep(name="")
    for step in job.steps:
        if step.runs == "no" or not step.script:
            continue
        if step.failed:
            failed, failing = _failed(step, desk)
            continue
        noted = len(desk.log.entries())
        before = before.plus(_earlier(step, _read(step, desk), desk))
        if len(desk.log.entries()) == noted and not before.commands:
            desk.log.replayed(step.name)  # every step of the job has its line in the account
    return _put_together(before, failing, failed, desk)


def rebuild_command(command: str, desk: Desk) -> Rebuilt:
    """A command somebody gave, as if it were the one step of a job."""
    step = JobStep(name="", script=command, failed=True)
    return _put_together(ToolReading(), _read(step, desk), step, desk)


def _read(step: JobStep, desk: Desk) -> ToolReading:
    if step.shell == "python":
        line = f"python -c {shlex.quote(step.script)}"
        return ToolReading(commands=(ToolCommand(command=line, working_directory=step.working_directory),))
    reading, _ = read_script(
        replace(desk, variables=step.environment), step.script, step.working_directory, step.environment
    )
    return reading


def _failed(step: JobStep, desk: Desk) -> tuple[JobStep, ToolReading]:
    """The failed step and its reading; a script of which nothing could be read runs as it is."""
    noted = len(desk.log.entries())
    reading = _read(step, desk)
    if not reading.commands and not reading.obstacles and (script := _unread(step.script)):
        line = f"bash -e -c {shlex.quote(script)}" if "\n" in script else script
        reading = reading.with_(commands=(ToolCommand(command=line, working_directory=step.working_directory),))
    left_out = [
        f"`{entry.step}`: {entry.reason}" for entry in desk.log.entries()[noted:] if entry.treatment == "dropped"
    ]
    if not reading.commands and not reading.obstacles and left_out:
        reading = reading.with_(obstacles=(f"nothing of the failed step can be run here: {'; '.join(left_out)}",))
    outside = [entry.step for entry in desk.log.entries()[noted:] if entry.reason == OUTSIDE]
    if away := next((line for line in outside if kind_of(line) is not StepKind.OTHER), None):
        reading = reading.with_(obstacles=(*reading.obstacles, f"`{away}` runs outside the checkout"))
    if step.unknown:
        missing = f"the failed step needs {_named(step.unknown)}"
        return step, reading.with_(obstacles=(*reading.obstacles, missing))
    return step, reading


def _named(unknown: Sequence[str]) -> str:
    """What is unknown, and who knows it."""
    computed = [name for name in unknown if name.endswith("computes")]
    others = [name for name in unknown if name not in computed]
    return " and ".join([*computed, *([f"{', '.join(others)}, which only GitHub knows"] if others else [])])


def _unread(script: str) -> str:
    """What is left of a script that checks something in a way only a shell can follow; its installs are done."""
    lines = script.replace("\r\n", "\n").split("\n")
    lines = [line for line in lines if not _INSTALLS.match(line) and not _ACTIVATES.match(line)]
    left = "\n".join(lines).strip()
    return left if len(left) < _LONGEST_SCRIPT and _CHECKS.search(left) else ""


def _earlier(step: JobStep, reading: ToolReading, desk: Desk) -> ToolReading:
    """A step that went well: what it installs counts, and what it makes; its checks do not."""
    if step.unknown:
        for command in reading.commands:
            desk.log.dropped(command.command, f"it needs {_named(step.unknown)}")
        reading = reading.with_(commands=())
    if not step.continue_on_error:
        return reading
    return reading.with_(obstacles=())


def _put_together(before: ToolReading, failing: ToolReading, step: JobStep, desk: Desk) -> Rebuilt:
    checks, early = _checks(failing.commands)
    checks, undone = _compared(checks, failing.commands)
    kinds = [_kind(command, step) for command in checks]
    kind = StepKind.TEST if StepKind.TEST in kinds else next(iter(kinds), StepKind.OTHER)
    folder, shared = _shared(checks, step)
    made = [command for command in before.commands if _prepares(command, desk.files)]
    for making in made:
        desk.log.replayed(making.command, "in every workspace, without network")
    for other in before.commands:
        if other not in made:
            checks_something = kind_of(other.command) is not StepKind.OTHER
            desk.log.dropped(
                other.command, "an earlier check" if checks_something else "the failing step does not need it"
            )
    for other in failing.commands:
        if other not in checks and not (other in early and _prepares(other, desk.files)):
            desk.log.dropped(other.command, "it is no check, and makes nothing that one needs")
    early = [command for command in early if _prepares(command, desk.files)]
    prepare = tuple(dict.fromkeys(_line(command, folder, shared) for command in (*made, *early)))[:_MOST_PREPARED]
    environment = _environment({**step.environment, **shared}, desk)
    obstacles = [*failing.obstacles, *undone]
    if kind is not StepKind.LINT and kind is not StepKind.FORMAT:
        obstacles += before.obstacles
    command = _joined(checks, folder, shared)
    wanted = before.wanted.plus(failing.wanted)
    return Rebuilt(
        wanted=wanted,
        prepare=prepare,
        command=command,
        kind=kind,
        folder=folder,
        environment=environment,
        python=failing.python or before.python,
        obstacles=tuple(dict.fromkeys(obstacles)),
    )


def _compared(checks: list[ToolCommand], commands: Sequence[ToolCommand]) -> tuple[list[ToolCommand], tuple[str, ...]]:
    """`black . && git diff --exit-code` only asks whether something would change; other programs need the history."""
    if not any(_GIT_DIFF.match(command.command) for command in commands):
        return checks, ()
    found = []
    for command in checks:
        tool = next((tool for tool in _FORMATTERS if re.match(rf"{tool}(?:\s|$)", command.command)), "")
        if not tool:
            return checks, ("`git diff` compares with the commit, and the sandbox has no history",)
        plain = re.sub(r"\s--(?:fix(?:-only)?|in-place|unsafe-fixes|exit-non-zero-on-fix)\b", "", command.command)
        option = "" if _FORMATTERS[tool] in plain else f" {_FORMATTERS[tool]}"
        found.append(command.with_(command=plain.replace(tool, f"{tool}{option}", 1)))
    return found, ()


def _kind(command: ToolCommand, step: JobStep) -> StepKind:
    found = kind_of(command.command)
    if found is not StepKind.OTHER:
        return found
    return kind_of(command.command, step.name.removeprefix("Run ")) if step.name else found


def _checks(commands: Sequence[ToolCommand]) -> tuple[list[ToolCommand], list[ToolCommand]]:
    """The commands that test or check, and the others that come before the first of them."""
    known = [command for command in commands if kind_of(command.command) is not StepKind.OTHER]
    if not known:
        named = [command for command in commands if not _is_file_work(command)]
        first = commands.index(named[0]) if named else 0
        return list(commands[first:][:_MOST_COMMANDS]), list(commands[:first])
    first = commands.index(known[0])
    # a program between two checks may make what the second one needs
    return known[:_MOST_COMMANDS], [command for command in commands[:first] if command not in known]


def _program(command: ToolCommand) -> list[str]:
    words = words_of(command.command)
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL):
        words = words[1:]
    return words


def _is_file_work(command: ToolCommand) -> bool:
    words = _program(command)
    return bool(words) and words[0] in _FILE_TOOLS | _UNPACKERS | _REMOVERS


def _prepares(command: ToolCommand, files: Files) -> bool:
    """Whether a command makes files that later ones may need, and can run without network."""
    words = _program(command)
    if not words or kind_of(command.command) is not StepKind.OTHER or "${{" in command.command:
        return False
    if any(re.match(r"(?:\./)?\.?venv/", word) for word in words[1:]):
        return False  # the environment that a step makes is ours
    if words[0] in _UNPACKERS:
        return any(files.is_file(word) for word in words[1:])
    if words[0] in _FILE_TOOLS | _GENERATORS:
        return all(not word.startswith(("/", "~")) for word in words[1:] if not word.startswith("/tmp"))  # noqa: S108
    if words[0] != "python":
        return words[0].startswith("./") and not words[0].endswith((".sh", "manage.py"))
    if words[1:2] == ["setup.py"] or _PREPARING & set(words):
        return "--check" not in words and "--dry-run" not in words
    named = next((word for word in words[1:] if not word.startswith("-")), "")
    if words[1:2] == ["-m"]:
        return named in {"grpc_tools.protoc", "grpc.tools.protoc", "cython", "babel", "Cython", "compileall"}
    return named.endswith(".py") and "manage.py" not in named


def _shared(commands: Sequence[ToolCommand], step: JobStep) -> tuple[str, dict[str, str]]:
    """The folder and the variables all commands have in common."""
    folders = {command.working_directory for command in commands} or {step.working_directory}
    folder = folders.pop() if len(folders) == 1 else "."
    variables = [set(command.environment.items()) for command in commands]
    return folder, dict(sorted(set.intersection(*variables))) if variables else {}


def _line(command: ToolCommand, folder: str, shared: Mapping[str, str]) -> str:
    """A command as one line, seen from the folder the recipe runs in."""
    own = {name: value for name, value in command.environment.items() if shared.get(name) != value}
    kept = {name: value for name, value in own.items() if _is_passed_on(name, value)}
    text = _plain(command.command)
    if kept:
        assigned = " ".join(f"{name}={shlex.quote(value)}" for name, value in kept.items())
        text = f"{assigned} {text}" if re.match(r"[\w./]", text) else f"export {assigned} && {text}"
    there = posixpath.relpath(command.working_directory, folder)
    return text if there == "." else f"cd {shlex.quote(there)} && {text}"


def _joined(commands: Sequence[ToolCommand], folder: str, shared: Mapping[str, str]) -> str:
    lines, here = [], folder
    for command in commands:
        line = _line(command, here, shared)
        here = command.working_directory
        if line not in lines:
            lines.append(line)
    return " && ".join(lines)


def _plain(command: str) -> str:
    """A pytest command as the judge reads it best; `python3.11 -m pytest` runs in our own environment."""
    plain = plain_pytest(command)
    return re.sub(r"^(?:[\w./-]*/)?python3?(?:\.\d{1,2})? ", "python ", plain)


def _is_passed_on(name: str, value: str) -> bool:
    return (
        _NAME.fullmatch(name) is not None
        and name not in _DANGEROUS
        and not name.startswith(_DANGEROUS_PREFIXES)
        and "${{" not in value
        and "\0" not in value
        and len(value) <= 2000  # noqa: PLR2004 (long enough for any option)
    )


def _environment(variables: Mapping[str, str], desk: Desk) -> dict[str, str]:
    """What is passed on; names that change how our own programs start are not."""
    found = {}
    for name, value in list(variables.items())[:100]:
        if _is_passed_on(name, value):
            found[name] = value
        else:
            desk.log.dropped(f"env {name}", "a variable of this name or kind is not passed on")
    return found
