"""The disk that images take: what is ours, how much it is, and what of it gives way."""

import contextlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound

from sandbox.backends.base import TREE_NOTE, Kept
from sandbox.backends.retention import Entry, LastUses, Limits, doomed

log = logging.getLogger(__name__)

TOOLCHAIN = "metaagent-toolchain"
ENVIRONMENT = "metaagent-env"
NOTES_LABEL = "metaagent.notes"
MADE_BY_US = "metaagent"
"""Comment of every image that we commit; unlike a label, nobody who builds on it takes it along."""

OTHER_VERSIONS_DAYS = 1.0
"""How long guest programs of other versions of MetaAgent, and nameless leftovers, stay: another may be running here."""


class Disk:
    """The images of ours on one daemon.

    Args:
        client: The daemon.
        uses: When each was last used.
        limits: What may stay.
    """

    def __init__(self, client: docker.DockerClient, uses: LastUses, limits: Limits) -> None:
        self._client = client
        self._uses = uses
        self._limits = limits

    def prune(self, present: Iterable[str], *, only_count: bool = False) -> Kept:
        """Remove what is over the limits.

        Args:
            present: References that stay whatever their age: the toolchain in use.
            only_count: Remove nothing.
        """
        entries = self._entries(frozenset(present))
        gone: list[Entry] = []
        while not only_count and (removed := [entry for entry in doomed(entries, self._limits) if self._remove(entry)]):
            gone += removed
            entries = self._entries(frozenset(present))  # what stood below them can be removed now
        stay = [entry for entry in entries if entry.counted]
        kept = Kept(
            count=len(stay),
            size=sum(entry.size for entry in stay),
            removed=len(gone),
            removed_bytes=sum(entry.size for entry in gone),
        )
        if gone:
            log.info("%d images of ours removed, %d bytes", kept.removed, kept.removed_bytes)
        return kept

    def _remove(self, entry: Entry) -> bool:
        """Never by force: the daemon itself refuses what a container or another image still needs."""
        with contextlib.suppress(ImageNotFound, APIError):
            self._client.images.remove(entry.name)
            self._uses.forget(entry.name)
            return True
        return False

    def _entries(self, present: frozenset[str]) -> list[Entry]:
        images: dict[str, dict[str, Any]] = {one["Id"]: one for one in self._listed(all=True)}
        parents = {image.get("ParentId") for image in images.values()}
        busy = self._in_use(images)
        now = self._uses.now()
        entries = []
        for image in images.values():
            if not image.get("RepoTags") and image["Id"] in parents:
                continue  # a layer that something with a name stands on
            for name in self._names(image):
                kind = name.partition(":")[0]
                entry = Entry(
                    name=name,
                    size=_own_size(image, images),
                    idle_s=now - (self._uses.last(name) or float(image["Created"])),
                    # Of what another stands on, the daemon would take the name away and keep the rest.
                    protected=image["Id"] in busy | parents or name in present,
                    counted=kind == ENVIRONMENT,
                    days=OTHER_VERSIONS_DAYS if _is_cheap(name) else None,
                    one_tree=TREE_NOTE in read_notes(image.get("Labels")),
                )
                entries.append(entry)
        return entries

    def _listed(self, **which: Any) -> list[dict[str, Any]]:
        ask: Callable[..., list[dict[str, Any]]] = self._client.api.images
        return ask(**which)

    def _names(self, image: dict[str, Any]) -> list[str]:
        """Our tags of an image, or its id when it is a nameless leftover that we committed."""
        tags = [tag for tag in image.get("RepoTags") or () if tag != "<none>:<none>"]
        if tags:
            return [tag for tag in tags if tag.partition(":")[0] in {TOOLCHAIN, ENVIRONMENT}]
        if not any(label.startswith("metaagent.") for label in image.get("Labels") or {}):
            return []
        with contextlib.suppress(ImageNotFound):
            inspect: Callable[[str], dict[str, Any]] = self._client.api.inspect_image
            return [image["Id"]] if inspect(image["Id"]).get("Comment") == MADE_BY_US else []
        return []

    def _in_use(self, images: dict[str, dict[str, Any]]) -> set[str]:
        """Images that a container was made from, and those these stand on."""
        ask: Callable[..., list[dict[str, Any]]] = self._client.api.containers
        busy: set[str] = set()
        for container in ask(all=True):
            image: str | None = container.get("ImageID")
            while image and image not in busy:
                busy.add(image)
                image = images.get(image, {}).get("ParentId")
        return busy


def read_notes(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the short texts kept with an image, by its labels; nothing when they cannot be read."""
    try:
        found = json.loads((labels or {}).get(NOTES_LABEL, "{}"))
    except ValueError:
        return {}
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def _own_size(image: dict[str, Any], images: dict[str, dict[str, Any]]) -> int:
    """The bytes that an image adds to the next one below that has a name: layers between go with it."""
    below = images.get(image.get("ParentId") or "", {})
    while below and not below.get("RepoTags"):
        below = images.get(below.get("ParentId") or "", {})
    return max(int(image.get("Size") or 0) - int(below.get("Size") or 0), 0)


def _is_cheap(name: str) -> bool:
    """Whether it is made again in a moment: the guest programs on a toolchain, and what has no name."""
    repository, _, tag = name.partition(":")
    return repository != ENVIRONMENT and (repository != TOOLCHAIN or "-" in tag)
