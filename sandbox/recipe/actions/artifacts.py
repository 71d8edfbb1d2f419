"""Find where the artifacts of other jobs would lie that a job downloads."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sandbox.recipe.actions.uses import Use, find_artifact
from sandbox.recipe.document import mapping, steps_of, text
from sandbox.recipe.job import Absent

_TOP = frozenset({".", "./", ""})
_GLOB = re.compile(r"[*?\[]")
_MOST_PLACES = 20


def find_artifacts(downloads: Sequence[Use], document: Mapping[str, Any]) -> tuple[Absent, ...]:
    """Return the missing files of each download.

    Args:
        downloads: The uses of `actions/download-artifact`.
        document: The workflow, whose other jobs say what they upload.
    """
    found: list[Absent] = []
    for use in downloads:
        reason = f"needs the artifact {find_artifact(use)} of another job"
        name, path = use.inputs.get("name", ""), use.inputs.get("path", "")
        if path not in _TOP:
            places = [path.removeprefix("./").rstrip("/")]
        else:
            # It is unpacked at the top.
            places = _uploaded(name, document) or ([name] if name else ["."])
        found += [Absent(place=place, reason=reason, kind="name") for place in places]
    return tuple(found)


def _uploaded(name: str, document: Mapping[str, Any]) -> list[str]:
    """Return the names of what the jobs of a workflow upload, as one artifact or as all."""
    uploads = [
        mapping(step.get("with"))
        for job in mapping(document.get("jobs")).values()
        for step in steps_of(mapping(job))
        if text(step.get("uses")).lower().startswith("actions/upload-artifact")
    ]
    paths = (
        line.strip()
        for given in uploads
        if not name or text(given.get("name")) == name
        for line in text(given.get("path")).splitlines()
    )
    return list(dict.fromkeys(filter(None, map(_last_name, paths))))[:_MOST_PLACES]


def _last_name(path: str) -> str:
    """Return the last plain name of a path: `dist` of `packages/*/dist/**`."""
    parts: Iterable[str] = reversed(path.strip("/").split("/"))
    plain = (part for part in parts if part not in _TOP and not _GLOB.search(part))
    return "" if path.startswith("!") or "${{" in path else next(plain, "")
