"""The contexts of expressions: matrix, inputs, env, and known parts of `github`, `runner`."""

from collections.abc import Mapping
from posixpath import join
from typing import Any

from sandbox.recipe.actions.values import Context, Unknown, Value
from sandbox.recipe.document import mapping, sequence, text
from sandbox.recipe.editable import WORKDIR

_ONLY_GITHUB_KNOWS = (
    *(
        "actor",
        "actor_id",
        "api_url",
        "base_ref",
        "event",
        "event_name",
        "graphql_url",
        "head_ref",
        "ref",
        "ref_name",
    ),
    *(
        "ref_protected",
        "ref_type",
        "repository",
        "repository_id",
        "repository_owner",
        "repository_owner_id",
        "run_id",
    ),
    *(
        "run_number",
        "run_attempt",
        "sha",
        "token",
        "triggering_actor",
        "workflow_ref",
        "workflow_sha",
        "event_path",
    ),
)
_WITH_INPUTS = frozenset({"workflow_call", "workflow_dispatch"})
"""Events that give a workflow inputs."""
_UNKNOWN_EVERYWHERE = ("secrets", "vars", "needs", "job", "jobs")


def base_context(
    document: Mapping[str, Any], inputs: Value, repository: str | None = None
) -> dict[str, Value]:
    """Return the context of every job of a workflow.

    Args:
        document: The workflow.
        inputs: Inputs from its caller; unknown for a manual start.
        repository: `owner/name`, if it is known.
    """
    github: dict[str, Value] = {name: Unknown((f"github.{name}",)) for name in _ONLY_GITHUB_KNOWS}
    github |= {
        "workspace": WORKDIR,
        "workflow": text(document.get("name")),
        "server_url": "https://github.com",
        "action_path": WORKDIR,
    }
    if repository:
        github |= {"repository": repository, "repository_owner": repository.partition("/")[0]}
    runner: dict[str, Value] = {"os": "Linux", "arch": "X64", "name": "metaagent", "debug": ""}
    runner["temp"] = "/tmp"  # noqa: S108
    unknown: dict[str, Value] = {name: Unknown((name,)) for name in _UNKNOWN_EVERYWHERE}
    return {
        **unknown,
        "github": github,
        "runner": runner,
        "inputs": inputs,
        "matrix": None,
        "env": {},
        "steps": {},
    }


def job_context(
    base: Context, job_id: str, cell: Value, place: tuple[int, int]
) -> dict[str, Value]:
    """Return the context of one cell of a job.

    Args:
        base: See `base_context`.
        job_id: The job.
        cell: The values of the cell.
        place: The cell's index, and the number of cells.
    """
    github = base["github"]
    named = {**github, "job": job_id} if isinstance(github, dict) else github
    return {
        **base,
        "github": named,
        "matrix": cell,
        "strategy": {
            "job-index": place[0],
            "job-total": place[1],
            "fail-fast": True,
            "max-parallel": place[1],
        },
    }


def own_inputs(document: Mapping[str, Any]) -> Value:
    """Return the inputs of a workflow without a known caller, by the events that start it.

    A push or a pull request gives no inputs. Started by hand or by a caller alone, the declared
    defaults count; inputs without one are unknown.
    """
    events = mapping(document.get("on"))
    if set(events) - _WITH_INPUTS:
        return {}
    declared: dict[str, Value] = {}
    for event in sorted(_WITH_INPUTS):
        for name, about in mapping(mapping(events.get(event)).get("inputs")).items():
            default = mapping(about).get("default")
            is_plain = isinstance(default, str | int | float) and "${{" not in str(default)
            declared[name] = default if is_plain else Unknown((f"inputs.{name}",))
    return declared


def in_action(context: Context, inputs: Value, folder: str) -> dict[str, Value]:
    """Return the context of a composite action's steps.

    Args:
        context: The context of the calling step.
        inputs: The inputs from that step.
        folder: The action's folder in the checkout.
    """
    github = context["github"]
    inside = (
        {**github, "action_path": join(WORKDIR, folder)} if isinstance(github, dict) else github
    )
    return {**context, "inputs": inputs, "github": inside, "steps": {}}


def unknown_steps(steps: object) -> dict[str, Value]:
    """Return the `steps` context before any step ran; each step with an id is unknown."""
    names = [text(mapping(step).get("id")) for step in sequence(steps)]
    return {name: Unknown((f"steps.{name}",)) for name in names if name}
