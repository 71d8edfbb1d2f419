"""The effect of a `uses:` step: known actions are replaced, unknown ones dropped and reported."""

import re
from collections.abc import Mapping
from posixpath import dirname

from pydantic import Field

from sandbox.recipe.actions.known_actions import (
    NOTHING_KEPT,
    WRAPPED_INPUTS,
    Effect,
    find_effect,
)
from sandbox.recipe.actions.values import Unknown, Value
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.go_versions import go_in_file, read_go
from sandbox.recipe.node_versions import node_in_file, node_of_project, read_node
from sandbox.recipe.python_versions import (
    is_other_python,
    is_python2,
    read_version,
    version_in_file,
)
from sandbox.types import Frozen

_BEGINNING = 64 * 1024
"""Characters of a project's file in which its repository is looked for."""
UNKNOWN_ACTION = "this action is unknown"
_CHECKOUT = "actions/checkout"
_NODE = "actions/setup-node"
_GO = "actions/setup-go"
_PNPM = "pnpm/setup"
_PNPM_VERSION = re.compile(r"[v^~]?(\d{1,2})(\.\d{1,4}\.\d{1,4})?(?:\.[x*])*")
_PYTHON = (
    "actions/setup-python",
    "astral-sh/setup-uv",
    "pdm-project/setup-pdm",
    "conda-incubator/",
    "mamba-org/",
)


class Use(Frozen):
    """One use of an action."""

    uses: str
    inputs: dict[str, str] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    """Inputs that only GitHub knows, with the names they need."""
    partly: dict[str, str] = Field(default_factory=dict)
    """The known text of these inputs."""

    @property
    def unknown_script(self) -> tuple[str, ...]:
        """Return the names that the wrapped command needs and only GitHub knows."""
        names = self.missing.get(WRAPPED_INPUTS.get(self.name, ""), "")
        return tuple(names.split(", ")) if names else ()

    @property
    def name(self) -> str:
        """Return `owner/repository/path` in lower case."""
        return self.uses.split("@")[0].strip().lower()

    @property
    def ref(self) -> str:
        """Return the requested release, such as `v4`."""
        return self.uses.partition("@")[2].strip()


def resolve_effect(use: Use, contents: Mapping[str, bytes]) -> Effect:
    """Return the effect of an action.

    Args:
        use: The action with its inputs.
        contents: The repository's files.
    """
    if use.name == _CHECKOUT:
        return _checkout(use, contents)
    if use.name.startswith("actions/setup-python"):
        return _python(use, contents)
    if use.name == _NODE:
        node = read_setup_node(use, contents)
        named = f"Node.js {node}" if node else "Node.js"
        return Effect("replaced", f"{named} is installed if a command needs it")
    if use.name == _GO:
        go = read_setup_go(use, contents)
        named = f"Go {go}" if go else "Go"
        return Effect("replaced", f"{named} is installed if a command needs it")
    if use.name.startswith("actions/download-artifact"):
        return Effect("dropped", "artifacts of other jobs are not available")
    name = use.name
    if name.startswith("docker://"):
        name = name.rpartition(":")[0] if name.count(":") > 1 else name
    wrapped = WRAPPED_INPUTS.get(name, "")
    known = {wrapped: use.partly[wrapped]} if wrapped in use.partly else {}
    effect = find_effect(name, {**use.inputs, **known}, use.ref)
    if effect is None and name.startswith("docker://"):
        return Effect("dropped", "no container is started inside the sandbox")
    if effect is None:
        return Effect("dropped", UNKNOWN_ACTION)
    return effect


def read_python(use: Use, contents: Mapping[str, bytes]) -> str | None:
    """Return the Python that a step sets up, as `3.11`; None for none or any."""
    if use.name.startswith("wntrblm/nox"):
        return read_version(use.inputs.get("python-versions", "").replace(",", "\n"))
    if not use.name.startswith(_PYTHON):
        return None
    asked = use.inputs.get("python-version", "")
    if asked.strip():
        return read_version(asked)
    return version_in_file(_version_file(use), contents)


def read_setup_node(use: Use, contents: Mapping[str, bytes]) -> str | None:
    """Return the Node.js that a step sets up, as `20`; None for none or any."""
    if use.name == _PNPM:
        runtime, _, version = use.inputs.get("runtime", "").strip().partition("@")
        return read_node(version) if runtime == "node" and version else None
    if use.name != _NODE:
        return None
    if asked := use.inputs.get("node-version", "").strip():
        return read_node(asked)
    file = use.inputs.get("node-version-file", "").removeprefix("./")
    if file.rsplit("/", 1)[-1] == "package.json":
        files = CheckoutFiles(contents, None, FidelityLog())
        return node_of_project(files, dirname(file) or ".")
    return node_in_file(file, contents)


def read_setup_pnpm(use: Use) -> str | None:
    """Return the pnpm that a step sets up, as `9` or `9.1.2`; None for none or any."""
    asked = use.inputs.get("version", "").strip()
    found = _PNPM_VERSION.fullmatch(asked) if use.name == "pnpm/action-setup" else None
    if found is None:
        return None
    return found[1] if asked[0] in "^~" else found[1] + (found[2] or "")


def read_setup_go(use: Use, contents: Mapping[str, bytes]) -> str | None:
    """Return the Go that a step sets up, as `1.24`; None for none or an unknown one."""
    if use.name != _GO:
        return None
    if asked := use.inputs.get("go-version", "").strip():
        return read_go(asked)
    return go_in_file(use.inputs.get("go-version-file", "").removeprefix("./"), contents)


def resolve_outputs(use: Use, contents: Mapping[str, bytes]) -> Value:
    """Return the known `steps.ID` values of an action."""
    effect = find_effect(use.name, use.inputs)
    ended: dict[str, Value] = {"outcome": "success", "conclusion": "success"}
    if effect is not None and effect.reason == NOTHING_KEPT:
        return {**ended, "outputs": {"cache-hit": "", "cache-matched-key": ""}}
    if use.name.startswith("actions/setup-python"):
        version: Value = read_python(use, contents) or Unknown(("the version of Python",))
        return {
            **ended,
            "outputs": {"python-version": version, "python-path": "python", "cache-hit": ""},
        }
    return {**ended, "outputs": Unknown((f"the outputs of {use.uses}",))}


def names_repository(contents: Mapping[str, bytes], repository: str) -> bool:
    """Return True if the checkout's `package.json` or `pyproject.toml` names it as its own."""
    own = re.compile(rf"(?<![\w.-]){re.escape(repository)}(?![\w-])", re.IGNORECASE)
    texts = (contents.get(path, b"")[:_BEGINNING] for path in ("package.json", "pyproject.toml"))
    return any(own.search(text.decode("utf-8", "replace")) for text in texts)


def find_artifact(use: Use) -> str | None:
    """Return the artifact that a step downloads: its path, else its name."""
    if not use.name.startswith("actions/download-artifact"):
        return None
    return use.inputs.get("path") or use.inputs.get("name") or "all artifacts"


def _version_file(use: Use) -> str:
    return use.inputs.get("python-version-file", "").removeprefix("./") or ".python-version"


def _checkout(use: Use, contents: Mapping[str, bytes]) -> Effect:
    if use.inputs.get("repository") and not names_repository(contents, use.inputs["repository"]):
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
        "replaced" if notes else "replayed",
        f"the commit is checked out{', ' if notes else ''}{', '.join(notes)}",
    )


def _python(use: Use, contents: Mapping[str, bytes]) -> Effect:
    asked = use.inputs.get("python-version", "").strip()
    version = read_python(use, contents)
    script = f"pip install {use.inputs['pip-install']}" if use.inputs.get("pip-install") else ""
    if missing := use.missing.get("python-version"):
        return Effect(
            "replaced", f"only GitHub knows {missing}; the usual Python is used", script=script
        )
    if asked and is_python2(asked.splitlines()[-1]):
        return Effect(
            "dropped",
            "there is no Python 2",
            obstacle=f"needs Python {asked}, which is not in the sandbox",
        )
    if asked and is_other_python(asked.splitlines()[-1]):
        return Effect(
            "replaced", f"CPython {version} stands for {asked.splitlines()[-1]}", script=script
        )
    named = version or "the usual one"
    if use.inputs.get("cache"):
        return Effect("replayed", f"Python {named}; {NOTHING_KEPT}", script=script)
    return Effect("replayed", f"Python {named}", script=script)


def parse_image_python(image: str) -> str | None:
    """Return the Python of a container image such as `python:3.11-slim`."""
    found = re.search(r"(?:^|/)python:(3\.\d{1,2})\b", image)
    return found[1] if found else None
