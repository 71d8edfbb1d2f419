"""Resolve hints and workflow files to one job."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.recipe.actions.artifacts import find_artifacts
from sandbox.recipe.actions.candidates import JobCandidate, candidates
from sandbox.recipe.actions.choosing import choose, fits_pieces, is_meant, named_values
from sandbox.recipe.actions.matrix import plain_cell
from sandbox.recipe.actions.script_kind import RANKED, kind_of_script
from sandbox.recipe.actions.steps import OuterStep, StepReader
from sandbox.recipe.actions.templates import evaluate_condition, resolve, resolve_value
from sandbox.recipe.actions.uses import parse_image_python
from sandbox.recipe.actions.values import is_true
from sandbox.recipe.document import Documents, mapping, sequence, steps_of, text
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import Job, ListedJob, ResolvedStep
from sandbox.recipe.python_versions import read_version
from sandbox.types import JobHints, StepKind

_RUNNERS_OWN = (
    "Set up job",
    "Initialize containers",
    "Stop containers",
    "Complete job",
    "Set up runner",
)
_LINUX = re.compile(r"ubuntu|linux|self-hosted|buildjet|blacksmith|depot|namespace", re.IGNORECASE)


def find_job(hints: JobHints, contents: Mapping[str, bytes], log: FidelityLog) -> Job | None:
    """Return the failing job up to its failed step; None if no workflow has a matching one.

    Args:
        hints: Known values of job, step, workflow and matrix.
        contents: The checkout's files that describe how it is tested.
        log: Receives the treatment of each step.
    """
    files = Documents(contents)
    found = candidates(files, log, hints)
    candidate, guessed = choose(hints, found)
    if candidate is None:
        if hints.job_name or hints.step_name:
            log.dropped(
                hints.job_name or hints.step_name or "",
                "no such job in any workflow of the repository",
            )
        return None
    if candidate.matrix_unknown is not None and (
        shown := named_values(hints.job_name or "", candidate)
    ):
        return find_job(hints.with_(matrix=shown), contents, log)
    if candidate.obstacle or candidate.matrix_unknown is not None:
        return _unresolved_job(candidate)
    # the first pass reads all steps, the second one records those that count
    outer = StepReader(candidate, files, FidelityLog()).read()
    position = _find_failed(hints, outer)
    if position is None:
        if is_runners_own(hints.step_name or ""):
            obstacle = (
                f"the failed step `{hints.step_name}` is the runner's own: no command of the "
                f"repository failed"
            )
            return _job(candidate, (), [obstacle])
        return None if not hints.job_name else _job(candidate, (), [_nothing_to_run(candidate)])
    if guessed:
        log.replaced(hints.job_name or candidate.display, guessed)
    return _read(candidate, files, log, (position, hints.step_name))


def knows_job(name: str, contents: Mapping[str, bytes], workflow: str | None = None) -> bool:
    """Return True if a name may belong to a job of the workflows, or of one of them."""
    hints = JobHints(workflow_path=workflow)
    return any(
        is_meant(name, candidate) and workflow in {None, candidate.path}
        for candidate in candidates(Documents(contents), FidelityLog(), hints)
    )


def is_runners_own(step: str) -> bool:
    """Return True if a step is the runner's own and not part of a workflow."""
    return step in _RUNNERS_OWN or step.startswith(("Post ", "Pre "))


def list_jobs(contents: Mapping[str, bytes]) -> tuple[ListedJob, ...]:
    """Return every job of the workflows with GitHub's name, for display."""
    return tuple(
        ListedJob(
            workflow=candidate.path,
            job_id=candidate.job_id,
            name=candidate.display,
            steps=tuple(name for name in map(_step_name, steps_of(candidate.job)) if name),
        )
        for candidate in candidates(Documents(contents), FidelityLog(), JobHints())
        if not candidate.called
    )


def _step_name(step: object) -> str:
    table = mapping(step)
    first = text(table.get("run")).strip().split("\n")[0]
    return text(table.get("name")) or (
        f"Run {first or text(table.get('uses'))}" if first or table.get("uses") else ""
    )


def _read(
    candidate: JobCandidate, files: Documents, log: FidelityLog, failed: tuple[int, str | None]
) -> Job:
    _notes(candidate, log)
    reader = StepReader(candidate, files, log)
    outer = reader.read(failed[0] + 1)
    last = outer[-1]
    if failed[1] is not None and not _is_named(failed[1], last):
        log.replaced(failed[1], f"the job has no step of this name; `{last.name}` is used")
    steps = [step for step_ in outer[:-1] for step in step_.steps if step.script]
    steps += _with_failed(last)
    obstacles = [*reader.obstacles]
    if last.obstacle and last.obstacle not in obstacles:
        obstacles.append(last.obstacle)
    kinds = {_kind(step) for step in steps if step.failed}
    services = _services(candidate)
    elsewhere = _place_of_another(reader.others, steps)
    others = {path: name for path, name in reader.others.items() if path == elsewhere}
    if not kinds or kinds - {StepKind.LINT, StepKind.FORMAT, StepKind.TYPES}:
        obstacles += [f"needs the service {name}, no service is started" for name in services]
        others |= {
            path: name
            for path, name in reader.others.items()
            if path != "." and _is_mentioned(path, steps)
        }
    else:
        obstacles = [text_ for text_ in obstacles if "no service is started" not in text_]
    obstacles += [
        f"needs the repository {name}, which is not fetched: it would lie in {path}"
        for path, name in others.items()
    ]
    shells = dict.fromkeys(step.shell for step in steps if step.failed)
    obstacles += [
        f"the failed step is written for {_SHELLS[shell]}, which is not in the sandbox"
        for shell in shells
        if shell in _SHELLS
    ]
    job = _job(candidate, tuple(steps), obstacles)
    by_variable = read_version(steps[-1].environment.get("UV_PYTHON")) if steps else None
    python = reader.python or by_variable or job.python
    versions = {"python": python, "node": reader.node, "pnpm": reader.pnpm, "go": reader.go}
    absent = find_artifacts(reader.downloads, candidate.document)
    return job.model_copy(update={**versions, "absent": absent})


def _nothing_to_run(candidate: JobCandidate) -> str:
    """Return why a job without a script cannot be rebuilt: the actions that do everything."""
    used = [text(step.get("uses")) for step in steps_of(candidate.job)]
    left = [name[:100] for name in used if name and not name.startswith(("actions/", "./"))][:5]
    why = f": what {', '.join(left)} does cannot be run here" if left else ""
    return f"the job has no step that tests or checks anything{why}"


_SHELLS = {"pwsh": "PowerShell", "cmd": "the Windows command prompt", "other": "another shell"}


def _is_mentioned(path: str, steps: Sequence[ResolvedStep]) -> bool:
    """Return True if a script names a path."""
    name = re.compile(rf"(?<![\w-]){re.escape(path.strip('./') or path)}(?![\w-])")
    return any(name.search(step.script) for step in steps)


def _place_of_another(others: Mapping[str, str], steps: Sequence[ResolvedStep]) -> str | None:
    """Return the place of another repository in which the failed step works; None elsewhere."""
    folder = steps[-1].working_directory if steps else "."
    inside = (path for path in others if f"{folder}/".startswith(f"{path}/") or path == ".")
    return next(inside, None)


def _find_failed(hints: JobHints, outer: Sequence[OuterStep]) -> int | None:
    """Return the failed step: by name, else the first that tests or checks."""
    if hints.step_name is not None:
        for index, step in enumerate(outer):
            if _is_named(hints.step_name, step) and (step.steps or step.obstacle):
                return index
        if is_runners_own(hints.step_name):
            return None
    ranked = [
        (RANKED.index(kind), index)
        for index, step in enumerate(outer)
        for kind in (_kind(inner) for inner in step.steps)
        if kind is not StepKind.OTHER
    ]
    if ranked:
        return min(ranked)[1]
    if hints.job_name is None:
        return None
    # a named job without a recognisable step: its last script
    return next(
        (
            index
            for index in reversed(range(len(outer)))
            if any(i.script for i in outer[index].steps)
        ),
        None,
    )


def _kind(step: ResolvedStep) -> StepKind:
    first = step.script.strip().split("\n")[0].strip()
    # GitHub's default name, from the first line, has no more information than the script
    return kind_of_script(step.script, "" if step.name == f"Run {first}" else step.name)


def _is_named(wanted: str, step: OuterStep) -> bool:
    plain = " ".join(wanted.split())
    for name in (step.name, step.written):
        known = " ".join(name.split())
        if known and plain in {known, f"Run {known}", known.removeprefix("Run ")}:
            return True
    return fits_pieces(plain, " ".join(step.written.split()))


def _with_failed(step: OuterStep) -> list[ResolvedStep]:
    """Return the steps of the failed one up to its last check.

    Any check of an action may have failed. Of an action without one, it is the last script.
    """
    checks = [index for index, inner in enumerate(step.steps) if _kind(inner) in RANKED]
    scripts = [index for index, inner in enumerate(step.steps) if inner.script]
    failed = checks or scripts[-1:] or [len(step.steps) - 1]
    return [
        inner.model_copy(update={"failed": index in failed})
        for index, inner in enumerate(step.steps[: failed[-1] + 1])
    ]


def _job(candidate: JobCandidate, steps: tuple[ResolvedStep, ...], obstacles: Sequence[str]) -> Job:
    image = _image(candidate)
    cells = {
        name: value
        for cell in (*candidate.callers, candidate.cell)
        for name, value in plain_cell(cell).items()
    }
    return Job(
        workflow=candidate.path,
        called=candidate.through,
        job_id=candidate.job_id,
        name=candidate.display,
        matrix=cells,
        runs_on=_runs_on(candidate),
        container=image or None,
        services=_services(candidate),
        steps=steps,
        python=parse_image_python(image),
        obstacles=tuple(dict.fromkeys(obstacles)),
    )


def _unresolved_job(candidate: JobCandidate) -> Job:
    obstacle = candidate.obstacle
    if candidate.matrix_unknown is not None:
        names = ", ".join(candidate.matrix_unknown.names)
        obstacle = (
            f"the job's matrix is made by {names}, which only GitHub knows: name its values "
            f"(--matrix NAME=VALUE)"
        )
    return _job(candidate, (), [obstacle])


def _runs_on(candidate: JobCandidate) -> str:
    value = resolve_value(candidate.job.get("runs-on"), candidate.context)
    if isinstance(value, dict):
        value = value.get("labels") or value.get("group")
    labels = [resolve(text(item), candidate.context)[0] for item in (sequence(value) or [value])]
    return ", ".join(label for label in labels if label)[:200]


def _image(candidate: JobCandidate) -> str:
    written: Any = resolve_value(candidate.job.get("container"), candidate.context)
    written = mapping(written).get("image") if isinstance(written, dict) else written
    return resolve(text(written), candidate.context)[0].strip()[:200]


def _services(candidate: JobCandidate) -> tuple[str, ...]:
    found = []
    for name, about in list(mapping(candidate.job.get("services")).items())[:20]:
        image, _ = resolve(text(mapping(about).get("image")), candidate.context)
        found.append((image.strip() or name)[:200])
    return tuple(found)


def _notes(candidate: JobCandidate, log: FidelityLog) -> None:
    """Record the differences that concern the whole job, and the workflows of others."""
    for called in candidate.elsewhere:
        if called is not None:
            log.replayed(called.name, f"read from GitHub at {called.sha}")
    runner = _runs_on(candidate)
    if runner and not _LINUX.search(runner):
        log.replaced(f"runs-on {runner}", "it runs on Linux")
    if image := _image(candidate):
        log.replaced(
            f"container {image}", "its image is not run; the sandbox's own image stands for it"
        )
    for service in _services(candidate):
        log.dropped(f"service {service}", "no service is started")
    asked = candidate.job.get("if")
    if asked is not None and is_true(evaluate_condition(text(asked), candidate.context)) is False:
        log.replaced(
            f"job {candidate.display}",
            f"its condition does not hold here and it is rebuilt all the same: {text(asked)}",
        )
