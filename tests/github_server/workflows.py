"""Reads workflow files: the first job's `run:` steps and the events that start them."""

from typing import Any

import yaml

from tests.github_server.entities import Ci, Repository, Step
from tests.github_server.gitstore import GitFailed


def ci_of(repo: Repository, sha: str) -> Ci | None:
    """What the CI does for a commit: the repository's configuration, else the commit's first workflow file."""
    if repo.ci is not None:
        return repo.ci
    try:
        entries = repo.store.tree(sha, ".github/workflows")
    except GitFailed:
        return None
    for entry in entries:
        if entry.type == "blob" and entry.path.endswith((".yml", ".yaml")):
            return read_workflow(repo.store.blob(entry.sha).decode("utf-8", "replace"), entry.path)
    return None


def read_workflow(text: str, name: str) -> Ci | None:
    """The first job of a workflow file, or nothing when it has none that runs a command."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, dict) or not jobs:
        return None
    key, job = next(iter(jobs.items()))
    steps = tuple(_step(raw) for raw in job.get("steps", []) if isinstance(raw, dict) and "run" in raw)
    if not steps:
        return None
    # YAML 1.1 reads the key `on` as the truth value.
    events = _events(document.get("on", document.get(True)))
    title = str(document.get("name", name))
    minutes = float(job.get("timeout-minutes", 1))
    path = f".github/workflows/{name}"
    return Ci(steps, str(job.get("name", key)), title, path, events, min(minutes * 60, 120.0))


def _step(raw: dict[str, Any]) -> Step:
    """A step; without a name GitHub calls it after its first line."""
    command = str(raw["run"])
    return Step(str(raw.get("name") or f"Run {command.strip().splitlines()[0]}"), command)


def _events(value: Any) -> tuple[str, ...]:
    """The names under `on:`."""
    names = [value] if isinstance(value, str) else list(value or [])
    return tuple(str(name) for name in names)
