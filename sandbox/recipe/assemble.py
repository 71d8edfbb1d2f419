"""Convert a job's steps to installations, preparing commands, and the failing commands."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from sandbox.recipe.absent import find_absent, find_unknown_values
from sandbox.recipe.checks import MOST_CHECKS, choose_checks, only_informs
from sandbox.recipe.command import classify_command, plain_pytest
from sandbox.recipe.failed_step import (
    convert_git_diff,
    describe_unknown,
    find_unfollowed,
    missing_fetch,
    shell_remainder,
)
from sandbox.recipe.job import (
    Job,
    NodeInstall,
    ResolvedStep,
    ToolCommand,
    ToolReading,
    merge_folders,
)
from sandbox.recipe.preparing import (
    line_needs_node,
    packs,
    prepares,
)
from sandbox.recipe.programs import NODE
from sandbox.recipe.requirements import Requirements
from sandbox.recipe.shell.calls import FETCHING_DECISION, UNKNOWN_DECISION
from sandbox.recipe.shell.walk import AS_WRITTEN, OUTSIDE, UNKNOWN_LOOP, UNKNOWN_VALUE, UNSUPPORTED
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.interpret import read_script
from sandbox.runners.builds import is_node_build
from sandbox.types import Frozen, StepKind

_MOST_PREPARED = 60
_DANGEROUS = frozenset(
    {
        "PATH",
        "HOME",
        "VIRTUAL_ENV",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "SHELL",
    }
)
_DANGEROUS_PREFIXES = ("LD_", "GIT_", "GITHUB_", "RUNNER_", "UV_", "PIP_")
_NOT_FOLLOWED = frozenset({AS_WRITTEN, UNKNOWN_LOOP, UNKNOWN_VALUE, UNSUPPORTED})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Rebuilt(Frozen):
    """The parts of a recipe from a job's steps."""

    wanted: Requirements = Requirements()
    prepare: tuple[str, ...] = ()
    may_fail: tuple[str, ...] = ()
    command: str = ""
    """Empty if no step runs anything."""
    kind: StepKind = StepKind.OTHER
    folder: str = "."
    environment: dict[str, str] = Field(default_factory=dict)
    python: str | None = None
    obstacles: tuple[str, ...] = ()
    node_folders: tuple[str, ...] | None = None
    node_install: NodeInstall = NodeInstall()
    node_tools: tuple[str, ...] = ()
    node_optional: bool = False
    """Only earlier steps need Node.js, not the command."""


def rebuild(job: Job, context: ToolContext) -> Rebuilt:
    """Convert a job's steps to the parts of one recipe.

    Args:
        job: The steps up to the failed one.
        context: The files of the checkout.
    """
    before = ToolReading(absent=job.absent)
    failing = ToolReading()
    failed = ResolvedStep(name="")
    for step in job.steps:
        if step.runs == "no" or not step.script:
            continue
        if step.failed:
            reading = _read_failed(step, context)
            if failed.failed:
                reading = _beside(reading, step, failed)
            else:
                failed = step
            failing = failing.plus(reading)
            continue
        noted = context.log.position()
        before = before.plus(_read_earlier(step, _read(step, context), context))
        if context.log.position() == noted and not before.commands:
            context.log.replayed(step.name)  # every step of the job has an entry in the log
    return _combine(before, failing, failed, context)


def rebuild_command(command: str, context: ToolContext) -> Rebuilt:
    """Convert a single command as if it were a job's only step."""
    step = ResolvedStep(name="", script=command, failed=True)
    return _combine(ToolReading(), _read(step, context), step, context)


def start_at_top(plan: Rebuilt) -> Rebuilt:
    """Return a plan whose commands start at the top of the checkout, as a given command does."""
    if plan.folder == ".":
        return plan
    there = f"cd {shlex.quote(plan.folder)} && "
    prepare = tuple(there + line for line in plan.prepare)
    may_fail = tuple(there + line for line in plan.may_fail)
    command = there + plan.command
    return plan.with_(command=command, prepare=prepare, may_fail=may_fail, folder=".")


def _read(step: ResolvedStep, context: ToolContext) -> ToolReading:
    if step.shell == "python":
        line = f"python -c {shlex.quote(step.script)}"
        return ToolReading(
            commands=(ToolCommand(command=line, working_directory=step.working_directory),)
        )
    seen = step.variables
    reading, _ = read_script(
        replace(context, variables=seen), step.script, step.working_directory, seen
    )
    return reading


def _beside(reading: ToolReading, step: ResolvedStep, first: ResolvedStep) -> ToolReading:
    """Return the reading of a step beside the first failed one, with the variables of its own."""
    own = {
        name: value
        for name, value in step.environment.items()
        if first.environment.get(name) != value
    }
    commands = (
        command.with_(environment={**own, **command.environment}) for command in reading.commands
    )
    return reading.with_(commands=tuple(commands))


def _read_failed(step: ResolvedStep, context: ToolContext) -> ToolReading:
    """Read the failed step. A script without any recognised command runs unchanged."""
    noted = context.log.position()
    reading = _read(step, context)
    entries = context.log.since(noted)
    loops = [one for one in entries if one.reason in _NOT_FOLLOWED]
    # What is left beside a loop that holds the check would be green without it.
    is_lost = bool(loops) and not any(map(_is_check, reading.commands))
    decisions = [one for one in entries if one.reason in {UNKNOWN_DECISION, FETCHING_DECISION}]
    if decisions:
        obstacles = tuple(f"`{one.step}`: {one.reason}" for one in decisions)
        reading = reading.with_(obstacles=(*reading.obstacles, *obstacles))
    script = shell_remainder(step.script)
    if (is_lost or not reading.commands) and not reading.obstacles and script:
        line = f"bash -e -c {shlex.quote(script)}" if "\n" in script else script
        reading = reading.with_(
            commands=(ToolCommand(command=line, working_directory=step.working_directory),)
        )
    elif is_lost and reading.commands and (lost := find_unfollowed(loops)):
        reading = reading.with_(obstacles=(f"`{lost.step}`: {lost.reason}",))
    left_out = [
        f"`{entry.step}`: {entry.reason}" for entry in entries if entry.treatment == "dropped"
    ]
    if not reading.commands and not reading.obstacles and left_out:
        reading = reading.with_(
            obstacles=(f"nothing of the failed step can be run here: {'; '.join(left_out)}",)
        )
    outside = [entry.step for entry in entries if entry.reason == OUTSIDE]
    if away := next(
        (line for line in outside if classify_command(line) is not StepKind.OTHER), None
    ):
        reading = reading.with_(
            obstacles=(*reading.obstacles, f"`{away}` runs outside the checkout")
        )
    if fetched := missing_fetch(reading, entries):
        reading = reading.with_(obstacles=(*reading.obstacles, fetched))
    checks = [command for command in reading.commands if _is_check(command)] or reading.commands
    missing = find_unknown_values(checks, step.unknown_environment)
    if step.unknown:
        missing.append(f"the failed step needs {describe_unknown(step.unknown)}")
    return reading.with_(obstacles=(*reading.obstacles, *missing))


def _is_check(command: ToolCommand) -> bool:
    return classify_command(command.command) is not StepKind.OTHER


def _read_earlier(step: ResolvedStep, reading: ToolReading, context: ToolContext) -> ToolReading:
    """Read a successful earlier step: its installs and files count, its checks do not."""
    if step.unknown:
        for command in reading.commands:
            context.log.dropped(command.command, f"it needs {describe_unknown(step.unknown)}")
        reading = reading.with_(commands=())
    if step.runs == "unknown":
        install = reading.node_install.with_(added=())
        reading = reading.with_(node_install=install)
    if not step.continue_on_error:
        return reading
    return reading.with_(obstacles=())


def _combine(
    before: ToolReading, failing: ToolReading, step: ResolvedStep, context: ToolContext
) -> Rebuilt:
    checks, early, undone = _choose(failing, context)
    kind = _common_kind([_kind(command, step) for command in checks])
    folder, shared = _common_settings(checks, step)
    # A linter that is no package of Node.js reads sources only, and should not wait for npm.
    without_node = kind in {StepKind.LINT, StepKind.FORMAT} and failing.node_folders is None
    made = [
        command
        for command in before.commands
        if _is_needed(command, failing, context)
        and not (without_node and line_needs_node(command.command))
    ]
    _note_earlier(before, made, context)
    early = [command for command in early if _is_needed(command, failing, context)]
    _note_left_out(failing, (*checks, *early), context)
    prepare = tuple(dict.fromkeys(_line(command, folder, shared) for command in (*made, *early)))[
        :_MOST_PREPARED
    ]
    may_fail = {_line(making, folder, shared) for making in made if is_node_build(making.command)}
    environment = _environment({**step.environment, **shared}, context)
    reads_only, node_folders = kind in {StepKind.LINT, StepKind.FORMAT}, failing.node_folders
    obstacles = [*failing.obstacles, *undone, *(() if reads_only else before.obstacles)]
    absent, running = (*before.absent, *failing.absent), (*made, *early, *checks)
    obstacles += find_absent(absent, running, reads_only=reads_only)
    if node_folders is not None or not reads_only:
        node_folders = merge_folders(before.node_folders, node_folders)
    tools = _node_tools(before, failing)
    if tools:
        # The set-up brings Node.js for them.
        obstacles = [text for text in obstacles if not text.endswith(NODE.needs)]
        node_folders = node_folders or ()
    command = _join_commands(checks, folder, shared)
    wanted = before.wanted.plus(failing.wanted)
    node_optional = node_folders is not None and failing.node_folders is None and not tools
    return Rebuilt(
        wanted=wanted,
        prepare=prepare,
        # If a build of an optional part fails, the whole part is left out.
        may_fail=() if node_optional else tuple(line for line in prepare if line in may_fail),
        command=command,
        kind=kind,
        folder=folder,
        environment=environment,
        python=failing.python or before.python,
        obstacles=tuple(dict.fromkeys(obstacles)),
        node_folders=node_folders,
        node_install=before.node_install.plus(failing.node_install),
        node_tools=tools,
        node_optional=node_optional,
    )


def _choose(
    failing: ToolReading, context: ToolContext
) -> tuple[list[ToolCommand], list[ToolCommand], tuple[str, ...]]:
    """Return the checks, what prepares for them, and why some of the step cannot be judged."""
    checks, early = choose_checks(failing.commands, context.files)
    checks, undone = convert_git_diff(checks, failing.commands)
    if checks and all(only_informs(command.command) for command in checks):
        undone = (*undone, f"`{checks[0].command[:100]}` checks nothing, and nothing is sent here")
    if len(checks) > MOST_CHECKS:
        undone = (*undone, f"the failed step runs more than {MOST_CHECKS} checks")
    return checks[:MOST_CHECKS], early, undone


def _common_kind(kinds: Sequence[StepKind]) -> StepKind:
    """Return what the checks are together: tests if one of them is."""
    named = [kind for kind in kinds if kind is not StepKind.OTHER]
    return StepKind.TEST if StepKind.TEST in kinds else next(iter(named), StepKind.OTHER)


def _is_needed(command: ToolCommand, failing: ToolReading, context: ToolContext) -> bool:
    """Return True if a command makes files, and an archive only for a step that takes one."""
    takes_archive = any(".tgz" in one.command for one in failing.commands)
    return prepares(command, context.files) and (takes_archive or not packs(command))


def _note_earlier(before: ToolReading, made: Sequence[ToolCommand], context: ToolContext) -> None:
    """Log the commands of earlier steps: those that make files, and all others."""
    for making in made:
        context.log.replayed(making.command, "in every workspace, without network")
    for other in before.commands:
        if other not in made:
            checks_something = classify_command(other.command) is not StepKind.OTHER
            context.log.dropped(
                other.command,
                "an earlier check" if checks_something else "the failing step does not need it",
            )


def _note_left_out(
    failing: ToolReading, running: Sequence[ToolCommand], context: ToolContext
) -> None:
    """Log the commands of the failed step that do not run."""
    for other in failing.commands:
        if other not in running:
            context.log.dropped(other.command, "it is no check, and makes nothing that one needs")


def _node_tools(before: ToolReading, failing: ToolReading) -> tuple[str, ...]:
    """Return the packages apart from the project, if the failing step runs on Node.js."""
    missing = any(text.endswith(NODE.needs) for text in failing.obstacles)
    if failing.node_folders is None and not failing.node_tools and not missing:
        return ()
    return tuple(dict.fromkeys(before.node_tools + failing.node_tools))


def _kind(command: ToolCommand, step: ResolvedStep) -> StepKind:
    found = classify_command(command.command)
    if found is not StepKind.OTHER:
        return found
    return classify_command(command.command, step.name.removeprefix("Run ")) if step.name else found


def _common_settings(
    commands: Sequence[ToolCommand], step: ResolvedStep
) -> tuple[str, dict[str, str]]:
    """Return the folder and the variables that all commands share."""
    folders = {command.working_directory for command in commands} or {step.working_directory}
    folder = folders.pop() if len(folders) == 1 else "."
    variables = [set(command.environment.items()) for command in commands]
    return folder, dict(sorted(set.intersection(*variables))) if variables else {}


def _line(command: ToolCommand, folder: str, shared: Mapping[str, str]) -> str:
    """Return a command as one line, relative to the recipe's folder."""
    own = {name: value for name, value in command.environment.items() if shared.get(name) != value}
    kept = {name: value for name, value in own.items() if _is_passed_on(name, value)}
    text = _plain(command.command)
    if kept:
        assigned = " ".join(f"{name}={shlex.quote(value)}" for name, value in kept.items())
        simple = re.fullmatch(r"[\w./][^$`]*", text)  # a text that names none of the variables
        text = f"{assigned} {text}" if simple else f"export {assigned} && {text}"
    there = posixpath.relpath(command.working_directory, folder)
    return text if there == "." else f"cd {shlex.quote(there)} && {text}"


def _join_commands(commands: Sequence[ToolCommand], folder: str, shared: Mapping[str, str]) -> str:
    lines, here = [], folder
    for command in commands:
        line = _line(command, here, shared)
        here = command.working_directory
        if line not in lines:
            lines.append(line)
    return " && ".join(lines)


def _plain(command: str) -> str:
    """Return a pytest command in the judge's preferred form, with our environment's Python."""
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


def _environment(variables: Mapping[str, str], context: ToolContext) -> dict[str, str]:
    """Return the variables that are passed on.

    Those that change how programs start are excluded.
    """
    found = {}
    for name, value in list(variables.items())[:100]:
        if _is_passed_on(name, value):
            found[name] = value
        else:
            context.log.dropped(f"env {name}", "a variable of this name or kind is not passed on")
    return found
