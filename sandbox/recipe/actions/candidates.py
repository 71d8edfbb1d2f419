"""List every job of a repository's workflows with GitHub's names, by matrix cell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Any

from sandbox.recipe.actions.contexts import base_context, job_context, own_inputs
from sandbox.recipe.actions.elsewhere import Workflows
from sandbox.recipe.actions.matrix import Cell, cell_words, expand_matrix
from sandbox.recipe.actions.templates import resolve, resolve_value
from sandbox.recipe.actions.values import Context, Unknown, Value
from sandbox.recipe.document import Documents, mapping, text
from sandbox.recipe.fidelity import FidelityLog
from sandbox.types import CalledWorkflow, JobHints

_FOLDER = ".github/workflows/"
_MOST_CANDIDATES = 2_000
_MOST_WORKFLOWS = 100
_DEEPEST = 4
_MOST_CALLS = 500
_LONGEST_NAME = 100


@dataclass(frozen=True)
class JobCandidate:
    """One cell of one job."""

    path: str
    """The workflow of the run, which may be the caller's."""
    document: Mapping[str, Any]
    """The workflow that contains the steps."""
    job_id: str
    job: Mapping[str, Any]
    cell: Cell
    context: Context
    base: str
    """The name before the cell's values."""
    display: str
    """The name of the check run, without parts that only GitHub knows."""
    fixed: bool = True
    """False if only GitHub knows a part of the name."""
    callers: tuple[Cell, ...] = ()
    matrix_unknown: Unknown | None = None
    obstacle: str = ""
    called: bool = field(default=False)
    """The workflow only runs when another one calls it."""
    pattern: str = ""
    """The name as written, with expressions, after the names of its callers."""
    caller_ids: tuple[str, ...] = ()
    elsewhere: tuple[CalledWorkflow | None, ...] = ()
    """The origins of the called workflows on the way to this job; None for the checkout."""
    through: tuple[str, ...] = ()
    """The same workflows: paths in the checkout, or `owner/name/path@commit`."""


def candidates(files: Documents, log: FidelityLog, hints: JobHints) -> list[JobCandidate]:
    """Return every job: those of the named workflow first, those of reusable workflows last.

    Args:
        files: The repository's files.
        log: Receives what cannot be parsed.
        hints: The workflow's path, as a run names it (`path@ref`), known values of the matrix, the
            repository, and the reusable workflows of the run that are not in the checkout.
    """
    found: list[JobCandidate] = []
    workflows = Workflows(files, hints.called)
    for path, document in documents(files, log, hints.workflow_path):
        inputs = own_inputs(document)
        is_called = (
            set(mapping(document.get("on"))) == {"workflow_call"}
            or document.get("on") == "workflow_call"
        )
        reader = _Jobs(path, workflows, hints)
        for candidate in reader.of(document, inputs, 0, called=is_called):
            found.append(candidate)
            if len(found) >= _MOST_CANDIDATES:
                return found
    return sorted(found, key=lambda candidate: candidate.called)


def documents(
    files: Documents, log: FidelityLog, named: str | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parsable workflows, the named one first."""
    wanted = (named or "").split("@")[0].removeprefix("./")
    paths = sorted(
        p for p in files.contents if p.startswith(_FOLDER) and p.endswith((".yml", ".yaml"))
    )
    paths += [wanted] if wanted in files.contents and wanted not in paths else []
    for path in sorted(paths[:_MOST_WORKFLOWS], key=lambda p: p != wanted):
        document, problem = files.read(path)
        if problem:
            log.dropped(path, f"the workflow is not used: {problem}")
        else:
            yield path, document


class _Jobs:
    """Reader of one workflow and the workflows that it calls."""

    def __init__(self, path: str, workflows: Workflows, hints: JobHints) -> None:
        self._path = path
        self._workflows = workflows
        self._calls = 0
        self._hints = hints

    def of(
        self,
        document: Mapping[str, Any],
        inputs: Value,
        depth: int,
        *,
        called: bool = False,
        caller: JobCandidate | None = None,
        elsewhere: CalledWorkflow | None = None,
    ) -> Iterator[JobCandidate]:
        base = base_context(document, inputs, self._hints.repository)
        prefix = f"{caller.display} / " if caller is not None else ""
        for job_id, job in mapping(document.get("jobs")).items():
            table = mapping(job)
            written = text(table.get("name")) or job_id
            cells, unknown = expand_matrix(table.get("strategy"), base)
            for index, cell in enumerate(cells):
                value: Value = dict(cell)
                if unknown is not None:
                    value = dict(self._hints.matrix) or unknown
                context = job_context(base, job_id, value, (index, len(cells)))
                name, plain, missing = _name(job_id, table, cell, context)
                candidate = JobCandidate(
                    path=self._path,
                    document=document,
                    job_id=job_id,
                    job=table,
                    cell=cell if unknown is None else dict(self._hints.matrix),
                    context=context,
                    base=f"{prefix}{plain}",
                    display=f"{prefix}{name}",
                    fixed=not missing and unknown is None and (caller is None or caller.fixed),
                    callers=(*caller.callers, caller.cell) if caller is not None else (),
                    matrix_unknown=unknown
                    if unknown is not None and not self._hints.matrix
                    else None,
                    called=called,
                    pattern=f"{caller.pattern} / {written}" if caller is not None else written,
                    caller_ids=(*caller.caller_ids, caller.job_id) if caller is not None else (),
                    elsewhere=(*caller.elsewhere, elsewhere) if caller is not None else (),
                    through=_through(caller, elsewhere) if caller is not None else (),
                )
                if isinstance(table.get("uses"), str):
                    yield from self._read_called(candidate, context, depth)
                else:
                    yield candidate

    def _read_called(
        self, caller: JobCandidate, context: Context, depth: int
    ) -> Iterator[JobCandidate]:
        uses = text(caller.job.get("uses"))
        # Reusable workflows may call each other in a circle.
        self._calls += 1
        origin = caller.elsewhere[-1] if caller.elsewhere else None
        found, document, problem = self._workflows.find(uses, origin)
        if depth >= _DEEPEST or self._calls > _MOST_CALLS:
            problem = "workflows call each other too deeply"
        if problem:
            yield _with_obstacle(caller, f"the reusable workflow {uses} cannot be read: {problem}")
            return
        inputs = _inputs(document, mapping(caller.job.get("with")), context)
        yield from self.of(
            document,
            inputs,
            depth + 1,
            called=caller.called,
            caller=caller,
            elsewhere=found,
        )


def _through(caller: JobCandidate, found: CalledWorkflow | None) -> tuple[str, ...]:
    if found is not None:
        return (*caller.through, f"{found.repository}/{found.path}@{found.sha}")
    return (*caller.through, normpath(text(caller.job.get("uses"))[2:]))


def _with_obstacle(candidate: JobCandidate, obstacle: str) -> JobCandidate:
    values = {name: getattr(candidate, name) for name in candidate.__dataclass_fields__}
    return JobCandidate(**{**values, "obstacle": obstacle})


def _inputs(document: Mapping[str, Any], given: Mapping[str, Any], context: Context) -> Value:
    """Return the inputs of a called workflow: the given ones, else its defaults."""
    declared = mapping(mapping(mapping(document.get("on")).get("workflow_call")).get("inputs"))
    found: dict[str, Value] = {}
    for name, about in declared.items():
        table = mapping(about)
        fallback: Value = {"boolean": False, "number": 0}.get(text(table.get("type")), "")
        value = resolve_value(
            given[name] if name in given else table.get("default", fallback), context
        )
        found[name] = value
    return found


def _name(
    job_id: str, job: Mapping[str, Any], cell: Cell, context: Context
) -> tuple[str, str, bool]:
    """Return the job's name with its cell, the name without it, and whether a part is unknown."""
    written = text(job.get("name"))
    if "${{" in written:
        name, missing = resolve(written, context)
        return _short(name), name.strip(), missing is not None
    plain = written or job_id
    words = cell_words(cell)
    partly = any(isinstance(value, Unknown) for value in cell.values())
    return _short(f"{plain} ({', '.join(words)})" if words else plain), plain, partly


def _short(name: str) -> str:
    plain = " ".join(name.split())
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 3]}..."
