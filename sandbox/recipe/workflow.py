"""The failing step of a GitHub Actions job, read from its YAML as data."""

import re
from collections.abc import Iterator, Mapping
from posixpath import normpath
from typing import Any

import yaml
from pydantic import Field

from sandbox.recipe.actions.reading import find_job, list_jobs
from sandbox.recipe.command import kind_of, words_of
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.job import ListedJob
from sandbox.recipe.python_versions import matrix_version, read_version
from sandbox.recipe.requirements import Wanted, clean_lines, read_requirement_file
from sandbox.types import Frozen, JobHints, StepKind

__all__ = ["ListedJob", "Step", "find_job", "find_step", "list_jobs"]

_MOST_BYTES = 256 * 1024
_INSTALL = re.compile(r"(?:(?:python3?\s+-m|uv|sudo)\s+)?pip3?\s+install\s+(.*)")
_OTHER_INSTALL = re.compile(r"(?:uv|poetry|pdm|pipenv|hatch|rye|npm|apt|apt-get|sudo|conda|mamba|brew|curl|wget)\b.*")
_QUIET = re.compile(r"(?:-q|-qq|-U|--upgrade|--quiet|--system|--user|--no-cache-dir|--pre|--no-deps)")
_HARMLESS = re.compile(r"(?:set\s+[-+]\w+.*|echo\b.*|#.*|:|true)")


class Step(Frozen):
    """What the failing step asks for."""

    command: str
    kind: StepKind
    working_directory: str = "."
    python: str | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    wanted: Wanted = Wanted()


def find_step(hints: JobHints, contents: Mapping[str, bytes], log: FidelityLog) -> Step | None:
    """The failing step of the job that the hints name, or the likeliest one; None when no workflow has any."""
    chosen: tuple[Mapping[str, Any], str, Mapping[str, Any], Mapping[str, Any]] | None = None
    for path, document in _documents(hints, contents, log):
        for job_id, job in _mapping(document.get("jobs")).items():
            if not _is_job(hints.job_name, str(job_id), _mapping(job)):
                continue
            step = _choose(hints, _mapping(job))
            if step is not None:
                chosen = (document, path, _mapping(job), step)
                break
        if chosen is not None:
            break
    if chosen is None:
        if hints.job_name or hints.step_name:
            log.dropped(hints.job_name or hints.step_name or "", "no such step in any workflow of the repository")
        return None
    return _read_step(hints, contents, log, *chosen)


def _documents(
    hints: JobHints, contents: Mapping[str, bytes], log: FidelityLog
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The workflows, the named one first (a run names it `path@ref`)."""
    named = (hints.workflow_path or "").split("@")[0]
    paths = sorted(p for p in contents if p.startswith(".github/workflows/") and p.endswith((".yml", ".yaml")))
    for path in sorted(paths, key=lambda p: p != named):
        if len(contents[path]) > _MOST_BYTES:
            log.dropped(path, "the workflow is too large to be read")
            continue
        try:
            document = yaml.safe_load(contents[path])
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
            log.dropped(path, "the workflow is not valid YAML")
            continue
        if isinstance(document, dict):
            yield path, document


def _is_job(wanted: str | None, job_id: str, job: Mapping[str, Any]) -> bool:
    if wanted is None:
        return True
    plain = wanted.rsplit(" / ", 1)[-1]
    for name in (job_id, _text(job.get("name"))):
        # `test (3.11, ubuntu)` is job `test` of a matrix; a name with an expression counts up to the expression
        fixed = name.split("${{")[0].strip(" -(,/")
        if fixed and (plain in {name, fixed} or plain.startswith(f"{fixed} ")):
            return True
    return False


def _choose(hints: JobHints, job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The step of the given name, else the last step that tests, lints, formats or checks types."""
    steps = [
        step for step in _sequence(job.get("steps")) if isinstance(step, dict) and isinstance(step.get("run"), str)
    ]
    if hints.step_name is not None:
        wanted = hints.step_name.removeprefix("Run ").strip()
        for step in steps:
            first = step["run"].strip().split("\n")[0]
            if wanted in {_text(step.get("name")), first} or hints.step_name == step.get("name"):
                return step
    kinds = (StepKind.TEST, StepKind.LINT, StepKind.FORMAT, StepKind.TYPES)
    ranked = [(kinds.index(kind), step) for step in steps if (kind := _kind(step)) in kinds and _commands(step["run"])]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _kind(step: Mapping[str, Any]) -> StepKind:
    """A step's kind; one that only installs has none, whatever its name says."""
    commands = _commands(step["run"])
    kinds = [kind_of(line, _text(step.get("name"))) for line in commands]
    return next((kind for kind in reversed(kinds) if kind is not StepKind.OTHER), StepKind.OTHER)


def _lines(run: str) -> list[str]:
    joined = re.sub(r"\s*\\\n\s*", " ", run.replace("\r\n", "\n"))
    return [line.strip() for line in joined.split("\n") if line.strip() and not _HARMLESS.fullmatch(line.strip())]


def _commands(run: str) -> list[str]:
    """The lines of a step that do neither install nor prepare."""
    return [
        line
        for line in _lines(run)
        if not _INSTALL.match(line)
        and not re.match(r"(?:cd|export)\s", line)
        and (kind_of(line) is not StepKind.OTHER or not _OTHER_INSTALL.match(line))
    ]


def _read_step(  # noqa: PLR0913, PLR0917 (the four levels of a workflow)
    hints: JobHints,
    contents: Mapping[str, bytes],
    log: FidelityLog,
    document: Mapping[str, Any],
    path: str,
    job: Mapping[str, Any],
    step: Mapping[str, Any],
) -> Step | None:
    commands = _commands(step["run"])
    matrix = _mapping(_mapping(job.get("strategy")).get("matrix"))
    python = _python(job, matrix, contents, hints)
    chosen = next((line for line in reversed(commands) if kind_of(line) is not StepKind.OTHER), "".join(commands[-1:]))
    command = re.sub(r"\$\{\{\s*matrix\.python(?:-version)?\s*\}\}", python or "3", chosen)
    if not command or "${{" in command:
        log.dropped(f"{path}: {command or step['run']}", "the command depends on values only GitHub knows")
        return None
    for line in commands:
        if line != chosen:
            log.dropped(f"{path}: {line}", "only the command that tests or checks is run")
    folder = _folder(document, job, step)
    for line in _lines(step["run"]):
        if moved := re.fullmatch(r"cd\s+([\w./-]+)", line):
            folder = _inside(f"{folder}/{moved[1]}") or folder
    return Step(
        command=command,
        kind=kind_of(command, _text(step.get("name"))),
        working_directory=folder,
        python=python,
        environment=_environment(log, document.get("env"), job.get("env"), step.get("env")),
        wanted=_installs(job, step, contents, log),
    )


def _folder(document: Mapping[str, Any], job: Mapping[str, Any], step: Mapping[str, Any]) -> str:
    defaults = (_mapping(_mapping(level.get("defaults")).get("run")) for level in (job, document))
    for level in (step, *defaults):
        if isinstance(level.get("working-directory"), str):
            return _inside(level["working-directory"]) or "."
    return "."


def _inside(path: str) -> str | None:
    """A relative folder that stays in the checkout, or None."""
    plain = normpath(path.removeprefix("./") or ".")
    return None if plain.startswith(("/", "..")) or not re.fullmatch(r"[\w./ +@-]+", plain) else plain


def _python(
    job: Mapping[str, Any], matrix: Mapping[str, Any], contents: Mapping[str, bytes], hints: JobHints
) -> str | None:
    for step in _sequence(job.get("steps")):
        uses = _text(_mapping(step).get("uses"))
        if not uses.startswith(("actions/setup-python", "astral-sh/setup-uv")):
            continue
        given = _mapping(_mapping(step).get("with"))
        asked = given.get("python-version")
        if isinstance(asked, str) and (key := re.fullmatch(r"\s*\$\{\{\s*matrix\.([\w-]+)\s*\}\}\s*", asked)):
            return matrix_version(hints.job_name, matrix.get(key[1]))
        if asked is not None:
            return read_version(asked)
        if isinstance(named := given.get("python-version-file"), str):
            return read_version(contents.get(named, b"").decode("utf-8", "replace"))
    return None


def _environment(log: FidelityLog, *levels: object) -> dict[str, str]:
    """Literal values only: an expression may stand for a secret."""
    found: dict[str, str] = {}
    for level in levels:
        for name, value in list(_mapping(level).items())[:50]:
            text = _text(value)
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", str(name)) or _is_dangerous(str(name)):
                log.dropped(f"env {name}", "a variable of this name is not passed on")
            elif "${{" in text or len(text) > 2000 or "\0" in text:  # noqa: PLR2004 (long enough for any option)
                log.dropped(f"env {name}", "only literal values are passed on")
            else:
                found[str(name)] = text
    return found


def _is_dangerous(name: str) -> bool:
    """Names that change how our own programs in the sandbox start."""
    return name in {"PATH", "HOME", "VIRTUAL_ENV", "BASH_ENV", "ENV", "IFS", "PYTHONHOME", "PYTHONSTARTUP"} or (
        name.startswith(("LD_", "GIT_", "GITHUB_"))
    )


def _installs(
    job: Mapping[str, Any], failing: Mapping[str, Any], contents: Mapping[str, bytes], log: FidelityLog
) -> Wanted:
    """What the job's steps up to the failing one install with pip."""
    wanted = Wanted()
    for step in _sequence(job.get("steps")):
        run = _mapping(step).get("run")
        if isinstance(run, str):
            folder = _inside(_text(_mapping(step).get("working-directory")) or ".") or "."
            for line in _lines(run):
                for part in re.split(r"\s*&&\s*", line):
                    wanted = wanted.plus(_install(part, folder, contents, log))
        if step is failing:
            break
    return wanted


def _install(line: str, folder: str, contents: Mapping[str, bytes], log: FidelityLog) -> Wanted:
    """One install command as what it wants."""
    if re.match(r"(?:uv|poetry|pdm)\s+(?:sync|install)\b", line):
        log.replaced(line, "the project's declared dependencies are installed instead")
        groups = re.findall(r"--(?:extra|with|group)[ =]([A-Za-z0-9_.,-]+)", line)
        return Wanted(itself=True, extras=tuple(name for group in groups for name in group.split(",")))
    found = _INSTALL.match(line)
    if found is None:
        if _OTHER_INSTALL.fullmatch(line) and kind_of(line) is StepKind.OTHER:
            log.dropped(line, "only Python packages are installed")
        return Wanted()
    wanted = Wanted()
    words = [word for word in words_of(found[1]) if not _QUIET.fullmatch(word)]
    while words:
        word = words.pop(0)
        if word in {"-r", "--requirement"} and words:
            named = normpath(f"{folder}/{words.pop(0)}")
            wanted = wanted.plus(read_requirement_file(named, contents, log))
        elif word.startswith("-r"):
            wanted = wanted.plus(read_requirement_file(normpath(f"{folder}/{word[2:]}"), contents, log))
        elif word in {"-e", "--editable"} or word in {"pip", "setuptools", "wheel", "build", "uv"}:
            continue
        else:
            wanted = wanted.plus(clean_lines([word], line, log))
    log.replayed(line, "with uv, from wheels")
    return wanted


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: object) -> list[Any]:
    return value[:200] if isinstance(value, list) else []


def _text(value: object) -> str:
    """A scalar as the shell would see it; never a list or mapping, which aliases can make endless."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
