"""The steps of one cell, resolved in order: variables, conditions, actions of the repository inlined."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import join, normpath
from typing import Any, Literal

from sandbox.recipe.actions.candidates import Candidate
from sandbox.recipe.actions.contexts import in_action, unknown_steps
from sandbox.recipe.actions.document import Documents, mapping, sequence, text
from sandbox.recipe.actions.exports import exports_of
from sandbox.recipe.actions.places import folder_of
from sandbox.recipe.actions.script_kind import kind_of_script
from sandbox.recipe.actions.shells import shell_of
from sandbox.recipe.actions.templates import condition, resolve, resolve_value
from sandbox.recipe.actions.uses import Use, artifact_of, effect_of, outputs_of, python_of
from sandbox.recipe.actions.values import Partly, Unknown, Value, as_text, both, is_true
from sandbox.recipe.actions.variables import Variables
from sandbox.recipe.editable import WORKDIR
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import JobStep
from sandbox.types import Frozen, StepKind

_DEEPEST = 9
_MOST_STEPS = 200
_MOST_LINES = 500
_MINUTE = 60.0
_LONGEST_NAME = 200


class OuterStep(Frozen):
    """One step of the job as GitHub shows it, and what it amounts to."""

    name: str
    written: str
    """The name as it stands in the file, expressions and all."""
    steps: tuple[JobStep, ...] = ()
    obstacle: str = ""
    """Why it cannot be rebuilt, should it be the failed one."""


@dataclass(frozen=True)
class _Level:
    """What steps of one list share: those of the job, or those of a composite action."""

    context: Mapping[str, Any]
    shell: str = ""
    folder: str = ""
    depth: int = 0


class StepReader:
    """Resolves the steps of a candidate one after the other; what a step leaves behind holds for the next."""

    def __init__(self, candidate: Candidate, files: Documents, log: FidelityLog) -> None:
        self._candidate = candidate
        self._files = files
        self._contents = files.contents
        self._log = log
        self._variables = Variables()
        self._checked_out_at = "."
        self._count = 0
        self.python: str | None = None
        self.toolchains: dict[str, str] = {}
        self.obstacles: list[str] = []
        """Missing parts named by steps before the failed one."""
        self.artifacts: list[str] = []
        self.others: dict[str, str] = {}
        """Other repositories that steps check out: where they would lie, and which."""

    def read(self, limit: int | None = None) -> list[OuterStep]:
        """The job's steps in order, at most so many."""
        candidate = self._candidate
        document, job = candidate.document, candidate.job
        context: dict[str, Value] = {**candidate.context, "steps": unknown_steps(job.get("steps"))}
        image = mapping(job.get("container"))
        for level in (document.get("env"), job.get("env"), image.get("env")):
            self._variables = self._variables.plus(level, context, self._log)
        level = _Level(
            context=context,
            shell=_default("shell", job, document),
            folder=_default("working-directory", job, document),
        )
        return [self._outer(mapping(step), level) for step in sequence(job.get("steps"))[:limit]]

    def _outer(self, step: Mapping[str, Any], level: _Level) -> OuterStep:
        name, written = self._name(step, level)
        before = len(self.obstacles)
        steps = self._step(step, level)
        new = self.obstacles[before:]
        obstacle = new[0] if new else ""
        if not obstacle and not any(inner.script for inner in steps) and step.get("uses"):
            obstacle = f"the failed step is the action {text(step.get('uses'))}, which cannot be run here"
        return OuterStep(name=name, written=written, steps=tuple(steps), obstacle=obstacle)

    def _name(self, step: Mapping[str, Any], level: _Level) -> tuple[str, str]:
        """As GitHub shows it, and as it is written."""
        context = {**level.context, "env": self._variables.context()}
        written = text(step.get("name"))
        if not written:
            run = text(step.get("run")).strip()
            written = f"Run {run.splitlines()[0].strip() if run else text(step.get('uses'))}"
        return resolve(written, context)[0].strip()[:_LONGEST_NAME], written[:_LONGEST_NAME]

    def _step(self, step: Mapping[str, Any], level: _Level) -> list[JobStep]:
        self._count += 1
        if self._count > _MOST_STEPS:
            return []
        variables = self._variables.plus(step.get("env"), level.context, self._log)
        context: dict[str, Value] = {**level.context, "env": variables.context()}
        name, _ = self._name(step, level)
        runs, missing = self._runs(step, context)
        if runs == "no":
            self._log.dropped(name, f"its condition does not hold here: {text(step.get('if'))}")
            return []
        if missing:
            self._log.replayed(
                name, f"its condition needs {', '.join(missing)}, which only GitHub knows; it is taken to hold"
            )
        common = JobStep(
            name=name,
            runs=runs,
            condition=text(step.get("if")),
            environment=variables.known,
            unknown_environment=variables.unknown,
            continue_on_error=is_true(resolve_value(step.get("continue-on-error"), context)) is True,
            timeout_s=_minutes(resolve_value(step.get("timeout-minutes"), context)),
        )
        if isinstance(step.get("run"), str):
            return [self._script(step, level, context, common)]
        if isinstance(step.get("uses"), str):
            return self._use(step, level, context, common)
        return []

    def _runs(
        self, step: Mapping[str, Any], context: Mapping[str, Value]
    ) -> tuple[Literal["yes", "no", "unknown"], tuple[str, ...]]:
        asked = step.get("if")
        if asked is None:
            return "yes", ()
        value: Value = condition(text(asked), context) if not isinstance(asked, bool) else asked
        truth = is_true(value)
        if truth is None:
            return "unknown", value.names if isinstance(value, Unknown) else ()
        return ("yes" if truth else "no"), ()

    def _script(self, step: Mapping[str, Any], level: _Level, context: Mapping[str, Value], common: JobStep) -> JobStep:
        script, missing = resolve(text(step.get("run")), context)
        named, unknown_shell = resolve(text(step.get("shell")) or level.shell, context)
        written, unknown_folder = resolve(text(step.get("working-directory")) or level.folder or ".", context)
        folder = folder_of(written, self._checked_out_at)
        if folder is None:
            self._log.replaced(
                f"{common.name}: working-directory {written}", "it is not in the checkout; its top is taken"
            )
        here = normpath(join(WORKDIR, folder or "."))
        variables, outputs = exports_of(script, {**common.environment, "PWD": here})
        self._variables = self._variables.exported(variables, self._log)
        ended: dict[str, Value] = {} if common.continue_on_error else {"outcome": "success", "conclusion": "success"}
        self._remember(step, level, Partly({**ended, "outputs": Partly(outputs)}))
        if unknown_shell is not None:
            self._log.replaced(common.name, "only GitHub knows its shell; bash is taken")
        return common.model_copy(
            update={
                "script": script,
                "shell": shell_of(named, self._windows(), script),
                "working_directory": folder or ".",
                "unknown": (
                    *(_needed(text(step.get("run")), context) if missing is not None else ()),
                    *(unknown_folder.names if unknown_folder is not None else ()),
                ),
            }
        )

    def _use(
        self, step: Mapping[str, Any], level: _Level, context: Mapping[str, Value], common: JobStep
    ) -> list[JobStep]:
        inputs: dict[str, str] = {}
        missing: dict[str, str] = {}
        given: dict[str, Value] = {}
        for name, value in mapping(step.get("with")).items():
            given[name] = resolve_value(value, context)
            found, unknown = resolve(text(value), context)
            if unknown is None:
                inputs[name] = found
            else:
                missing[name] = ", ".join(unknown.names)
        use = Use(uses=text(step.get("uses")).strip(), inputs=inputs, missing=missing)
        common = common.model_copy(update={"uses": use.uses, "inputs": inputs})
        if use.uses.startswith(("./", ".github/")):
            return self._local(use, given, level, common)
        self._remember(step, level, outputs_of(use, self._contents))
        return self._effect(use, common)

    def _effect(self, use: Use, common: JobStep) -> list[JobStep]:
        """An action of others."""
        effect = effect_of(use, self._contents)
        note = {"replayed": self._log.replayed, "replaced": self._log.replaced, "dropped": self._log.dropped}
        note[effect.treatment](use.uses, effect.reason)
        self.python = python_of(use, self._contents) or self.python
        if use.name == "actions/checkout" and not use.inputs.get("repository") and use.inputs.get("path"):
            self._checked_out_at = normpath(use.inputs["path"])
        if use.name == "actions/checkout" and use.inputs.get("repository") and use.inputs.get("path"):
            self.others[normpath(use.inputs["path"])] = use.inputs["repository"]
        if effect.toolchain:
            versions = [use.inputs[key] for key in use.inputs if key.endswith("version")]
            self.toolchains[effect.toolchain] = versions[0] if versions else ""
        if effect.obstacle:
            self.obstacles.append(effect.obstacle)
        if (artifact := artifact_of(use)) is not None:
            self.artifacts.append(artifact)
        return [common.model_copy(update={"script": effect.script, "shell": "bash"})]

    def _local(self, use: Use, given: Mapping[str, Value], level: _Level, common: JobStep) -> list[JobStep]:
        """An action of the repository: its steps stand in its place."""
        folder = folder_of(use.uses, self._checked_out_at)
        paths = [normpath(f"{folder}/{name}") for name in ("action.yml", "action.yaml")]
        path = next((path for path in paths if path in self._contents), None)
        document, problem = self._files.read(path) if path is not None else ({}, "it is not in the repository")
        runs = mapping(document.get("runs"))
        using = text(runs.get("using")).lower()
        if problem or using != "composite" or level.depth >= _DEEPEST:
            why = problem or (f"it runs with {using or 'nothing'}" if using != "composite" else "it nests too deeply")
            self._log.dropped(use.uses, f"this action of the repository is not run: {why}")
            self.obstacles.append(f"needs the action {use.uses}, which is not run here: {why}")
            return [common]
        self._log.replayed(use.uses, "its steps stand in its place")
        inputs = self._inputs(document, given, level)
        context = in_action({**level.context, "env": self._variables.context()}, inputs, folder or ".")
        inner = _Level(context={**context, "steps": unknown_steps(runs.get("steps"))}, depth=level.depth + 1)
        before = self._variables
        self._variables = Variables(
            known={**before.known, **common.environment}, unknown={**before.unknown, **common.unknown_environment}
        )
        found = [made for item in sequence(runs.get("steps")) for made in self._step(mapping(item), inner)]
        # what the calling step's own `env` says ends with it, what was exported stays
        kept = {
            name: value
            for name, value in self._variables.known.items()
            if before.known.get(name) == value or common.environment.get(name) != value
        }
        self._variables = Variables(known={**before.known, **kept}, unknown=self._variables.unknown)
        return found

    def _inputs(self, document: Mapping[str, Any], given: Mapping[str, Value], level: _Level) -> Value:
        """The inputs of an action: what it is given, as text, else its defaults."""
        found: dict[str, Value] = {}
        for name, about in mapping(document.get("inputs")).items():
            value = given[name] if name in given else resolve_value(mapping(about).get("default"), level.context)
            found[name] = value if isinstance(value, Unknown) else as_text(value)
        return found

    def _remember(self, step: Mapping[str, Any], level: _Level, outcome: Value) -> None:
        name = text(step.get("id"))
        if name:
            level.context["steps"][name] = outcome

    def _windows(self) -> bool:
        words, _ = resolve(text(self._candidate.job.get("runs-on")), self._candidate.context)
        return "windows" in words.lower()


def _needed(script: str, context: Mapping[str, Value]) -> tuple[str, ...]:
    """What a script needs and only GitHub knows; of one that checks, what its checks need."""
    lines = re.sub(r"\\\r?\n", " ", script).split("\n")[:_MOST_LINES]
    unknown = [(kind_of_script(line), found) for line in lines if (found := resolve(line, context)[1])]
    checks = kind_of_script(script) is not StepKind.OTHER
    wanted = [found for kind, found in unknown if not checks or kind is not StepKind.OTHER]
    return both(*wanted).names


def _default(key: str, *levels: Mapping[str, Any]) -> str:
    """`defaults.run` of the job, else of the workflow."""
    found: Sequence[str] = [text(mapping(mapping(level.get("defaults")).get("run")).get(key)) for level in levels]
    return next((value for value in found if value), "")


def _minutes(value: Value) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10_000:  # noqa: PLR2004 (a week)
        return None
    return float(value) * _MINUTE
