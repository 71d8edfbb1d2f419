"""Where bundles go: the store that all processes share, or the one file a person named."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from bot.blobs.folder import write_atomically
from bot.domain.blob import Blob, Drawer, Kind
from bot.domain.evidence import EvidenceBundle, EvidenceLimits, KeptEvidence
from bot.errors import MetaAgentError, UsageError
from bot.evidence.bundle import read_bundle, write_bundle
from bot.evidence.claim import bundle_of
from bot.ports import BlobStore, Clock, OpenWorkspace
from bot.publish.story import Story
from sandbox.errors import SandboxError
from sandbox.types import Checkout

_NAME_CHARACTERS = 80
_COUNTED_FOR = timedelta(minutes=10)
"""So long it is known what all bundles take, besides what is kept here meanwhile."""

log = logging.getLogger(__name__)


class EvidenceStore:
    """Keeps a bundle per mission until the day that people are told; what has no room until then is not begun.

    Args:
        blobs: Bundles hold source: nobody but us may read them there.
        limits: Of one bundle, of all of them, and how long one is kept.
        clock: Tells how old they are.
    """

    def __init__(self, blobs: BlobStore, limits: EvidenceLimits, clock: Clock) -> None:
        self._blobs = blobs
        self._limits = limits
        self._clock = clock
        self._counted_at: datetime | None = None
        self._bytes = 0

    async def keep(self, story: Story, checkout: Checkout, open_workspace: OpenWorkspace) -> KeptEvidence:
        """Keep the bundle of a finished mission.

        Args:
            story: The mission as it will be told.
            checkout: The failing commit.
            open_workspace: Gives its files.

        Raises:
            SandboxError: the files cannot be had any more.
            StoreError: the store does not take it.
        """
        content = await _content(story, checkout, open_workspace, self._limits)
        if isinstance(content, KeptEvidence):
            return content
        if await self._taken() + len(content) > self._limits.total_bytes:
            log.warning("no room for evidence: the bundles promised so far fill evidence.total_bytes")
            reason = f"all bundles together would be larger than {self._limits.total_bytes} bytes"
            return KeptEvidence(reason=f"{reason} (evidence.total_bytes), and those there are promised for longer")
        mission = story.context.mission_id
        digest = await self._blobs.put(Drawer(kind=Kind.EVIDENCE, owner=mission), content)
        self._bytes += len(content)
        until = (self._clock.now() + timedelta(days=self._limits.days)).date().isoformat()
        return KeptEvidence(name=mission, sha256=digest, size=len(content), until=until)

    async def forget(self) -> int:
        """Drop the bundles whose day has passed; how many."""
        # The day itself is promised whole.
        oldest = self._clock.now() - timedelta(days=self._limits.days + 1)
        old = await self._blobs.kept(Kind.EVIDENCE, before=oldest)
        await self._blobs.drop(old)
        return len(old)

    async def take_over(self, folder: Path) -> None:
        """Move the bundles here that earlier versions kept as files; pull requests still name them.

        Raises:
            StoreError: the store does not take them; they stay.
        """
        for path in await asyncio.to_thread(lambda: sorted(folder.glob("*.zip"))):
            try:
                content = await asyncio.to_thread(path.read_bytes)
                mission = read_bundle(content).claim.mission_id
                await self._blobs.put(Drawer(kind=Kind.EVIDENCE, owner=mission), content)
                await asyncio.to_thread(path.unlink, missing_ok=True)
            except (OSError, UsageError) as error:
                log.warning("%s stays where it is: %s", path, error)

    async def _taken(self) -> int:
        now = self._clock.now()
        if self._counted_at is None or now - self._counted_at > _COUNTED_FOR:
            self._bytes = await self._blobs.taken(Kind.EVIDENCE)
            self._counted_at = now
        return self._bytes


class EvidenceFile:
    """Keeps one bundle in the file a person named, and tells what became of it.

    Args:
        path: Replaced when it is there.
        limits: Of one bundle.
    """

    def __init__(self, path: Path, limits: EvidenceLimits) -> None:
        self._path = path
        self._limits = limits
        self.kept = KeptEvidence(reason="the mission broke before it came to its end")

    async def keep(self, story: Story, checkout: Checkout, open_workspace: OpenWorkspace) -> KeptEvidence:
        """Write the bundle of a finished mission.

        Args:
            story: The mission as it will be told.
            checkout: The failing commit.
            open_workspace: Gives its files.
        """
        try:
            content = await _content(story, checkout, open_workspace, self._limits)
            if isinstance(content, KeptEvidence):
                self.kept = content
            else:
                write_atomically(self._path, content)
                digest = hashlib.sha256(content).hexdigest()
                self.kept = KeptEvidence(name=self._path.name, sha256=digest, size=len(content))
        except (SandboxError, MetaAgentError) as error:
            self.kept = KeptEvidence(reason=error.message)
        return self.kept


async def find_bundle(blobs: BlobStore, word: str) -> bytes:
    """The bundle that is meant: by its mission, its SHA-256, or the file name that earlier versions gave it.

    Args:
        blobs: Where bundles are.
        word: As a pull request says it.

    Raises:
        UsageError: there is none, or several of one mission.
        StoreError: the store is out of reach, or what is there is damaged.
    """
    found: Sequence[Blob] = await blobs.kept(Kind.EVIDENCE, word) if word else ()
    if not found:
        everything = await blobs.kept(Kind.EVIDENCE)
        found = [blob for blob in everything if word in {blob.digest, bundle_name(blob.drawer.owner)}]
    if not found:
        advice = "name a file, or a mission or a SHA-256 as a pull request says it; bundles are kept for evidence.days"
        raise UsageError(f"there is neither a file {word!a} nor such evidence in the store", advice)
    if len({blob.digest for blob in found}) > 1:
        digests = ", ".join(blob.digest for blob in found)
        raise UsageError(f"there are {len(found)} bundles of {word!a}", f"name one by its SHA-256: {digests}")
    return await blobs.get(found[0].drawer, found[0].digest)


def bundle_name(mission_id: str) -> str:
    """The file name of a mission's bundle in earlier versions."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", mission_id).strip("-")[:_NAME_CHARACTERS]
    if plain != mission_id:
        plain = f"{plain}-{hashlib.sha256(mission_id.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{plain}.zip"


async def _content(
    story: Story, checkout: Checkout, open_workspace: OpenWorkspace, limits: EvidenceLimits
) -> bytes | KeptEvidence:
    """The bundle of a finished mission, or why there is none. No sandbox is started for its files.

    Raises:
        SandboxError: the files cannot be had any more.
    """
    if bundle_of(story, b"") is None:
        return KeptEvidence(reason="the mission never came as far as a run, so there is nothing to run again")
    async with open_workspace(checkout) as workspace:
        archive = await workspace.archive()
    bundle: EvidenceBundle | None = bundle_of(story, archive)
    content = write_bundle(bundle) if bundle is not None else b""
    if len(content) > limits.bundle_bytes:
        return KeptEvidence(reason=f"the bundle is larger than {limits.bundle_bytes} bytes (evidence.bundle_bytes)")
    return content
