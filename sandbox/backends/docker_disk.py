"""The disk usage of our images: which they are, their size, and which to remove."""

import contextlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound

from sandbox.backends.base import TREE_NOTE, CacheUsage
from sandbox.backends.retention import CacheEntry, LastUses, RetentionLimits, select_for_removal

log = logging.getLogger(__name__)

TOOLCHAIN = "metaagent-toolchain"
ENVIRONMENT = "metaagent-env"
NOTES_LABEL = "metaagent.notes"
MADE_BY_US = "metaagent"
"""Commit comment of our images. Unlike a label, an image that is built on ours does not inherit it.
"""

OTHER_VERSIONS_DAYS = 1.0
"""Days to keep guest layers of other MetaAgent versions, and nameless leftovers: another version
may run here.
"""


class Disk:
    """Our images on one daemon.

    Args:
        client: The daemon.
        uses: Their times of last use.
        limits: The limits of the cache.
    """

    def __init__(
        self, client: docker.DockerClient, uses: LastUses, limits: RetentionLimits
    ) -> None:
        self._client = client
        self._uses = uses
        self._limits = limits

    def prune(self, present: Iterable[str], *, only_count: bool = False) -> CacheUsage:
        """Remove images beyond the limits.

        Args:
            present: References that are never removed: the toolchain in use.
            only_count: Remove nothing.
        """
        entries = self._entries(frozenset(present))
        gone: list[CacheEntry] = []
        while not only_count and (
            removed := [
                entry for entry in select_for_removal(entries, self._limits) if self._remove(entry)
            ]
        ):
            gone += removed
            entries = self._entries(frozenset(present))  # the images below them can be removed now
        stay = [entry for entry in entries if entry.counted]
        kept = CacheUsage(
            count=len(stay),
            size=sum(entry.size for entry in stay),
            removed=len(gone),
            removed_bytes=sum(entry.size for entry in gone),
        )
        if gone:
            log.info("removed %d cached images, %d bytes", kept.removed, kept.removed_bytes)
        return kept

    def _remove(self, entry: CacheEntry) -> bool:
        """Remove an image without force: the daemon refuses if it is still needed."""
        with contextlib.suppress(ImageNotFound, APIError):
            self._client.images.remove(entry.name)
            self._uses.forget(entry.name)
            return True
        return False

    def _entries(self, present: frozenset[str]) -> list[CacheEntry]:
        images: dict[str, dict[str, Any]] = {one["Id"]: one for one in self._list_images(all=True)}
        parents = {image.get("ParentId") for image in images.values()}
        busy = self._in_use(images)
        now = self._uses.now()
        entries = []
        for image in images.values():
            if not image.get("RepoTags") and image["Id"] in parents:
                continue  # an intermediate layer of a named image
            for name in self._names(image):
                kind = name.partition(":")[0]
                entry = CacheEntry(
                    name=name,
                    size=_own_size(image, images),
                    idle_s=now - (self._uses.last(name) or float(image["Created"])),
                    # Removing an image with children would only remove its name.
                    protected=image["Id"] in busy | parents or name in present,
                    counted=kind == ENVIRONMENT,
                    days=OTHER_VERSIONS_DAYS if _is_cheap(name) else None,
                    one_tree=TREE_NOTE in read_notes(image.get("Labels")),
                )
                entries.append(entry)
        return entries

    def _list_images(self, **which: Any) -> list[dict[str, Any]]:
        ask: Callable[..., list[dict[str, Any]]] = self._client.api.images
        return ask(**which)

    def _names(self, image: dict[str, Any]) -> list[str]:
        """Return our tags of an image, or its id if it is a nameless leftover that we committed."""
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
        """Return the images that containers use, and all their parents."""
        ask: Callable[..., list[dict[str, Any]]] = self._client.api.containers
        busy: set[str] = set()
        for container in ask(all=True):
            image: str | None = container.get("ImageID")
            while image and image not in busy:
                busy.add(image)
                image = images.get(image, {}).get("ParentId")
        return busy


def read_notes(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the notes in an image's labels; empty if they are unreadable."""
    try:
        found = json.loads((labels or {}).get(NOTES_LABEL, "{}"))
    except ValueError:
        return {}
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def _own_size(image: dict[str, Any], images: dict[str, dict[str, Any]]) -> int:
    """Return the bytes that an image and the unnamed layers below it add to the next named one."""
    below = images.get(image.get("ParentId") or "", {})
    while below and not below.get("RepoTags"):
        below = images.get(below.get("ParentId") or "", {})
    return max(int(image.get("Size") or 0) - int(below.get("Size") or 0), 0)


def _is_cheap(name: str) -> bool:
    """Return True if an image is quickly rebuilt: a layer of guest programs, or a nameless one."""
    repository, _, tag = name.partition(":")
    return repository != ENVIRONMENT and (repository != TOOLCHAIN or "-" in tag)
