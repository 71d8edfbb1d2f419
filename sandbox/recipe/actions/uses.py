"""What a `uses:` step amounts to: known actions replaced, unknown ones dropped and named."""

import re
from collections.abc import Mapping

from pydantic import Field

from sandbox.recipe.actions.known_actions import NOTHING_KEPT, Effect, known_action
from sandbox.recipe.actions.values import Unknown, Value
from sandbox.recipe.python_versions import is_other_python, is_python2, read_version, version_in_file
from sandbox.types import Frozen

_CHECKOUT = "actions/checkout"
_PYTHON = ("actions/setup-python", "astral-sh/setup-uv", "pdm-project/setup-pdm", "conda-incubator/", "mamba-org/")


class Use(Frozen):
    """One action as a step uses it."""

    uses: str
    inputs: dict[str, str] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    """Inputs only GitHub knows, and what they would take."""

    @property
    def name(self) -> str:
        """`owner/repository/path` in small letters."""
        return self.uses.split("@")[0].strip().lower()


def effect_of(use: Use, contents: Mapping[str, bytes]) -> Effect:
    """What stands for an action.

    Args:
        use: The action with its inputs.
        contents: The repository's files.
    """
    if use.name == _CHECKOUT:
        return _checkout(use)
    if use.name.startswith("actions/setup-python"):
        return _python(use, contents)
    if use.name.startswith("actions/download-artifact"):
        return Effect("dropped", "artifacts of other jobs are not here")
    if use.name.startswith("docker://"):
        return Effect("dropped", "no container is started inside the sandbox")
    effect = known_action(use.name, use.inputs)
    if effect is None:
        return Effect("dropped", "what this action does is not known here")
    return effect


def python_of(use: Use, contents: Mapping[str, bytes]) -> str | None:
    """The Python a step sets up, as `3.11`; None when it sets up none, or any will do."""
    if use.name.startswith("wntrblm/nox"):
        return read_version(use.inputs.get("python-versions", "").replace(",", "\n"))
    if not use.name.startswith(_PYTHON):
        return None
    asked = use.inputs.get("python-version", "")
    if asked.strip():
        return read_version(asked)
    return version_in_file(_version_file(use), contents)


def outputs_of(use: Use, contents: Mapping[str, bytes]) -> Value:
    """The `steps.ID` of an action, as far as it is known."""
    effect = known_action(use.name, use.inputs)
    ended: dict[str, Value] = {"outcome": "success", "conclusion": "success"}
    if effect is not None and effect.reason == NOTHING_KEPT:
        return {**ended, "outputs": {"cache-hit": "", "cache-matched-key": ""}}
    if use.name.startswith("actions/setup-python"):
        version: Value = python_of(use, contents) or Unknown(("the version of Python",))
        return {**ended, "outputs": {"python-version": version, "python-path": "python", "cache-hit": ""}}
    return {**ended, "outputs": Unknown((f"the outputs of {use.uses}",))}


def artifact_of(use: Use) -> str | None:
    """Which artifact a step takes from another job: where it lands, else its name; None for other actions."""
    if not use.name.startswith("actions/download-artifact"):
        return None
    return use.inputs.get("path") or use.inputs.get("name") or "all artifacts"


def _version_file(use: Use) -> str:
    return use.inputs.get("python-version-file", "").removeprefix("./") or ".python-version"


def _checkout(use: Use) -> Effect:
    if use.inputs.get("repository"):
        return Effect("dropped", f"another repository ({use.inputs['repository']}) is not fetched")
    notes = []
    if use.inputs.get("submodules", "").lower() in {"true", "recursive"}:
        notes.append("without its submodules")
    if use.inputs.get("lfs", "").lower() == "true":
        notes.append("without large files (LFS)")
    if use.inputs.get("ref"):
        notes.append("the red commit instead of the ref it names")
    if use.inputs.get("fetch-depth") == "0":
        notes.append("without history and tags")
    return Effect(
        "replaced" if notes else "replayed", f"the commit is checked out{', ' if notes else ''}{', '.join(notes)}"
    )


def _python(use: Use, contents: Mapping[str, bytes]) -> Effect:
    asked = use.inputs.get("python-version", "").strip()
    version = python_of(use, contents)
    script = f"pip install {use.inputs['pip-install']}" if use.inputs.get("pip-install") else ""
    if missing := use.missing.get("python-version"):
        return Effect("replaced", f"only GitHub knows {missing}; the usual Python is taken", script=script)
    if asked and is_python2(asked.splitlines()[-1]):
        return Effect("dropped", "there is no Python 2", obstacle=f"needs Python {asked}, which is not in the sandbox")
    if asked and is_other_python(asked.splitlines()[-1]):
        return Effect("replaced", f"CPython {version} stands for {asked.splitlines()[-1]}", script=script)
    named = version or "the usual one"
    if use.inputs.get("cache"):
        return Effect("replayed", f"Python {named}; {NOTHING_KEPT}", script=script)
    return Effect("replayed", f"Python {named}", script=script)


def python_of_image(image: str) -> str | None:
    """The Python of an image `python:3.11-slim`, named for what is in it."""
    found = re.search(r"(?:^|/)python:(3\.\d{1,2})\b", image)
    return found[1] if found else None
