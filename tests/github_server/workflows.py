"""Reads workflow files: the jobs, their `run:` steps and the events that start them."""

import itertools
import re
from dataclasses import replace
from typing import Any

import yaml

from tests.github_server.entities import Ci, Repository, Step
from tests.github_server.gitstore import GitFailed


def workflows_of(repo: Repository, sha: str) -> list[Ci]:
    """What the CI does for a commit: the repository's configuration, else the commit's workflow files."""
    if repo.ci is not None:
        return [repo.ci, *repo.more_ci]
    try:
        entries = repo.store.tree(sha, ".github/workflows")
    except GitFailed:
        return []
    files = [one for one in entries if one.type == "blob" and one.path.endswith((".yml", ".yaml"))]
    found = (
        read_workflow(repo.store.blob(one.sha).decode("utf-8", "replace"), one.path)
        for one in files
    )
    return [one for one in found if one is not None]


def read_workflow(text: str, name: str) -> Ci | None:
    """A workflow file's jobs, a matrix spread out; nothing when none of them runs a command."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, dict):
        return None
    # YAML 1.1 reads the key `on` as the truth value.
    events = _events(document.get("on", document.get(True)))
    head = {
        "workflow": str(document.get("name", name)),
        "path": f".github/workflows/{name}",
        "events": events,
    }
    found = [
        ci
        for key, job in jobs.items()
        if isinstance(job, dict)
        for ci in _jobs(str(key), job, head)
    ]
    return replace(found[0], others=tuple(found[1:])) if found else None


def _jobs(key: str, job: dict[str, Any], head: dict[str, Any]) -> list[Ci]:
    """One job, or one for every point of its matrix."""
    axes = (job.get("strategy") or {}).get("matrix") or {}
    lists = {
        axis: values
        for axis, values in axes.items()
        if isinstance(values, list) and axis != "include"
    }
    timeout = min(float(job.get("timeout-minutes", 1)) * 60, 120.0)
    found = []
    for point in itertools.product(*lists.values()):
        values = dict(zip(lists, point, strict=True))
        steps = tuple(
            _step(raw, values)
            for raw in job.get("steps") or []
            if isinstance(raw, dict) and "run" in raw
        )
        title = _filled(str(job.get("name", key)), values)
        if values and "matrix." not in str(job.get("name", "")):
            title += f" ({', '.join(map(str, point))})"
        if steps:
            found.append(Ci(steps, title, timeout=timeout, **head))
    return found


def _filled(text: str, values: dict[str, Any]) -> str:
    """A text with the matrix's values in it."""
    return re.sub(
        r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}", lambda match: str(values.get(match[1], "")), text
    )


def _step(raw: dict[str, Any], values: dict[str, Any]) -> Step:
    """A step; without a name GitHub calls it after its first line."""
    command = _filled(str(raw["run"]), values)
    return Step(str(raw.get("name") or f"Run {command.strip().splitlines()[0]}"), command)


def _events(value: Any) -> tuple[str, ...]:
    """The names under `on:`."""
    names = [value] if isinstance(value, str) else list(value or [])
    return tuple(str(name) for name in names)
