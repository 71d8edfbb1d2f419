"""Resolve the steps of one cell in order: variables, conditions, inlined actions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import join, normpath
from typing import Any, Literal

from sandbox.recipe.actions.candidates import JobCandidate
from sandbox.recipe.actions.contexts import in_action, unknown_steps
from sandbox.recipe.actions.exports import read_exports
from sandbox.recipe.actions.places import resolve_folder
from sandbox.recipe.actions.script_kind import kind_of_script
from sandbox.recipe.actions.shells import choose_shell
from sandbox.recipe.actions.templates import evaluate_condition, resolve, resolve_value
from sandbox.recipe.actions.uses import (
    UNKNOWN_ACTION,
    Use,
    find_artifact,
    names_repository,
    read_python,
    read_setup_go,
    read_setup_node,
    read_setup_pnpm,
    resolve_effect,
    resolve_outputs,
)
from sandbox.recipe.actions.values import Partly, Unknown, Value, as_text, combine_unknown, is_true
from sandbox.recipe.actions.variables import Variables
from sandbox.recipe.document import Documents, mapping, steps_of, text
from sandbox.recipe.editable import WORKDIR
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import ResolvedStep
from sandbox.types import Frozen, StepKind

_DEEPEST = 9
_MOST_STEPS = 200
_MOST_LINES = 500
_MINUTE = 60.0
_LONGEST_NAME = 200


class OuterStep(Frozen):
    """One step of the job as GitHub shows it, with its resolved steps."""

    name: str
    written: str
    """The name as written, with expressions."""
    steps: tuple[ResolvedStep, ...] = ()
    obstacle: str = ""
    """Why the step cannot be rebuilt if it is the failed one."""


@dataclass(frozen=True)
class _Level:
    """Common properties of the steps in one list: those of the job, or of a composite action."""

    context: Mapping[str, Any]
    shell: str = ""
    folder: str = ""
    depth: int = 0


class StepReader:
    """Resolver of a candidate's steps in order. Each step's effects apply to the following ones."""

    def __init__(self, candidate: JobCandidate, files: Documents, log: FidelityLog) -> None:
        self._candidate = candidate
        self._files = files
        self._contents = files.contents
        self._log = log
        self._variables = Variables()
        self._checked_out_at = "."
        self._count = 0
        steps = steps_of(candidate.job)
        self._cancelled = {text(step["cancel"]) for step in steps if "cancel" in step}
        self.python: str | None = None
        self.node: str | None = None
        self.pnpm: str | None = None
        self.go: str | None = None
        self.obstacles: list[str] = []
        """Missing parts that earlier steps need."""
        self.downloads: list[Use] = []
        """Uses of artifacts of other jobs."""
        self.others: dict[str, str] = {}
        """Other repositories that steps check out, by path."""

    def read(self, limit: int | None = None) -> list[OuterStep]:
        """Return the job's steps in order, up to a limit."""
        candidate = self._candidate
        document, job = candidate.document, candidate.job
        context: dict[str, Value] = {**candidate.context, "steps": unknown_steps(steps_of(job))}
        image = mapping(job.get("container"))
        # From the outermost to the innermost: later values replace earlier ones.
        for level in (document.get("env"), job.get("env"), image.get("env")):
            self._variables = self._variables.plus(level, context, self._log)
        level = _Level(
            context=context,
            shell=_default("shell", job, document),
            folder=_default("working-directory", job, document),
        )
        return [self._outer(step, level) for step in steps_of(job)[:limit]]

    def _outer(self, step: Mapping[str, Any], level: _Level) -> OuterStep:
        name, written = self._name(step, level)
        before = len(self.obstacles)
        steps = self._step(step, level)
        # Obstacles of this step only; those of earlier steps are the job's.
        new = self.obstacles[before:]
        obstacle = new[0] if new else ""
        if not obstacle and not any(inner.script for inner in steps) and step.get("uses"):
            obstacle = (
                f"the failed step is the action {text(step.get('uses'))}, which cannot be run here"
            )
        return OuterStep(name=name, written=written, steps=tuple(steps), obstacle=obstacle)

    def _name(self, step: Mapping[str, Any], level: _Level) -> tuple[str, str]:
        """Return the step's name as GitHub shows it, and as written."""
        context = {**level.context, "env": self._variables.context()}
        written = text(step.get("name"))
        if not written:
            run = text(step.get("run")).strip()
            # GitHub's name for a step without one.
            written = f"Run {run.splitlines()[0].strip() if run else text(step.get('uses'))}"
        return resolve(written, context)[0].strip()[:_LONGEST_NAME], written[:_LONGEST_NAME]

    def _step(self, step: Mapping[str, Any], level: _Level) -> list[ResolvedStep]:
        self._count += 1
        # Composite actions can nest, so the limit is on the steps of the whole job.
        if self._count > _MOST_STEPS:
            return []
        variables = self._variables.plus(step.get("env"), level.context, self._log)
        context: dict[str, Value] = {**level.context, "env": variables.context()}
        name, _ = self._name(step, level)
        runs, missing = self._evaluate_condition(step, context)
        if runs == "no":
            self._log.dropped(name, f"its condition does not hold here: {text(step.get('if'))}")
            return []
        if missing:
            self._log.replayed(
                name,
                f"its condition needs {', '.join(missing)}, which only GitHub knows; it is "
                f"assumed to hold",
            )
        if step.get("background") is True and text(step.get("id")) in self._cancelled:
            self._log.dropped(name, "it runs in the background until it is cancelled")
            self.obstacles.append(f"needs the step `{name}` beside it, no service is started")
            return []
        common = ResolvedStep(
            name=name,
            runs=runs,
            condition=text(step.get("if")),
            environment=variables.known,
            unknown_environment=variables.unknown,
            continue_on_error=is_true(resolve_value(step.get("continue-on-error"), context))
            is True,
            timeout_s=_minutes(resolve_value(step.get("timeout-minutes"), context)),
        )
        if isinstance(step.get("run"), str):
            return [self._script(step, level, context, common)]
        if isinstance(step.get("uses"), str):
            return self._use(step, level, context, common)
        return []

    def _evaluate_condition(
        self, step: Mapping[str, Any], context: Mapping[str, Value]
    ) -> tuple[Literal["yes", "no", "unknown"], tuple[str, ...]]:
        asked = step.get("if")
        if asked is None:
            return "yes", ()
        value: Value = (
            evaluate_condition(text(asked), context) if not isinstance(asked, bool) else asked
        )
        truth = is_true(value)
        if truth is None:
            return "unknown", value.names if isinstance(value, Unknown) else ()
        return ("yes" if truth else "no"), ()

    def _script(
        self,
        step: Mapping[str, Any],
        level: _Level,
        context: Mapping[str, Value],
        common: ResolvedStep,
    ) -> ResolvedStep:
        script, missing = resolve(text(step.get("run")), context)
        named, unknown_shell = resolve(text(step.get("shell")) or level.shell, context)
        written, unknown_folder = resolve(
            text(step.get("working-directory")) or level.folder or ".", context
        )
        folder = resolve_folder(written, self._checked_out_at)
        if folder is None:
            self._log.replaced(
                f"{common.name}: working-directory {written}",
                "it is not in the checkout; its top is used",
            )
        here = normpath(join(WORKDIR, folder or "."))
        variables, outputs = read_exports(script, {**common.variables, "PWD": here})
        # What the script writes to GITHUB_ENV applies to the following steps.
        self._variables = self._variables.exported(variables, self._log)
        # With continue-on-error the outcome is open: the step may have failed.
        ended: dict[str, Value] = (
            {} if common.continue_on_error else {"outcome": "success", "conclusion": "success"}
        )
        self._remember(step, level, Partly({**ended, "outputs": Partly(outputs)}))
        if unknown_shell is not None:
            self._log.replaced(common.name, "only GitHub knows its shell; bash is used")
        return common.model_copy(
            update={
                "script": script,
                "shell": choose_shell(named, self._windows(), script),
                "working_directory": folder or ".",
                "unknown": (
                    *(
                        _unknown_needs(text(step.get("run")), context)
                        if missing is not None
                        else ()
                    ),
                    *(unknown_folder.names if unknown_folder is not None else ()),
                ),
            }
        )

    def _use(
        self,
        step: Mapping[str, Any],
        level: _Level,
        context: Mapping[str, Value],
        common: ResolvedStep,
    ) -> list[ResolvedStep]:
        inputs: dict[str, str] = {}
        missing: dict[str, str] = {}
        partly: dict[str, str] = {}
        given: dict[str, Value] = {}
        for name, value in mapping(step.get("with")).items():
            given[name] = resolve_value(value, context)
            found, unknown = resolve(text(value), context)
            if unknown is None:
                inputs[name] = found
            else:
                missing[name], partly[name] = ", ".join(unknown.names), found
        uses = text(step.get("uses")).strip()
        use = Use(uses=uses, inputs=inputs, missing=missing, partly=partly)
        common = common.model_copy(update={"uses": use.uses, "inputs": inputs})
        if use.uses.startswith(("./", ".github/")):
            return self._local(use, given, level, common)
        self._remember(step, level, resolve_outputs(use, self._contents))
        return self._effect(use, common)

    def _effect(self, use: Use, common: ResolvedStep) -> list[ResolvedStep]:
        """Apply an external action."""
        effect = resolve_effect(use, self._contents)
        note = {
            "replayed": self._log.replayed,
            "replaced": self._log.replaced,
            "dropped": self._log.dropped,
        }
        note[effect.treatment](use.uses, effect.reason)
        if effect.reason == UNKNOWN_ACTION:
            self._variables = self._variables.with_(is_open=True)
        self.python = read_python(use, self._contents) or self.python
        self.node = read_setup_node(use, self._contents) or self.node
        self.pnpm = read_setup_pnpm(use) or self.pnpm
        self.go = read_setup_go(use, self._contents) or self.go
        if use.name == "actions/checkout":
            self._check_out(use)
        if effect.obstacle:
            self.obstacles.append(effect.obstacle)
        if find_artifact(use) is not None:
            self.downloads.append(use)
        unknown = use.unknown_script
        made = {"script": effect.script, "shell": "bash", "unknown": unknown}
        return [common.model_copy(update=made)]

    def _check_out(self, use: Use) -> None:
        """Note where a step checks out the repository, or another one."""
        written, repository = use.inputs.get("path") or ".", use.inputs.get("repository")
        path = resolve_folder(written, ".") or normpath(written)
        if repository and not names_repository(self._contents, repository):
            self.others[path] = repository
        elif path != "." and not use.missing.get("repository"):
            self._checked_out_at = path

    def _local(
        self, use: Use, given: Mapping[str, Value], level: _Level, common: ResolvedStep
    ) -> list[ResolvedStep]:
        """Inline the steps of an action of the repository."""
        folder = resolve_folder(use.uses, self._checked_out_at)
        paths = [normpath(f"{folder}/{name}") for name in ("action.yml", "action.yaml")]
        path = next((path for path in paths if path in self._contents), None)
        document, problem = (
            self._files.read(path) if path is not None else ({}, "it is not in the repository")
        )
        runs = mapping(document.get("runs"))
        using = text(runs.get("using")).lower()
        if problem or using != "composite" or level.depth >= _DEEPEST:
            why = problem or (
                f"it runs with {using or 'nothing'}"
                if using != "composite"
                else "it nests too deeply"
            )
            self._log.dropped(use.uses, f"this action of the repository is not run: {why}")
            self.obstacles.append(f"needs the action {use.uses}, which is not run here: {why}")
            self._variables = self._variables.with_(is_open=True)
            return [common]
        self._log.replayed(use.uses, "its steps are inlined")
        inputs = self._inputs(document, given, level)
        # An action sees its own inputs and steps, not those of the caller.
        context = in_action(
            {**level.context, "env": self._variables.context()}, inputs, folder or "."
        )
        inner = _Level(
            context={**context, "steps": unknown_steps(steps_of(runs))}, depth=level.depth + 1
        )
        before = self._variables
        self._variables = before.with_(
            known={**before.known, **common.environment},
            unknown={**before.unknown, **common.unknown_environment},
        )
        found = [made for item in steps_of(runs) for made in self._step(item, inner)]
        # variables of the calling step's own `env` end with it, exported ones stay
        kept = {
            name: value
            for name, value in self._variables.known.items()
            if before.known.get(name) == value or common.environment.get(name) != value
        }
        self._variables = self._variables.with_(known={**before.known, **kept})
        return found

    def _inputs(
        self, document: Mapping[str, Any], given: Mapping[str, Value], level: _Level
    ) -> Value:
        """Return the inputs of an action as text: the given ones, else its defaults."""
        found: dict[str, Value] = {}
        for name, about in mapping(document.get("inputs")).items():
            value = (
                given[name]
                if name in given
                else resolve_value(mapping(about).get("default"), level.context)
            )
            found[name] = value if isinstance(value, Unknown) else as_text(value)
        return found

    def _remember(self, step: Mapping[str, Any], level: _Level, outcome: Value) -> None:
        name = text(step.get("id"))
        if name:
            level.context["steps"][name] = outcome

    def _windows(self) -> bool:
        words, _ = resolve(text(self._candidate.job.get("runs-on")), self._candidate.context)
        return "windows" in words.lower()


def _unknown_needs(script: str, context: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the values that a script needs and only GitHub knows.

    For a script with checks, only theirs count.
    """
    lines = re.sub(r"\\\r?\n", " ", script).split("\n")[:_MOST_LINES]
    unknown = [
        (kind_of_script(line), found) for line in lines if (found := resolve(line, context)[1])
    ]
    checks = kind_of_script(script) is not StepKind.OTHER
    wanted = [found for kind, found in unknown if not checks or kind is not StepKind.OTHER]
    return combine_unknown(*wanted).names


def _default(key: str, *levels: Mapping[str, Any]) -> str:
    """Return `defaults.run` of the job, else of the workflow."""
    found: Sequence[str] = [
        text(mapping(mapping(level.get("defaults")).get("run")).get(key)) for level in levels
    ]
    return next((value for value in found if value), "")


def _minutes(value: Value) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 < value < 10_000:  # noqa: PLR2004 (a week)
        return None
    return float(value) * _MINUTE
